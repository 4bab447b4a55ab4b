#include "lib/frr/frontend_config.h"

#include <algorithm>
#include <string_view>

#include "lib/frr/config_lines.h"
#include "lib/frr/vty.h"

namespace rail::frr {
namespace {

constexpr std::string_view kMaps[] = {kFrontendOwn, "railcni-frontend_in4", "railcni-frontend_in6",
                                      "railcni-frontend_out4", "railcni-frontend_out6"};

std::string InMap(bool v6) {
  return v6 ? "railcni-frontend_in6" : "railcni-frontend_in4";
}

std::string OutMap(bool v6) {
  return v6 ? "railcni-frontend_out6" : "railcni-frontend_out4";
}

std::string Ip(bool v6) {
  return v6 ? "ipv6" : "ip";
}

std::string Neighbor(const std::string& link) {
  return "neighbor " + link;
}

class FrontendPlan {
 public:
  FrontendPlan(const RunningConfig& running, const Identity& identity, const Frontend& frontend)
      : running_(running), identity_(identity), frontend_(frontend) {}

  Result<std::vector<std::string>> Make() {
    if (frontend_.links.empty() && !running_.asn) return std::move(lines_);
    if (!running_.asn) return Fail(Code::kTransient, "bgpd has no BGP instance yet");
    RAIL_TRY(CheckAsn(running_, identity_));
    for (const std::string& link : frontend_.links) {
      RAIL_TRY(CheckWord(link, "the link of the front end"));
      RAIL_TRY(CheckNeighbor(link));
    }
    for (const IpAddress& address : frontend_.addresses) {
      const std::string* map = running_.FindNetwork(address);
      if (map == nullptr || *map == kFrontendOwn) continue;
      return Fail(Code::kExists,
                  "bgpd has a network statement of its own for " + address.ToHostPrefix() +
                      ": remove it, or take the address out of frontend.addresses of node.json");
    }
    // Before the lines that use them, as in the base configuration.
    if (!frontend_.links.empty()) ListsAndMaps();
    Instance();
    if (frontend_.links.empty()) RemoveListsAndMaps();
    return std::move(lines_);
  }

 private:
  Status CheckNeighbor(const std::string& link) const {
    const std::string* line = OtherNeighbor(running_, Neighbor(link));
    if (line == nullptr) return {};
    return Fail(Code::kExists, "bgpd has \"" + *line +
                                   "\", which is not the neighbor that the front end needs: " +
                                   "remove it, or take " + link + " out of frontend.links of node.json");
  }

  void Add(const std::vector<std::string>& lines) { lines_.insert(lines_.end(), lines.begin(), lines.end()); }

  void ListsAndMaps() {
    Add(ListLines(running_, std::string("bgp large-community-list expanded ") + kAnyList,
                  {"_" + std::to_string(identity_.community_asn) + ":"}));
    Add(ListLines(running_, std::string("bgp as-path access-list ") + kLocalList, {"^$"}));
    Add(MapLines(running_, kFrontendOwn, {{"permit 10", {}}}));
    for (const bool v6 : {false, true}) {
      std::vector<std::string> own, accept;
      for (const IpAddress& address : frontend_.addresses) {
        if (address.is_v6() == v6) own.push_back(address.ToHostPrefix());
      }
      for (const IpPrefix& prefix : frontend_.accept) {
        if (prefix.address.is_v6() != v6) continue;
        // A prefix list reads a prefix without `le` as that prefix alone.
        const bool within = prefix.length > 0 && !prefix.is_host();
        accept.push_back(prefix.ToString() + (within ? v6 ? " le 128" : " le 32" : ""));
      }
      Add(ListLines(running_, Ip(v6) + " prefix-list " + kFrontendOwn, own));
      Add(ListLines(running_, Ip(v6) + " prefix-list " + kFrontendAccept, accept));
      const std::string match = "match " + Ip(v6) + " address prefix-list ";
      // What belongs to a rail does not come in even where a leaf of the front end passes it on.
      Add(MapLines(running_, InMap(v6),
                   {{"deny 5", {std::string("match large-community ") + kAnyList}},
                    {"permit 10", {match + kFrontendAccept}}}));
      Add(MapLines(running_, OutMap(v6),
                   {{"permit 10", {match + kFrontendOwn, std::string("match as-path ") + kLocalList}}}));
    }
  }

