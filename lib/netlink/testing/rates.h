// Rates of NICs in memory.
//
// Use:      RatesOfNics nics;  nics.trees["pci/0000:3b:00.0"].leaves.push_back({.port = 3});  FakeRates rates(nics);
// Threads:  one at a time
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/netlink/rates.h"

namespace rail::netlink::testing {

struct RatesOfNics {
  std::map<std::string, RateTree> trees;  // by handle
  std::map<std::string, NicPort> ports;   // by link
  std::vector<std::string> changes;       // "leaf 3", "add red", in order
  uint64_t link_speed = 0;                // bytes/s: more is refused; 0: nothing is
  bool without_nodes = false;             // a driver that has none
  bool keeps_nothing = false;             // takes the rates of nodes and does not set them
};

class FakeRates : public Rates {
 public:
  explicit FakeRates(RatesOfNics& nics) : nics_(nics) {}

  Result<RateTrees> ListAll() override;
  Result<std::map<std::string, NicPort>> Ports() override { return nics_.ports; }
  Result<RateTree> List(const DevlinkHandle& device) override;
  Status AddNode(const DevlinkHandle& device, const std::string& name, const Rate& rate) override;
  Status SetNode(const DevlinkHandle& device, const std::string& name, const Rate& rate) override;
  Status DeleteNode(const DevlinkHandle& device, const std::string& name) override;
  Status SetLeaf(const DevlinkHandle& device, uint32_t port, const std::optional<Rate>& rate,
                 const std::optional<std::string>& parent) override;

 private:
  Result<RateTree*> TreeOf(const DevlinkHandle& device);
  Status Takes(const Rate& rate) const;
  Result<RateNode*> NodeOf(const DevlinkHandle& device, const std::string& name);

  RatesOfNics& nics_;
};

}  // namespace rail::netlink::testing
