#include "lib/inspect/side_by_side.h"

#include <algorithm>

#include "lib/base/thread.h"

namespace rail::inspect {

Status SideBySide::Start(const std::string& part, Deadline until, std::function<void()> look) {
  const std::lock_guard lock(mutex_);
  std::erase_if(looks_, [](const Look& each) {
    return each.running.wait_for(Clock::duration{}) == std::future_status::ready;
  });
  const bool hangs = std::ranges::any_of(
      looks_, [&](const Look& each) { return each.part == part && each.until < Clock::now(); });
  if (hangs) return Fail(Code::kTransient, "a question asked before has not been answered yet");
  RAIL_ASSIGN(std::future<void> running, OnThread(std::move(look)));
  looks_.push_back({part, until, std::move(running)});
  return {};
}

}  // namespace rail::inspect
