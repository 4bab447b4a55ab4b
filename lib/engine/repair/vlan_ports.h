// Mode `vrf`: the ports of one rail's VLANs as they are, and the leaf that each of them hears. Another part makes them; the rules follow them.
//
// Use:      VlanPorts vlans;
//           RAIL_TRY(vlans.Look(*host, rail, {ports.seen(), VlansPresent(config, *record, rail), *learned, now}));
//           basis.vlan_ports = vlans.ports();
// Threads:  one
// Source:   lib/engine/attach/TABLES.md ("Mode vrf")
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/engine/attach/pipeline.h"
#include "lib/engine/attach/tenant_vlans.h"
#include "lib/engine/repair/node_status.h"
#include "lib/netlink/netlink.h"

namespace rail::engine {

// The neighbour on `link` that is the leaf: that of BGP, if bgpd knows its peer, else the router that the kernel has heard. nullopt: neither
// has a MAC that can be used.
Result<std::optional<netlink::Neighbour>> LeafOn(netlink::Netlink& host, const netlink::Link& link,
                                                 const frr::Session* session);

class VlanPorts {
 public:
  // A tenant's first pod comes before its port, its session and what the leaf says. For so long nothing is missing of its VLAN.
  static constexpr std::chrono::seconds kForming{10};

  struct Known {
    const std::map<std::string, ovs::Port>& ports;  // of the bridge, by name
    const std::vector<TenantVlan>& present;
    const Learned& learned;
    Deadline now;
  };
  // A port that is not there, or has no link yet, has no rules; a leaf that falls silent keeps its MAC. Errors: kTransient a VLAN that is
  // present has no port, or no leaf was heard on it (the message names the first); of netlink.
  Status Look(netlink::Netlink& host, const config::Rail& rail, const Known& known);

  // Of the ports that work, ascending. Whether their tenants are still here does not matter: without a pod no packet gets there.
  const std::vector<pipeline::VlanPort>& ports() const { return ports_; }
  // Those that are present and of which the last Look knew no leaf, or no port.
  const std::set<uint16_t>& without_leaf() const { return without_leaf_; }
  // Without what bgpd says. Those that are present; one that is not whole, from kForming on.
  const std::vector<v1::RailVlan>& seen() const { return seen_; }

 private:
  std::vector<pipeline::VlanPort> ports_;
  std::vector<v1::RailVlan> seen_;
  std::map<uint16_t, Deadline> present_since_;
  std::set<uint16_t> without_leaf_;
};

}  // namespace rail::engine
