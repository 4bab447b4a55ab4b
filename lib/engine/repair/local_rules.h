// The rules of a bridge that follow from its own node: control traffic, the bridge's pods and the leaf. A pod has some ninety. They
// are made anew when what they follow from has changed, and not with each remote.
//
// Use:      LocalRules rules(config.tenancy.mode);
//           BridgeRules want(facts, rules.For({facts, leaf_mac, pods}), selection);
// Threads:  one
#pragma once

#include <set>
#include <vector>

#include "lib/config/node_config.h"
#include "lib/engine/repair/bridge_rules.h"
#include "lib/state/store.h"

namespace rail::engine {

class LocalRules {
 public:
  // An attachment on the bridge, with the number of its port.
  struct Pod {
    state::Attachment attachment;
    std::vector<state::Step> steps;
    bool operator==(const Pod&) const = default;
  };
  struct Basis {
    pipeline::BridgeFacts bridge;
    MacAddress leaf_mac;  // zero: not known, and there are no rules to the leaf
    std::vector<Pod> pods;
    std::vector<pipeline::VlanPort> vlan_ports = {};  // mode `vrf`: of the tenants present
    std::set<tenancy::TenantId> left = {};            // that some remote is leaving (RemoteSelection::Left)
    bool operator==(const Basis&) const = default;
  };

  explicit LocalRules(config::TenancyMode mode) : mode_(mode) {}

  // The same pointer as the last time if `basis` is the same.
  BridgeRules::LocalPtr For(Basis basis);

 private:
  config::TenancyMode mode_;
  Basis basis_;
  BridgeRules::LocalPtr rules_;
};

}  // namespace rail::engine
