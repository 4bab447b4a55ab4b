// Looks at Open vSwitch and the NICs for who asks for metrics, no more often than the switch can afford, and keeps the last one.
//
// Use:      SwitchLooks looks({.post = ..., .take = ...});  const auto last = looks.Latest();
// Threads:  Latest: any thread; `take` runs where `post` runs it, one at a time
//
// The next look starts 100 times the last one's duration after its end, so ovs-vswitchd's main thread spends 1 % of its time at most on
// looks, however many flows there are. A look that takes longer than a page may wait goes on, and serves the pages after it.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "cmd/raild/metrics/page.h"

namespace rail::raild {

class SwitchLooks {
 public:
  static constexpr std::chrono::milliseconds kPageWait{800};
  static constexpr std::chrono::seconds kSpacing{5};  // from a look's end to the next one's start, at least
  static constexpr int kTimesDuration = 100;          // and so many times what it took

  struct With {
    std::function<void(std::function<void()>)> post;  // to the thread that looks
    std::function<Measured()> take;
    std::function<Clock::time_point()> now = Clock::now;
    Clock::duration page_wait = kPageWait;
  };
  explicit SwitchLooks(With with) : with_(std::move(with)) {}

  // Starts a look when one is due and waits for it, as long as a page may; then the last that has ended. Null: none has.
  std::shared_ptr<const Measured> Latest();

 private:
  void Take();

  const With with_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool looking_ = false;
  Clock::time_point next_;  // not earlier
  std::shared_ptr<const Measured> last_;
};

}  // namespace rail::raild
