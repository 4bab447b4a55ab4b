// Threads that the kernel may refuse: at the limit of tasks of a container (pids.max) or of the machine. Only this file starts one where
// that must not end the program or pass an undo by.
//
// Use:      RAIL_ASSIGN(std::thread thread, StartThread([...] { ... }));
//           std::future<Status> done = Beside([...]() -> Status { ... });   // without a thread: by whoever waits for it
//           StopSignal stop;   stop.Wait(time);   // ends at once when another thread calls stop.Give(), then and later
// Threads:  any thread
#pragma once

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "lib/base/error.h"

namespace rail {

inline tl::unexpected<Error> NoThread(const std::system_error& error) {
  return FailErrno(error.code().value(), "no thread can be started (a limit of tasks, pids.max?)");
}

// Errors: kTransient.
template <class Body>
Result<std::thread> StartThread(Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    return NoThread(error);
  }
}

// The future's destructor waits for the end of the thread. Errors: kTransient.
template <class Work>
auto OnThread(Work work) -> Result<std::future<decltype(work())>> {
  try {
    return std::async(std::launch::async, std::move(work));
  } catch (const std::system_error& error) {
    return NoThread(error);
  }
}

// As OnThread. Where there is no thread, or `how` is deferred, get() runs the work; if nobody calls that, it does not run.
template <class Work>
auto Beside(const Work& work, std::launch how = std::launch::async) -> std::future<decltype(work())> {
  if (how == std::launch::async) {
    if (auto running = OnThread(work)) return std::move(*running);
  }
  return std::async(std::launch::deferred, work);
}

// A wait that another thread can end for good.
class StopSignal {
 public:
  void Give() {
    const std::lock_guard lock(mutex_);
    given_ = true;
    changed_.notify_all();
  }
  void Wait(std::chrono::steady_clock::duration time) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [this] { return given_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool given_ = false;
};

}  // namespace rail
