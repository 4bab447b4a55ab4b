#include "cmd/raild/sweep_worker.h"

namespace rail::raild {
namespace {

constexpr std::chrono::seconds kInterval{30};
constexpr std::chrono::milliseconds kGather{100};

}  // namespace

SweepWorker::SweepWorker(const config::NodeConfig& config, const engine::Deps& deps,
                         std::unique_ptr<state::Store> store, engine::NodeStatus& node_status,
                         std::function<void()> swept)
    : store_(std::move(store)), sweeper_(config, deps, *store_, node_status), swept_(std::move(swept)) {}

void SweepWorker::Start() {
  worker_.Start([this] {
    Run();
    worker_.loop().Every(kInterval, [this] { Run(); });
  });
}

void SweepWorker::Soon() {
  worker_.loop().Post([this] { worker_.Soon(scheduled_, [this] { Run(); }, kGather); });
}

void SweepWorker::Run() {
  if (sweeper_.Run() > 0) swept_();
}

}  // namespace rail::raild
