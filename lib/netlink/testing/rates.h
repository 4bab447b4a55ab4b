// Rates of NICs in memory.
//
// Use:      RatesOfNics nics;  nics.trees["pci/0000:3b:00.0"].leaves.push_back({.port = 3});  FakeRates rates(nics);
// Threads:  one at a time
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/netlink/rates.h"

namespace rail::netlink::testing {

struct RatesOfNics {
  std::map<std::string, RateTree> trees;  // by handle
  std::vector<std::string> changes;       // "leaf 3", "add red", in order
};

class FakeRates : public Rates {
 public:
  explicit FakeRates(RatesOfNics& nics) : nics_(nics) {}

  Result<RateTree> List(const DevlinkHandle& device) override;
  Status AddNode(const DevlinkHandle& device, const std::string& name, const Rate& rate) override;
  Status SetNode(const DevlinkHandle& device, const std::string& name, const Rate& rate) override;
  Status DeleteNode(const DevlinkHandle& device, const std::string& name) override;
  Status SetLeaf(const DevlinkHandle& device, uint32_t port, const std::optional<Rate>& rate,
                 const std::optional<std::string>& parent) override;

 private:
  Result<RateTree*> TreeOf(const DevlinkHandle& device);
  Result<RateNode*> NodeOf(const DevlinkHandle& device, const std::string& name);

  RatesOfNics& nics_;
};

}  // namespace rail::netlink::testing
