#include "cmd/raild/workers/qos_worker.h"

#include "lib/base/log.h"

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
  auto opened = netlink::Monitor::Open();
  if (!opened) {
    log::Warning("events of priorities: {}; they are looked at every 30 s only", opened.error().message);
    return;
  }
  links_ = std::move(*opened);
  const Status watched = worker_.loop().Watch(links_->fd(), [this] {
    const auto changes = links_->Receive();
    if (!changes || changes->overrun || changes->priorities_changed || !changes->links.empty())
      worker_.Soon(look_is_due_, [this] { Look(); }, kGather);
  });
  if (!watched) log::Warning("events of priorities: {}", watched.error().message);
}

}  // namespace rail::raild
