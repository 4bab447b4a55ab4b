// The rules that a bridge should have: those of the node's own attachments as they are, those of remotes as what they follow from.
//
// Use:      BridgeRules want(facts, local_rules, RemoteSelection{...});
//           want.At(rule)                                   // what should stand in the place of `rule`
//           Change change = LocalDifference(have, want);    // few rules
//           RemoteSelection::Difference(before, now, [](const IpAddress&, tenant before, tenant now) { ... });
// Threads:  plain data
//
// 100,000 remotes are 200,000 rules. None of them is kept: they are made from the addresses when they are needed, and the addresses
// are in sets that everybody shares (remote_set.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "lib/engine/remotes.h"
#include "lib/ovs/openflow.h"
#include "lib/pipeline/pipeline.h"

namespace rail::engine {

// Which addresses elsewhere a bridge has rules for, and of which tenant.
struct RemoteSelection {
  std::shared_ptr<const RemoteTable> learned;
  std::set<tenancy::TenantId> present;  // tenants with an attachment on this bridge
  std::set<IpAddress> here;             // of attachments on this bridge: no remotes, whatever BGP says
  std::map<IpAddress, tenancy::TenantId> other_rails;  // of this node's attachments on its other bridges
  std::optional<uint32_t> only_rail;  // tenancy.cross_rail false: addresses of this rail alone

  // The tenant whose rules the address has; nothing: none.
  std::optional<tenancy::TenantId> TenantOf(const IpAddress& address) const;
  void ForEach(const std::function<void(const IpAddress&, tenancy::TenantId)>& each) const;

  using Tenant = std::optional<tenancy::TenantId>;
  // Calls `changed` for every address that is not selected in both for the same tenant; ascending. Costs what differs.
  static void Difference(const RemoteSelection& before, const RemoteSelection& now,
                         const std::function<void(const IpAddress&, Tenant before, Tenant now)>& changed);
};

class BridgeRules {
 public:
  BridgeRules() = default;
  // `local`: canonical; of two of one place the first counts.
  BridgeRules(const pipeline::BridgeFacts& bridge, const std::vector<ovs::Rule>& local,
              RemoteSelection remotes);

  // What should stand in the place (table, priority, match) of `rule`.
  std::optional<ovs::Rule> At(const ovs::Rule& rule) const;
  const RemoteSelection& remotes() const { return remotes_; }
  const pipeline::BridgeFacts& bridge() const { return bridge_; }

  struct Place {
    uint8_t table;
    uint16_t priority;
    std::string match;
    auto operator<=>(const Place&) const = default;
  };
  static Place PlaceOf(const ovs::Rule& rule) { return {rule.table, rule.priority, rule.match}; }
  const std::map<Place, ovs::Rule>& local() const { return local_; }

 private:
  pipeline::BridgeFacts bridge_;
  std::map<Place, ovs::Rule> local_;
  RemoteSelection remotes_;
};

}  // namespace rail::engine
