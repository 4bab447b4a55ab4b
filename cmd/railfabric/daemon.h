// railfabric as a whole: it follows, looks, and serves.
//
// Use:      RAIL_ASSIGN(auto daemon, Daemon::Start(settings));   daemon->Run();
// Threads:  Run holds the calling thread, which is the loop's; gRPC has threads of its own
// Owns:     everything that it opens
#pragma once

#include <memory>

#include "cmd/railfabric/followers.h"
#include "cmd/railfabric/overview.h"
#include "cmd/railfabric/service.h"
#include "cmd/railfabric/settings.h"
#include "lib/event/loop.h"

namespace rail::railfabric {

class Daemon {
 public:
  // Errors: the files for TLS; a socket or a port that cannot be had.
  static Result<std::unique_ptr<Daemon>> Start(Settings settings);
  // Until SIGTERM or SIGINT.
  void Run();

 private:
  Daemon(Settings settings, std::unique_ptr<event::Loop> loop);
  void TakeNews(fabric::Fleet& fleet, int64_t now_ms);
  void SetReady(const char* why);

  const Settings settings_;
  const std::unique_ptr<event::Loop> loop_;
  Overview overview_;
  Followers followers_;
  bool ready_ = false;
  std::unique_ptr<Server> server_;  // last: it ends first
};

}  // namespace rail::railfabric
