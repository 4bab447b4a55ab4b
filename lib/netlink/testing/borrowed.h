// A Netlink that hands every call on to another one, for who has to own what it is given.
//
// Use:      open_netlink = [&] { return std::make_unique<Borrowed>(fake); };
// Threads:  one at a time
// Owns:     nothing: the other must outlive it
#pragma once

#include "lib/netlink/netlink.h"

namespace rail::netlink::testing {

class Borrowed : public Netlink {
 public:
  explicit Borrowed(Netlink& other) : other_(other) {}

  Result<Link> GetLink(std::string_view name) override { return other_.GetLink(name); }
  Result<std::vector<Link>> ListLinks() override { return other_.ListLinks(); }
  Status SetUp(int link) override { return other_.SetUp(link); }
  Status SetDown(int link) override { return other_.SetDown(link); }
  Status SetMtu(int link, uint32_t mtu) override { return other_.SetMtu(link, mtu); }
  Status SetMac(int link, const MacAddress& mac) override { return other_.SetMac(link, mac); }
  Status Rename(int link, std::string_view name) override { return other_.Rename(link, name); }
  Status MoveLink(int link, int netns_fd, std::string_view name) override {
    return other_.MoveLink(link, netns_fd, name);
  }
  Status AddVrf(std::string_view name, uint32_t table) override { return other_.AddVrf(name, table); }
  Status SetMaster(int link, int master) override { return other_.SetMaster(link, master); }
  Status DeleteLink(int link) override { return other_.DeleteLink(link); }
  Status AddAddress(const Address& address) override { return other_.AddAddress(address); }
  Status DeleteAddress(const Address& address) override { return other_.DeleteAddress(address); }
  Result<std::vector<Address>> ListAddresses(int link) override { return other_.ListAddresses(link); }
  Status AddRoute(const Route& route) override { return other_.AddRoute(route); }
  Status DeleteRoute(const Route& route) override { return other_.DeleteRoute(route); }
  Result<std::vector<Route>> ListRoutes(uint32_t table) override { return other_.ListRoutes(table); }
  Status AddRule(const PolicyRule& rule) override { return other_.AddRule(rule); }
  Status DeleteRule(const PolicyRule& rule) override { return other_.DeleteRule(rule); }
  Result<std::vector<PolicyRule>> ListRules() override { return other_.ListRules(); }
  Status SetPermanentNeighbour(int link, const IpAddress& address, const MacAddress& mac) override {
    return other_.SetPermanentNeighbour(link, address, mac);
  }
  Result<std::vector<Neighbour>> ListNeighbours(int link) override { return other_.ListNeighbours(link); }

 private:
  Netlink& other_;
};

}  // namespace rail::netlink::testing
