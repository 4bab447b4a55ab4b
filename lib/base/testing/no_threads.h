// While it lives, no thread can be made, as at the limit of tasks of a cgroup.
//
// Use:      const NoThreads none;
// Threads:  one at a time in the process
#pragma once

#include <pthread.h>

#include <cstddef>

namespace rail::testing {

class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, size_t{1} << 60);  // no address space has room for it
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace rail::testing
