// raild's command line.
#pragma once

#include <string>

#include "lib/base/log.h"

namespace rail::raild {

struct Flags {
  bool check_config = false;  // validate node.json, then end
  bool remove = false;        // give the node back, then end
  bool force = false;         // with remove: also while pods live
  log::Level level = log::Level::kInfo;
  int exit_status = -1;  // >= 0: the program ends with it (--help, --version, a wrong flag)
};

Flags ParseFlags(int argc, char** argv);

}  // namespace rail::raild
