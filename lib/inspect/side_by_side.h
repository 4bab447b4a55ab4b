// Asks parts of the node side by side, so that one that hangs keeps nobody from the answers of the others. A call into the kernel cannot be
// broken off (RTNL stays locked while a NIC resets itself): its thread is left to itself until it returns.
//
// Use:      SideBySide parts;
//           auto answer = parts.Ask<Counts>("bgpd", [...] { return Look(...); });   // on a thread of its own; owns what it captures
//           Result<Counts> counts = answer.Wait(After(5s));                    // kTransient: no answer in time
// Threads:  any thread
// Owns:     the threads; its end waits for those that have not returned
#pragma once

#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "lib/base/clock.h"
#include "lib/base/error.h"

namespace rail::inspect {

class SideBySide {
 public:
  template <class T>
  class Answer {
   public:
    explicit Answer(std::future<Result<T>> coming) : coming_(std::move(coming)) {}
    Result<T> Wait(Deadline until) {
      if (coming_.wait_until(until) != std::future_status::ready)
        return Fail(Code::kTransient, "no answer in time");
      return coming_.get();
    }

   private:
    std::future<Result<T>> coming_;
  };

  // `look`: ends by `until` if it can; returns and never throws. While an earlier look at the same part is late, the part is not asked again,
  // so that a hung one costs one thread: kTransient. So is a part for which there is no thread.
  template <class T>
  Answer<T> Ask(const std::string& part, Deadline until, std::function<Result<T>()> look) {
    auto promise = std::make_shared<std::promise<Result<T>>>();
    Answer<T> answer(promise->get_future());
    const Status started =
        Start(part, until, [promise, look = std::move(look)] { promise->set_value(look()); });
    if (!started) promise->set_value(tl::make_unexpected(started.error()));
    return answer;
  }

 private:
  struct Look {
    std::string part;
    Deadline until;
    std::future<void> running;
  };
  Status Start(const std::string& part, Deadline until, std::function<void()> look);

  std::mutex mutex_;
  std::list<Look> looks_;  // that have not returned
};

}  // namespace rail::inspect
