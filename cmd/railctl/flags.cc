#include "cmd/railctl/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

namespace rail::railctl {
namespace {

void AddFilter(CLI::App& command, Flags& flags) {
  command.add_option("-n,--namespace", flags.pod_namespace, "only pods of this namespace")->type_name("NAME");
  command.add_option("--rail", flags.rail, "only this rail")->type_name("NAME");
}

}  // namespace

Parsed ParseFlags(std::vector<std::string> arguments, const std::string& default_socket) {
  Flags flags;
  flags.socket = default_socket;

  CLI::App app("Shows what this node's raild sees and does. Changes nothing.", "railctl");
  app.fallthrough();  // `railctl get rails -o json` means the same as `railctl -o json get rails`
  app.require_subcommand(1);
  app.add_option("--socket", flags.socket, "where raild serves")->type_name("PATH")->capture_default_str();
  app.add_option_function<std::string>(
         "-o,--output",
         [&flags](const std::string& value) {
           if (value != "table" && value != "json") {
             throw CLI::ValidationError("--output", "\"" + value + "\" is neither table nor json");
           }
           flags.format = value == "json" ? Format::kJson : Format::kTable;
         },
         "table (default) or json")
      ->type_name("FORMAT");

  const auto add = [&flags](CLI::App& parent, const std::string& name, Command command,
                            const std::string& help) {
    CLI::App* sub = parent.add_subcommand(name, help);
    sub->callback([&flags, command] { flags.command = command; });
    return sub;
  };
  CLI::App* get = app.add_subcommand("get", "list what is there now");
  get->require_subcommand(1);
  AddFilter(*add(*get, "attachments", Command::kAttachments, "interfaces of pods on this node"), flags);
  add(*get, "rails", Command::kRails, "rails: bridge, uplink, leaf, BGP session, rules");
  add(*get, "remotes", Command::kRemotes, "addresses of pods elsewhere, learned from BGP");
  add(*get, "node", Command::kNode, "the node and the health of its parts");
  AddFilter(*add(app, "watch", Command::kWatch, "attachments: those there now, then every change"), flags);
  add(app, "health", Command::kHealth, "exit 0 when raild serves, else 1 (for probes)");
  add(app, "version", Command::kVersion, "railctl's own version");

  Parsed parsed;
  try {
    std::ranges::reverse(arguments);  // as CLI11 wants them
    app.parse(std::move(arguments));
    parsed.flags = std::move(flags);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    const int code = app.exit(error, out, err);
    parsed.text = code == 0 ? out.str() : "railctl: " + err.str();
    parsed.exit_code = code == 0 ? kDone : kUsage;
  }
  return parsed;
}

}  // namespace rail::railctl
