// Which lines are missing from bgpd's running configuration: the base configuration, and announcements.
//
// Use:      RAIL_ASSIGN(auto lines, PlanBase(ParseRunningConfig(text), identity, base));   // then Vty::Configure
// Threads:  pure functions
// Source:   README.md of this folder (the configuration that results)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/error.h"
#include "lib/frr/bgp.h"
#include "lib/frr/running_config.h"

namespace rail::frr {

struct Identity {
  uint32_t asn = 0;
  uint32_t community_asn = 0;
  std::string vrf{};  // of the instance that the plan is for; "": the default instance
};

// "router bgp 4200000001", "router bgp 4200000001 vrf railcni-0-101".
std::string RouterLine(uint32_t asn, const std::string& vrf);
// Whether the instance of this VRF is one that RailCNI makes: "railcni-<index of a rail>-<VLAN>". Other names with this prefix are others'.
bool IsOurVrf(std::string_view vrf);

// "railcni-rail0-0000000000000000000000000007", "railcni-rail0-any" for no tenant.
std::string RouteMapName(const Announcement& announcement);
// The announcement of the route-map `name`, with what the name tells of it; nothing when the route-map is not ours.
std::optional<Announcement> FromRouteMapName(std::string_view name);
bool IsOurs(std::string_view route_map);

// Errors: kInvalid the instance runs as another AS.
Status CheckAsn(const RunningConfig& running, const Identity& identity);

// Our `network` statements, in both families.
std::vector<Announcement> AnnouncedIn(const RunningConfig& running, const Identity& identity);

// The lines that are missing for the base configuration. The instance of a VRF comes after the default one. Errors: kTransient
// there is no default one yet; kInvalid another ASN or router-id is in use, or a name or address
// cannot be configured; kExists somebody else has configured a table-map or a rail's neighbor. Every message says what to do.
Result<std::vector<std::string>> PlanBase(const RunningConfig& running, const Identity& identity,
                                          const BaseConfig& base);

// The lines that are missing for bgpd to push what it learns from `rails` to `target`, in two parts. `block` opens our
// "bmp targets" block, which a bgpd without the module does not know; `lines` is the rest. Both empty: nothing is missing.
struct FeedPlan {
  std::vector<std::string> block;
  std::vector<std::string> lines;
};
// Errors: kTransient no instance; kInvalid another ASN.
Result<FeedPlan> PlanFeed(const RunningConfig& running, const Identity& identity,
                          const std::vector<RailPeer>& rails, const FeedTarget& target);

// The lines that are missing for `announcements`. Errors: kTransient no instance; kInvalid another ASN, or an address that no pod
// can have; kExists the address has a `network` statement that is not ours.
Result<std::vector<std::string>> PlanAnnounce(const RunningConfig& running, const Identity& identity,
                                              const std::vector<Announcement>& announcements);

}  // namespace rail::frr
