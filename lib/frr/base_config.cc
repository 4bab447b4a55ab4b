#include "lib/frr/base_config.h"

#include <set>

#include "lib/frr/config_lines.h"
#include "lib/frr/frontend_config.h"
#include "lib/frr/vty.h"
#include "lib/tenancy/vrf_name.h"

namespace rail::frr {
namespace {

constexpr const char* kNoFibMap = "railcni-nofib";
constexpr const char* kInMap = "railcni-in";
constexpr const char* kTargets = "railcni";
constexpr const char* kAnnouncing = "permit 10";  // the only entry of an announcement's route-map

// Which uplink a route-map announces for: the rail's index, and its plane where node.json names planes.
struct Uplink {
  uint32_t index = 0;
  std::optional<tenancy::Plane> plane;
  bool operator==(const Uplink&) const = default;
};

Uplink UplinkOf(const Announcement& announcement) {
  return {announcement.rail_index, announcement.plane};
}

std::string SetLine(uint32_t community_asn, tenancy::TenantId tenant, const Uplink& uplink) {
  std::string line = "set large-community";
  if (!tenant.is_none()) {
    for (const auto& half : tenancy::TenantCommunities(community_asn, tenant)) line += " " + half.ToString();
  }
  line += " " + tenancy::RailCommunity(community_asn, uplink.index).ToString();
  return line + (uplink.plane ? " " + tenancy::PlaneCommunity(community_asn, *uplink.plane).ToString() : "");
}

// The uplink for which the route-map `name` announces pods of `tenant`; nothing when the map says anything else.
std::optional<Uplink> UplinkIn(const RunningConfig& running, const std::string& name, uint32_t community_asn,
                               tenancy::TenantId tenant) {
  const auto map = running.route_maps.find(name);
  if (map == running.route_maps.end() || map->second.size() != 1) return std::nullopt;
  const auto& [entry, lines] = *map->second.begin();
  if (entry != kAnnouncing || lines.size() != 1) return std::nullopt;
  const std::set<std::string> words = Words(lines.front());
  std::optional<uint32_t> index;
  Uplink uplink;
  for (const std::string& word : words) {
    const auto community = tenancy::LargeCommunity::Parse(word);
    if (!community) continue;
    if (const auto rail = tenancy::RailOfCommunity(community_asn, *community)) index = rail;
    if (const auto plane = tenancy::PlaneOfCommunity(community_asn, *community)) uplink.plane = plane;
  }
  uplink.index = index.value_or(0);
  if (!index || words != Words(SetLine(community_asn, tenant, uplink))) return std::nullopt;
  return uplink;
}

class BasePlan {
 public:
  BasePlan(const RunningConfig& running, const Identity& identity, const BaseConfig& base)
      : running_(running), instance_(running.Of(identity.vrf)), identity_(identity), base_(base) {}

  Result<std::vector<std::string>> Make() {
    RAIL_TRY(CheckAsn(running_, identity_));
    RAIL_TRY(CheckVrf());
    if (base_.router_id.is_v6() || base_.router_id.is_unspecified()) {
      return Fail(Code::kInvalid, "bgp.router_id " + base_.router_id.ToString() + " is not an IPv4 address");
    }
    for (const RailPeer& rail : base_.rails) {
      RAIL_TRY(CheckWord(rail.rail, "the rail's name"));
      RAIL_TRY(CheckWord(rail.interface, "the interface of rail " + rail.rail));
      RAIL_TRY(CheckNeighbor(rail));
    }
    RAIL_TRY(CheckTableMap(instance_.ipv4, "ipv4"));
    RAIL_TRY(CheckTableMap(instance_.ipv6, "ipv6"));
    // Lists come before the maps that match them, maps before the lines that use them: a map that does not exist when
    // a line names it acts as "deny all" for 5 s.
    Lists();
    Maps();
    RAIL_TRY(Instance());
    return std::move(lines_);
  }

 private:
  // The maps and lists are bgpd's, not an instance's, and raild looks at what there was before it makes the first of them.
  Status CheckVrf() const {
    if (identity_.vrf.empty()) return {};
    RAIL_TRY(CheckWord(identity_.vrf, "the VRF"));
    if (running_.asn) return {};
    return Fail(Code::kTransient, "bgpd has no BGP instance yet: raild configures it");
  }

