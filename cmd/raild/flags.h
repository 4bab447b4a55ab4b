// raild's command line.
#pragma once

#include <string>

#include "lib/base/log.h"

namespace rail::raild {

struct Flags {
  bool check_config = false;       // validate node.json, then end
  bool print_node_object = false;  // print what the API server has of this node, then end
  log::Level level = log::Level::kInfo;
  int exit_status = -1;  // >= 0: the program ends with it (--help, --version, a wrong flag)
};

Flags ParseFlags(int argc, char** argv);

}  // namespace rail::raild
