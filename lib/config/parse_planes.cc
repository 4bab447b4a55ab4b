#include "lib/config/parse_planes.h"

#include <map>
#include <string>
#include <utility>

namespace rail::config {

Place ParsePlace(JsonObject& rail, JsonErrors& errors) {
  Place place;
  if (rail.Has("rail")) place.rail = static_cast<uint32_t>(rail.Uint("rail", 0, 99));
  place.plane = static_cast<uint32_t>(rail.UintOr("plane", 0, 0, 12));
  place.nic_planes = static_cast<uint32_t>(rail.UintOr("nic_planes", 1, 1, 4));
  if (place.nic_planes == 3) errors.AddValue(rail.PathOf("nic_planes"), "must be 1, 2 or 4");
  if (rail.Has("plane") && !rail.Has("rail"))
    errors.Add(rail.PathOf("plane"), "needs \"rail\": the number of the rail that the planes have in common");
  if (rail.Has("plane") && place.nic_planes != 1) {
    errors.Add(rail.PathOf("nic_planes"),
               "an uplink is one plane of its rail (\"plane\"), or its NIC makes the planes of one uplink: "
               "not both");
  }
  return place;
}

void CheckPlaces(const std::vector<Rail>& rails, JsonErrors& errors) {
  std::map<std::pair<uint32_t, uint32_t>, size_t> places;
  for (size_t i = 0; i < rails.size(); ++i) {
    if (!rails[i].place.rail) continue;
    const auto [before, added] = places.emplace(std::pair(rails[i].number(), rails[i].place.plane), i);
    if (added) continue;
    errors.Add("rails[" + std::to_string(i) + "].plane", "plane " + std::to_string(rails[i].place.plane) +
                                                             " of rail " + std::to_string(rails[i].number()) +
                                                             " is rails[" + std::to_string(before->second) +
                                                             "] already");
  }
  for (size_t i = 0; i < rails.size(); ++i) {
    if (rails[i].place.rail) continue;
    for (const auto& [place, other] : places) {
      if (place.first != rails[i].index) continue;
      errors.Add("rails[" + std::to_string(i) + "].rail",
                 "is missing: rails[" + std::to_string(other) + "] says to be of rail " +
                     std::to_string(place.first) + ", which this one is by its index");
      break;
    }
  }
}

}  // namespace rail::config
