#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/config/keys.h"

namespace rail::config {
namespace {

// Uplinks that say to be one plane of one rail. `rails`: in the order of the file.
void CheckPlaces(Section& in, const std::vector<Rail>& rails) {
  const auto key = [](size_t i, const char* name) { return "rails[" + std::to_string(i) + "]" + name; };
  std::map<std::pair<uint32_t, uint32_t>, size_t> places;
  for (size_t i = 0; i < rails.size(); ++i) {
    if (!rails[i].place.rail) continue;
    const auto [before, added] = places.emplace(std::pair(rails[i].number(), rails[i].place.plane), i);
    if (added) continue;
    in.Add(key(i, ".plane"), "plane " + std::to_string(rails[i].place.plane) + " of rail " +
                                 std::to_string(rails[i].number()) + " is " + key(before->second, "") +
                                 " already");
  }
  for (size_t i = 0; i < rails.size(); ++i) {
    if (rails[i].place.rail) continue;
    const auto same = places.lower_bound({rails[i].index, 0});
    if (same == places.end() || same->first.first != rails[i].index) continue;
    in.Add(key(i, ".rail"), "is missing: " + key(same->second, "") + " says to be of rail " +
                                std::to_string(rails[i].index) + ", which this one is by its index");
  }
}

void CheckResources(Section& in, const NodeConfig& node) {
  if (node.kubelet.device_plugin && node.kubelet.dra)
    in.Add("kubelet.dra",
           "cannot be true beside kubelet.device_plugin: the kubelet would give one device out by both");
  std::map<std::string, std::string> rails;  // by resource
  for (const Rail& rail : node.rails) {
    const auto [other, is_new] = rails.emplace(node.kubelet.ResourceOf(rail), rail.name);
    if ((!node.kubelet.device_plugin && !node.kubelet.dra) || is_new) continue;
    in.Add("kubelet.resource", "gives " + other->second + " and " + rail.name + " one name, " + other->first +
                                   ": \"{index}\" or \"{rail}\" in it tells them apart");
  }
}

// No tenant of the file without a VLAN. Without kubernetes.tenants, no VLAN without a tenant either: a name that was mistyped.
void CheckVlans(Section& in, const NodeConfig& node) {
  const Tenancy& tenancy = node.tenancy;
  if (tenancy.vlans.empty()) return;
  for (const auto& [tenant, namespaces] : tenancy.tenants) {
    if (tenancy.vlans.Of(tenant) == kNoVlan)
      in.Add("tenancy.vlans." + tenant, "is missing: with mode \"vrf\" each tenant has a VLAN");
  }
  if (node.kubernetes.tenants) return;  // labels name tenants that the file does not list
  for (const auto& [tenant, vlan] : tenancy.vlans.of_tenant) {
    if (!tenancy.tenants.contains(tenant))
      in.Add("tenancy.vlans." + tenant, "is no tenant of tenancy.tenants (which lists its namespaces)");
  }
}

}  // namespace

void CheckNode(Section& in, const Key&, NodeConfig& node) {
  // A "rails" of another type is in the errors already.
  if (!in.object.Has("rails") || in.file.document["rails"] == nlohmann::json::array())
    in.Add("rails", "must list at least one rail");
  if (in.object.Has("rules"))
    in.Add("rules",
           "a node's own file has none: `raild --resolve-config` makes it of the file for all nodes");
  CheckPlaces(in, node.rails);
  CheckResources(in, node);
  if (node.tenancy.mode == TenancyMode::kOff) {
    if (node.kubernetes.tenants)
      in.Add("kubernetes.tenants", "true needs tenancy.mode \"namespace\": mode \"off\" has no tenants");
    if (node.rates) in.Add("rates", "has an effect only with tenants, and tenancy.mode is \"off\"");
  }
  if (in.object.Has("frontend") && !node.bgp.manage)
    in.Add("frontend", "needs bgp.manage true: raild keeps the neighbors of these links in bgpd");
  if (node.tenancy.mode != TenancyMode::kVrf) return;
  CheckVlans(in, node);
  if (node.topology.labels && node.topology.unit.empty())
    in.Add("topology.unit",
           "is missing: in mode \"vrf\" leaves are heard over the sessions of tenants alone, so a node "
           "without pods has no name for its unit, and topology.labels would tell schedulers nothing of it");
  if (!node.bgp.manage)
    in.AddValue("bgp.manage",
                "must be true in mode \"vrf\": a tenant's instance of bgpd comes with its first pod and goes "
                "after its last, so nobody else can configure it");
}

}  // namespace rail::config
