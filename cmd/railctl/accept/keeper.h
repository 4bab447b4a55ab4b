// Keeps what a run has made alive while the run lives, and takes it away when a signal ends the run.
//
// Use:      BlockSignals();                                           // before the first thread
//           RAIL_ASSIGN(const auto keeper, Keeper::Start(60s, renew, take_away));
//           ... the run; SIGTERM or SIGINT: take_away(), then the process ends with 128 and the signal's number ...
// Threads:  `renew` and `take_away` are called on the keeper's own. The destructor waits for it: for good, where a signal has come.
// Source:   signalfd(2), _exit(2)
#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <thread>

#include "cmd/railctl/accept/agent_call.h"
#include "lib/base/error.h"

namespace rail::accept {

// SIGTERM and SIGINT, in the calling thread and those that it starts: who waits for them hears of them. May be repeated.
sigset_t BlockSignals();

class Keeper {
 public:
  // Errors: of signalfd(2); kTransient no thread.
  static Result<std::unique_ptr<Keeper>> Start(std::chrono::milliseconds every, std::function<void()> renew,
                                               std::function<void()> take_away);
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

 private:
  Keeper() = default;
  void Keep(std::chrono::milliseconds every, const std::function<void()>& renew,
            const std::function<void()>& take_away);

  Fd signals_;
  Wake end_;
  std::thread thread_;
};

}  // namespace rail::accept
