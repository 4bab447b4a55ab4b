#include "cmd/railctl/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

#include "lib/base/address.h"

namespace rail::railctl {
namespace {

void AddFilter(CLI::App& command, Flags& flags) {
  command.add_option("-n,--namespace", flags.pod_namespace, "only pods of this namespace")->type_name("NAME");
  command.add_option("--rail", flags.rail, "only this rail")->type_name("NAME");
}

// POD, or NAMESPACE/POD.
void AddPod(CLI::App& command, Flags& flags, bool required) {
  command
      .add_option_function<std::string>(
          "pod",
          [&flags](const std::string& text) {
            const size_t slash = text.find('/');
            flags.pod = slash == std::string::npos ? text : text.substr(slash + 1);
            if (slash != std::string::npos) flags.pod_namespace = text.substr(0, slash);
          },
          "the pod's name, or namespace/name")
      ->type_name("POD")
      ->required(required);
  AddFilter(command, flags);
  command.add_option("--ifname", flags.ifname, "only this interface of the pod")->type_name("NAME");
}

std::string AddressOrWhy(const std::string& text) {
  const auto address = IpAddress::Parse(text);
  return address ? "" : address.error().message;
}

std::string MacOrWhy(const std::string& text) {
  const auto mac = MacAddress::Parse(text);
  return mac ? "" : mac.error().message;
}

void AddTrace(CLI::App& trace, Flags& flags) {
  AddPod(trace, flags, true);
  trace.add_option("address", flags.destination, "where the packet goes")
      ->type_name("ADDRESS")
      ->required()
      ->check(AddressOrWhy);
  trace.add_option("--protocol", flags.protocol, "udp (default), tcp or icmp")
      ->check(CLI::IsMember({"udp", "tcp", "icmp"}))
      ->type_name("NAME");
  trace.add_option("--port", flags.port, "destination port (default 4791, RoCEv2)")
      ->check(CLI::Range(1, 65535))
      ->type_name("NUMBER");
  trace
      .add_option("--as-address", flags.as_address, "send with another source address: what stops a forger?")
      ->check(AddressOrWhy)
      ->type_name("ADDRESS");
  trace.add_option("--as-mac", flags.as_mac, "send with another source MAC")
      ->check(MacOrWhy)
      ->type_name("MAC");
}

void AddServer(CLI::App& app, Flags& flags) {
  CLI::Option* server =
      app.add_option("--server", flags.server, "ask over TCP, with mutual TLS")->type_name("HOST:PORT");
  const auto file = [&](const char* name, std::string& value, const char* what) {
    CLI::Option* option = app.add_option(name, value, what)->type_name("FILE")->needs(server);
    server->needs(option);
  };
  file("--ca-file", flags.ca_file, "the authority that has signed raild's certificate");
  file("--cert-file", flags.cert_file, "our own certificate");
  file("--key-file", flags.key_file, "its key");
}

}  // namespace

Parsed ParseFlags(std::vector<std::string> arguments, const std::string& default_socket) {
  Flags flags;
  flags.socket = default_socket;

  CLI::App app("Shows what this node's raild sees and does. Changes nothing.", "railctl");
  app.fallthrough();  // `railctl get rails -o json` means the same as `railctl -o json get rails`
  app.require_subcommand(1);
  app.add_option("--socket", flags.socket, "where raild serves")->type_name("PATH")->capture_default_str();
  AddServer(app, flags);
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
  add(*get, "tenants", Command::kTenants, "tenants that are here, configured or known elsewhere");
  AddPod(*add(*get, "flows", Command::kFlows,
              "rules and datapath flows of pods, and where they are carried out"),
         flags, false);
  add(*get, "node", Command::kNode, "the node and the health of its parts");
  AddFilter(*add(app, "watch", Command::kWatch, "attachments: those there now, then every change"), flags);
  AddPod(*add(app, "check", Command::kCheck,
              "compare pods with the node's record; exit 1 when something differs"),
         flags, false);
  AddTrace(*add(app, "trace", Command::kTrace,
                "can a pod reach an address, and which rule decides; exit 1 when it cannot"),
           flags);
  add(app, "doctor", Command::kDoctor, "what is wrong with this node, causes first; exit 1 when something is")
      ->add_flag("--all", flags.unfold, "also what follows from each cause");
  add(app, "health", Command::kHealth,
      "exit 0 when raild works, else 1 and a sentence that says why (for probes of liveness)")
      ->add_flag("--ready", flags.ready,
                 "... and has completed its first look at the whole node (for probes of readiness)");
  add(app, "version", Command::kVersion, "railctl's own version");

  Parsed parsed;
  try {
    std::ranges::reverse(arguments);  // CLI11 takes them in reverse order
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
