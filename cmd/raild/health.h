// What raild's watchdog knows of raild itself, and whether a rollout may go on. A rail that is down never makes raild hang.
#pragma once

#include <string>

namespace rail::raild {

struct Health {
  bool started = false;  // every part has completed its first round, well or not
  std::string
      waits_for;  // "": the rails are as good as they were before (engine/good_rails); else a sentence that names one
  std::string hung;  // "": no part hangs; else a sentence that names it
  bool ready() const { return started && waits_for.empty(); }
  bool operator==(const Health&) const = default;
};

}  // namespace rail::raild
