#include "lib/engine/attach/tenant_vlans.h"

#include <map>
#include <ranges>

#include "lib/engine/attach/tenant_step.h"
#include "lib/tenancy/tenancy.h"
#include "lib/tenancy/vrf_name.h"

namespace rail::engine {

uint16_t VlanOf(const config::Vlans& vlans, const state::Attachment& attachment,
                const std::vector<state::Step>& steps) {
  const uint16_t now = vlans.Of(attachment.tenant);
  if (now == config::kNoVlan) return now;
  const auto joined = TenantStepOf(steps);
  if (!joined) return joined.error().code == Code::kNotFound ? now : config::kNoVlan;
  return joined->vlan == now ? now : config::kNoVlan;
}

std::vector<TenantVlan> VlansPresent(const config::NodeConfig& config, const Record& record,
                                     const config::Rail& rail) {
  if (config.tenancy.mode != config::TenancyMode::kVrf) return {};
  std::map<uint16_t, TenantVlan> present;
  for (const state::Attachment& attachment : record.attachments) {
    if (attachment.rail != rail.name || attachment.phase == state::Phase::kDeleting) continue;
    const uint16_t vlan = VlanOf(config.tenancy.vlans, attachment, record.steps.at(attachment.id));
    if (attachment.tenant_id.is_none() || vlan == config::kNoVlan) continue;
    present.try_emplace(vlan, TenantVlan{vlan, attachment.tenant, attachment.tenant_id});
  }
  const auto vlans = std::views::values(present);
  return {vlans.begin(), vlans.end()};
}

std::map<tenancy::TenantId, TenantVlan> VlansByTenant(const config::NodeConfig& config) {
  std::map<tenancy::TenantId, TenantVlan> all;
  for (const auto& [name, vlan] : config.tenancy.vlans.of_tenant) {
    const tenancy::TenantId id = tenancy::NamedTenant(config, name).id;
    all[id] = {vlan, name, id};
  }
  return all;
}

std::string VrfName(const config::Rail& rail, uint16_t vlan) {
  return tenancy::VrfName({rail.index, vlan});
}

std::string VlanPortName(const config::Rail& rail, uint16_t vlan) {
  return tenancy::VlanPortName({rail.index, vlan});
}

std::optional<uint16_t> VlanOfVrf(const config::Rail& rail, std::string_view name) {
  const auto place = tenancy::PlaceOfVrf(name);
  return place && place->rail == rail.index ? std::optional(place->vlan) : std::nullopt;
}

std::optional<uint16_t> VlanOfPortName(const config::Rail& rail, std::string_view name) {
  const auto place = tenancy::PlaceOfVlanPort(name);
  return place && place->rail == rail.index ? std::optional(place->vlan) : std::nullopt;
}

std::optional<uint16_t> VlanOfPort(const config::Rail& rail, const ovs::Port& port) {
  const auto mark = port.external_ids.find(kVlanKey);
  const auto vlan = VlanOfPortName(rail, port.name);
  if (!vlan || mark == port.external_ids.end() || mark->second != std::to_string(*vlan)) return std::nullopt;
  return vlan;
}

}  // namespace rail::engine
