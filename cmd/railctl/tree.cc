#include "cmd/railctl/tree.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <tuple>
#include <utility>

#include "cmd/railctl/accept/churn.h"
#include "cmd/railctl/accept/failure.h"
#include "cmd/railctl/accept/restarts.h"
#include "cmd/railctl/accept/run.h"
#include "lib/base/address.h"
#include "lib/base/text.h"

namespace rail::railctl {
namespace {

constexpr const char* kExitCodes =
    "Exit status: 0 done, and nothing is wrong; 1 it failed, or it has found something wrong; 2 the question "
    "is wrong: the\n"
    "command line, or a rail that does not exist. `railctl COMMAND --help` says more. kubectl's habits work: "
    "-A, -n, -w, -o wide.";
constexpr const char* kGetExamples =
    "Examples:\n"
    "  railctl get attachments                    every interface of every pod on this node\n"
    "  railctl get attachments train-0 -n ml      those of one pod; also ml/train-0\n"
    "  railctl get attachments --rail rail1 -w    those of a rail now, then every change\n"
    "  railctl get rails -o wide                  all columns; -o json has every field\n"
    "  railctl get remotes --tenant team-a        where the pods of a tenant are elsewhere\n"
    "Singular names mean the same: `railctl get rail rail0`. Flags of all commands, such as -o and --server: "
    "`railctl --help`.";
constexpr const char* kAllNamespaces =
    "Without -n the pods of all namespaces are shown: a question to a node has no namespace of its own. -A "
    "says the same.";

CLI::App* Add(CLI::App& parent, Flags& flags, const std::string& name, Command command,
              const std::string& help) {
  CLI::App* sub = parent.add_subcommand(name, help);
  sub->callback([&flags, command] { flags.command = command; });
  return sub;
}

CLI::Option* AddRailOption(CLI::App& command, Flags& flags) {
  return command.add_option("--rail", flags.rail, "only this rail")->type_name("RAIL");
}

void AddTenantOption(CLI::App& command, Flags& flags) {
  command.add_option("--tenant", flags.tenant, "only this tenant: its name, or its id")->type_name("TENANT");
}

void AddNamespace(CLI::App& command, Flags& flags) {
  CLI::Option* one = command.add_option("-n,--namespace", flags.pod_namespace, "only pods of this namespace")
                         ->type_name("NAMESPACE");
  command.add_flag_callback(
             "-A,--all-namespaces", [] {}, "pods of all namespaces (the default)")
      ->excludes(one);
}

// POD, or NAMESPACE/POD.
void AddPodName(CLI::App& command, Flags& flags, bool required) {
  command
      .add_option_function<std::string>(
          "pod",
          [&flags](const std::string& text) {
            const size_t slash = text.find('/');
            flags.pod = slash == std::string::npos ? text : text.substr(slash + 1);
            if (slash == std::string::npos) return;
            const std::string named = text.substr(0, slash);
            if (!flags.pod_namespace.empty() && flags.pod_namespace != named) {
              throw CLI::ValidationError("pod", "\"" + text + "\" names the namespace " + named +
                                                    ", and -n says " + flags.pod_namespace);
            }
            flags.pod_namespace = named;
          },
          "the pod's name, or namespace/name")
      ->type_name("POD")
      ->required(required);
}

// POD and what else selects attachments.
void AddPod(CLI::App& command, Flags& flags, bool required) {
  AddNamespace(command, flags);
  AddPodName(command, flags, required);
  AddRailOption(command, flags);
  command.add_option("--ifname", flags.ifname, "only this interface of the pod")->type_name("NAME");
  command.footer(kAllNamespaces);
}

void AddAttachments(CLI::App& command, Flags& flags, bool required) {
  AddPod(command, flags, required);
  AddTenantOption(command, flags);
}

// Of a fabric.
void AddNode(CLI::App& command, Flags& flags) {
  command.add_option("--node", flags.node, "of a fabric: only this node")->type_name("NODE");
}

void AddUnit(CLI::App& command, Flags& flags) {
  command.add_option("--unit", flags.unit, "of a fabric: only this scalable unit")->type_name("UNIT");
}

// NAMESPACE/NAME
void AddJobName(CLI::App& command, Flags& flags) {
  command
      .add_option_function<std::string>(
          "job",
          [&flags](const std::string& text) {
            const size_t slash = text.find('/');
            if (slash == std::string::npos || slash == 0 || slash + 1 == text.size())
              throw CLI::ValidationError("job", "\"" + text + "\" is not namespace/name");
            flags.pod_namespace = text.substr(0, slash);
            flags.pod = text.substr(slash + 1);
          },
          "the job's namespace and name: a pod's, or what its pods' names begin with before '-'")
      ->type_name("NAMESPACE/NAME")
      ->required();
}

void AddRail(CLI::App& command, Flags& flags, bool required) {
  command.add_option("rail", flags.rail, "the rail's name")->type_name("RAIL")->required(required);
}

void AddHeaders(CLI::App& command, Flags& flags) {
  command.add_flag_callback(
      "--no-headers", [&flags] { flags.headers = false; }, "tables without their header");
}

void AddWatch(CLI::App& command, Flags& flags) {
  command.add_flag("-w,--watch", flags.watch,
                   "what is there now, then every change, until raild stops or ^C");
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
  trace.footer(
      "Example: railctl trace ml/train-0 10.0.7.9 --rail rail1\n"
      "Exit status: 0 the packet arrives, or leaves with nothing known against it; 1 it is dropped, or in "
      "doubt.");
}

// 90s, 5m, 15m: what raild keeps.
uint32_t SecondsIn(const std::string& text) {
  uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const std::string_view unit(stop, static_cast<size_t>(end - stop));
  if (error == std::errc() && number >= 1 && number <= 900) {
    if (unit == "s") return number;
    if (unit == "m" && number <= 15) return 60 * number;
  }
  throw CLI::ValidationError("--since", "\"" + text + "\" must be 1s to 900s, or 1m to 15m");
}

void AddBursts(CLI::App& bursts, Flags& flags) {
  AddAttachments(bursts, flags, false);
  AddHeaders(bursts, flags);
  bursts
      .add_option_function<std::string>(
          "--since", [&flags](const std::string& text) { flags.since_seconds = SecondsIn(text); },
          "only the last 30s, 5m, ... (default and most: 15m)")
      ->type_name("TIME");
  bursts.add_option("--most", flags.most, "so many of the longest (default 100)")
      ->check(CLI::Range(1, 10000))
      ->type_name("NUMBER");
}

void AddLibs(CLI::App& libs, Flags& flags) {
  AddNamespace(libs, flags);
  AddPodName(libs, flags, true);
  libs.add_option("--nccl", flags.nccl_version, "for this version of NCCL (default 2.30)")
      ->type_name("VERSION");
  libs.add_option("--file", flags.file,
                  "as this file: libs.env (for a shell, default), nccl.conf, ucx.conf, topology.xml")
      ->check(CLI::IsMember({"libs.env", "nccl.conf", "ucx.conf", "topology.xml"}))
      ->type_name("NAME");
  libs.footer(
      "Example: railctl libs ml/train-0 --file nccl.conf > nccl.conf\n"
      "Exit status: 0 done; 1 the pod lacks something that RDMA needs (the first lines say what), or it "
      "failed.");
}

void AddServer(CLI::App& app, Flags& flags, CLI::Option* socket) {
  CLI::Option* server = app.add_option("--server", flags.server, "ask over TCP, with mutual TLS")
                            ->type_name("HOST:PORT")
                            ->excludes(socket);
  app.add_option("--fabric", flags.fabric, "ask railfabric about all nodes, not raild about this one")
      ->type_name("unix:PATH|HOST:PORT")
      ->excludes(socket)
      ->excludes(server);
  const auto file = [&](const char* name, std::string& value, const char* what) {
    app.add_option(name, value, what)->type_name("FILE");
  };
  file("--ca-file", flags.ca_file, "over TCP: the authority that has signed the server's certificate");
  file("--cert-file", flags.cert_file, "our own certificate");
  file("--key-file", flags.key_file, "its key");
}

void AddGet(CLI::App& app, Flags& flags) {
  CLI::App* get = app.add_subcommand("get", "list what is there now, or follow it (-w)");
  get->require_subcommand(1);
  get->footer(kGetExamples);
  const auto add = [&](const char* name, const char* other, Command command, const char* help) {
    CLI::App* sub = Add(*get, flags, name, command, help);
    sub->alias(other);
    AddHeaders(*sub, flags);
    const bool looked_at =
        command == Command::kFlows || command == Command::kNics || command == Command::kGpus;
    if (!looked_at) AddWatch(*sub, flags);  // raild has no events of what it looks at when somebody asks
    return sub;
  };
  CLI::App* attachments =
      add("attachments", "attachment", Command::kAttachments, "interfaces of pods on this node");
  AddAttachments(*attachments, flags, false);
  AddNode(*attachments, flags);
  CLI::App* rails = add("rails", "rail", Command::kRails, "rails: bridge, uplink, leaf, BGP session, rules");
  CLI::Option* by_option = AddRailOption(*rails, flags);
  AddRail(*rails, flags, false);
  rails->get_option("rail")->excludes(by_option);
  AddNode(*rails, flags);
  AddUnit(*rails, flags);
  rails->add_option("--leaf", flags.leaf, "of a fabric: only behind this leaf")->type_name("LEAF");
  CLI::App* remotes =
      add("remotes", "remote", Command::kRemotes, "addresses of pods elsewhere, learned from BGP");
  AddRailOption(*remotes, flags);
  AddTenantOption(*remotes, flags);
  AddTenantOption(
      *add("tenants", "tenant", Command::kTenants, "tenants that are here, configured or known elsewhere"),
      flags);
  AddAttachments(*add("flows", "flow", Command::kFlows,
                      "rules and datapath flows of pods, and where they are carried out"),
                 flags, false);
  AddAttachments(*add("counters", "counter", Command::kCounters,
                      "rates of uplinks and pods: traffic, drops, pauses, slow path, RDMA's own"),
                 flags, false);
  AddRailOption(*add("nics", "nic", Command::kNics, "the rails' NICs on PCIe: socket, VFs, the nearest GPU"),
                flags);
  add("gpus", "gpu", Command::kGpus, "GPUs on PCIe: socket, the nearest NIC, whose they are")
      ->footer(
          "NEAREST-NIC: switch (one PCIe switch), root (one root complex), socket, far (another socket).");
  CLI::App* node =
      add("node", "nodes", Command::kNode, "the node and the health of its parts; of a fabric: all nodes");
  node->footer("-w follows the parts' health alone.");
  AddNode(*node, flags);
  AddUnit(*node, flags);
  Add(*get, flags, "topology", Command::kTopology,
      "scalable units, their leaves and nodes, as BGP shows them; -o dot for Graphviz");
  AddJobName(*add("job", "jobs", Command::kJob,
                  "of a fabric: a job's pods, where they are, which of them cannot reach each other and why"),
             flags);
}

void AddDescribe(CLI::App& app, Flags& flags) {
  CLI::App* describe =
      app.add_subcommand("describe", "everything on one thing, in words, with the doctor's findings on it");
  describe->require_subcommand(1);
  CLI::App* attachment = Add(*describe, flags, "attachment", Command::kDescribeAttachment,
                             "a pod's interfaces: record, switch, fabric, check, findings");
  attachment->alias("attachments");
  AddAttachments(*attachment, flags, true);
  CLI::App* rail = Add(*describe, flags, "rail", Command::kDescribeRail,
                       "a rail: uplink, bridge, leaf, session, attachments, findings");
  rail->alias("rails");
  AddRail(*rail, flags, true);
}

void AddAccept(CLI::App& app, Flags& flags) {
  CLI::App* accept = app.add_subcommand(
      "accept", "prove isolation, offload, reach and speed between pods; exit 1 when something failed");
  accept->require_subcommand(0, 1);
  accept->callback([&flags, accept] {
    if (accept->get_subcommands().empty()) flags.command = Command::kAccept;
  });
  accept->add_option("--stage", flags.stage, "names the nodes, the pods and their agents (JSON)")
      ->type_name("FILE");
  accept->add_flag("--kubernetes", flags.kubernetes,
                   "make pods of two tenants for the run, in a pod of the cluster (manifests/accept)");
  accept->add_option("--nodes", flags.nodes, "on these; else on two of each unit")
      ->type_name("NODE")
      ->delimiter(',');
  accept->add_option("--networks", flags.networks, "with these, one a rail; else those of ovs-provider")
      ->type_name("NAMESPACE/NAME")
      ->delimiter(',');
  accept->add_flag("--plan", flags.plan, "what would be done, and how long it takes; nothing is tried");
  accept
      ->add_option("--restarts", flags.restarts,
                   "measure for so long what the restarts cost that you make meanwhile (group restart)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1U, accept::kLongestWindow));
  accept
      ->add_option("--failure", flags.failure,
                   "measure, for so long at most, what it costs that you take a leaf's port down and up "
                   "(group failure)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1U, accept::kLongestFailure));
  accept
      ->add_option("--churn", flags.churn,
                   "measure for so long the pods that you attach and detach meanwhile (group churn)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1U, accept::kLongestChurn));
  accept->add_flag("--quick", flags.quick, "as few pairs as tell who is to blame, not all");
  accept
      ->add_option("--only", flags.only,
                   "these groups, or checks such as isolation.verbs: " + Join(accept::Groups(), ", "))
      ->type_name("GROUP")
      ->delimiter(',');
  accept->add_option("--json-file", flags.json_file, "the report; up to date after each group")
      ->type_name("FILE");
  accept->add_option("--junit-file", flags.junit_file, "the report for a CI system")->type_name("FILE");
  accept->add_option("--page", flags.page_file, "the report as one offline page")->type_name("FILE");
  accept->add_flag("--resume", flags.resume, "not again what --json-file has of a run that was stopped");
  accept->footer(
      "Exit status: 0 all passed; 1 something failed; 3 something could not be measured and nothing failed; "
      "2 the "
      "question is wrong.");
  CLI::App* show = Add(*accept, flags, "show", Command::kAcceptShow,
                       "a report once more, or out of the log of its pod; the exit status as of the run");
  show->add_option("report", flags.reports, "a file of --json-file, or a log whose last line is the report")
      ->type_name("FILE")
      ->required()
      ->expected(1);
  CLI::App* diff = Add(*accept, flags, "diff", Command::kAcceptDiff,
                       "what has changed between two reports; exit 1 when something is worse");
  diff->fallthrough(false);
  diff->add_option("reports", flags.reports, "the files of --json-file")
      ->type_name("OLD NEW")
      ->required()
      ->expected(2);
  CLI::App* agent = Add(*accept, flags, "agent", Command::kAcceptAgent,
                        "serve `railctl accept` in a pod, until SIGTERM; changes nothing outside the pod");
  agent
      ->add_option("--listen", flags.listen,
                   "unix:PATH, or ADDRESS:PORT with --ca-file, --cert-file and --key-file")
      ->type_name("WHERE")
      ->required();
  agent->add_option("--raild", flags.raild, "answer for this node's raild, too")->type_name("unix:PATH");
  for (const auto& [name, value, what] :
       {std::tuple("--ca-file", &flags.ca_file,
                   "the authority that has signed the certificate of whoever asks"),
        std::tuple("--cert-file", &flags.cert_file, "the agent's own certificate"),
        std::tuple("--key-file", &flags.key_file, "its key")})
    agent->add_option(name, *value, what)->type_name("FILE");
}

}  // namespace

std::shared_ptr<CLI::App> MakeTree(Flags& flags) {
  auto tree =
      std::make_shared<CLI::App>("Shows what this node's raild sees and does. Changes nothing.", "railctl");
  CLI::App& app = *tree;
  app.fallthrough();  // `railctl get rails -o json` means the same as `railctl -o json get rails`
  app.require_subcommand(1);
  app.footer(kExitCodes);
  CLI::Option* socket = app.add_option("--socket", flags.socket, "where raild serves")
                            ->type_name("PATH")
                            ->capture_default_str();
  AddServer(app, flags, socket);
  app.add_option_function<std::string>(
         "-o,--output",
         [&flags](const std::string& value) {
           if (value != "table" && value != "wide" && value != "json" && value != "dot") {
             throw CLI::ValidationError("--output", "\"" + value + "\" is none of table, wide, json and dot");
           }
           flags.format = value == "json"   ? Format::kJson
                          : value == "wide" ? Format::kWide
                          : value == "dot"  ? Format::kDot
                                            : Format::kTable;
         },
         "table (default), wide (all columns), json, or dot (of a topology)")
      ->type_name("FORMAT");

  Add(app, flags, "status", Command::kStatus,
      "the node on one screen, with its worst finding; exit 1 when there is a warning or worse")
      ->footer(
          "Exit status: 0 nothing worse than information; 1 a warning or worse; 2 raild cannot be asked.");
  AddGet(app, flags);
  AddDescribe(app, flags);
  CLI::App* top = Add(app, flags, "top", Command::kTop, "rails and pods live, by their traffic; q ends it");
  AddRailOption(*top, flags);
  AddNamespace(*top, flags);
  AddTenantOption(*top, flags);
  top->footer(
      "Keys: s sorts by rate, peak, pauses or name; p shows all ports, uplinks or pods; r one rail after the "
      "other; q ends.\n# is the last second's average, - its fastest tick. Into a pipe it prints one "
      "screen.");
  AddBursts(*Add(app, flags, "bursts", Command::kBursts,
                 "times above 90 % of line rate that averages hide, and each port's fastest second"),
            flags);
  CLI::App* check = Add(app, flags, "check", Command::kCheck,
                        "compare pods with the node's record; exit 1 when something differs");
  AddAttachments(*check, flags, false);
  AddHeaders(*check, flags);
  AddTrace(*Add(app, flags, "trace", Command::kTrace,
                "can a pod reach an address, and which rule decides; exit 1 when it cannot"),
           flags);
  CLI::App* doctor = Add(app, flags, "doctor", Command::kDoctor,
                         "what is wrong with this node, causes first; exit 1 when something is");
  doctor->add_flag("--all", flags.unfold, "also what follows from each cause");
  AddNode(*doctor, flags);
  AddLibs(*Add(app, flags, "libs", Command::kLibs,
               "what NCCL, UCX and libfabric are to be told in a pod, and why; exit 1 when the pod lacks "
               "something"),
          flags);
  AddAccept(app, flags);
  Add(app, flags, "health", Command::kHealth,
      "exit 0 when raild works, else 1 and a sentence that says why (for probes of liveness)")
      ->add_flag("--ready", flags.ready,
                 "... and has completed its first look at the whole node (for probes of readiness)");
  Add(app, flags, "version", Command::kVersion, "railctl's version, and raild's")
      ->add_flag("--client", flags.client_only, "railctl's alone: nobody is asked");
  CLI::App* completion = Add(app, flags, "completion", Command::kCompletion,
                             "a script that completes railctl's words in a shell");
  completion->add_option("shell", flags.shell, "bash or zsh")
      ->type_name("SHELL")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  completion->footer(
      "bash: railctl completion bash > /etc/bash_completion.d/railctl\n"
      "zsh:  railctl completion zsh > \"${fpath[1]}/_railctl\", or `source <(railctl completion zsh)` after "
      "compinit");
  return tree;
}

std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string PathOf(const CLI::App& app) {
  if (app.get_parent() == nullptr) return "";
  const std::string above = PathOf(*app.get_parent());
  return above.empty() ? app.get_name() : above + " " + app.get_name();
}

const CLI::Option* OptionOf(const CLI::App& app, const std::string& written) {
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    if (const CLI::Option* option = level->get_option_no_throw(written)) return option;
  }
  return nullptr;
}

bool TakesValue(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

}  // namespace rail::railctl
