// Converts a node's view to rail.v1.NodeState. No gRPC, no I/O.
//
// Use:      const v1::NodeState state = StateOf(*views.Current(), Clock::now(), UnixMs());
//           StateChanges changes;  for (auto& response : changes.Next(*views.Current(), health)) ...send...
// Threads:  the functions any thread; one StateChanges one at a time
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "cmd/raild/health.h"
#include "lib/base/clock.h"
#include "lib/engine/view.h"
#include "rail/v1/state.pb.h"

namespace rail::raild {

// Without the attachments. `now` and `now_ms` (Unix time) are one moment.
v1::NodeState StateOf(const engine::NodeView& view, Clock::time_point now, int64_t now_ms,
                      const Health& raild = {});

// Remembers what was sent to one reader, by a hash of each section and attachment, and finds what must be sent next.
class StateChanges {
 public:
  // `unix_ms`: the time.
  explicit StateChanges(std::function<int64_t()> unix_ms) : unix_ms_(std::move(unix_ms)) {}

  // The responses that turn what was sent so far into `view`. The first is everything. Nothing before raild's first view. What is
  // returned counts as sent.
  std::vector<v1::WatchStateResponse> Next(const engine::NodeView& view, const Health& raild);

 private:
  v1::WatchStateResponse& Add(std::vector<v1::WatchStateResponse>& responses,
                              v1::WatchStateResponse::Section section);

  const std::function<int64_t()> unix_ms_;
  uint64_t number_ = 0;             // of the last response
  std::map<int, size_t> sections_;  // by field number
  std::map<int64_t, size_t> attachments_;
};

}  // namespace rail::raild
