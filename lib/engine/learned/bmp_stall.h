// Decides whether bgpd's BMP connection is still of use, or bgpd holds something back and must open it anew.
//
// Until FRR's pull request 19744 (2025), bgpd stops pushing when the next entry of its queue belongs to a session that is not up.
// Each later change lets it go past one more such entry. So a session that is lost with 1,000 routes holds back the next 1,000
// changes of all others. A new connection begins with an empty queue and the whole table.
//
// Use:      BmpStallDetector detector;  detector.Opened();  detector.SessionLost();
//           if (detector.IsDue(now)) detector.Check(sessions, table_version, now);  if (detector.stalled()) ...
// Threads:  one
// Source:   README.md of this folder (decision 63); https://github.com/FRRouting/frr/pull/19744
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
  // The connection is checked once more kAgain after a loss, and then as long as a session is down, for kKeptByBgpd at most. bgpd
  // may have kept the lost routes and drop them later, within the leaf's restart time of at most 12 bits (RFC 4724 section 3).
  static constexpr std::chrono::seconds kAgain{30};
  static constexpr std::chrono::seconds kKeptByBgpd{4095};

  void Opened() { lost_ = stalled_ = false; }
  void SessionLost() { lost_ = true; }
  bool IsDue(Deadline now) const { return !stalled_ && (lost_ || (again_ && now >= *again_)); }
  // When Check is due next, unless a session is lost before.
  std::optional<Deadline> next() const { return stalled_ ? std::nullopt : again_; }

  // `sessions`: all sessions of bgpd, by interface. Does nothing while one of them is being cleared: its routes are not in bgpd's
  // queue yet. `table_version`: of bgpd's table. If it has not changed, nothing can be held back.
  void Check(const std::map<std::string, frr::Session>& sessions, uint64_t table_version, Deadline now);

  bool stalled() const { return stalled_; }

 private:
  bool lost_ = false;
  bool stalled_ = false;
  std::optional<Deadline> again_;
  Deadline kept_until_;
  std::optional<uint64_t> version_;  // of bgpd's table at the last check
};

}  // namespace rail::engine
