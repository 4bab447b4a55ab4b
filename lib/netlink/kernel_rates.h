// The kernel's Rates: generic netlink, family "devlink".
//
// Use:      RAIL_ASSIGN(auto rates, KernelRates::Open());
// Threads:  one at a time
// Owns:     one socket; caches nothing
// Source:   kernel include/uapi/linux/devlink.h, net/devlink/rate.c
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "lib/netlink/rates.h"
#include "lib/netlink/socket.h"

namespace rail::netlink {

class KernelRates : public Rates {
 public:
  // Errors: kUnsupported this kernel has no devlink.
  static Result<std::unique_ptr<Rates>> Open();

  Result<RateTrees> ListAll() override;
  Result<std::map<std::string, NicPort>> Ports() override;
  Result<RateTree> List(const DevlinkHandle& device) override;
  Status AddNode(const DevlinkHandle& device, const std::string& name, const Rate& rate) override;
  Status SetNode(const DevlinkHandle& device, const std::string& name, const Rate& rate) override;
  Status DeleteNode(const DevlinkHandle& device, const std::string& name) override;
  Status SetLeaf(const DevlinkHandle& device, uint32_t port, const std::optional<Rate>& rate,
                 const std::optional<std::string>& parent) override;

 private:
  KernelRates(Socket socket, int family) : socket_(std::move(socket)), family_(family) {}

  Socket socket_;
  int family_;  // the number of the family in this kernel
};

}  // namespace rail::netlink
