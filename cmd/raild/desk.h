// A few threads that work off questions which may take a while, so that gRPC's own never wait: a bounded queue, nothing more.
//
// Use:      Desk desk;  if (!desk.Ask([](Desk::Turn turn) { ... })) ...too many are waiting...
// Threads:  any thread
// Owns:     its threads; what waits when it ends is called with kClosed
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace rail::raild {

class Desk {
 public:
  enum class Turn { kNow, kClosed };
  using Job = std::function<void(Turn)>;

  explicit Desk(size_t threads = 2, size_t most_waiting = 16);
  ~Desk() { Close(); }

  // Calls `job` once, on a thread of the desk; on the caller's, with kClosed, when the desk is closed. False, and no call:
  // too many are waiting.
  bool Ask(Job job);

  // What waits is called with kClosed; returns when what is being worked on has ended. Safe to repeat.
  void Close();

 private:
  void Work();

  const size_t most_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> waiting_;
  enum class Stage { kOpen, kClosed } stage_ = Stage::kOpen;
  std::vector<std::thread> threads_;
};

}  // namespace rail::raild
