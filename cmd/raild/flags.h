// raild's command line.
#pragma once

#include <string>

#include "lib/base/log.h"

namespace rail::raild {

struct Flags {
  bool check_config = false;       // validate node.json, then end
  bool doctor = false;             // say what is wrong with the node and with raild's start, then end
  bool print_attachments = false;  // print what the record holds, then end
  std::string check_node;          // a plain node.json to hold against this node, then end
  std::string
      resolve_config;  // the file for all nodes: print the plain one of --node, or a line for each of --nodes
  std::string node;    // a node's name
  std::string node_ip;             // its address, as Kubernetes knows it
  std::string node_object;         // its object of the API server, for its labels
  std::string overrides;           // a folder: <node>.json is merged into what the file says for that node
  std::string nodes;               // the output of `kubectl get nodes -o json`
  bool print_node_object = false;  // print what the API server has of this node, then end
  bool remove = false;             // give the node back, then end
  bool force = false;              // with remove: also while pods live
  log::Level level = log::Level::kInfo;
  int exit_status = -1;  // >= 0: the program ends with it (--help, --version, a wrong flag)
};

Flags ParseFlags(int argc, char** argv);

}  // namespace rail::raild
