#include "cmd/raild/workers/qos_worker.h"

namespace rail::raild {
namespace {

// The files of sysfs and configfs have no events.
constexpr std::chrono::seconds kLookInterval{30};
// A command that sets eight priorities makes eight events.
constexpr std::chrono::milliseconds kGather{100};

}  // namespace

void QosWorker::Start() {
  worker_.Start([this] {
    WatchLinks();
    Look();
    worker_.loop().Every(kLookInterval, [this] { Look(); });
  });
}

void QosWorker::Look() {
  if (lossless_.Look()) node_status_.Changed();
}

void QosWorker::WatchLinks() {
  worker_.FollowLinks("priorities are looked at every 30 s only", [this](const netlink::Changes* changes) {
    if (changes == nullptr || changes->priorities_changed || !changes->links.empty())
      worker_.Soon(Kind::kLook, [this] { Look(); }, kGather);
  });
}

}  // namespace rail::raild
