// When attachments that have moved have left their earlier tenant for good: kTwoIds after the move, which the record has.
//
// Use:      leaving.See(*record, now, UnixMs());
//           for (const int64_t id : leaving.TakeDue(now)) RAIL_TRY(store.SetLeft(id));     // next() says when to call it
// Threads:  one
// Source:   README.md of lib/engine/attach ("A namespace that changes its tenant")
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "lib/base/clock.h"
#include "lib/engine/attach/record.h"

namespace rail::engine {

class Leaving {
 public:
  // Due again after this time, if the record has not taken it.
  static constexpr std::chrono::seconds kAgain{1};

  // A move that has not been seen before is due when the wall clock says so, and at the latest kTwoIds from now: that clock may have been
  // set back.
  void See(const Record& record, Deadline now, int64_t unix_ms);
  // The attachments that are due.
  std::vector<int64_t> TakeDue(Deadline now);
  std::optional<Deadline> next() const;

 private:
  struct Move {
    int64_t since_ms = 0;
    Deadline due;
  };
  std::map<int64_t, Move> moves_;  // by attachment
};

}  // namespace rail::engine
