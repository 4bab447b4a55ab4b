// A connected unix stream socket whose every operation ends by a deadline.
//
// Use:      RAIL_ASSIGN(auto socket, UnixStream::Connect("/run/frr/bgpd.vty", deadline));
//           RAIL_TRY(socket.Write(bytes, deadline));
//           RAIL_ASSIGN(size_t n, socket.Read(buffer, deadline));      // 0: the peer closed
// Threads:  one at a time
// Owns:     the descriptor (close-on-exec, non-blocking)
// Source:   unix(7), connect(2), poll(2)
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"

namespace rail {

class UnixStream {
 public:
  // Errors: kTransient nobody listens, or the deadline passed; kNotFound no such socket (both say the path);
  //         kInvalid a path of more than 107 bytes; kPermission. Safe to repeat.
  static Result<UnixStream> Connect(const std::string& path, Deadline deadline);

  // Writes all of `bytes`. Errors: kTransient (deadline, or the peer is gone).
  Status Write(std::string_view bytes, Deadline deadline);

  // Reads 1..buffer.size() bytes, as many as are there; 0 when the peer has closed.
  // Errors: kTransient (deadline, reset).
  Result<size_t> Read(std::span<char> buffer, Deadline deadline);

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

 private:
  UnixStream(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Status Wait(short events, Deadline deadline, std::string_view doing) const;

  Fd fd_;
  std::string path_;
};

}  // namespace rail
