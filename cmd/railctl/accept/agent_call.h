// What the verbs of the agent share: the event that ends a call, the wait that it ends, and the checks of what is asked.
//
// Use:      std::array<pollfd, 2> events = {{PollIn(end), {.fd = socket.get(), .events = POLLIN}}};
//           RAIL_TRY(WaitFor(events, deadline));              // an error when the caller has ended the call
//           RAIL_TRY(InRange("datagrams", request.datagrams(), 1, 100'000));
// Threads:  Wake: any thread; the others are pure
// Owns:     Wake: its descriptor
// Source:   eventfd(2), ppoll(2)
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"

namespace rail::accept {

// An event that a thread waits for beside its sockets.
class Wake {
 public:
  Wake();

  // False: the process has no descriptor left.
  explicit operator bool() const { return static_cast<bool>(fd_); }
  void Give();
  // Whether it was given since the last Take.
  bool Take();
  bool given() const { return given_; }
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
  std::atomic<bool> given_ = false;
};

inline pollfd PollIn(const Wake& wake) {
  return {.fd = wake.fd(), .events = POLLIN, .revents = 0};
}

inline tl::unexpected<Error> CallEnded() {
  return Fail(Code::kTransient, "the caller has ended the call");
}

// Waits until one of `events` is ready, or until `until`. `events.front()` is the end of the call.
// Errors: kTransient the call has ended; of ppoll(2).
Status WaitFor(std::span<pollfd> events, std::optional<Deadline> until);

// Errors: kInvalid, with `key` and the range.
Status InRange(std::string_view key, uint64_t value, uint64_t least, uint64_t most);

// The index of the interface `name` in the namespace of the calling thread. Errors: kInvalid, with `key`.
Result<int> InterfaceIndex(std::string_view key, const std::string& name);

}  // namespace rail::accept
