// Measures where a thread spends its time, by part of the work.
//
// Use:      Timings timings;                                // from now on, measures this thread
//           { const Timed timed(Part::kOvsdb); ... }        // counts as OVSDB, without the time of a Timed inside it
//           timings.Of(Part::kOvsdb);
// Threads:  Timings belongs to the thread that made it; Timed works in any thread, and does nothing where there is no Timings
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

  // The time of each part up to now, with the part that is under way. The sum is the time since the constructor.
  std::array<std::chrono::microseconds, kPartNames.size()> All();
  std::chrono::microseconds Of(Part part) { return All()[static_cast<size_t>(part)]; }

 private:
  friend class Timed;
  // Makes `to` the current part. Returns the part before it.
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
