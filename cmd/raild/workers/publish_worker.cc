#include "cmd/raild/workers/publish_worker.h"

namespace rail::raild {
namespace {

// The parts of raild end their rounds together, and each round has several steps.
constexpr std::chrono::milliseconds kGather{2};

}  // namespace

PublishWorker::PublishWorker(std::unique_ptr<state::Store> store, engine::NodeStatus& node_status,
                             std::function<void()> published)
    : store_(std::move(store)),
      record_(*store_),
      node_status_(node_status),
      published_(std::move(published)) {
  node_status_.OnChange([this] {
    if (due_.exchange(true)) return;
    worker_.loop().Post([this] {
      worker_.loop().After(kGather, [this] {
        due_ = false;
        Publish();
      });
    });
  });
}

void PublishWorker::Start() {
  worker_.Start([this] { Publish(); });
}

void PublishWorker::Publish() {
  node_status_.Publish(record_);
  published_();
}

}  // namespace rail::raild
