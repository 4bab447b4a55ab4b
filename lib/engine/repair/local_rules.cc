#include "lib/engine/repair/local_rules.h"

#include <utility>

#include "lib/engine/attach/attachment.h"

namespace rail::engine {

BridgeRules::LocalPtr LocalRules::For(Basis basis) {
  if (rules_ != nullptr && basis == basis_) return rules_;
  std::vector<ovs::Rule> rules = pipeline::ControlRules(basis.bridge, mode_);
  for (const Pod& pod : basis.pods)
    pipeline::Append(rules, WantedRules(basis.bridge, pod.attachment, pod.steps));
  if (!basis.leaf_mac.is_zero()) pipeline::Append(rules, pipeline::LeafRules(basis.bridge, basis.leaf_mac));
  for (const pipeline::VlanPort& port : basis.vlan_ports)
    pipeline::Append(rules, pipeline::VlanRules(basis.bridge, port));
  for (const tenancy::TenantId left : basis.left) pipeline::Append(rules, pipeline::LeavingRules(left));
  rules_ = BridgeRules::ByPlace(rules);
  basis_ = std::move(basis);
  return rules_;
}

}  // namespace rail::engine
