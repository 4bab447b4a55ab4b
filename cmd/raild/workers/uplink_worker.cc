#include "cmd/raild/workers/uplink_worker.h"

#include "lib/base/log.h"

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
  auto opened = netlink::Monitor::Open();
  if (!opened) {
    log::Warning("link events: {}; carriers are looked at every 30 s only", opened.error().message);
    return;
  }
  links_ = std::move(*opened);
  const Status watched = worker_.loop().Watch(links_->fd(), [this] {
    const auto changes = links_->Receive();
    if (!changes || changes->overrun || watch_.Concerned(changes->links)) Look();
  });
  if (!watched) log::Warning("link events: {}", watched.error().message);
}

}  // namespace rail::raild
