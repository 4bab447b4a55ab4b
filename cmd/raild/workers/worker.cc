#include "cmd/raild/workers/worker.h"

#include "lib/base/log.h"

namespace rail::raild {

Status Worker::Open() {
  RAIL_ASSIGN(loop_, event::Loop::Open());
  return {};
}

void Worker::Start(std::function<void()> first) {
  loop_->Post(std::move(first));
  thread_ = std::thread([this] { loop_->Run(); });
}

void Worker::Stop() {
  if (!thread_.joinable()) return;
  loop_->Stop();
  thread_.join();
}

void Worker::Gather(int kind, std::function<void()> round, Clock::duration gather) {
  if (!gathering_.insert(kind).second) return;
  loop_->After(gather, [this, kind, round = std::move(round)] {
    gathering_.erase(kind);
    round();
  });
}

void Worker::FollowLinks(const std::string& instead, Changed changed) {
  Follow(netlink::Monitor::Open(), instead, std::move(changed));
}

void Worker::FollowAddresses(const std::string& instead, Changed changed) {
  Follow(netlink::Monitor::OpenForAddresses(), instead, std::move(changed));
}

void Worker::Follow(Result<std::unique_ptr<netlink::Monitor>> opened, const std::string& instead,
                    Changed changed) {
  const auto follow = [&]() -> Status {
    RAIL_ASSIGN(monitors_.emplace_back(), std::move(opened));
    netlink::Monitor& monitor = *monitors_.back();
    return loop_->Watch(monitor.fd(), [&monitor, changed = std::move(changed)] {
      const auto changes = monitor.Receive();
      changed(changes && !changes->overrun ? &*changes : nullptr);
    });
  };
  if (const Status followed = follow(); !followed)
    log::Warning("events of the kernel: {}; {}", followed.error().message, instead);
}

void Worker::RetryAt(std::optional<Deadline> when, std::function<void()> round) {
  loop_->Cancel(retry_);
  retry_ = when ? loop_->After(std::max(*when - Clock::now(), Clock::duration{}), std::move(round)) : 0;
}

}  // namespace rail::raild
