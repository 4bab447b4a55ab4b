// Errors that a fake gives when a test asks for them.
//
// Use:      fake.FailNext(2, {Code::kTransient, "down"});     // the next two calls fail, without any effect
//           fake.FailAfter(3, {Code::kTransient, "down"});    // three calls succeed, then one fails
// Threads:  any thread
#pragma once

#include <mutex>
#include <utility>

#include "lib/base/error.h"

namespace rail::ovs::testing {

class Faults {
 public:
  void FailNext(int calls, Error error) { Set(0, calls, std::move(error)); }
  void FailAfter(int calls, Error error) { Set(calls, 1, std::move(error)); }

  // Called first in every operation of the fake.
  Status Check() {
    const std::scoped_lock lock(mutex_);
    if (after_ > 0) {
      --after_;
      return {};
    }
    if (count_ == 0) return {};
    --count_;
    return tl::make_unexpected(error_);
  }

 private:
  void Set(int after, int count, Error error) {
    const std::scoped_lock lock(mutex_);
    after_ = after;
    count_ = count;
    error_ = std::move(error);
  }

  std::mutex mutex_;
  int after_ = 0;
  int count_ = 0;
  Error error_;
};

}  // namespace rail::ovs::testing
