#include "cmd/railfabric/overview.h"

#include <algorithm>

namespace rail::railfabric {
namespace {

using std::chrono::milliseconds;

// At most so often, whatever happens; where a look takes long, at most this part of the time.
constexpr milliseconds kPace{100};
constexpr int kRest = 4;

}  // namespace

Overview::Overview(event::Loop& loop, TakeNews take_news) : loop_(loop), take_news_(std::move(take_news)) {
  grid_.emplace(fleet_);
}

void Overview::Changed() {
  const Deadline now = Clock::now();
  RefreshAfter(std::max(not_before_, now) - now);  // not_before_ - now would overflow at first
}

void Overview::RefreshAfter(Clock::duration wait) {
  if (timer_ != 0) loop_.Cancel(timer_);
  timer_ = loop_.After(wait, [this] {
    timer_ = 0;
    Refresh();
  });
}

bool Overview::LooksAtCauses(int64_t now_ms) const {
  return fleet_.Number(v1::FLEET_CAUSES) != causes_number_ ||
         now_ms >= causes_.NextLookMs().value_or(INT64_MAX);
}

void Overview::Refresh() {
  const Deadline began = Clock::now();
  const int64_t now_ms = UnixMs();
  bool changed = false;
  {
    const std::lock_guard lock(mutex_);
    take_news_(fleet_, now_ms);
    changed = fleet_.Number() != seen_number_;
    if (changed) grid_.emplace(fleet_);
    seen_number_ = fleet_.Number();
    if (LooksAtCauses(now_ms)) {
      causes_number_ = fleet_.Number(v1::FLEET_CAUSES);
      if (causes_.Update(fleet_, *grid_, now_ms)) {
        ++causes_changed_;
        changed = true;
      }
    }
    if (changed) Publish();
  }
  not_before_ = began + std::max<Clock::duration>(kPace, kRest * (Clock::now() - began));
  if (const auto next = causes_.NextLookMs()) RefreshAfter(std::max(milliseconds(*next - now_ms), kPace));
}

void Overview::Publish() {
  auto numbers = std::make_shared<Numbers>();
  numbers->version = current_->version + 1;
  for (const auto part : {v1::FLEET_NODES, v1::FLEET_RAILS, v1::FLEET_ATTACHMENTS})
    numbers->parts[part] = fleet_.Number(part);
  numbers->parts[v1::FLEET_CAUSES] = causes_changed_;
  const std::lock_guard lock(published_mutex_);
  current_ = std::move(numbers);
  published_.notify_all();
}

std::shared_ptr<const Numbers> Overview::Current() const {
  const std::lock_guard lock(published_mutex_);
  return current_;
}

std::shared_ptr<const Numbers> Overview::WaitNewer(uint64_t version, Deadline deadline) const {
  std::unique_lock lock(published_mutex_);
  published_.wait_until(lock, deadline, [&] { return current_->version > version; });
  return current_;
}

}  // namespace rail::railfabric
