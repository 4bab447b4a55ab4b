// Where a thread's time goes, by part.
//
// Use:      Timings timings;                                // from now on this thread's time is told apart
//           { const Timed timed(Part::kOvsdb); ... }        // this is OVSDB's, less what a part inside it takes
//           timings.Of(Part::kOvsdb);
// Threads:  Timings belongs to the thread that made it; Timed may stand anywhere and does nothing without one
// Owns:     nothing
#pragma once

#include <array>
#include <chrono>
#include <string_view>

#include "lib/base/clock.h"

namespace rail {

// What one execution of a plugin spends its time on. kLink: waiting for the kernel to move the device. kOther: none of the others.
enum class Part { kRecord, kOvsdb, kOpenFlow, kIpam, kBgp, kLink, kPod, kOther };
inline constexpr std::array<std::string_view, 8> kPartNames = {"record", "ovsdb", "openflow", "ipam",
                                                               "bgp",    "link",  "pod",      "other"};

class Timings {
 public:
  Timings();
  ~Timings();
  Timings(const Timings&) = delete;
  Timings& operator=(const Timings&) = delete;

  // So far, the part that is under way included. All parts together are the time since the constructor.
  std::array<std::chrono::microseconds, kPartNames.size()> All();
  std::chrono::microseconds Of(Part part) { return All()[static_cast<size_t>(part)]; }

 private:
  friend class Timed;
  // The part now is another; gives the one before.
  Part Switch(Part to);

  std::array<Clock::duration, kPartNames.size()> spent_{};
  Part part_ = Part::kOther;
  Clock::time_point since_ = Clock::now();
};

class Timed {
 public:
  explicit Timed(Part part);
  ~Timed();
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  Timings* timings_;
  Part before_ = Part::kOther;
};

}  // namespace rail
