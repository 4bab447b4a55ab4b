#include "cmd/raild/metrics/switch_looks.h"

namespace rail::raild {

// Only the caller that starts a look waits for it. Callers during a look do not wait, so a slow look delays only one page.
std::shared_ptr<const Measured> SwitchLooks::Latest() {
  std::unique_lock lock(mutex_);
  if (looking_ || with_.now() < next_) return last_;
  looking_ = true;
  lock.unlock();
  with_.post([this] { Take(); });
  lock.lock();
  ended_.wait_for(lock, with_.page_wait, [this] { return !looking_; });
  return last_;
}

void SwitchLooks::Take() {
  const auto began = with_.now();
  auto look = std::make_shared<Measured>(with_.take());
  look->ended = with_.now();
  look->took = look->ended - began;
  // A switch that has answered nothing has done no work either. Ask it again soon, to see when it is back.
  const bool worked = look->sample.rules_problem.empty() || look->sample.datapath_problem.empty();
  const Clock::duration pause = worked ? kTimesDuration * look->took : Clock::duration{};
  const std::lock_guard lock(mutex_);
  next_ = look->ended + std::max<Clock::duration>(kSpacing, pause);
  last_ = std::move(look);
  looking_ = false;
  ended_.notify_all();
}

}  // namespace rail::raild
