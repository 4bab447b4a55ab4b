// "state.db has changed": a plugin wakeups the daemon, which need not be there.
//
// Use:      (void)Wake(paths.wake_socket);                            // plugin, after its last write
//           (void)ReportRun(paths.wake_socket, {"ovs-provider", "ADD", took, failed});       // plugin, at its end
//           RAIL_ASSIGN(auto wakeups, WakeSocket::Bind(paths.wake_socket));   // daemon
//           loop.Watch(wakeups.fd(), [&] { if (wakeups.Drain().record_changed) Reconcile(); });
// Threads:  Wake any thread; WakeSocket one at a time
// Owns:     WakeSocket: the descriptor (close-on-exec, non-blocking) and the socket's path, removed with it
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

namespace rail::event {

// What a plugin tells of itself when it ends, for the metrics.
struct PluginRun {
  std::string plugin;
  std::string verb;  // "ADD", ...
  std::chrono::microseconds took{};
  bool failed = false;
  std::array<std::chrono::microseconds, kPartNames.size()> parts{};  // what of it each part took
};
std::string ToText(const PluginRun& ran);
// Nothing: no text of ours. Any plugin and verb of capital letters is taken; who counts them knows which there are.
std::optional<PluginRun> ParsePluginRun(std::string_view text);

struct Wakeups {
  bool record_changed = false;  // somebody has woken
  std::vector<PluginRun> runs;
};

class WakeSocket {
 public:
  // A datagram socket at `path` (1..107 bytes, mode 0660; missing folder: 0750). A socket that a dead daemon left is replaced.
  // Errors: kInvalid the path; kExists something there is no socket, or a living daemon listens on it; kPermission.
  static Result<WakeSocket> Bind(const std::string& path);
  WakeSocket(WakeSocket&&) noexcept = default;
  WakeSocket& operator=(WakeSocket&&) = delete;
  ~WakeSocket();

  int fd() const { return fd_.get(); }  // readable after a wake
  // Takes all that is there, without waiting. Many wakeups are one: the record says what has changed.
  Wakeups Drain();

 private:
  WakeSocket(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Fd fd_;
  std::string path_;
};

// One empty datagram, without waiting. No daemon (no socket, nobody listening) and a full queue are success: without
// one there is nobody to tell, with the other it will look anyway. Errors: kInvalid the path; kPermission. Safe to repeat.
Status Wake(const std::string& path);
// The same with what there is to tell, which may be lost as well; it wakes nobody up to look at the record.
Status ReportRun(const std::string& path, const PluginRun& ran);

}  // namespace rail::event
