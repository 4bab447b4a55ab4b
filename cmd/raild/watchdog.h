// raild's watchdog. It asks raild's threads again and again whether they still work, and tells gRPC's health service and systemd.
//
// Use:      Watchdog watchdog(loop, supervisor, [&](const Health& health) { ... });
//           watchdog.Add("bgpd", worker_loop);   watchdog.Begin();   // when the parts have work
// Threads:  `loop`'s, which does nothing else; the parts' loops must have stopped before this is destroyed
// Owns:     nothing
//
// A part works while its loop answers, or while it ends steps of a long round (Pulse). It hangs when it has done neither for kGrace.
// What a part waits for (Open vSwitch, bgpd, a plugin of IPAM) never makes it hang: each wait has a deadline. So a part that hangs
// is a fault of raild's own, which only a new raild ends.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <string>

#include "cmd/raild/health.h"
#include "cmd/raild/supervisor.h"
#include "lib/base/clock.h"
#include "lib/event/loop.h"

namespace rail::raild {

// The longest step of any part takes 40 s: bgpd's part, when a carrier is back, repairs the announcements and then resets sessions,
// each within the limit of a round (engine::kRoundLimit, 20 s). A round of the switch has that limit for each rail, and each rail is
// a step; the first installation of 200,000 rules takes about 8 s of it. Three times the longest step leaves time for a NIC that makes
// its VFs, which the kernel does in one call without a limit.
inline constexpr std::chrono::seconds kLongestStep{40};
inline constexpr std::chrono::seconds kGrace = 3 * kLongestStep;

// A thread's sign of life in the middle of a round. Any thread.
class Pulse {
 public:
  void Beat() { last_ = Clock::now(); }
  Deadline last() const { return last_; }

 private:
  std::atomic<Deadline> last_ = Deadline::min();
};

class Watchdog {
 public:
  using Tell = std::function<void(const Health&)>;

  // What readiness waits for besides the parts, as a sentence; "": nothing. Asked at each look,
  // once every part has answered.
  using WaitsFor = std::function<std::string()>;

  // `tell` is called with every change, on `loop`'s thread; `waits_for` too, each time before.
  Watchdog(event::Loop& loop, const Supervisor& supervisor, Tell tell, WaitsFor waits_for,
           Clock::duration grace = kGrace)
      : loop_(loop),
        supervisor_(supervisor),
        tell_(std::move(tell)),
        waits_for_(std::move(waits_for)),
        grace_(grace) {}
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // `name` completes "the thread for ...". `pulse`: of a part whose rounds have several steps.
  void Add(std::string name, event::Loop& part, const Pulse* pulse = nullptr) {
    parts_.push_back({std::move(name), &part, pulse});
  }
  // READY=1 is sent when every part has answered for the first time. By then each part has ended the work that it had before it was
  // asked, its first round, well or not: systemd waits for raild, not for rails. WATCHDOG=1 is sent while no part hangs.
  void Begin();

 private:
  struct Part {
    std::string name;
    event::Loop* loop;
    const Pulse* pulse;
    bool asked = false;     // and it has not answered yet
    bool answered = false;  // once, at least
    Deadline since = {};    // when it was asked
  };

  void Look();
  void Ask(Part& part);
  void Judge();
  bool Hangs(const Part& part) const;

  event::Loop& loop_;
  const Supervisor& supervisor_;
  const Tell tell_;
  const WaitsFor waits_for_;
  const Clock::duration grace_;
  std::deque<Part> parts_;  // a deque: a part that is asked keeps its place
  Health told_;
};

}  // namespace rail::raild
