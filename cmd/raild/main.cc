#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "cmd/raild/api/service.h"
#include "cmd/raild/daemon.h"
#include "cmd/raild/flags.h"
#include "cmd/raild/modes.h"
#include "cmd/raild/privileges.h"
#include "lib/base/log.h"
#include "lib/config/changes.h"
#include "lib/engine/repair/origin.h"
#include "lib/event/loop.h"
#include "lib/netlink/kernel.h"
#include "lib/netlink/kernel_devlink.h"
#include "lib/sriov/lookup.h"
#include "lib/state/sqlite.h"
#include "lib/wire/wire.h"

namespace {

using namespace rail;

engine::Deps RealDeps() {
  engine::Deps deps = wire::RealDeps();
  deps.origin = std::make_shared<engine::Origin>(config::Paths::FromEnvironment().origin_file);
  return deps;
}

// Reads node.json and checks the files for TLS, which must be right before anything is touched. Errors name the key or the file.
Result<config::NodeConfig> ReadConfig(const config::Paths& paths) {
  RAIL_ASSIGN(config::NodeConfig config, config::Load(paths.config_file));
  RAIL_TRY(raild::CheckTlsFiles(config.api));
  return config;
}

int CheckThisNode(const std::string& file, const config::Paths& paths) {
  const auto netlink = netlink::Kernel::Open();
  return netlink ? raild::CheckNode(file, **netlink, paths.sysfs) : raild::Failed(netlink.error());
}

// Runs until a signal. A node.json that changes meanwhile begins anew by the new one, in this process: no more than a restart to
// pods, and one way to take a configuration. One with which raild cannot start gives way to the one before.
int Serve(config::NodeConfig config, const config::Paths& paths) {
  const raild::Supervisor supervisor = raild::Supervisor::FromEnvironment();
  // A daemon that gives way to the next one may hear no signal any more.
  bool ends = false;
  const auto signals = event::Loop::Open();
  if (!signals) return raild::Failed(signals.error());
  const Status heard = (*signals)->OnSignal({SIGTERM, SIGINT}, [&ends] { ends = true; });
  if (!heard) return raild::Failed(heard.error());
  std::optional<config::NodeConfig> before;
  Status file;
  for (;;) {
    const auto daemon = raild::Daemon::Start(config, RealDeps(), paths, supervisor, file);
    if (!daemon && before) {
      file = Fail(daemon.error().code,
                  "raild cannot start with " + config::Keys(config::Changes(*before, config)) +
                      " as the file has it now, and goes on as before: " + daemon.error().message);
      config = *std::exchange(before, std::nullopt);
      continue;
    }
    if (!daemon) return raild::Failed(daemon.error());
    (*signals)->RunReady();
    if (ends) return 0;  // before this daemon heard any
    auto next = (*daemon)->Run();
    if (!next) return 0;
    log::Info("node.json has changed ({}): beginning anew by it",
              config::Keys(config::Changes(config, *next)));
    before = std::exchange(config, std::move(*next));
    file = {};
  }
}

}  // namespace

int main(int argc, char** argv) {
  const raild::Flags flags = raild::ParseFlags(argc, argv);
  if (flags.exit_status >= 0) return flags.exit_status;
  log::Init("raild", flags.level);
  const config::Paths paths = config::Paths::FromEnvironment();
  if (const Status dropped = raild::DropPrivileges(); !dropped) return raild::Failed(dropped.error());

  if (flags.print_attachments) {
    const auto text = raild::AttachmentsText(state::Sqlite::OpenAsItIs(paths.state_file));
    if (!text) return raild::Failed(text.error());
    std::fputs(text->c_str(), stdout);
    return 0;
  }

  if (!flags.resolve_config.empty()) {
    const sriov::Lookup lookup{sriov::Sysfs(paths.sysfs), netlink::KernelDevlink::Open};
    return raild::ResolveConfig(flags, [&](const std::string& pci) { return lookup.FindUplink(pci); });
  }
  if (!flags.check_node.empty()) return CheckThisNode(flags.check_node, paths);
  if (flags.print_node_object) {
    const auto object = raild::ReadNodeObject(paths);
    if (!object) return raild::Failed(object.error());
    std::printf("%s\n", object->c_str());
    return 0;
  }
  if (flags.doctor) return raild::DoctorWithoutDaemon(RealDeps(), paths, std::cout);
  if (flags.remove) return raild::Remove(RealDeps(), paths, flags.force);

  const auto config = ReadConfig(paths);
  if (!config) return raild::Failed(config.error());
  if (flags.check_config) {
    std::printf("%s: %zu rails, right\n", paths.config_file.c_str(), config->rails.size());
    return 0;
  }
  try {
    return Serve(*config, paths);
  } catch (const std::system_error& error) {  // std::thread, at a limit of tasks
    log::Error("raild cannot start its threads (a limit of tasks, pids.max?): {}", error.what());
    return 1;
  }
}
