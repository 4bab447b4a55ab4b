// railfabric's command line.
#pragma once

#include <string>

#include "lib/base/log.h"

namespace rail::railfabric {

struct Flags {
  std::string config = "/etc/railcni/railfabric.json";
  bool check_config = false;  // validate it, then end
  log::Level level = log::Level::kInfo;
  int exit_status = -1;  // >= 0: the program ends with it (--help, --version, a wrong flag)
};

Flags ParseFlags(int argc, char** argv);

}  // namespace rail::railfabric
