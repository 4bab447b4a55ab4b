// Tells systemd that raild is up, is alive, or ends, if systemd has started it. Otherwise sends nothing.
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
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them from the environment, so that
  // what raild executes cannot speak for it.
  static Supervisor FromEnvironment();

  // A socket that is not there is no error: nobody is listening.
  void Tell(const std::string& state) const;

  // systemd kills raild after this time without "WATCHDOG=1"; nullopt: never.
  std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }

 private:
  std::string socket_;  // "": systemd has not started raild
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace rail::raild
