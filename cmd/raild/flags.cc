#include "cmd/raild/flags.h"

#include <CLI/CLI.hpp>
#include <map>

namespace rail::raild {

Flags ParseFlags(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "The RailCNI node daemon: keeps bridges, rules and announcements right, learns remote pods, serves "
      "rail.v1.Node.\n"
      "Files: /etc/railcni/node.json, /var/lib/railcni/state.db, /run/railcni/raild.sock; the environment "
      "variable\n"
      "RAILCNI_ROOT stands in front of all three.",
      "raild");
  app.add_flag("--check-config", flags.check_config, "read node.json, say what is wrong with it, end");
  app.add_flag("--doctor", flags.doctor,
               "what is wrong with this node, asked without a daemon, and what keeps raild from starting; changes nothing; end: 0 "
               "nothing is wrong, 1 something is");
  app.add_flag("--print-attachments", flags.print_attachments,
               "print a line for each attachment of the record, nothing if there is none, end");
  app.add_option("--check-node", flags.check_node,
                 "FILE: a node's own node.json; say what of it this node lacks, end");
  CLI::Option* resolve = app.add_option(
      "--resolve-config", flags.resolve_config,
      "FILE: the node.json for all nodes; print that of --node, or check it for all of --nodes, end");
  CLI::Option* node = app.add_option("--node", flags.node, "the node's name")->needs(resolve);
  app.add_option("--node-ip", flags.node_ip, "the node's address, status.hostIP of its pods")->needs(node);
  app.add_option("--node-object", flags.node_object,
                 "FILE: `kubectl get node NAME -o json`, where labels are needed")
      ->needs(node);
  app.add_option("--overrides", flags.overrides,
                 "FOLDER: its <node name>.json is one more rule for that node")
      ->needs(resolve);
  CLI::Option* nodes = app.add_option("--nodes", flags.nodes, "FILE: `kubectl get nodes -o json`")
                           ->needs(resolve)
                           ->excludes(node);
  app.add_flag("--print-node-object", flags.print_node_object,
               "print the Node object of $NODE_NAME as the API server has it (JSON), end");
  CLI::Option* remove = app.add_flag(
      "--remove", flags.remove,
      "give the node back as it was before RailCNI, and end: 0 all is removed, 1 refused, 3 some is left");
  app.add_flag("--force", flags.force, "with --remove: also take the network from pods that live")
      ->needs(remove);
  const std::map<std::string, log::Level> levels{{"debug", log::Level::kDebug},
                                                 {"info", log::Level::kInfo},
                                                 {"warning", log::Level::kWarning},
                                                 {"error", log::Level::kError}};
  app.add_option("--log-level", flags.level, "debug, info, warning or error (default info)")
      ->transform(CLI::CheckedTransformer(levels, CLI::ignore_case));
  app.set_version_flag("--version", std::string("raild ") + RAILCNI_VERSION);
  try {
    app.parse(argc, argv);
    if (*resolve && !*node && !*nodes) throw CLI::RequiredError("--resolve-config: --node or --nodes");
  } catch (const CLI::ParseError& e) {
    flags.exit_status = app.exit(e) == 0 ? 0 : 2;
  }
  return flags;
}

}  // namespace rail::raild
