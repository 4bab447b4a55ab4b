// The section "frontend" of node.json: the node's own address, announced over BGP unnumbered on redundant management links.
//
// Use:      if (node.frontend.on()) for (const std::string& link : node.frontend.links) ...
// Threads:  values
// Source:   README.md of this folder ("The front end")
#pragma once

#include <string>
#include <vector>

#include "lib/base/address.h"

namespace rail::config {

struct Frontend {
  std::vector<std::string>
      links;  // 2..8 netdevs, each with a leaf at its other end; empty: there is no front end
  std::vector<IpAddress> addresses;  // 1..16 of the node itself: on the loopback, announced as /32 and /128
  // What may come in: the default route alone for a prefix of length 0, else a prefix and all within it.
  std::vector<IpPrefix> accept;
  bool bfd = false;  // a session ends when BFD says so; only while bfdd runs

  bool on() const { return !links.empty(); }
  bool operator==(const Frontend&) const = default;
};

}  // namespace rail::config
