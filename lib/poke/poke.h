// "state.db has changed": a plugin pokes the daemon, which need not be there.
//
// Use:      (void)Poke(paths.poke_socket);                            // plugin, after its last write
//           (void)Tell(paths.poke_socket, {"ovs-provider", "ADD", took, failed});       // plugin, at its end
//           RAIL_ASSIGN(auto pokes, PokeSocket::Bind(paths.poke_socket));   // daemon
//           loop.Watch(pokes.fd(), [&] { if (pokes.Drain().changed) Reconcile(); });
// Threads:  Poke any thread; PokeSocket one at a time
// Owns:     PokeSocket: the descriptor (close-on-exec, non-blocking) and the socket's path, removed with it
// Source:   unix(7)
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/timing.h"

namespace rail::poke {

// What a plugin tells of itself when it ends, for the metrics.
struct Ran {
  std::string plugin;
  std::string verb;  // "ADD", ...
  std::chrono::microseconds took{};
  bool failed = false;
  std::array<std::chrono::microseconds, kPartNames.size()> parts{};  // what of it each part took
};
std::string ToText(const Ran& ran);
// Nothing: no text of ours. Any plugin and verb of capital letters is taken; who counts them knows which there are.
std::optional<Ran> ParseRan(std::string_view text);

struct News {
  bool changed = false;  // somebody has poked
  std::vector<Ran> ran;
};

class PokeSocket {
 public:
  // A datagram socket at `path` (1..107 bytes, mode 0660; missing folder: 0750). A socket that a dead daemon left is replaced.
  // Errors: kInvalid the path; kExists something there is no socket, or a living daemon listens on it; kPermission.
  static Result<PokeSocket> Bind(const std::string& path);
  PokeSocket(PokeSocket&&) noexcept = default;
  PokeSocket& operator=(PokeSocket&&) = delete;
  ~PokeSocket();

  int fd() const { return fd_.get(); }  // readable after a poke
  // Takes all that is there, without waiting. Many pokes are one: the record says what has changed.
  News Drain();

 private:
  PokeSocket(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Fd fd_;
  std::string path_;
};

// One empty datagram, without waiting. No daemon (no socket, nobody listening) and a full queue are success: without
// one there is nobody to tell, with the other it will look anyway. Errors: kInvalid the path; kPermission. Safe to repeat.
Status Poke(const std::string& path);
// The same with what there is to tell, which may be lost as well; it wakes nobody up to look at the record.
Status Tell(const std::string& path, const Ran& ran);

}  // namespace rail::poke
