// A namespace's links, addresses, routes, rules and neighbours in memory; several of them make a host and its pods.
//
// Use:      Fake host;  Fake pod;
//           host.AddVeth("vf0", "rep0");
//           host.Connect(pod_netns.fd(), pod);           // MoveLink to that descriptor's namespace arrives in `pod`
//           host.FailOn("SetMtu", {Code::kPermission, "no", EPERM});
// Threads:  one at a time
// Owns:     its objects; the fakes it is connected to must outlive it
// Source:   test/contract/netlink_contract_test.cc: what that holds of the kernel holds here
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/netlink/netlink.h"

namespace rail::netlink::testing {

class Fake : public Netlink {
 public:
  // A link with an index of its own; a virtual one when `link.kind` is not empty.
  int AddLink(Link link);
  void AddVeth(const std::string& one, const std::string& other);
  void AddAltname(const std::string& link, const std::string& altname);
  // As when the namespace dies or the link is deleted: a veth takes its other end along.
  void RemoveLink(const std::string& name);
  // `netns_fd` leads to `other`, whose links may come back to this.
  void Connect(int netns_fd, Fake& other);

  // The next call of the function called `function` fails with `error`.
  void FailOn(const std::string& function, Error error);
  // Changing calls that succeeded, by function name, in order.
  const std::vector<std::string>& calls() const { return calls_; }

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
  struct End {  // the other end of a veth
    Fake* where = nullptr;
    int index = 0;
  };

  // Fails when told to by FailOn, or when there is no such link (0: none needed).
  Status Begin(const std::string& function, int link);
  Link View(const Link& link) const;
  bool HasName(std::string_view name) const;
  void Flush(int link);
  Fake* Destination(int netns_fd) const;

  std::map<int, Link> links_;
  std::map<int, End> ends_;
  std::vector<Address> addresses_;
  std::vector<Route> routes_;
  std::vector<PolicyRule> rules_;
  std::vector<Neighbour> neighbours_;
  std::map<std::pair<uint64_t, uint64_t>, Fake*> connected_;  // by device and inode of the namespace
  std::map<std::string, Error> failures_;
  std::vector<std::string> calls_;
  int next_index_ = 1;
};

}  // namespace rail::netlink::testing
