// "state.db has changed": a plugin pokes the daemon, which need not be there.
//
// Use:      (void)Poke(paths.poke_socket);                            // plugin, after its last write
//           RAIL_ASSIGN(auto pokes, PokeSocket::Bind(paths.poke_socket));   // daemon
//           loop.Watch(pokes.fd(), [&] { pokes.Drain(); Reconcile(); });
// Threads:  Poke any thread; PokeSocket one at a time
// Owns:     PokeSocket: the descriptor (close-on-exec, non-blocking) and the socket's path, removed with it
// Source:   unix(7)
#pragma once

#include <string>

#include "lib/base/error.h"
#include "lib/base/fd.h"

namespace rail::poke {

class PokeSocket {
 public:
  // A datagram socket at `path` (1..107 bytes, mode 0660; missing folder: 0750). A socket that a dead daemon left is replaced.
  // Errors: kInvalid the path; kExists something there is no socket, or a living daemon listens on it; kPermission.
  static Result<PokeSocket> Bind(const std::string& path);
  PokeSocket(PokeSocket&&) noexcept = default;
  PokeSocket& operator=(PokeSocket&&) = delete;
  ~PokeSocket();

  int fd() const { return fd_.get(); }  // readable after a poke
  // Takes all pokes that are there, without waiting. Many pokes are one: the record says what has changed.
  void Drain();

 private:
  PokeSocket(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Fd fd_;
  std::string path_;
};

// Sends one empty datagram without waiting. No daemon (no socket, nobody listening) and a full queue are success: without
// one there is nobody to tell, with the other it will look anyway. Errors: kInvalid the path; kPermission. Safe to repeat.
Status Poke(const std::string& path);

}  // namespace rail::poke
