// A file descriptor that is closed when its owner is destroyed.
//
// Use:      Fd fd(::open(path, O_RDONLY | O_CLOEXEC));  if (!fd) return FailErrno(errno, "open ...");
// Threads:  one owner
// Owns:     the descriptor; errno is kept across the close
#pragma once

#include <utility>

namespace rail {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) Reset(other.Release());
    return *this;
  }
  ~Fd() { Reset(); }

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1);

 private:
  int fd_ = -1;
};

}  // namespace rail
