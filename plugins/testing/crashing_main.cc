// A plugin that dies, as by kill -9, at a point of its writes to the record. Built for the lab's fault matrix and never installed.
//
// RAILCNI_TEST_KILL_AT=k: it dies at the k-th point (lib/state/testing/crash_store.h) and writes the point's name to stderr last.
// 0 or unset: it never dies. Everything else is the real plugin.
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "lib/state/testing/crash_store.h"
#include "lib/wire/wire.h"
#include RAIL_PLUGIN_HEADER

int main(int argc, char** argv) {
  using namespace rail;
  engine::Deps deps = wire::RealDeps();
  const char* wanted = std::getenv("RAILCNI_TEST_KILL_AT");
  const int at = wanted == nullptr ? 0 : std::atoi(wanted);
  deps.open_store = [open = deps.open_store, at]() -> Result<std::unique_ptr<state::Store>> {
    RAIL_ASSIGN(auto store, open());
    return std::make_unique<state::testing::CrashStore>(
        std::move(store), state::testing::CrashPlan{.at = at, .crash = [](const std::string& point) {
                                                      const std::string line = "killed " + point + "\n";
                                                      (void)!::write(2, line.data(), line.size());
                                                      ::kill(::getpid(), SIGKILL);
                                                    }});
  };
  return wire::PluginMain(argc, argv, RAIL_PLUGIN_NAMESPACE::MakePlugin(deps));
}
