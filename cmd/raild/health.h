// What raild's watchdog knows of raild itself. It says nothing about the node: a rail that is down makes raild neither hang nor unready.
#pragma once

#include <string>

namespace rail::raild {

struct Health {
  bool ready = false;  // every part has completed its first round, well or not
  std::string hung;    // "": no part hangs; else a sentence that names it
  bool operator==(const Health&) const = default;
};

}  // namespace rail::raild
