// raild's sweep of one container on this node, without the minute's grace that raild gives a DEL that may still come. Built for the
// lab and never installed.
//
// usage: sweep_now CONTAINER-ID
#include <cstdio>

#include "lib/engine/repair/sweep.h"
#include "lib/state/testing/crash_store.h"
#include "lib/wire/wire.h"

namespace {

using namespace rail;

// Hides all other containers from the sweep: they are in the middle of their verbs.
class OneContainer : public state::testing::CrashStore {
 public:
  OneContainer(std::unique_ptr<state::Store> inner, std::string container)
      : CrashStore(std::move(inner), {}), container_(std::move(container)) {}
  Result<std::vector<state::Attachment>> List() override {
    RAIL_ASSIGN(auto all, CrashStore::List());
    std::erase_if(all, [&](const state::Attachment& a) { return a.key.container_id != container_; });
    return all;
  }

 private:
  std::string container_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CONTAINER-ID\n", argv[0]);
    return 2;
  }
  const engine::Deps deps = wire::RealDeps();
  const auto config = deps.load_config();
  auto store = deps.open_store();
  if (!config || !store) {
    std::fprintf(stderr, "%s\n", (!config ? config.error() : store.error()).message.c_str());
    return 1;
  }
  OneContainer one(std::move(*store), argv[1]);
  engine::ViewPublisher views;
  engine::NodeStatus node_status(*config, {.hostname = "sweep", .raild_version = "test"}, views);
  engine::Sweeper(*config, deps, one, node_status, Clock::duration::zero()).Run();
  return 0;
}
