#include "lib/frr/base_removal.h"

#include <algorithm>
#include <string_view>

#include "lib/frr/base_config.h"
#include "lib/frr/config_lines.h"

namespace rail::frr {
namespace {

constexpr std::string_view kRouterId = "bgp router-id ";
constexpr std::string_view kTableMap = "table-map railcni-nofib";
constexpr std::string_view kTargets = "railcni";
constexpr std::string_view kRelax = "bgp bestpath as-path multipath-relax";  // of the front end
// Lines without a value that the base configuration adds to the instance.
constexpr std::string_view kSwitches[] = {"bgp graceful-restart preserve-fw-state", "bgp graceful-restart",
                                          "no bgp network import-check", "coalesce-time 100", kRelax};

// The interface whose neighbor the line is about; "" none of these.
std::string NeighborIn(std::string_view line, const std::vector<std::string>& interfaces) {
  if (line.starts_with("no ")) line.remove_prefix(3);
  for (const std::string& interface : interfaces) {
    if (line.starts_with("neighbor " + interface + " ")) return interface;
  }
  return "";
}

std::string Undo(std::string_view line) {
  if (line.starts_with("no ")) return std::string(line.substr(3));
  return "no " + std::string(line);
}

class Plan {
 public:
  Plan(const RunningConfig& running, const std::vector<std::string>& interfaces, const Removal& removal)
      : running_(running), interfaces_(interfaces), removal_(removal) {
    if (removal.base && removal.before && removal.before->known) before_ = &*removal.before;
  }

  std::vector<std::string> MakeLists() {
    Maps();
    Lists();
    return std::move(lines_);
  }

  std::vector<std::string> Make() {
    // They are ours as a whole: nobody else makes an instance in a VRF of this name.
    for (const auto& [vrf, instance] : running_.vrfs) {
      if (IsOurVrf(vrf) && instance.asn) lines_.push_back("no " + RouterLine(*instance.asn, vrf));
    }
    if (running_.asn) {
      const std::string router = "router bgp " + std::to_string(*running_.asn);
      if (before_ != nullptr && !before_->asn && IsAllOurs()) {
        lines_.push_back("no " + router);
      } else {
        Instance(router);
      }
    }
    Maps();
    if (removal_.base) Lists();
    return std::move(lines_);
  }

 private:
  // Whether the instance holds nothing but what RailCNI has put there.
  bool IsAllOurs() const {
    const auto in_family = [&](const FamilyConfig& family) {
      return std::ranges::all_of(family.lines,
                                 [&](const std::string& line) {
                                   return line == kTableMap || !NeighborIn(line, interfaces_).empty();
                                 }) &&
             std::ranges::all_of(family.networks, [](const auto& network) { return IsOurs(network.second); });
    };
    const auto is_ours = [&](const std::string& line) {
      return line.starts_with(kRouterId) || std::ranges::find(kSwitches, line) != std::end(kSwitches) ||
             !NeighborIn(line, interfaces_).empty();
    };
    return running_.other_families.empty() && std::ranges::all_of(running_.lines, is_ours) &&
           in_family(running_.ipv4) && in_family(running_.ipv6) &&
           std::ranges::all_of(running_.bmp_targets,
                               [](const auto& target) { return target.first == kTargets; });
  }

  void Instance(const std::string& router) {
    std::vector<std::string> inner;
    if (removal_.base && running_.bmp_targets.contains(std::string(kTargets)))
      inner.push_back("no bmp targets " + std::string(kTargets));
    const std::vector<std::string> none;
    Family(before_ == nullptr ? none : before_->ipv4, false, inner);
    Family(before_ == nullptr ? none : before_->ipv6, true, inner);
    if (before_ != nullptr) {
      Neighbors(inner);
      Switches(inner);
    }
    if (inner.empty()) return;
    lines_.push_back(router);
    lines_.insert(lines_.end(), inner.begin(), inner.end());
    lines_.emplace_back("exit");
  }

  // A neighbor that was there keeps what it had; one that was not goes as a whole, with its families.
  void Neighbors(std::vector<std::string>& inner) const {
    for (const std::string& interface : interfaces_) {
      const std::string neighbor = "neighbor " + interface + " ";
      if (!WasThere(interface)) {
        if (Starting(running_.lines, neighbor) != nullptr) inner.push_back("no " + neighbor + "interface");
        continue;
      }
      Restore(running_.lines, before_->lines, interface, inner);
    }
  }

  bool WasThere(const std::string& interface) const {
    return before_ != nullptr && Starting(before_->lines, "neighbor " + interface + " ") != nullptr;
  }

  // The lines of a neighbor, in one part of the configuration.
  void Restore(const std::vector<std::string>& now, const std::vector<std::string>& before,
               const std::string& interface, std::vector<std::string>& inner) const {
    for (const std::string& line : now) {
      if (NeighborIn(line, {interface}).empty() || Has(before, line) || IsSecret(line)) continue;
      // What follows the key is another value of a line that was there; that line is sent below.
      inner.push_back(Undo(line));
    }
    for (const std::string& line : before) {
      if (!NeighborIn(line, {interface}).empty() && !Has(now, line)) inner.push_back(line);
    }
  }

  static bool IsSecret(std::string_view line) { return line.find(" password ") != std::string_view::npos; }

  void Switches(std::vector<std::string>& inner) const {
    for (const std::string_view line : kSwitches) {
      if (Has(running_.lines, line) && !Has(before_->lines, line)) inner.push_back(Undo(line));
    }
    const std::string* now = Starting(running_.lines, kRouterId);
    const std::string* was = Starting(before_->lines, kRouterId);
    if (now == nullptr || (was != nullptr && *now == *was)) return;
    inner.push_back(was == nullptr ? Undo(*now) : *was);
  }