  Status CheckNeighbor(const RailPeer& rail) const {
    const std::string* line = OtherNeighbor(instance_, Neighbor(rail));
    if (line == nullptr) return {};
    return Fail(Code::kExists,
                "bgpd has \"" + *line + "\", which is not the neighbor that rail " + rail.rail +
                    " needs: remove it, or set bgp.manage to false and keep the neighbor yourself");
  }

  static Status CheckTableMap(const FamilyConfig& family, const std::string& name) {
    const std::string* line = Starting(family.lines, "table-map ");
    if (line == nullptr || *line == std::string("table-map ") + kNoFibMap) return {};
    return Fail(Code::kExists, "bgpd has \"" + *line + "\" for " + name +
                                   " unicast, and there can be one table-map: let that map deny " +
                                   "the large-community-list " + kAnyList +
                                   " and set bgp.manage to false, or remove it");
  }

  void List(const std::string& kind, const std::string& entry) {
    const auto lines = ListLines(running_, kind, {entry});
    lines_.insert(lines_.end(), lines.begin(), lines.end());
  }

  void Lists() {
    List(std::string("bgp large-community-list expanded ") + kAnyList,
         "_" + std::to_string(identity_.community_asn) + ":");
    List(std::string("bgp as-path access-list ") + kLocalList, "^$");
    for (const RailPeer& rail : base_.rails) {
      List("bgp large-community-list standard " + RailList(rail),
           tenancy::RailCommunity(identity_.community_asn, rail.rail_index).ToString());
    }
  }

  void Maps() {
    const auto map = [&](const std::string& name, const RouteMap& wanted) {
      const auto lines = MapLines(running_, name, wanted);
      lines_.insert(lines_.end(), lines.begin(), lines.end());
    };
    const std::string match_any = std::string("match large-community ") + kAnyList;
    map(kNoFibMap, {{"deny 10", {match_any}}, {"permit 20", {}}});
    RouteMap in{{"permit 10", {match_any}}};
    // A rail's leaf that announces a prefix of the front end must not displace it in bgpd's table.
    if (base_.frontend) {
      in["deny 3"] = {std::string("match ip address prefix-list ") + kFrontendAccept};
      in["deny 4"] = {std::string("match ipv6 address prefix-list ") + kFrontendAccept};
    }
    map(kInMap, in);
    for (const RailPeer& rail : base_.rails) {
      std::vector<std::string> entry = {"match large-community " + RailList(rail),
                                        std::string("match as-path ") + kLocalList};
      if (base_.cluster) entry.push_back("set large-community " + base_.cluster->ToString() + " additive");
      map(OutMap(rail), {{"permit 10", entry}});
    }
  }

  Status Instance() {
    std::vector<std::string> inner;
    const auto want = [&](const std::string& line) {
      if (!Has(instance_.lines, line)) inner.push_back(line);
    };
    // A new router-id resets every session, so set it only while there is none, or can be none.
    const bool neighbors = Starting(instance_.lines, "neighbor ") != nullptr;
    const std::string router_id = "bgp router-id " + base_.router_id.ToString();
    const std::string* other_id = Starting(instance_.lines, "bgp router-id ");
    if (!neighbors || base_.without_identifier) {
      want(router_id);
    } else if (other_id != nullptr && *other_id != router_id) {
      return Fail(Code::kInvalid,
                  "bgpd has \"" + *other_id + "\", node.json says bgp.router_id " +
                      base_.router_id.ToString() +
                      ": change one of the two (bgpd resets all its sessions when its router-id changes)");
    }
    want("bgp graceful-restart");
    want("bgp graceful-restart preserve-fw-state");
    want("no bgp network import-check");
    // If a new session is lost before it has sent all its routes, the leaf deletes them (README.md), so this time must be short.
    // It must be longer than 50 ms, for which the process queue holds what was announced just before.
    if (Starting(instance_.lines, "coalesce-time ") == nullptr) inner.emplace_back("coalesce-time 100");
    for (const RailPeer& rail : base_.rails) AddNeighbor(inner, instance_, Neighbor(rail));
    for (const bool v6 : {false, true}) Family(v6, inner);
    // Last: these lines bring the session up, and its families and route-maps must be in place by then.
    for (const RailPeer& rail : base_.rails) {
      if (!Has(instance_.lines, Neighbor(rail) + " interface remote-as external"))
        inner.push_back(Neighbor(rail) + " remote-as external");
    }
    if (inner.empty() && instance_.asn) return {};
    lines_.push_back(RouterLine(identity_.asn, identity_.vrf));
    lines_.insert(lines_.end(), inner.begin(), inner.end());
    return {};
  }

