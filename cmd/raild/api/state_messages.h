// Converts a node's view to rail.v1.NodeState. No gRPC, no I/O.
//
// Use:      const v1::NodeState state = StateOf(*views.Current(), Clock::now(), UnixMs());
//           StateSnapshots snapshots(UnixMs);   const auto now = snapshots.Of(*views.Current(), health);    // for all readers
//           StateChanges changes;               for (auto& response : changes.Next(*now)) ...send...        // for one
// Threads:  the functions and StateSnapshots any; one StateChanges one at a time
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
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

// The whole of one view in parts, each with its hash, which is compared with what a reader was sent.
struct StateSnapshot {
  struct Section {
    v1::NodeState state;  // one field of it
    size_t hash = 0;
  };
  std::map<int, Section> sections;  // by field number, without the attachments
  v1::NodeState attachments;        // nothing else
  std::vector<size_t> hashes;       // of the attachments, in their order
};
StateSnapshot SnapshotOf(const engine::NodeView& view, const Health& raild, int64_t unix_ms);

// Makes each view's snapshot once, however many readers ask for it.
class StateSnapshots {
 public:
  // `unix_ms`: the time.
  explicit StateSnapshots(std::function<int64_t()> unix_ms) : unix_ms_(std::move(unix_ms)) {}
  // Any thread. nullptr before raild's first view.
  std::shared_ptr<const StateSnapshot> Of(const engine::NodeView& view, const Health& raild);

 private:
  const std::function<int64_t()> unix_ms_;
  std::mutex mutex_;
  uint64_t version_ = 0;
  Health raild_;
  std::shared_ptr<const StateSnapshot> last_;
};

// Remembers what was sent to one reader, by its hashes, and finds what must be sent next.
class StateChanges {
 public:
  // The responses that turn what was sent so far into `now`. The first is everything. What is returned counts as sent.
  std::vector<v1::WatchStateResponse> Next(const StateSnapshot& now);

 private:
  v1::WatchStateResponse& Add(std::vector<v1::WatchStateResponse>& responses,
                              v1::WatchStateResponse::Section section);

  uint64_t number_ = 0;             // of the last response
  std::map<int, size_t> sections_;  // by field number
  std::map<int64_t, size_t> attachments_;
};

}  // namespace rail::raild
