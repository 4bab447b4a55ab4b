// Links, addresses, routes, rules and neighbours of one network namespace.
//
// Use:      RAIL_ASSIGN(auto netlink, Kernel::Open());            // of the calling thread's namespace, for good
//           RAIL_ASSIGN(Link link, netlink->GetLink("vf0"));
//           RAIL_TRY(netlink->MoveLink(link.index, pod.fd(), "net1"));
// Threads:  one at a time
// Owns:     its socket, which stays in the namespace in which it was opened
// Source:   rtnetlink(7); kernel include/uapi/linux/{if_link,rtnetlink,neighbour,fib_rules}.h
// Errors of every function: kNotFound no such object; kExists; kInvalid the kernel refuses the value; kPermission;
//         kTransient a dump was interrupted five times. The message holds the kernel's extended-ack text when it gives one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "lib/base/address.h"
#include "lib/base/error.h"

namespace rail::netlink {

struct Link {
  int index = 0;     // unique in its namespace
  std::string name;  // 1..15 bytes
  std::string kind;  // "veth", "" for a physical device
  MacAddress mac;
  uint32_t mtu = 0;             // bytes
  uint32_t max_mtu = 0;         // the largest that its driver takes; 0: not known, or no limit
  bool up = false;              // IFF_UP
  bool carrier = false;         // IFF_LOWER_UP
  uint32_t carrier_losses = 0;  // how often the carrier was lost since the link exists
  int peer = 0;                 // index of the link at the other end (veth) or below (macvlan); 0: none
  bool peer_elsewhere = false;  // `peer` is an index of another namespace
  int master = 0;               // index of the link that it is a part of (a VRF, a bridge, a bond); 0: none
  uint32_t table = 0;           // of a VRF: its routing table; 0: it is none
  MacAddress permanent_mac;     // of the hardware; zero for a virtual link
  std::string parent_device;    // "0000:08:00.2": the device on its bus; "" for a virtual link
  std::vector<std::string>
      altnames;  // alternative names, as udev gives them; no other link can use one of them
};

struct Address {
  int link = 0;
  IpPrefix prefix;
  bool dynamic = false;  // the kernel has made it of what a router advertises, and ends it; not compared
  auto operator<=>(const Address& other) const {
    return std::tie(link, prefix) <=> std::tie(other.link, other.prefix);
  }
  bool operator==(const Address& other) const { return link == other.link && prefix == other.prefix; }
};

// A route via `gateway` on `link`; without a gateway, a route to hosts on the link.
struct Route {
  uint8_t type = 1;      // RTN_UNICAST, rtnetlink(7); lists have the others too (RTN_LOCAL, RTN_BLACKHOLE)
  IpPrefix destination;  // length 0: the default route of its family
  std::optional<IpAddress> gateway;
  int link = 0;
  bool onlink = false;    // the gateway need not be covered by an address
  uint32_t table = 254;   // 254 = main
  uint32_t priority = 0;  // metric; 0: the kernel's default (for IPv6 that is 1024, and 1024 is listed as 0)
  std::optional<IpAddress> source;  // preferred source
  uint32_t mtu = 0;                 // RTAX_MTU; 0: not set
  uint32_t advmss = 0;              // RTAX_ADVMSS; 0: not set
  bool link_scope = false;          // scope link (no gateway)
  auto operator<=>(const Route&) const = default;
};

struct PolicyRule {
  bool v6 = false;
  uint32_t priority = 0;
  uint32_t table = 254;
  std::optional<IpPrefix> from;
  std::string output_interface;  // "oif"; "" any
  auto operator<=>(const PolicyRule&) const = default;
};

struct Neighbour {
  IpAddress address;
  MacAddress mac;  // zero while unresolved
  int link = 0;
  bool permanent = false;  // NUD_PERMANENT
  bool usable = false;     // reachable, stale, delay, probe or permanent: the MAC can be used
  bool router = false;     // NTF_ROUTER
};

class Netlink {
 public:
  virtual ~Netlink() = default;

  virtual Result<Link> GetLink(std::string_view name) = 0;
  virtual Result<std::vector<Link>> ListLinks() = 0;
  virtual Status SetUp(int link) = 0;                          // safe to repeat
  virtual Status SetDown(int link) = 0;                        // safe to repeat
  virtual Status SetMtu(int link, uint32_t mtu) = 0;           // safe to repeat
  virtual Status SetMac(int link, const MacAddress& mac) = 0;  // safe to repeat
  // If `name` is an alternative name of the link itself, drops that one first. Errors: kExists another link has the name.
  virtual Status Rename(int link, std::string_view name) = 0;  // the link must be down on kernels before 6.2
  // Moves the link to the namespace of `netns_fd` and gives it `name` there, in one request under one lock of the kernel.
  // The link arrives down and without addresses, and its index may change. Drops alternative names of the link that equal
  // `name` or are taken there.
  // Errors: kExists the name is taken there, and nothing was moved; kInvalid the descriptor is not a network namespace.
  // If another link takes the name during the move, that is kExists too, but the link is there, under its old name.
  virtual Status MoveLink(int link, int netns_fd, std::string_view name) = 0;

  // A VRF device: packets of the links that are a part of it are routed by `table`. It is made down.
  // Errors: kExists a link has the name; kUnsupported the kernel has no VRFs.
  virtual Status AddVrf(std::string_view name, uint32_t table) = 0;
  // 0: of none any more. The kernel takes a link that is up down and up again for it, which costs it its neighbours. Safe to repeat.
  virtual Status SetMaster(int link, int master) = 0;
  // Only a link that the kernel has made for somebody: a VRF, a veth. What is a part of it becomes a part of nothing.
  virtual Status DeleteLink(int link) = 0;

  virtual Status AddAddress(
      const Address& address) = 0;  // kExists when it exists; IPv6 without DAD (IFA_F_NODAD)
  virtual Status DeleteAddress(const Address& address) = 0;
  virtual Result<std::vector<Address>> ListAddresses(int link) = 0;  // link 0: all

  virtual Status AddRoute(const Route& route) = 0;  // kExists when it exists
  virtual Status DeleteRoute(const Route& route) = 0;
  virtual Result<std::vector<Route>> ListRoutes(
      uint32_t table) = 0;  // both families; [] when there is no such table

  virtual Status AddRule(const PolicyRule& rule) = 0;  // kExists when it exists
  virtual Status DeleteRule(const PolicyRule& rule) = 0;
  virtual Result<std::vector<PolicyRule>> ListRules() = 0;  // both families

  virtual Status SetPermanentNeighbour(int link, const IpAddress& address,
                                       const MacAddress& mac) = 0;      // safe to repeat
  virtual Result<std::vector<Neighbour>> ListNeighbours(int link) = 0;  // both families; link 0: all
};

}  // namespace rail::netlink
