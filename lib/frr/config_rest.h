// Whether somebody is at work on bgpd's running configuration.
//
// Use:      ConfigRest rest("/run/frr/bgpd.vty");
//           rest.Served();  ...  if (!rest.IsSameDaemon()) repair at once;  if (rest.IsAtRest()) repair;  else look again
// Threads:  one at a time
// Source:   SO_PEERCRED: unix(7)
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>

namespace rail::frr {

class ConfigRest {
 public:
  explicit ConfigRest(std::string socket) : socket_(std::move(socket)) {}

  // Remembers which daemon serves the socket.
  void Served() { daemon_ = Daemon(); }
  // Whether the daemon is that which was remembered. False when none answers.
  bool IsSameDaemon() const;

  // Whether the running configuration is as it was at the last call. True when the daemon does not say it: then waiting is of no use.
  bool IsAtRest();

 private:
  std::optional<pid_t> Daemon() const;

  const std::string socket_;
  std::optional<pid_t> daemon_;
  std::optional<size_t> seen_;  // a hash of the running configuration
};

}  // namespace rail::frr
