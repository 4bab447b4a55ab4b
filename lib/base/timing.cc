#include "lib/base/timing.h"

#include <utility>

namespace rail {
namespace {

thread_local Timings* current = nullptr;

}  // namespace

Timings::Timings() {
  current = this;
}

Timings::~Timings() {
  current = nullptr;
}

Part Timings::Switch(Part to) {
  const auto now = Clock::now();
  spent_[static_cast<size_t>(part_)] += now - std::exchange(since_, now);
  return std::exchange(part_, to);
}

std::array<std::chrono::microseconds, kPartNames.size()> Timings::All() {
  Switch(part_);
  std::array<std::chrono::microseconds, kPartNames.size()> all;
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = std::chrono::duration_cast<std::chrono::microseconds>(spent_[i]);
  return all;
}

Timed::Timed(Part part) : timings_(current) {
  if (timings_ != nullptr) before_ = timings_->Switch(part);
}

Timed::~Timed() {
  if (timings_ != nullptr) timings_->Switch(before_);
}

}  // namespace rail
