#include "cmd/raild/workers/uplink_worker.h"

namespace rail::raild {
namespace {

constexpr std::chrono::seconds kLookInterval{30};

}  // namespace

void UplinkWorker::Start() {
  (void)watch_.Look();
  worker_.Start([this] {
    WatchLinks();
    Look();
    worker_.loop().Every(kLookInterval, [this] { Look(); });
  });
}

void UplinkWorker::Look() {
  const engine::UplinkNews news = watch_.Look();
  if (news.changed) {
    changed_(news);
    node_status_.Changed();
  }
  neighbours_.Look(worker_.loop());
}

void UplinkWorker::WatchLinks() {
  worker_.FollowLinks("carriers are looked at every 30 s only", [this](const netlink::Changes* changes) {
    if (changes == nullptr || watch_.Concerned(changes->links)) Look();
  });
}

}  // namespace rail::raild