  void Family(const std::vector<std::string>& before, bool v6, std::vector<std::string>& inner) const {
    const FamilyConfig& family = running_.Family(v6);
    std::vector<std::string> lines;
    for (const auto& [address, map] : family.networks) {
      if (IsOurs(map) && (removal_.base || FromRouteMapName(map)))
        lines.push_back("no network " + address.ToHostPrefix() + " route-map " + map);
    }
    if (removal_.base && Has(family.lines, kTableMap) && !Has(before, kTableMap))
      lines.push_back(Undo(kTableMap));
    if (before_ != nullptr) {
      for (const std::string& interface : interfaces_) {
        if (WasThere(interface)) Restore(family.lines, before, interface, lines);
      }
    } else if (removal_.base) {
      // Without its route-map a neighbor neither sends nor takes a route, so a neighbor that stays is not left with ours.
      for (const std::string& line : family.lines) {
        if (!NeighborIn(line, interfaces_).empty() && line.find(" route-map railcni-") != std::string::npos)
          lines.push_back(Undo(line));
      }
    }
    AddFamily(inner, v6, lines);
  }

  void Maps() {
    for (const auto& [name, entries] : running_.route_maps) {
      if (removal_.base ? IsOurs(name) : FromRouteMapName(name).has_value())
        lines_.push_back("no route-map " + name);
    }
  }

  void Lists() {
    for (const std::string& line : running_.lists) {
      const size_t name = line.find(" railcni-");
      if (name == std::string::npos) continue;
      const std::string gone = "no " + line.substr(0, std::min(line.find(' ', name + 1), line.size()));
      if (!Has(lines_, gone)) lines_.push_back(gone);
    }
  }

  const RunningConfig& running_;
  const std::vector<std::string>& interfaces_;
  const Removal& removal_;
  const BaseBefore* before_ = nullptr;  // nullptr: not known, or not to be restored
  std::vector<std::string> lines_;
};

}  // namespace

BaseBefore LookBefore(const RunningConfig& running, const std::vector<std::string>& interfaces) {
  BaseBefore before{.asn = running.asn, .interfaces = interfaces};
  // A plugin may have announced before raild has looked.
  const auto is_named = [](const auto& named) {
    return IsOurs(named.first) && !FromRouteMapName(named.first);
  };
  before.known = std::ranges::none_of(running.route_maps, is_named);
  const auto keep = [&](const std::vector<std::string>& from, std::vector<std::string>& to) {
    for (const std::string& line : from) {
      if (line.find(" password ") != std::string::npos) continue;  // RailCNI keeps no secret, and sets none
      const bool single = line.starts_with(kRouterId) || line.starts_with("table-map ") ||
                          std::ranges::find(kSwitches, line) != std::end(kSwitches);
      if (single || !NeighborIn(line, interfaces).empty()) to.push_back(line);
    }
  };
  keep(running.lines, before.lines);
  keep(running.ipv4.lines, before.ipv4);
  keep(running.ipv6.lines, before.ipv6);
  return before;
}

void Merge(BaseBefore& first, const BaseBefore& now) {
  for (const std::string& interface : now.interfaces) {
    if (Has(first.interfaces, interface)) continue;
    first.interfaces.push_back(interface);
    const auto add = [&](const std::vector<std::string>& from, std::vector<std::string>& to) {
      for (const std::string& line : from) {
        if (!NeighborIn(line, {interface}).empty()) to.push_back(line);
      }
    };
    add(now.lines, first.lines);
    add(now.ipv4, first.ipv4);
    add(now.ipv6, first.ipv6);
    // A record that is older than the front end may not say it.
    if (Has(now.lines, kRelax) && !Has(first.lines, kRelax)) first.lines.emplace_back(kRelax);
  }
}

std::vector<std::string> PlanRemoval(const RunningConfig& running, const std::vector<std::string>& interfaces,
                                     const Removal& removal) {
  std::vector<std::string> all = interfaces;
  if (removal.before) {
    for (const std::string& interface : removal.before->interfaces) {
      if (!Has(all, interface)) all.push_back(interface);
    }
  }
  return Plan(running, all, removal).Make();
}

std::vector<std::string> PlanRest(const RunningConfig& running, const std::optional<std::string>& vrf) {
  std::vector<std::string> lines;
  const auto rest = [&](const std::string& of, const InstanceConfig& instance) {
    const auto target = instance.bmp_targets.find(std::string(kTargets));
    if (target == instance.bmp_targets.end() || !instance.asn || (vrf && *vrf != of)) return;
    lines.push_back(RouterLine(*instance.asn, of));
    lines.push_back("bmp targets " + target->first);
    for (const std::string& line : target->second) {
      if (line.starts_with("bmp connect "))
        lines.push_back(line.substr(0, line.find(" min-retry ")) + " min-retry 86400000 max-retry 86400000");
    }
    lines.insert(lines.end(), {"exit", "exit"});
  };
  rest("", running);
  for (const auto& [name, instance] : running.vrfs) {
    if (IsOurVrf(name)) rest(name, instance);
  }
  return lines;
}

std::vector<std::string> PlanListRemoval(const RunningConfig& running) {
  const std::vector<std::string> none;
  const Removal all{.base = true, .before = std::nullopt};
  return Plan(running, none, all).MakeLists();
}

}  // namespace rail::frr
