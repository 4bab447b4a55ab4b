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
  app.add_flag("--print-node-object", flags.print_node_object,
               "print the Node object of $NODE_NAME as the API server has it (JSON), end");
  const std::map<std::string, log::Level> levels{{"debug", log::Level::kDebug},
                                                 {"info", log::Level::kInfo},
                                                 {"warning", log::Level::kWarning},
                                                 {"error", log::Level::kError}};
  app.add_option("--log-level", flags.level, "debug, info, warning or error (default info)")
      ->transform(CLI::CheckedTransformer(levels, CLI::ignore_case));
  app.set_version_flag("--version", std::string("raild ") + RAILCNI_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    flags.exit_status = app.exit(e) == 0 ? 0 : 2;
  }
  return flags;
}

}  // namespace rail::raild
