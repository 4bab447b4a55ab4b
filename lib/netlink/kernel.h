// The kernel's Netlink.
//
// Use:      RAIL_ASSIGN(auto netlink, Kernel::Open());      // inside pod.Run(...): of the pod's namespace
// Threads:  one at a time
// Owns:     one socket; caches nothing
// Source:   rtnetlink(7); README.md of this folder
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/netlink/netlink.h"
#include "lib/netlink/socket.h"

namespace rail::netlink {

class Kernel : public Netlink {
 public:
  // Errors: kPermission, kTransient (no memory, no descriptors).
  static Result<std::unique_ptr<Netlink>> Open();

  Result<Link> GetLink(std::string_view name) override;
  Result<std::vector<Link>> ListLinks() override;
  Status SetUp(int link) override;
  Status SetDown(int link) override;
  Status SetMtu(int link, uint32_t mtu) override;
  Status SetMac(int link, const MacAddress& mac) override;
  Status Rename(int link, std::string_view name) override;
  Status MoveLink(int link, int netns_fd, std::string_view name) override;

  Status AddVrf(std::string_view name, uint32_t table) override;
  Status SetMaster(int link, int master) override;
  Status DeleteLink(int link) override;

  Status AddAddress(const Address& address) override;
  Status DeleteAddress(const Address& address) override;
  Result<std::vector<Address>> ListAddresses(int link) override;

  Status AddRoute(const Route& route) override;
  Status DeleteRoute(const Route& route) override;
  Result<std::vector<Route>> ListRoutes(uint32_t table) override;

  Status AddRule(const PolicyRule& rule) override;
  Status DeleteRule(const PolicyRule& rule) override;
  Result<std::vector<PolicyRule>> ListRules() override;

  Status SetPermanentNeighbour(int link, const IpAddress& address, const MacAddress& mac) override;
  Result<std::vector<Neighbour>> ListNeighbours(int link) override;

 private:
  explicit Kernel(Socket socket) : socket_(std::move(socket)) {}
  Result<Link> LinkAt(int index);
  Status DropAltname(int link, std::string_view name);

  Socket socket_;
};

}  // namespace rail::netlink
