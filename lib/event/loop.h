// The daemon's loop: descriptors, timers, signals and work from other threads, all called on one thread.
//
// Use:      RAIL_ASSIGN(auto loop, Loop::Open());
//           RAIL_TRY(loop->Watch(netlink.fd(), [&] { netlink.Read(); }));
//           loop->Every(std::chrono::seconds(30), [&] { Audit(); });
//           RAIL_TRY(loop->OnSignal({SIGTERM, SIGINT}, [&] { loop->Stop(); }));
//           loop->Run();
// Threads:  Post and Stop any thread; everything else the thread that runs the loop (or any one before Run)
// Owns:     timers, callbacks and signal handlers. Not the watched descriptors: Unwatch first, then close
// Source:   epoll(7), signal(7); asio inside loop.cc alone
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "lib/base/error.h"

namespace rail::event {

using Callback = std::function<void()>;
using TimerId = uint64_t;  // 0 is never given

class Loop {
 public:
  // Errors: kTransient or kInternal, what epoll_create(2) says.
  static Result<std::unique_ptr<Loop>> Open();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Calls `readable` whenever `fd` can be read, has an error or was closed by the other side, again and again until it is
  // read or unwatched. Errors: kExists it is watched already; kInvalid a file on a disk.
  Status Watch(int fd, Callback readable);
  // Calls `fn` once, when `fd`, which is watched, can be written or has an error; not at all after Unwatch.
  void WhenWritable(int fd, Callback fn);
  // No call follows, not even one that is due. Not watched: nothing happens.
  void Unwatch(int fd);

  // Calls `fn` once, after `delay`.
  TimerId After(std::chrono::nanoseconds delay, Callback fn);
  // Calls `fn` after each `period`, counted from the end of the call before: a slow call delays, it never piles up.
  TimerId Every(std::chrono::nanoseconds period, Callback fn);
  // No call follows. A timer that has run or is unknown: nothing happens.
  void Cancel(TimerId timer);

  // Calls `fn` on the loop's thread, soon, in the order of posting. What is posted after the last Run is dropped.
  void Post(Callback fn);

  // Calls `fn` for each of `signals` that the process gets, in place of their default action, while this loop lives.
  // Errors: kInvalid no such signal.
  Status OnSignal(const std::vector<int>& signals, Callback fn);

  // Until Stop. May be called again.
  void Run();
  // Run returns after the callback that is running now; the next Run does when none is running.
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
