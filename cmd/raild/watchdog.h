// raild's watchdog. It asks raild's parts again and again whether their loops still run, and
// notifies systemd only while all of them do.
//
// Use:      Watchdog watchdog(loop, supervisor);   watchdog.Add(worker_loop);   watchdog.Begin();   // when the parts have work
// Threads:  `loop`'s; the parts' loops must have stopped before this is destroyed
// Owns:     nothing
//
// It sends READY=1 when every part has answered for the first time. By then each part has ended the work that it had before it
// was asked, its first round, well or not. It sends WATCHDOG=1 each time all parts have answered. A round is bounded (20 s), so a
// part that does not answer for longer has stopped working.
#pragma once

#include <vector>

#include "cmd/raild/supervisor.h"
#include "lib/event/loop.h"

namespace rail::raild {

class Watchdog {
 public:
  Watchdog(event::Loop& loop, const Supervisor& supervisor) : loop_(loop), supervisor_(supervisor) {}
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void Add(event::Loop& part) { parts_.push_back(&part); }
  void Begin();

 private:
  void AskAll();
  void Answered();

  event::Loop& loop_;
  const Supervisor& supervisor_;
  std::vector<event::Loop*> parts_;
  size_t silent_ = 0;  // parts that have not answered yet
  bool ready_ = false;
};

}  // namespace rail::raild
