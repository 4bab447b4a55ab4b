#include "cmd/raild/api/question_queue.h"

#include <utility>

#include "lib/base/thread.h"

namespace rail::raild {

QuestionQueue::QuestionQueue(size_t threads, size_t most_waiting) : most_waiting_(most_waiting) {
  for (size_t i = 0; i < threads; ++i) {
    auto thread = StartThread([this] { Work(); });
    if (thread) threads_.push_back(std::move(*thread));
  }
}

bool QuestionQueue::Ask(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (stage_ == Stage::kOpen) {
      if (waiting_.size() >= most_waiting_ || threads_.empty()) return false;
      waiting_.push_back(std::move(job));
      changed_.notify_one();
      return true;
    }
  }
  job(Turn::kClosed);  // false would wrongly tell the client to try again in a moment
  return true;
}

void QuestionQueue::Close() {
  std::deque<Job> left;
  {
    const std::lock_guard lock(mutex_);
    stage_ = Stage::kClosed;
    left.swap(waiting_);
    changed_.notify_all();
  }
  for (const Job& job : left) job(Turn::kClosed);
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void QuestionQueue::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stage_ == Stage::kClosed || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const Job job = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    job(Turn::kNow);
    lock.lock();
  }
}

}  // namespace rail::raild
