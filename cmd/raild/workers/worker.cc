#include "cmd/raild/workers/worker.h"

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

void Worker::Soon(bool& scheduled, std::function<void()> round, Clock::duration gather) {
  if (scheduled) return;
  scheduled = true;
  loop_->After(gather, [&scheduled, round = std::move(round)] {
    scheduled = false;
    round();
  });
}

void Worker::RetryAt(std::optional<Deadline> when, std::function<void()> round) {
  loop_->Cancel(retry_);
  retry_ = when ? loop_->After(std::max(*when - Clock::now(), Clock::duration{}), std::move(round)) : 0;
}

}  // namespace rail::raild
