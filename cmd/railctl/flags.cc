#include "cmd/railctl/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "cmd/railctl/tree.h"
#include "lib/base/text.h"

namespace rail::railctl {
namespace {

// The command that the arguments name.
struct Named {
  const CLI::App* command;  // the deepest that was recognised
  std::string problem;      // "": it is one that can be run
};

std::string NamesOf(const std::vector<const CLI::App*>& commands) {
  std::string names;
  for (const CLI::App* each : commands) Append(names, ", ", each->get_name());
  return names;
}

// CLI11 only says that an argument was not expected; whoever has mistyped a command wants to see those that exist.
Named NameCommand(const CLI::App& root, const std::vector<std::string>& arguments) {
  const CLI::App* at = &root;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "-h" || word == "--help") return {at, ""};
    if (word.starts_with("-")) {
      const CLI::Option* option = OptionOf(*at, word);
      if (option != nullptr && TakesValue(*option)) ++i;
      continue;
    }
    const auto below = CommandsOf(*at);
    if (below.empty()) return {at, ""};
    const auto found = std::ranges::find_if(below, [&](const CLI::App* a) { return a->check_name(word); });
    if (found == below.end()) {
      const std::string path = PathOf(*at);
      return {at, "there is no command '" + path + (path.empty() ? "" : " ") + word +
                      "'; there are: " + NamesOf(below)};
    }
    at = *found;
  }
  const auto below = CommandsOf(*at);
  if (below.empty() || at->get_require_subcommand_min() == 0) return {at, ""};
  const std::string path = PathOf(*at);
  return {at, (path.empty() ? "a command is missing" : "'" + path + "' needs one word more") +
                  "; there are: " + NamesOf(below)};
}

bool PrintsTables(Command command) {
  switch (command) {
    case Command::kAttachments:
    case Command::kRails:
    case Command::kRemotes:
    case Command::kTenants:
    case Command::kFlows:
    case Command::kCounters:
    case Command::kBursts:
    case Command::kNode:
    case Command::kJob:
    case Command::kNics:
    case Command::kGpus:
    case Command::kCheck: return true;
    default: return false;
  }
}

// What railfabric answers.
bool AsksAFabric(Command command) {
  switch (command) {
    case Command::kNode:
    case Command::kRails:
    case Command::kAttachments:
    case Command::kJob:
    case Command::kDoctor:
    case Command::kHealth: return true;
    default: return false;
  }
}

std::string FabricContradiction(const Flags& flags, const std::string& path) {
  if (flags.fabric.empty()) {
    if (flags.command == Command::kJob)
      return "'get job' asks the whole fabric: --fabric says where railfabric serves";
    if (!(flags.node.empty() && flags.unit.empty() && flags.leaf.empty()))
      return "--node, --unit and --leaf go with --fabric: raild knows its own node alone";
    return "";
  }
  if (!AsksAFabric(flags.command)) return "'" + path + "' is not asked of a fabric: leave --fabric out";
  if (flags.unfold) return "--all is not asked of a fabric: its causes say what follows from them";
  if (!flags.ifname.empty()) return "--ifname is not asked of a fabric";
  return "";
}

// The files go with TCP, all three.
std::string TlsContradiction(const Flags& flags) {
  if (flags.command == Command::kAcceptAgent) return "";
  const bool tcp = SocketOf(flags).empty();
  const bool none = flags.ca_file.empty() && flags.cert_file.empty() && flags.key_file.empty();
  const bool all = !flags.ca_file.empty() && !flags.cert_file.empty() && !flags.key_file.empty();
  if (tcp && !all)
    return "over TCP all of --ca-file, --cert-file and --key-file are needed" +
           std::string(flags.fabric.empty() ? "" : "; a socket is written unix:/path");
  if (!tcp && !none)
    return "--ca-file, --cert-file and --key-file go with --server, or with --fabric HOST:PORT";
  return "";
}

// What was asked for and cannot be had together; "": nothing.
std::string Contradiction(const Flags& flags, const std::string& path) {
  if (flags.format == Format::kWide && !PrintsTables(flags.command))
    return "-o wide is for tables, and '" + path + "' prints none";
  if (flags.format == Format::kDot && flags.command != Command::kTopology)
    return "-o dot is for `railctl get topology`, and not for '" + path + "'";
  if (flags.format == Format::kJson && flags.command == Command::kCompletion)
    return "-o json: a completion is a script of a shell";
  if (flags.format == Format::kJson && flags.command == Command::kTop)
    return "-o json: top is a screen for people; `railctl get counters -w -o json` is for programs";
  if (flags.format == Format::kJson && !flags.headers)
    return "--no-headers is for tables, and -o json prints none";
  if (flags.command == Command::kTrace && flags.protocol == "icmp" && flags.port != 0)
    return "--port: ICMP has no ports";
  if (flags.command == Command::kAccept && flags.stage.empty() != flags.kubernetes)
    return "--stage FILE, which names the nodes, the pods and their agents, or --kubernetes, which makes "
           "pods: "
           "one of the two";
  if (!flags.kubernetes && !(flags.nodes.empty() && flags.networks.empty()))
    return "--nodes and --networks go with --kubernetes: the file of --stage names its own";
  if (flags.kubernetes && flags.churn != 0)
    return "--churn goes with --stage: with --kubernetes the run's own pods come and go";
  if (flags.command == Command::kVersion && flags.client_only && !flags.server.empty())
    return "--client asks nobody, and --server says whom to ask";
  if (std::string problem = FabricContradiction(flags, path); !problem.empty()) return problem;
  return TlsContradiction(flags);
}

}  // namespace

std::string SocketOf(const Flags& flags) {
  constexpr std::string_view kUnix = "unix:";
  if (flags.fabric.starts_with(kUnix)) return flags.fabric.substr(kUnix.size());
  if (!flags.fabric.empty()) return flags.fabric.starts_with("/") ? flags.fabric : "";
  return flags.server.empty() ? flags.socket : "";
}

Parsed ParseFlags(std::vector<std::string> arguments, const std::string& default_socket) {
  Flags flags;
  flags.socket = default_socket;
  const auto tree = MakeTree(flags);
  const auto refused = [](const std::string& problem) {
    return Parsed{.text = "railctl: " + problem + "\n", .exit_code = kUsage};
  };

  const Named named = NameCommand(*tree, arguments);
  if (!named.problem.empty()) return refused(named.problem);
  const std::string path = PathOf(*named.command);
  const std::string help = "`railctl " + path + (path.empty() ? "" : " ") + "--help` says what it takes";
  try {
    std::ranges::reverse(arguments);  // CLI11 takes them in reverse order
    tree->parse(std::move(arguments));
  } catch (const CLI::ExtrasError&) {
    std::string extra;
    for (const std::string& word : tree->remaining(true)) extra += (extra.empty() ? "'" : ", '") + word + "'";
    return refused("'railctl" + (path.empty() ? "" : " " + path) + "' does not take " + extra + "; " + help);
  } catch (const CLI::Success& done) {  // --help
    std::ostringstream out;
    std::ostringstream err;
    tree->exit(done, out, err);
    return {.text = out.str()};
  } catch (const CLI::ParseError& error) {
    return refused(std::string(error.what()) + "; " + help);
  }
  if (const std::string problem = Contradiction(flags, path); !problem.empty()) return refused(problem);
  return {.flags = std::move(flags)};
}

}  // namespace rail::railctl
