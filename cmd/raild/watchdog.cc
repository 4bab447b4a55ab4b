#include "cmd/raild/watchdog.h"

#include <utility>

namespace rail::raild {

void Watchdog::Begin() {
  AskAll();
  if (const auto watchdog = supervisor_.watchdog()) loop_.Every(*watchdog / 4, [this] { AskAll(); });
}

void Watchdog::AskAll() {
  if (silent_ > 0) return;  // those that were asked before have not all answered
  silent_ = parts_.size();
  for (event::Loop* part : parts_) {
    part->Post([this] { loop_.Post([this] { Answered(); }); });
  }
}

void Watchdog::Answered() {
  if (--silent_ > 0) return;
  if (!std::exchange(ready_, true)) supervisor_.Tell("READY=1");
  supervisor_.Tell("WATCHDOG=1");
}

}  // namespace rail::raild
