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
  } catch (const CLI::ParseError& e) {
    flags.exit_status = app.exit(e) == 0 ? 0 : 2;
  }
  return flags;
}

}  // namespace rail::raild