  void Instance() {
    std::vector<std::string> inner;
    // Two leaves have two ASNs: without this line no two of their routes are used together.
    const std::string relax = "bgp bestpath as-path multipath-relax";
    if (!frontend_.links.empty() && !Has(running_.lines, relax)) inner.push_back(relax);
    Leftovers(inner);
    for (const std::string& link : frontend_.links) {
      const std::string neighbor = Neighbor(link);
      AddNeighbor(inner, running_, neighbor);
      const std::string bfd = neighbor + " bfd";
      if (frontend_.bfd == Frontend::Bfd::kOn && Starting(running_.lines, bfd) == nullptr)
        inner.push_back(bfd);
      if (frontend_.bfd == Frontend::Bfd::kOff && Has(running_.lines, bfd)) inner.push_back("no " + bfd);
    }
    // The node's addresses come before the neighbors: the first End-of-RIB follows them.
    for (const bool v6 : {false, true}) Family(v6, inner);
    for (const std::string& link : frontend_.links) {
      if (!Has(running_.lines, Neighbor(link) + " interface remote-as external"))
        inner.push_back(Neighbor(link) + " remote-as external");
    }
    if (inner.empty()) return;
    lines_.push_back("router bgp " + std::to_string(identity_.asn));
    Add(inner);
    lines_.emplace_back("exit");
  }

  // Neighbors with our filter on links that the front end no longer has.
  void Leftovers(std::vector<std::string>& inner) const {
    constexpr std::string_view kNeighbor = "neighbor ";
    const std::string filter = " route-map " + InMap(false) + " in";
    for (const std::string& line : running_.ipv4.lines) {
      if (!line.starts_with(kNeighbor) || !line.ends_with(filter)) continue;
      const std::string link = line.substr(kNeighbor.size(), line.size() - kNeighbor.size() - filter.size());
      if (!Has(frontend_.links, link)) inner.push_back("no " + Neighbor(link) + " interface");
    }
  }

  void Family(bool v6, std::vector<std::string>& inner) const {
    const FamilyConfig& family = running_.Family(v6);
    std::vector<std::string> missing;
    for (const auto& [address, map] : family.networks) {
      if (map == kFrontendOwn && std::ranges::find(frontend_.addresses, address) == frontend_.addresses.end())
        missing.push_back("no network " + address.ToHostPrefix() + " route-map " + map);
    }
    for (const IpAddress& address : frontend_.addresses) {
      if (address.is_v6() == v6 && !family.networks.contains(address))
        missing.push_back("network " + address.ToHostPrefix() + " route-map " + kFrontendOwn);
    }
    for (const std::string& link : frontend_.links) {
      const std::string neighbor = Neighbor(link);
      AddActivation(missing, running_, v6, neighbor);
      for (const std::string& map : {InMap(v6) + " in", OutMap(v6) + " out"}) {
        const std::string line = neighbor + " route-map " + map;
        if (!Has(family.lines, line)) missing.push_back(line);
      }
    }
    AddFamily(inner, v6, missing);
  }

  void RemoveListsAndMaps() {
    for (const std::string_view map : kMaps) {
      if (running_.route_maps.contains(std::string(map)))
        lines_.push_back("no route-map " + std::string(map));
    }
    for (const char* name : {kFrontendOwn, kFrontendAccept}) {
      for (const bool v6 : {false, true}) {
        const std::string kind = Ip(v6) + " prefix-list " + name;
        if (Starting(running_.lists, kind + " ") != nullptr) lines_.push_back("no " + kind);
      }
    }
  }

  const RunningConfig& running_;
  const Identity& identity_;
  const Frontend& frontend_;
  std::vector<std::string> lines_;
};

}  // namespace

Result<std::vector<std::string>> PlanFrontend(const RunningConfig& running, const Identity& identity,
                                              const Frontend& frontend) {
  return FrontendPlan(running, identity, frontend).Make();
}

}  // namespace rail::frr
