#include "lib/tenancy/vrf_name.h"

#include <charconv>

#include "lib/config/node_config.h"

namespace rail::tenancy {
namespace {

constexpr std::string_view kVrf = "railcni-";
constexpr std::string_view kPort = "rcvlan-";

std::string Name(std::string_view prefix, RailVlan place) {
  return std::string(prefix) + std::to_string(place.rail) + "-" + std::to_string(place.vlan);
}

std::optional<RailVlan> Parse(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  RailVlan place;
  const char* const end = name.data() + name.size();
  const auto rail = std::from_chars(name.data() + prefix.size(), end, place.rail);
  if (rail.ec != std::errc() || rail.ptr == end) return std::nullopt;
  std::from_chars(rail.ptr + 1, end, place.vlan);
  const bool exists = place.rail <= config::kLastRailIndex && place.vlan != config::kNoVlan &&
                      place.vlan <= config::kLastVlan;
  if (!exists || name != Name(prefix, place)) return std::nullopt;  // it has one form alone
  return place;
}

}  // namespace

std::string VrfName(RailVlan place) {
  return Name(kVrf, place);
}

std::string VlanPortName(RailVlan place) {
  return Name(kPort, place);
}

std::optional<RailVlan> PlaceOfVrf(std::string_view name) {
  return Parse(kVrf, name);
}

std::optional<RailVlan> PlaceOfVlanPort(std::string_view name) {
  return Parse(kPort, name);
}

}  // namespace rail::tenancy
