#include "lib/config/parse_vlans.h"

#include <nlohmann/json.hpp>

namespace rail::config {

void ParseVlans(JsonObject& object, Tenancy& tenancy, JsonErrors& errors) {
  const std::string path = object.PathOf("vlans");
  const bool has_it = object.Has("vlans");
  const nlohmann::json* value = object.Object("vlans");
  if (tenancy.mode != TenancyMode::kVrf) {
    if (has_it) errors.Add(path, "has an effect only with tenancy.mode \"vrf\"");
    return;
  }
  if (!has_it) return errors.Add(path, "is missing: with mode \"vrf\" each tenant has a VLAN");
  if (value == nullptr) return;  // of another type, which is in the errors
  if (value->empty()) return errors.Add(path, "must give at least one tenant a VLAN");
  JsonObject map(*value, path, errors);
  std::map<uint16_t, std::string> places;
  for (const auto& [name, unused] : value->items()) {
    const size_t known = errors.size();
    const auto vlan = static_cast<uint16_t>(map.Uint(name, 1, kLastVlan));
    if (errors.size() != known) continue;
    const auto [place, free] = places.emplace(vlan, map.PathOf(name));
    if (!free) {
      errors.Add(map.PathOf(name), std::to_string(vlan) + " is " + place->second +
                                       " already: two tenants in one VLAN could not be told apart");
    }
    tenancy.vlans.of_tenant[name] = vlan;
  }
}

void CheckVlans(const NodeConfig& node, JsonErrors& errors) {
  const Tenancy& tenancy = node.tenancy;
  if (tenancy.mode != TenancyMode::kVrf || tenancy.vlans.empty()) return;
  for (const auto& [tenant, namespaces] : tenancy.tenants) {
    if (tenancy.vlans.Of(tenant) == kNoVlan)
      errors.Add("tenancy.vlans." + tenant, "is missing: with mode \"vrf\" each tenant has a VLAN");
  }
  if (node.kubernetes.tenants) return;  // labels name tenants that the file does not list
  for (const auto& [tenant, vlan] : tenancy.vlans.of_tenant) {
    if (!tenancy.tenants.contains(tenant))
      errors.Add("tenancy.vlans." + tenant, "is no tenant of tenancy.tenants (which lists its namespaces)");
  }
}

void CheckVrf(const NodeConfig& node, JsonErrors& errors) {
  if (node.tenancy.mode != TenancyMode::kVrf) return;
  if (node.topology.labels && node.topology.unit.empty()) {
    errors.Add("topology.unit",
               "is missing: in mode \"vrf\" leaves are heard over the sessions of tenants alone, so a node "
               "without pods "
               "has no name for its unit, and topology.labels would tell schedulers nothing of it");
  }
  if (node.bgp.manage) return;
  errors.AddValue(
      "bgp.manage",
      "must be true in mode \"vrf\": a tenant's instance of bgpd comes with its first pod and goes after its "
      "last, so nobody else can configure it");
}

}  // namespace rail::config
