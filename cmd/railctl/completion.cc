#include "cmd/railctl/completion.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <vector>

#include "cmd/railctl/tree.h"
#include "lib/base/text.h"

namespace rail::railctl {
namespace {

// The words after an option or in a place, as the shell's right side of `found=`.
const std::map<std::string, std::string>& Values() {
  static const std::string rails = "$(railctl get rails --no-headers 2>/dev/null | cut -d' ' -f1)";
  static const std::map<std::string, std::string> values = {
      {"--output", "table wide json$([ \"$at\" = 'get topology' ] && echo ' dot')"},
      {"--file", "libs.env nccl.conf ucx.conf topology.xml"},
      {"--protocol", "udp tcp icmp"},
      {"--rail", rails},
      {"rail", rails},
      {"pod",
       "$(railctl get attachments --no-headers 2>/dev/null | while read -r ns pod rest; do printf '%s/%s\\n' "
       "\"$ns\" \"$pod\"; done)"},
      {"shell", "bash zsh"}};
  return values;
}

std::string Quoted(const std::string& words) {
  return "\"" + words + "\"";
}

void ForEach(const CLI::App& app, const std::function<void(const CLI::App&)>& visit) {
  visit(app);
  for (const CLI::App* each : CommandsOf(app)) ForEach(*each, visit);
}

// "-n --namespace": as it is written; of an option with a place and no dashes nothing.
std::vector<std::string> Written(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

// The lines `PATTERN) at=... ;;` by which a word leads from one command to the next.
std::string Steps(const CLI::App& tree) {
  std::string lines;
  ForEach(tree, [&](const CLI::App& app) {
    if (app.get_parent() == nullptr) return;
    const std::string above = PathOf(*app.get_parent());
    std::string pattern = Quoted(above + " " + app.get_name());
    for (const std::string& other : app.get_aliases()) pattern += "|" + Quoted(above + " " + other);
    lines += "      " + pattern + ") at=" + Quoted(PathOf(app)) + " ;;\n";
  });
  return lines;
}

// The lines `OPTION) ... ;;` for options with a value: a file's name, words, or anything.
std::string ValueLines(const CLI::App& tree) {
  std::map<std::string, std::string> lines;
  ForEach(tree, [&](const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
      const auto written = Written(*option);
      if (written.empty() || !TakesValue(*option)) continue;
      std::string pattern = Join(written, "|");
      const auto words = Values().find(written.back());
      const bool file = option->get_type_name() == "FILE" || option->get_type_name() == "PATH";
      lines[pattern] = words != Values().end() ? "found=" + Quoted(words->second)
                       : file                  ? "files=yes"
                                               : "found=\"\"";
    }
  });
  std::string text;
  for (const auto& [pattern, line] : lines) text += "    " + pattern + ") " + line + "; return ;;\n";
  return text;
}

// The lines `PATH) found="..." ;;`: the words below a command, its options and those above it, and what may stand in its places.
std::string Words(const CLI::App& tree) {
  std::string lines;
  ForEach(tree, [&](const CLI::App& app) {
    std::string words;
    std::string options;
    for (const CLI::App* each : CommandsOf(app)) words += each->get_name() + " ";
    for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
      for (const CLI::Option* option : level->get_options()) {
        for (const std::string& name : Written(*option)) options += name + " ";
        const auto values = Values().find(option->get_single_name());
        if (level == &app && option->get_positional() && values != Values().end())
          words += values->second + " ";
      }
    }
    lines += "    " + Quoted(PathOf(app)) + ")\n      case \"$1\" in -*) found=" + Quoted(options) +
             " ;; *) found=" + Quoted(words) + " ;; esac ;;\n";
  });
  return lines;
}

// In what both shells understand: sets `found` to the words that may stand where $1 begins to be written, after the words $2...; or
// `files`, where a file's name is wanted.
std::string Common(const CLI::App& tree) {
  return "# Completes the words of railctl; made by `railctl completion`.\n"
         "_railctl_words() {\n"
         "  local at=\"\" previous=\"\" word\n"
         "  found=\"\" files=\"\"\n"
         "  local begun=\"$1\"; shift\n"
         "  for word in \"$@\"; do\n"
         "    previous=\"$word\"\n"
         "    case \"$at $word\" in\n" +
         Steps(tree) +
         "    esac\n"
         "  done\n"
         "  case \"$previous\" in\n" +
         ValueLines(tree) +
         "  esac\n"
         "  set -- \"$begun\"\n"
         "  case \"$at\" in\n" +
         Words(tree) +
         "  esac\n"
         "}\n";
}

constexpr const char* kBash = R"(_railctl() {
  local found files
  local begun="${COMP_WORDS[COMP_CWORD]}"
  _railctl_words "$begun" "${COMP_WORDS[@]:1:COMP_CWORD-1}"
  if [ -n "$files" ]; then
    COMPREPLY=($(compgen -f -- "$begun"))
  else
    COMPREPLY=($(compgen -W "$found" -- "$begun"))
  fi
}
complete -F _railctl railctl
)";

constexpr const char* kZsh = R"(_railctl() {
  local found files
  _railctl_words "${words[CURRENT]}" "${(@)words[2,CURRENT-1]}"
  if [[ -n "$files" ]]; then
    _files
  else
    compadd -- ${=found}
  fi
}
if [[ "${funcstack[1]}" = _railctl ]]; then
  _railctl "$@"
else
  compdef _railctl railctl
fi
)";

}  // namespace

std::string Completion(const CLI::App& tree, const std::string& shell) {
  return shell == "zsh" ? "#compdef railctl\n" + Common(tree) + kZsh : Common(tree) + kBash;
}

}  // namespace rail::railctl
