// The daemon's loop: calls back for descriptors, timers, signals and work from other threads, all on one thread.
//
// Use:      RAIL_ASSIGN(auto loop, Loop::Open());
//           RAIL_TRY(loop->Watch(netlink.fd(), [&] { netlink.Read(); }));
//           loop->Every(std::chrono::seconds(30), [&] { Audit(); });
//           RAIL_TRY(loop->OnSignal({SIGTERM, SIGINT}, [&] { loop->Stop(); }));
//           loop->Run();
// Threads:  Post and Stop: any thread. Everything else: the thread that runs the loop (before Run: any one thread)
// Owns:     timers, callbacks and signal handlers. Not the watched descriptors: Unwatch first, then close
// Source:   epoll(7), signal(7); only loop.cc uses asio
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "lib/base/error.h"

namespace rail::event {

using Callback = std::function<void()>;
using TimerId = uint64_t;  // never 0

class Loop {
 public:
  // Errors: kTransient or kInternal, what epoll_create(2) says.
  static Result<std::unique_ptr<Loop>> Open();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Calls `readable` whenever `fd` can be read, has an error or was closed by the other side, again and again until `fd` is
  // read or unwatched. Errors: kExists `fd` is watched already; kInvalid it is a file on a disk.
  Status Watch(int fd, Callback readable);
  // Ends all calls for `fd`, even one that is due. Does nothing if `fd` is not watched.
  void Unwatch(int fd);

  // Calls `fn` once, after `delay`.
  TimerId After(std::chrono::nanoseconds delay, Callback fn);
  // Calls `fn` after each `period`, counted from the end of the call before: a slow call delays the next one, calls never pile up.
  TimerId Every(std::chrono::nanoseconds period, Callback fn);
  // Ends all calls of `timer`. Does nothing if the timer has run or is unknown.
  void Cancel(TimerId timer);

  // Calls `fn` on the loop's thread, soon, in the order of the posts. A `fn` posted after the last Run is never called.
  void Post(Callback fn);

  // While this loop exists, calls `fn` for each of `signals` that the process gets, in place of the default action.
  // Errors: kInvalid no such signal.
  Status OnSignal(const std::vector<int>& signals, Callback fn);

  // Runs until Stop. May be called again.
  void Run();
  // Calls back for what is ready now, and for signals that have come, without waiting; what stays ready is left to the next Run.
  void RunReady();
  // Run returns after the callback that is running now. If Run is not running, the next Run returns at once.
  void Stop();

 private:
  struct Parts;
  explicit Loop(std::unique_ptr<Parts> parts);

  void AwaitReadable(int fd);
  void AwaitTimer(TimerId id);
  void AwaitSignal(size_t index);

  std::unique_ptr<Parts> parts_;
};

}  // namespace rail::event
