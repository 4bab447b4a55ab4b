#include "cmd/railctl/accept/agent_call.h"

#include <fmt/format.h>
#include <net/if.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>

namespace rail::accept {

Wake::Wake() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Wake::Give() {
  given_ = true;
  (void)::eventfd_write(fd_.get(), 1);
}

// Reads first: what is given in between wakes once more, for nothing.
bool Wake::Take() {
  eventfd_t count = 0;
  (void)::eventfd_read(fd_.get(), &count);
  return given_.exchange(false);
}

Status WaitFor(std::span<pollfd> events, std::optional<Deadline> until) {
  for (;;) {
    timespec left{};
    if (until) {
      const auto time = std::max(*until - Clock::now(), Clock::duration::zero());
      const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
      left = {.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(time - seconds).count()};
    }
    const int ready = ::ppoll(events.data(), events.size(), until ? &left : nullptr, nullptr);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return FailErrno(errno, "wait for what comes in");
    if (events.front().revents != 0) return CallEnded();
    return {};
  }
}

Status InRange(std::string_view key, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return {};
  return Fail(Code::kInvalid, fmt::format("{} is {}: it is to be {}..{}", key, value, least, most));
}

Result<int> InterfaceIndex(std::string_view key, const std::string& name) {
  const unsigned index = ::if_nametoindex(name.c_str());
  if (index == 0) return Fail(Code::kInvalid, fmt::format("{}: the pod has no interface \"{}\"", key, name));
  return static_cast<int>(index);
}

}  // namespace rail::accept
