#include "cmd/raild/workers/publish_worker.h"

namespace rail::raild {
namespace {

// The parts of raild end their rounds together, and each round has several steps.
constexpr std::chrono::milliseconds kGather{2};

}  // namespace

PublishWorker::PublishWorker(std::unique_ptr<state::Store> store, engine::NodeStatus& node_status)
    : store_(std::move(store)), record_(*store_), node_status_(node_status) {
  node_status_.OnChange([this] {
    if (due_.exchange(true)) return;
    worker_.loop().Post([this] {
      worker_.loop().After(kGather, [this] {
        due_ = false;
        node_status_.Publish(record_);
      });
    });
  });
}

void PublishWorker::Start() {
  worker_.Start([this] { node_status_.Publish(record_); });
}

}  // namespace rail::raild
