// A bounded queue, and a few threads that answer questions which may take a while, so that gRPC's own threads never wait.
//
// Use:      QuestionQueue queue;  if (!queue.Ask([](QuestionQueue::Turn turn) { ... })) ...too many are waiting...
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

class QuestionQueue {
 public:
  enum class Turn { kNow, kClosed };
  using Job = std::function<void(Turn)>;

  explicit QuestionQueue(size_t threads = 2, size_t most_waiting = 16);
  ~QuestionQueue() { Close(); }

  // Calls `job` once: on a thread of the queue, or, if the queue is closed, on the caller's thread with kClosed. False: too many
  // jobs wait, or no thread could be started, and `job` is not called.
  bool Ask(Job job);

  // Calls every job that waits with kClosed. Returns when the running jobs have ended. Safe to repeat.
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
