#include "cmd/raild/pulse.h"

#include <utility>

namespace rail::raild {

void Pulse::Begin() {
  Beat();
  if (const auto watchdog = supervisor_.watchdog()) loop_.Every(*watchdog / 4, [this] { Beat(); });
}

void Pulse::Beat() {
  if (silent_ > 0) return;  // those that were asked before have not all answered
  silent_ = parts_.size();
  for (event::Loop* part : parts_) {
    part->Post([this] { loop_.Post([this] { Answered(); }); });
  }
}

void Pulse::Answered() {
  if (--silent_ > 0) return;
  if (!std::exchange(ready_, true)) supervisor_.Tell("READY=1");
  supervisor_.Tell("WATCHDOG=1");
}

}  // namespace rail::raild
