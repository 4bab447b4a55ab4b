// Frames as they are: sends them, and counts by their marks those that come in.
//
// Use:      RAIL_ASSIGN(const uint32_t sent, SendFrames(request, end));
//           RAIL_ASSIGN(FrameWatch watch, FrameWatch::Open(request));
//           RAIL_TRY(WaitFor(watch.Events(end), {}));  RAIL_ASSIGN(const bool changed, watch.Take());
// Threads:  one at a time, in the pod's network namespace when it opens the sockets
// Owns:     FrameWatch: a packet socket for each interface
// Source:   packet(7)
#pragma once

#include <poll.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/railctl/accept/agent_call.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "rail/v1/accept.pb.h"

namespace rail::accept {

// How many of them the kernel has taken: a queue that is full drops some. Errors: kInvalid the request; of socket(2) and send(2);
// kTransient `end`.
Result<uint32_t> SendFrames(const v1::SendFramesRequest& request, const Wake& end);

// Sees what an interface hands to the kernel: it is not made promiscuous, and the kernel has taken a VLAN tag away.
class FrameWatch {
 public:
  // Errors: kInvalid the request; of socket(2), with the interface.
  static Result<FrameWatch> Open(const v1::WatchFramesRequest& request);

  // What to wait for: `end`, then `more` and the sockets.
  std::vector<pollfd> Events(const Wake& end, const Wake& more) const;

  // Counts what has come in, of each socket a number that keeps nobody waiting. Whether a count has changed. Errors: of recv(2).
  Result<bool> Take();
  const v1::WatchFramesResponse& counts() const { return counts_; }

 private:
  struct Socket {
    Fd fd;
    std::string interface;
  };

  bool Count(std::string_view frame, const std::string& interface);

  std::vector<std::string> marks_;
  std::vector<Socket> sockets_;
  std::vector<char> buffer_;
  v1::WatchFramesResponse counts_;
};

}  // namespace rail::accept
