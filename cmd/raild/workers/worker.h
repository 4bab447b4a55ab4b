// A thread of raild with a loop of its own: what hangs there delays nobody else.
//
// Use:      RAIL_TRY(worker.Open());  worker.Start([&] { first look; });  worker.loop().Post(...);  worker.Stop();
// Threads:  Open, Start, Stop: the owner's; Soon: the worker's own
// Owns:     its loop and its thread
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "lib/base/clock.h"
#include "lib/event/loop.h"

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

  // Runs `round` after `gather`. Calls that come together share one round. Each kind of round has its own `scheduled`.
  void Soon(bool& scheduled, std::function<void()> round, Clock::duration gather);
  // Runs `round` at `when`, and cancels what an earlier call has set; nullopt: only cancels.
  void RetryAt(std::optional<Deadline> when, std::function<void()> round);

 private:
  std::unique_ptr<event::Loop> loop_;
  event::TimerId retry_ = 0;
  std::thread thread_;
};

}  // namespace rail::raild
