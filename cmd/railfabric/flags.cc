#include "cmd/railfabric/flags.h"

#include <CLI/CLI.hpp>
#include <map>

namespace rail::railfabric {

Flags ParseFlags(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "The RailCNI fabric daemon: follows the state of every node's raild and serves rail.v1.Fabric, the "
      "fleet "
      "in one view.",
      "railfabric");
  app.add_option("--config", flags.config, "its configuration (JSON)")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_flag("--check-config", flags.check_config,
               "read the configuration, say what is wrong with it, end");
  const std::map<std::string, log::Level> levels{{"debug", log::Level::kDebug},
                                                 {"info", log::Level::kInfo},
                                                 {"warning", log::Level::kWarning},
                                                 {"error", log::Level::kError}};
  app.add_option("--log-level", flags.level, "debug, info, warning or error (default info)")
      ->transform(CLI::CheckedTransformer(levels, CLI::ignore_case));
  app.set_version_flag("--version", std::string("railfabric ") + RAILCNI_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    flags.exit_status = app.exit(e) == 0 ? 0 : 2;
  }
  return flags;
}

}  // namespace rail::railfabric