  void Family(bool v6, std::vector<std::string>& inner) const {
    const FamilyConfig& family = instance_.Family(v6);
    std::vector<std::string> missing;
    const auto want = [&](const std::string& line) {
      if (!Has(family.lines, line)) missing.push_back(line);
    };
    want(std::string("table-map ") + kNoFibMap);
    for (const RailPeer& rail : base_.rails) {
      const std::string neighbor = Neighbor(rail);
      AddActivation(missing, instance_, v6, neighbor);
      if (Starting(family.lines, "no " + neighbor + " send-community") != nullptr)
        missing.push_back(neighbor + " send-community all");
      want(neighbor + " route-map " + kInMap + " in");
      want(neighbor + " route-map " + OutMap(rail) + " out");
      // One that ends the session (without warning-only) is its operator's choice.
      const std::string bound = neighbor + " maximum-prefix ";
      const std::string* present = Starting(family.lines, bound);
      if (present == nullptr || present->ends_with(" warning-only"))
        want(bound + std::to_string(base_.max_prefixes) + " warning-only");
    }
    AddFamily(inner, v6, missing);
  }

  static std::string Neighbor(const RailPeer& rail) { return "neighbor " + rail.interface; }
  static std::string OutMap(const RailPeer& rail) { return "railcni-" + rail.rail + "-out"; }
  static std::string RailList(const RailPeer& rail) { return "railcni-" + rail.rail + "-only"; }

