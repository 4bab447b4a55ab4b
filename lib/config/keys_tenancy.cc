#include <nlohmann/json.hpp>

#include "lib/config/keys.h"
#include "lib/config/values.h"

namespace rail::config {
namespace {

using nlohmann::json;
using enum Takes;

void ReadTenants(Section& in, const Key& key, std::map<std::string, std::vector<std::string>>& tenants) {
  const json* entries = in.object.Object(key.name);
  if (entries == nullptr) return;
  Section map{in.PathOf(key.name), JsonObject(*entries, in.PathOf(key.name), in.file.errors), in.file};
  for (const auto& [name, unused] : entries->items()) {
    if (!IsLabel(name)) map.AddValue(name, "a tenant's name must be " + std::string(kLabelRule));
    auto& namespaces = tenants[name];
    for (const auto& [text, at, shown] : map.Texts(name, 1, SIZE_MAX, "must list at least one namespace")) {
      if (IsLabel(text)) {
        in.file.TakeOnce(shown, map.PathOf(at), "a namespace is in one tenant");
      } else {
        map.AddValue(at, shown + " must be a namespace: " + std::string(kLabelRule));
      }
      namespaces.push_back(text);
    }
  }
}

void ReadVlans(Section& in, const Key& key, Vlans& vlans) {
  const json* entries = in.object.Object(key.name);
  if (entries == nullptr) return;
  if (entries->empty()) return in.Add(key.name, "must give at least one tenant a VLAN");
  JsonObject map(*entries, in.PathOf(key.name), in.file.errors);
  for (const auto& [name, unused] : entries->items()) {
    const size_t known = in.file.errors.size();
    const auto vlan = static_cast<uint16_t>(map.Uint(name, 1, kLastVlan));
    if (in.file.errors.size() != known) continue;
    in.file.TakeOnce(std::to_string(vlan), map.PathOf(name),
                     "two tenants in one VLAN could not be told apart");
    vlans.of_tenant[name] = vlan;
  }
}

void CheckTenancy(Section& in, const Key&, Tenancy& tenancy) {
  if (!tenancy.cross_rail && tenancy.mode == TenancyMode::kOff)
    in.Add("cross_rail", "false needs tenancy.mode \"namespace\": without it every address is let through");
  const bool vrf = tenancy.mode == TenancyMode::kVrf;
  if (in.object.Has("vlans") && !vrf) in.Add("vlans", "has an effect only with tenancy.mode \"vrf\"");
  if (!in.object.Has("vlans") && vrf) in.Add("vlans", "is missing: with mode \"vrf\" each tenant has a VLAN");
}

constexpr std::string_view kModes[] = {"namespace", "off", "vrf"};  // in the order of TenancyMode
constexpr Key kTenancyRows[] = {
    Row<&Tenancy::mode>(
        "mode", "\"namespace\"", kRestart, OneOf(kModes),
        "`\"off\"`: all pods may talk to each other; `\"vrf\"`: tenants may have the same addresses, each a "
        "VLAN on the uplinks and a VRF on the leaves ([how](../engine/attach/TABLES.md#mode-vrf), "
        "[costs](../../deploy/leaves/VRF.md)), [fixed](README.md#changes-while-raild-runs) while pods run"),
    Row<&Tenancy::tenants>(
        "tenants", "{}", kAtOnce, ReadBy<ReadTenants>(),
        "tenant -> its namespaces, at least one, each in one tenant; RFC 1123 labels of 1..63 bytes. Other "
        "namespaces are tenants of their own, or their labels' with `kubernetes.tenants`"),
    Row<&Tenancy::cross_rail>(
        "cross_rail", "true", kAtOnce, {},
        "`false`: raild installs only addresses of the same rail and plane: enough for rail-optimised "
        "collectives (NCCL with PXN). Needs mode `namespace`, and the same value on every node"),
    Row<&Tenancy::vlans>("vlans", "with mode `\"vrf\"`: required, else refused", kAtOnce, ReadBy<ReadVlans>(),
                         "tenant -> VLAN, 1..4094, none twice, for every tenant of `tenancy.tenants`; others "
                         "need `kubernetes.tenants`. Pods of a tenant without a VLAN are refused. "
                         "[Fixed](README.md#changes-while-raild-runs) while its pods run"),
};

void ReadMax(Section& in, const Key& key, uint64_t& mbit) {
  std::string text;
  if (in.Text(key, text)) mbit = *ParseMbit(text);
}

void CheckRate(Section& in, const Key&, TenantRate& rate) {
  if (rate.max_mbit != 0 && rate.max_mbit < rate.share)
    in.file.errors.AddValue(in.path,
                            "max must be at least as many Mbit/s as share says, which is what a NIC is told");
}

constexpr Rule kMax = ReadBy<ReadMax>(Text([](std::string_view text) { return ParseMbit(text).has_value(); },
                                           "a rate like \"200gbit\" or \"500mbit\""));
// A tenant keeps what it has of rates.default.
constexpr Key kRateRows[] = {
    Row<&TenantRate::share>("share", "1; a tenant's as in `default`", kAtOnce, Range(1, 1000),
                            "weighed against the other tenants' on a full NIC. Not above `max` in Mbit/s"),
    Row<&TenantRate::max_mbit>("max", "no limit; a tenant's as in `default`", kAtOnce, kMax,
                               "whole numbers, at most 10 Tbit/s; on each of a rail's NICs"),
};
constexpr KeyTable kRateKeys{kRateRows, By<CheckRate>()};

void ReadTenantRates(Section& in, const Key& key, std::map<std::string, TenantRate>& tenants) {
  const json* entries = in.object.Object(key.name);
  if (entries == nullptr) return;
  for (const auto& [name, one] : entries->items()) {
    TenantRate& rate = tenants[name] = in.file.node.rates->usual;
    ReadKeys(kRateKeys, one, in.PathOf(key.name) + "." + name, &rate, in.file);
  }
}

constexpr Key kRatesRows[] = {
    Row<&Rates::usual>("default", "{}", kAtOnce, Of(kRateKeys),
                       "of tenants that `rates.tenants` does not name"),
    Row<&Rates::tenants>("tenants", "{}", kAtOnce, ReadBy<ReadTenantRates>(Of(kRateKeys, ".*")),
                         "tenant -> its own; a missing key is as in `default`"),
};

}  // namespace

const KeyTable kTenancyKeys{kTenancyRows, By<CheckTenancy>()};
const KeyTable kRatesKeys{kRatesRows};

}  // namespace rail::config
