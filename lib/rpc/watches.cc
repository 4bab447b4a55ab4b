#include "lib/rpc/watches.h"

#include <algorithm>
#include <chrono>
#include <string>

namespace rail::rpc {
namespace {

// A wait for a view cannot be interrupted, so this bounds how long Stop waits for it.
constexpr auto kViewWait = std::chrono::milliseconds(200);

}  // namespace

grpc::Status Watches::Add(Watch* watch, const void* listener, size_t most) {
  const std::lock_guard lock(mutex_);
  if (stage_ == Stage::kStopping) return stopping_;
  const auto same_listener = [listener](const auto& entry) { return entry.second == listener; };
  if (std::ranges::count_if(watches_, same_listener) >= static_cast<ptrdiff_t>(most)) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, std::to_string(most) + " clients are watching already"};
  }
  watches_.emplace(watch, listener);
  changed_.notify_one();
  return grpc::Status::OK;
}

void Watches::Remove(Watch* watch) {
  const std::lock_guard lock(mutex_);
  watches_.erase(watch);
}

void Watches::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stage_ = Stage::kStopping;
    for (const auto& [watch, listener] : watches_) watch->End(stopping_);
    changed_.notify_one();
  }
  if (follower_.joinable()) follower_.join();
}

void Watches::Follow() {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stage_ == Stage::kStopping || !watches_.empty(); });
    if (stage_ == Stage::kStopping) return;
    lock.unlock();
    const uint64_t now = wait_newer_(seen, After(kViewWait));
    lock.lock();
    if (std::exchange(seen, now) == now) continue;
    for (const auto& [watch, listener] : watches_) watch->Look();
  }
}

}  // namespace rail::rpc
