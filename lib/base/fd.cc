#include "lib/base/fd.h"

#include <unistd.h>

#include <cerrno>

namespace rail {

void Fd::Reset(int fd) {
  if (fd_ >= 0) {
    const int saved = errno;
    ::close(fd_);
    errno = saved;
  }
  fd_ = fd;
}

}  // namespace rail
