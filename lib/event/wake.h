// "state.db has changed": a plugin wakes the daemon, which need not be running.
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

// What a plugin reports about its run at its end, for the metrics.
struct PluginRun {
  std::string plugin;
  std::string verb;  // "ADD", ...
  std::chrono::microseconds took{};
  bool failed = false;
  std::array<std::chrono::microseconds, kPartNames.size()> parts{};  // of `took`, by part
};
std::string ToText(const PluginRun& ran);
// Nothing: the text is not from ToText. Accepts any plugin, and any verb of capital letters; the caller knows which exist.
std::optional<PluginRun> ParsePluginRun(std::string_view text);

// Why a pod has not got its interface, for the pod's events. It is sent once and may be lost.
struct PodFailure {
  std::string plugin;
  std::string pod_namespace, pod_name, pod_uid;  // from Kubernetes: printable, without spaces
  std::string why;                               // cut after kMostWhy bytes
  static constexpr size_t kMostWhy = 900;
};
// "": a name that Kubernetes does not have.
std::string ToText(const PodFailure& failure);
std::optional<PodFailure> ParsePodFailure(std::string_view text);

struct Wakeups {
  bool record_changed = false;  // a plugin has called Wake
  std::vector<PluginRun> runs;
  std::vector<PodFailure> failures;
};

class WakeSocket {
 public:
  // Makes a datagram socket at `path` (1..107 bytes, mode 0660), and its folder (0750) if it is missing. Replaces a socket that
  // a dead daemon has left. Errors: kInvalid the path; kExists something at `path` is not a socket, or a running daemon listens
  // on it; kPermission.
  static Result<WakeSocket> Bind(const std::string& path);
  // Whether a running daemon listens at `path`.
  static bool IsServed(const std::string& path);
  WakeSocket(WakeSocket&&) noexcept = default;
  WakeSocket& operator=(WakeSocket&&) = delete;
  ~WakeSocket();

  int fd() const { return fd_.get(); }  // readable after a wake
  // Takes everything that has arrived, without waiting. Many wakeups count as one: the record says what has changed.
  Wakeups Drain();

 private:
  WakeSocket(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Fd fd_;
  std::string path_;
};

// Sends one empty datagram, without waiting. Succeeds also without a daemon (no socket, nobody listening), as there is nobody
// to wake, and when the queue is full, as the daemon then looks at the record anyway. Errors: kInvalid the path; kPermission.
// Safe to repeat.
Status Wake(const std::string& path);
// Like Wake, but sends `ran`, which may be lost, too. Does not make the daemon look at the record.
Status ReportRun(const std::string& path, const PluginRun& ran);
Status ReportFailure(const std::string& path, const PodFailure& failure);

}  // namespace rail::event
