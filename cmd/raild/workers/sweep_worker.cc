#include "cmd/raild/workers/sweep_worker.h"

namespace rail::raild {
namespace {

constexpr std::chrono::seconds kInterval{30};
constexpr std::chrono::milliseconds kGather{100};
// Every ADD and DEL changes links, so what belongs together is gathered for longer.
constexpr std::chrono::seconds kGatherLinks{1};

engine::Deps Beating(engine::Deps deps, Pulse& pulse) {
  deps.step_ended = [&pulse] { pulse.Beat(); };
  return deps;
}

}  // namespace

SweepWorker::SweepWorker(const config::NodeConfig& config, const engine::Deps& deps,
                         std::unique_ptr<state::Store> store, engine::NodeStatus& node_status, Events events)
    : store_(std::move(store)),
      sweeper_(config, Beating(deps, pulse_), *store_, node_status),
      events_(std::move(events)) {}

void SweepWorker::Start() {
  worker_.Start([this] {
    WatchLinks();
    Run();
    worker_.loop().Every(kInterval, [this] { Run(); });
  });
}

void SweepWorker::Soon() {
  worker_.loop().Post([this] { worker_.Soon(Kind::kSweep, [this] { Run(); }, kGather); });
}

void SweepWorker::Run() {
  const engine::Swept swept = sweeper_.Run();
  if (swept.undone > 0) events_.undone();
  if (swept.devices) events_.devices();
}

// A NIC that makes its devices anew makes links on the host.
void SweepWorker::WatchLinks() {
  worker_.FollowLinks("devices of pods are looked at every 30 s only",
                      [this](const netlink::Changes* changes) {
                        if (changes == nullptr || !changes->links.empty())
                          worker_.Soon(Kind::kLinks, [this] { Run(); }, kGatherLinks);
                      });
}

}  // namespace rail::raild
