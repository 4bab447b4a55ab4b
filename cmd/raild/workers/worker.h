// A thread of raild with a loop of its own: what hangs there delays nobody else.
//
// Use:      RAIL_TRY(worker.Open());  worker.Start([&] { first look; });  worker.loop().Post(...);  worker.Stop();
// Threads:  Open, Start, Stop: the owner's; Soon: the worker's own
// Owns:     its loop, its thread, and what it follows
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/event/loop.h"
#include "lib/netlink/monitor.h"

namespace rail::raild {

class Worker {
 public:
  Worker() = default;
  ~Worker() { Stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Status Open();
  // Runs `first` on the worker's thread, then its loop until Stop.
  void Start(std::function<void()> first);
  // Returns when the call that is running has ended.
  void Stop();

  event::Loop& loop() { return *loop_; }

  // Runs `round` after `gather`. Calls that come meanwhile for the same kind of round share it. `kind`: an enum of the worker's own.
  template <class Kind>
  void Soon(Kind kind, std::function<void()> round, Clock::duration gather) {
    static_assert(std::is_enum_v<Kind>);
    Gather(static_cast<int>(kind), std::move(round), gather);
  }
  // Runs `changed` with each batch of the kernel's events, of links and neighbours or of addresses; with nullptr where events were lost, and
  // everything has to be looked at. Where the kernel gives none, the log says so and what happens `instead`. Call each only once.
  using Changed = std::function<void(const netlink::Changes*)>;
  void FollowLinks(const std::string& instead, Changed changed);
  void FollowAddresses(const std::string& instead, Changed changed);
  // Runs `round` at `when`, and cancels what an earlier call has set; nullopt: only cancels.
  void RetryAt(std::optional<Deadline> when, std::function<void()> round);

 private:
  void Follow(Result<std::unique_ptr<netlink::Monitor>> opened, const std::string& instead, Changed changed);
  void Gather(int kind, std::function<void()> round, Clock::duration gather);

  std::unique_ptr<event::Loop> loop_;
  std::vector<std::unique_ptr<netlink::Monitor>> monitors_;
  std::set<int> gathering_;  // kinds of rounds that will come
  event::TimerId retry_ = 0;
  std::thread thread_;
};

}  // namespace rail::raild
