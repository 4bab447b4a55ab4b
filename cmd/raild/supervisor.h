// What raild tells systemd, when systemd has started it: that it is up, lives, ends. Otherwise nothing is sent.
//
// Use:      Supervisor supervisor = Supervisor::FromEnvironment();   supervisor.Tell("READY=1");
// Threads:  any thread
// Source:   sd_notify(3), sd_watchdog_enabled(3): a datagram to the socket that $NOTIFY_SOCKET names
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace rail::raild {

class Supervisor {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and takes them out of the environment: what raild executes must not
  // speak for it.
  static Supervisor FromEnvironment();

  // A socket that is not there is no error: nobody is listening.
  void Tell(const std::string& state) const;

  // After how long without "WATCHDOG=1" raild is killed; nothing: never.
  std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }

 private:
  std::string socket_;  // "": nobody has started us
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace rail::raild
