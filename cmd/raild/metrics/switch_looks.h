// Looks at Open vSwitch and the NICs when somebody asks for metrics, but not too often for the switch, and keeps the last look.
//
// Use:      SwitchLooks looks({.post = ..., .take = ...});  const auto last = looks.Latest();
// Threads:  Latest: any thread; `take` runs where `post` runs it, one at a time
//
// After a look of duration D, the next one starts 100 x D after its end at the earliest. So looks take at most 1 % of the time of
// ovs-vswitchd's main thread, however many flows there are. A look that takes longer than a page may wait goes on, and later pages
// show it.
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
  static constexpr std::chrono::seconds kSpacing{5};  // at least, from a look's end to the next one's start
  static constexpr int kTimesDuration = 100;          // and at least so many times the look's duration

  struct With {
    std::function<void(std::function<void()>)> post;  // to the thread that looks
    std::function<Measured()> take;
    std::function<Clock::time_point()> now = Clock::now;
    Clock::duration page_wait = kPageWait;
  };
  explicit SwitchLooks(With with) : with_(std::move(with)) {}

  // Starts a look when one is due, and waits for it as long as a page may. Returns the last look that has ended. Null: none has.
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
