// Limits and shares of what the functions of a NIC send, as devlink-rate(8) shows and sets them: a tree of nodes with functions as leaves.
//
// Use:      RAIL_ASSIGN(auto rates, KernelRates::Open());
//           RAIL_TRY(rates->AddNode(nic, "railcni-red", {.max = 25'000'000'000}));  RAIL_TRY(rates->SetLeaf(nic, 3, std::nullopt, "railcni-red"));
// Threads:  one at a time
// Owns:     its socket, which stays in the namespace in which it was opened
// Source:   kernel include/uapi/linux/devlink.h (DEVLINK_CMD_RATE_*), net/devlink/rate.c; devlink-rate(8)
// Errors of every function: kNotFound no such device, node or leaf; kUnsupported by the kernel, the driver, or a NIC that is not in switchdev
// mode; kPermission; kInvalid the driver refuses the values, in its words.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/error.h"
#include "lib/netlink/devlink.h"

namespace rail::netlink {

// Bytes per second; 0: no share, no limit.
struct Rate {
  uint64_t share = 0;  // what is guaranteed when siblings want more than there is
  uint64_t max = 0;
  bool operator==(const Rate&) const = default;
};

struct RateNode {
  std::string name;
  Rate rate;
  std::string parent;  // "": the device
  bool operator==(const RateNode&) const = default;
};

struct RateLeaf {
  uint32_t port = 0;  // DevlinkPort::index
  Rate rate;
  std::string parent;
  bool operator==(const RateLeaf&) const = default;
};

struct RateTree {
  std::vector<RateNode> nodes;
  std::vector<RateLeaf> leaves;
};

using RateTrees = std::map<DevlinkHandle, RateTree>;

// A port as devlink counts those of a NIC.
struct NicPort {
  DevlinkHandle nic;
  uint32_t port = 0;  // DevlinkPort::index
  auto operator<=>(const NicPort&) const = default;
};

class Rates {
 public:
  virtual ~Rates() = default;
  // Of every NIC that has a node or a leaf.
  virtual Result<RateTrees> ListAll() = 0;
  // The ports of every NIC by the name of their link: a VF's is its representor.
  virtual Result<std::map<std::string, NicPort>> Ports() = 0;
  virtual Result<RateTree> List(const DevlinkHandle& device) = 0;  // no such device: empty
  // Errors: kExists the node is there.
  virtual Status AddNode(const DevlinkHandle& device, const std::string& name, const Rate& rate) = 0;
  virtual Status SetNode(const DevlinkHandle& device, const std::string& name,
                         const Rate& rate) = 0;  // safe to repeat
  // Its leaves must have gone to another parent. Errors: kBusy it has leaves.
  virtual Status DeleteNode(const DevlinkHandle& device, const std::string& name) = 0;
  // What has no value stays as it is. `parent`: a node; "": the device itself. Safe to repeat.
  virtual Status SetLeaf(const DevlinkHandle& device, uint32_t port, const std::optional<Rate>& rate,
                         const std::optional<std::string>& parent) = 0;
};

}  // namespace rail::netlink
