#include "cmd/raild/workers/rates_worker.h"

#include "lib/base/log.h"

namespace rail::raild {
namespace {

// A driver may change rates without an event, and what it has refused it may take later.
constexpr std::chrono::seconds kLookInterval{30};
// What raild sets makes events, too.
constexpr std::chrono::milliseconds kGather{100};
// The plugins of a chain change the record one after the other.
constexpr std::chrono::milliseconds kGatherRecord{10};

}  // namespace

void RatesWorker::Start() {
  worker_.Start([this] {
    WatchDevlink();
    Look();
    worker_.loop().Every(kLookInterval, [this] {
      if (rates_.is_needed()) Look();
    });
  });
}

void RatesWorker::RecordChanged() {
  worker_.loop().Post([this] { LookSoon(kGatherRecord); });
}

void RatesWorker::LookSoon(Clock::duration gather) {
  if (!rates_.is_needed()) return;
  worker_.Soon(Kind::kLook, [this] { Look(); }, gather);
}

void RatesWorker::Look() {
  if (rates_.Look()) node_status_.Changed();
}

void RatesWorker::WatchDevlink() {
  auto opened = netlink::DevlinkMonitor::Open();
  if (!opened) {
    if (rates_.is_needed() && opened.error().code != Code::kUnsupported)
      log::Warning("events of devlink: {}; rates are looked at every 30 s only", opened.error().message);
    return;
  }
  devlink_ = std::move(*opened);
  const Status watched = worker_.loop().Watch(devlink_->fd(), [this] {
    const auto changes = devlink_->Receive();
    if (!changes || changes->overrun || changes->ports || changes->rates) LookSoon(kGather);
  });
  if (!watched) {
    log::Warning("events of devlink: {}", watched.error().message);
    devlink_.reset();
  }
}

}  // namespace rail::raild
