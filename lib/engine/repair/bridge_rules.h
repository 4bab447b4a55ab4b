// The rules that a bridge should have. It stores the rules of the node's own attachments. It does not store the rules of remotes,
// only the selection of addresses from which they follow.
//
// Use:      BridgeRules want(facts, BridgeRules::ByPlace(rules), RemoteSelection{...});
//           want.At(rule)                                   // the rule that should be in the place of `rule`
//           Change change = LocalDifference(have, want);    // few rules
//           RemoteSelection::Difference(before, now, [](const VlanAddress&, tenants before, tenants now) { ... });
// Threads:  plain data
//
// 100,000 remotes have 200,000 rules. None of them is stored: they are made from the addresses when they are needed. The
// addresses are in shared sets (remote_set.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "lib/engine/attach/pipeline.h"
#include "lib/engine/learned/remotes.h"
#include "lib/ovs/openflow.h"

namespace rail::engine {

// Selects the addresses elsewhere for which a bridge has rules, and the tenant of each.
struct RemoteSelection {
  using VlanAddress = pipeline::VlanAddress;
  std::shared_ptr<const RemoteTable> learned;
  // Tenants with an attachment on this bridge, and those that one is leaving.
  std::set<tenancy::TenantId> present;
  std::map<tenancy::TenantId, uint16_t> vlans;  // mode `vrf`: of each that is present; it never changes
  std::set<VlanAddress> here;  // of attachments on this bridge: never remotes, whatever BGP says
  std::map<VlanAddress, pipeline::TenantIds> other_rails;  // of this node's attachments on its other bridges
  std::optional<uint32_t> only_rail;  // tenancy.cross_rail is false: only addresses of this rail

  uint16_t VlanOf(tenancy::TenantId tenant) const;
  using Tenants = std::optional<pipeline::TenantIds>;
  // Whose the address is: its rules say so. nullopt: it has no rules. An address that is leaving a tenant has rules where one of the two
  // is present.
  Tenants TenantsOf(const VlanAddress& address) const;
  void ForEach(const std::function<void(const VlanAddress&, const pipeline::TenantIds&)>& each) const;
  // The tenants present that such an address is leaving: who leaves them still meets their pods here.
  std::set<tenancy::TenantId> Left() const;

  // Calls `changed`, in ascending order, for every address that the two do not select for
  // the same tenants. Costs only what differs, and what is leaving.
  static void Difference(const RemoteSelection& before, const RemoteSelection& now,
                         const std::function<void(const VlanAddress&, Tenants before, Tenants now)>& changed);
};

class BridgeRules {
 public:
  struct Place {
    uint8_t table;
    uint16_t priority;
    std::string match;
    auto operator<=>(const Place&) const = default;
  };
  static Place PlaceOf(const ovs::Rule& rule) { return {rule.table, rule.priority, rule.match}; }
  using Local = std::map<Place, ovs::Rule>;
  using LocalPtr = std::shared_ptr<const Local>;

  BridgeRules() = default;
  BridgeRules(const pipeline::BridgeFacts& bridge, LocalPtr local, RemoteSelection remotes)
      : bridge_(bridge), local_(std::move(local)), remotes_(std::move(remotes)) {}
  // `rules`: canonical. If two have the same place, the first one counts.
  static LocalPtr ByPlace(const std::vector<ovs::Rule>& rules);

  // The rule that should be in the place (table, priority, match) of `rule`.
  std::optional<ovs::Rule> At(const ovs::Rule& rule) const;
  const RemoteSelection& remotes() const { return remotes_; }
  const pipeline::BridgeFacts& bridge() const { return bridge_; }

  const Local& local() const { return *local_; }
  // True: both have the local rules of one LocalPtr. False says nothing.
  bool SharesLocal(const BridgeRules& other) const { return local_ == other.local_; }

 private:
  pipeline::BridgeFacts bridge_;
  LocalPtr local_ = std::make_shared<const Local>();
  RemoteSelection remotes_;
};

}  // namespace rail::engine
