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

  // Runs `round` after `gather`; several calls that come together are answered by one round. One `scheduled` per kind of round.
  void Soon(bool& scheduled, std::function<void()> round, Clock::duration gather);
  // Runs `round` at `when`, in place of what was asked for before; nothing: not at all.
  void RetryAt(std::optional<Deadline> when, std::function<void()> round);

 private:
  std::unique_ptr<event::Loop> loop_;
  event::TimerId retry_ = 0;
  std::thread thread_;
};

}  // namespace rail::raild