  const RunningConfig& running_;
  const InstanceConfig& instance_;
  const Identity& identity_;
  const BaseConfig& base_;
  std::vector<std::string> lines_;
};

}  // namespace

Status CheckAsn(const RunningConfig& running, const Identity& identity) {
  const std::optional<uint32_t>& asn = running.Of(identity.vrf).asn;
  if (asn && *asn != identity.asn) {
    return Fail(Code::kInvalid, (identity.vrf.empty() ? "bgpd" : "bgpd's instance of VRF " + identity.vrf) +
                                    " runs as AS " + std::to_string(*asn) + ", node.json says bgp.asn " +
                                    std::to_string(identity.asn) + ": change one of the two");
  }
  return {};
}

std::string RouterLine(uint32_t asn, const std::string& vrf) {
  return "router bgp " + std::to_string(asn) + (vrf.empty() ? "" : " vrf " + vrf);
}

bool IsOurVrf(std::string_view vrf) {
  return tenancy::PlaceOfVrf(vrf).has_value();
}

bool IsOurs(std::string_view route_map) {
  return route_map.starts_with("railcni-");
}

std::string RouteMapName(const Announcement& announcement) {
  return "railcni-" + announcement.rail + "-" +
         (announcement.tenant.is_none() ? "any" : announcement.tenant.ToString());
}

std::optional<Announcement> FromRouteMapName(std::string_view name) {
  if (!IsOurs(name)) return std::nullopt;
  name.remove_prefix(8);
  const size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  Announcement announcement;
  announcement.rail = name.substr(0, dash);
  const std::string_view id = name.substr(dash + 1);
  if (id == "any") return announcement;
  const auto tenant = tenancy::TenantId::Parse(id);
  if (!tenant || tenant->is_none()) return std::nullopt;
  announcement.tenant = *tenant;
  return announcement;
}

std::vector<Announcement> AnnouncedIn(const RunningConfig& running, const Identity& identity) {
  std::vector<Announcement> announcements;
  for (const bool v6 : {false, true}) {
    for (const auto& [address, route_map] : running.Of(identity.vrf).Family(v6).networks) {
      auto announcement = FromRouteMapName(route_map);
      if (!announcement) continue;
      announcement->address = address;
      const auto uplink = UplinkIn(running, route_map, identity.community_asn, announcement->tenant);
      announcement->rail_index = uplink.value_or(Uplink()).index;
      announcement->plane = uplink.value_or(Uplink()).plane;
      announcement->edited = !uplink;
      announcements.push_back(std::move(*announcement));
    }
  }
  return announcements;
}

Result<std::vector<std::string>> PlanBase(const RunningConfig& running, const Identity& identity,
                                          const BaseConfig& base) {
  return BasePlan(running, identity, base).Make();
}

Result<FeedPlan> PlanFeed(const RunningConfig& running, const Identity& identity,
                          const std::vector<RailPeer>& rails, const FeedTarget& target) {
  const InstanceConfig& instance = running.Of(identity.vrf);
  if (!instance.asn) return Fail(Code::kTransient, "bgpd has no BGP instance yet");
  RAIL_TRY(CheckAsn(running, identity));
  const std::string router = RouterLine(identity.asn, identity.vrf);
  // Monitors routes before the import policy. After it, bgpd 8.4 reports a route only if its next hop is known, and when a leaf's
  // first route comes in, it never is. bgpd keeps what a neighbor sends only with soft-reconfiguration.
  FeedPlan plan;
  for (const bool v6 : {false, true}) {
    std::vector<std::string> missing;
    for (const RailPeer& rail : rails) {
      const std::string line = "neighbor " + rail.interface + " soft-reconfiguration inbound";
      if (!Has(instance.Family(v6).lines, line)) missing.push_back(line);
    }
    AddFamily(plan.lines, v6, missing);
  }
  const std::vector<std::string> want{"bmp monitor ipv4 unicast pre-policy",
                                      "bmp monitor ipv6 unicast pre-policy",
                                      "bmp connect " + target.address.ToString() + " port " +
                                          std::to_string(target.port) + " min-retry 100 max-retry 1000"};
  const auto block = instance.bmp_targets.find(kTargets);
  const bool there = block != instance.bmp_targets.end();
  const bool right = there && std::set<std::string>(block->second.begin(), block->second.end()) ==
                                  std::set<std::string>(want.begin(), want.end());
  if (!right) {
    plan.lines.push_back(std::string("bmp targets ") + kTargets);
    plan.lines.insert(plan.lines.end(), want.begin(), want.end());
    plan.lines.emplace_back("exit");
  }
  if (plan.lines.empty()) return plan;
  plan.lines.insert(plan.lines.begin(), router);
  if (there && !right) plan.block = {router, std::string("no bmp targets ") + kTargets};
  if (!right) plan.block.insert(plan.block.end(), {router, std::string("bmp targets ") + kTargets});
  return plan;
}

Result<std::vector<std::string>> PlanAnnounce(const RunningConfig& running, const Identity& identity,
                                              const std::vector<Announcement>& announcements) {
  const InstanceConfig& instance = running.Of(identity.vrf);
  if (!instance.asn)
    return Fail(
        Code::kTransient,
        "bgpd has no BGP instance yet: raild configures it, or its operator when bgp.manage is false");
  RAIL_TRY(CheckAsn(running, identity));
  std::vector<std::string> lines;
  std::vector<std::string> networks[2];
  std::set<std::string> made;
  for (const Announcement& announcement : announcements) {
    const IpAddress& address = announcement.address;
    if (!address.is_routed_unicast()) {
      return Fail(Code::kInvalid, "announce " + address.ToString() + ": not the address of a pod");
    }
    RAIL_TRY(CheckWord(announcement.rail, "the rail's name"));
    const std::string name = RouteMapName(announcement);
    const std::string* present = instance.FindNetwork(address);
    if (present != nullptr && *present == kFrontendOwn) {
      return Fail(Code::kExists,
                  address.ToHostPrefix() +
                      " is the node's own (frontend.addresses of node.json): give the pod another address");
    }
    if (present != nullptr && !IsOurs(*present)) {
      return Fail(Code::kExists, "bgpd has a network statement of its own for " + address.ToHostPrefix() +
                                     ": remove it, or give the pod another address");
    }
    const bool right =
        UplinkIn(running, name, identity.community_asn, announcement.tenant) == UplinkOf(announcement);
    if (!right && made.insert(name).second) {
      const auto map = MapLines(
          running, name,
          {{kAnnouncing, {SetLine(identity.community_asn, announcement.tenant, UplinkOf(announcement))}}});
      lines.insert(lines.end(), map.begin(), map.end());
    }
    // Sent also if the statement exists but its map was wrong: bgpd acts on an edited map after 5 s, on this line at once.
    if (present == nullptr || *present != name || !right) {
      networks[address.is_v6() ? 1 : 0].push_back("network " + address.ToHostPrefix() + " route-map " + name);
    }
  }
  if (networks[0].empty() && networks[1].empty()) return lines;
  lines.push_back(RouterLine(identity.asn, identity.vrf));
  for (const bool v6 : {false, true}) AddFamily(lines, v6, networks[v6 ? 1 : 0]);
  return lines;
}

}  // namespace rail::frr
