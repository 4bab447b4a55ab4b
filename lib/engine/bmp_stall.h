// Whether bgpd's connection for what it pushes is still of use, or holds something back and is to be opened anew.
//
// Until its pull request 19744 (2025) bgpd stops pushing when what is next in its queue belongs to a session that is not up, and goes on
// with one more such entry at each later change: a session that is lost with 1,000 routes holds back the next 1,000 changes of all
// others. A new connection begins with an empty queue and the whole table.
//
// Use:      BmpStallDetector detector;  detector.Opened();  detector.SessionLost();
//           if (detector.IsDue(now)) detector.Check(sessions, table_version, now);  if (detector.stalled()) ...
// Threads:  one
// Source:   DECISIONS 63; https://github.com/FRRouting/frr/pull/19744
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "lib/base/clock.h"
#include "lib/frr/bgp.h"

namespace rail::engine {

class BmpStallDetector {
 public:
  // After a loss it is judged once more, and as long as a session is down: bgpd may have kept its routes and drops them later, in
  // a leaf's restart time of 12 bits at most (RFC 4724 section 3).
  static constexpr std::chrono::seconds kAgain{30};
  static constexpr std::chrono::seconds kKeptByBgpd{4095};

  void Opened() { lost_ = stalled_ = false; }
  void SessionLost() { lost_ = true; }
  bool IsDue(Deadline now) const { return !stalled_ && (lost_ || (again_ && now >= *again_)); }
  // When it is due next, unless a session is lost before.
  std::optional<Deadline> next() const { return stalled_ ? std::nullopt : again_; }

  // `sessions`: all of bgpd's, by interface. While one is being cleared nothing is judged: what it had told is not queued yet.
  // `table_version`: of bgpd; what has not changed cannot be held back.
  void Check(const std::map<std::string, frr::Session>& sessions, uint64_t table_version, Deadline now);

  bool stalled() const { return stalled_; }

 private:
  bool lost_ = false;
  bool stalled_ = false;
  std::optional<Deadline> again_;
  Deadline kept_until_;
  std::optional<uint64_t> version_;  // when it was last judged
};

}  // namespace rail::engine
