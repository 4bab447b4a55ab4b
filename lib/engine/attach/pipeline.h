// The rules of the eight tables of a rail's bridge. Pure: facts in, rules out.
//
// Use:      std::vector<Rule> rules = ControlRules(bridge, mode);
//           Append(rules, AdmitRules(bridge, pod));  Append(rules, TenantRules(pod));  ...
// Threads:  pure functions
// Source:   README.md of this folder. No match needs an L4 field, TTL or TOS, so a pod's packets have none of them in their
//           megaflow, whose actions are set(eth), output
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/address.h"
#include "lib/config/node_config.h"
#include "lib/ovs/rule.h"
#include "lib/tenancy/tenancy.h"

namespace rail::pipeline {

inline constexpr uint8_t kAdmitTable = 0;
inline constexpr uint8_t kSourceTable = 1;
inline constexpr uint8_t kDestinationTable = 2;
inline constexpr uint8_t kCompareTable = 3;
inline constexpr uint8_t kForwardTable = 4;
inline constexpr uint8_t kSenderTable = 5;
inline constexpr uint8_t kRefuseTable = 6;
inline constexpr uint8_t kRemoteTable = 7;

// Which prefixes each table should track (Flow_Table.prefixes): then a packet with an address that nobody has makes a megaflow of
// as many leading bits as tell it from the known addresses, not one of its own. Each number of bits is a mask of its own, which every
// packet of everybody is looked up by. So the tables that pods' packets ask for addresses track none ("none"): their guards bound how
// many addresses a pod asks for.
// Source: ovs-vswitchd.conf.db(5), Flow_Table, prefixes: three for each table at most
std::map<int64_t, std::vector<std::string>> TrackedPrefixes();

struct BridgeFacts {
  uint16_t uplink_port = 0;  // OpenFlow port number
  MacAddress bridge_mac;     // of the LOCAL port; the leaf sends to this address
  MacAddress gateway_mac;    // config::Rail::GatewayMac
  config::Vlans vlans;       // mode `vrf`: of each tenant on the uplink; empty: the mode has none
  bool operator==(const BridgeFacts&) const = default;
};

// An address, and in mode `vrf` the VLAN of the tenant whose it is: there two tenants may have the same address.
struct VlanAddress {
  // NOLINTNEXTLINE(google-explicit-constructor): without VLANs an address is all there is
  VlanAddress(const IpAddress& its_address, uint16_t its_vlan = config::kNoVlan)
      : address(its_address), vlan(its_vlan) {}
  IpAddress address;
  uint16_t vlan;
  auto operator<=>(const VlanAddress&) const = default;
};

// Whose an address is. For a moment after a move also the tenant that it has left: then it reaches the pods of both.
struct TenantIds {
  // NOLINTNEXTLINE(google-explicit-constructor): mostly there is one
  TenantIds(tenancy::TenantId its, tenancy::TenantId left = {}) : tenant(its), leaving(left) {}
  tenancy::TenantId tenant;
  tenancy::TenantId leaving;  // none: it leaves none
  bool operator==(const TenantIds&) const = default;
};

// One local attachment.
struct Pod {
  int64_t id = 0;     // the attachment's; its low 24 bits go into the cookie
  uint16_t port = 0;  // OpenFlow port number of the representor
  MacAddress mac;
  std::vector<IpAddress> addresses;
  uint16_t vlan = config::kNoVlan;  // mode `vrf`: of its tenant
};

// Mode `vrf`: the port on the bridge over which this node and the leaf speak of one tenant. Its frames have no tag on this side.
struct VlanPort {
  uint16_t vlan = config::kNoVlan;
  uint16_t port = 0;    // OpenFlow port number
  MacAddress leaf_mac;  // zero: not known, and there are no rules to the leaf
  bool operator==(const VlanPort&) const = default;
};

// Table 0: control traffic between uplink and LOCAL. Tables 1 to 3: an end that is on another node is asked for in table 7, and who is
// nobody's is dropped. And the miss rule of every table: drop. In mode `off`, tables 1 to 3 pass everything.
std::vector<ovs::Rule> ControlRules(const BridgeFacts& bridge, config::TenancyMode mode);

// Tables 0, 4, 5 and 6 of an attachment: which packets may come from its representor, which may come to it, and where they go. A
// rule of its own drops everything else from its port, so that the drops are counted. In mode `vrf` what may come to it depends on
// its tenant, so those rules are with TenantRules.
std::vector<ovs::Rule> AdmitRules(const BridgeFacts& bridge, const Pod& pod);

// Tables 1 and 2 of an attachment. In mode `vrf` also 0 and 4: what comes to it in its tenant's VLAN, without which it has no rules.
// Nothing leaves a tenant there.
std::vector<ovs::Rule> TenantRules(const BridgeFacts& bridge, const Pod& pod, const TenantIds& tenants);

// Table 3: the tenant may talk to itself.
ovs::Rule CompareRule(tenancy::TenantId tenant);

// Table 3: who leaves the tenant may talk to it still, and to others who leave it.
std::vector<ovs::Rule> LeavingRules(tenancy::TenantId tenant);
// Whether the rule is one of them.
bool IsOfLeaving(const ovs::Rule& rule);

// Mode `vrf`: control traffic between the uplink and the port of a VLAN, and table 4: what is not local goes to the leaf in it.
std::vector<ovs::Rule> VlanRules(const BridgeFacts& bridge, const VlanPort& vlan);

// The cookie of a remote's rules. Its id is the address's slice, a hash of the address.
uint64_t RemoteCookie(const IpAddress& address);

// Table 7, of an address learned from BGP. It answers for both directions: a packet has one end at most on another node. In mode
// `vrf` the address has a VLAN, without which there is no rule.
std::optional<ovs::Rule> RemoteRule(const BridgeFacts& bridge, const VlanAddress& remote,
                                    const TenantIds& tenants);

// The rule of a remote that belongs in the place (table, priority, match) of `place`. `tenants_of` returns whose a remote's address
// is. Nothing: no rule of a remote has this place, or its address is not a remote's.
std::optional<ovs::Rule> RemoteRuleAt(
    const BridgeFacts& bridge, const ovs::Rule& place,
    const std::function<std::optional<TenantIds>(const VlanAddress&)>& tenants_of);
// Whether `rule` could be a remote's: it only says whose tenant an address is. Also one of the two that a remote had in tables 1 and 2
// before there was table 7.
bool MayBeRemotes(const ovs::Rule& rule);

// The table whose question dropped the packets that `rule` counts. Nothing: it drops none.
std::optional<uint8_t> DropsOf(const ovs::Rule& rule);

// Table 4: everything that is not local goes to the leaf. In mode `vrf` none: VlanRules has them.
std::vector<ovs::Rule> LeafRules(const BridgeFacts& bridge, const MacAddress& leaf_mac);

void Append(std::vector<ovs::Rule>& rules, std::vector<ovs::Rule> more);

}  // namespace rail::pipeline
