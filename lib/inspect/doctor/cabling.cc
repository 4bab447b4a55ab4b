#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "lib/inspect/cabling.h"
#include "lib/inspect/doctor/subjects.h"

namespace rail::inspect {
namespace {

// Rails whose value most of their siblings do not have. With two that differ, the one that `usual` does not hold of.
template <class T>
std::vector<const config::Rail*> Odd(const std::map<const config::Rail*, T>& values, T usual) {
  std::map<T, size_t> counts;
  for (const auto& [rail, value] : values) ++counts[value];
  if (counts.size() < 2) return {};
  auto most = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  if (2 * most->second <= values.size()) {
    if (values.size() != 2 || !counts.contains(usual)) return {};
    most = counts.find(usual);
  }
  std::vector<const config::Rail*> odd;
  for (const auto& [rail, value] : values) {
    if (value != most->first) odd.push_back(rail);
  }
  std::ranges::sort(odd, {}, &config::Rail::index);
  return odd;
}

class Cabling : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    const Fabric fabric(view_);
    for (const Miscabled& each : FindMiscabled(fabric)) {
      if (AcrossPlanes(each, fabric)) continue;  // ExaminePlanes says it
      if (each.node == fabric.own()) {
        Own(each);
      } else {
        Remote(each);
      }
    }
    WithoutSession(fabric);
    LeafAs();
    Mtu();
    Speed();
  }

 private:
  std::string RailName(uint32_t index) const {
    const auto rail = std::ranges::find(config_.rails, index, &config::Rail::index);
    return rail == config_.rails.end() ? fmt::format("rail {}", index) : rail->name;
  }
  std::string Uplink(uint32_t index) const {
    const auto rail = std::ranges::find(config_.rails, index, &config::Rail::index);
    return rail == config_.rails.end() ? RailName(index) : rail->pf;
  }
  std::string Port(uint32_t index) const {
    const engine::RailView* rail = ViewOf(index);
    return rail == nullptr ? "" : PortText(*rail);
  }

  void Own(const Miscabled& each) {
    const std::string rail = RailName(each.rail);
    const std::string other = RailName(each.other_rail);
    const std::string leaf = LeafText(view_, each.leaf) + Port(each.rail);
    switch (each.kind) {
      case Miscabled::Kind::kSwapped:
        Find(Severity::kWarning, "rails-swapped", rail,
             fmt::format("{} and {} are swapped: {} leads to {}, which {} on {}", rail, other,
                         Uplink(each.rail), leaf, OthersText(each), other),
             "what stays on one leaf elsewhere crosses the spines from here, on both rails",
             fmt::format("swap the cables of {} and {} at one end, or their rails in node.json (rails[].pf)",
                         Uplink(each.rail), Uplink(each.other_rail)));
        break;
      case Miscabled::Kind::kOneLeaf:
        Find(Severity::kWarning, "rails-on-one-leaf", rail,
             fmt::format("{} and {} lead to one leaf, {}; {} it on {} alone", rail, other, leaf,
                         OthersText(each), other),
             "both rails end with that leaf, and their traffic to the same rail elsewhere crosses the spines",
             fmt::format("plug the cable of {} into the leaf of {}", Uplink(each.rail), rail));
        break;
      case Miscabled::Kind::kOtherRail:
        Find(Severity::kWarning, "rail-on-other-leaf", rail,
             fmt::format("{} leads to {}, which {} on {}", rail, leaf, OthersText(each), other),
             "what stays on one leaf elsewhere crosses the spines from here",
             fmt::format("plug the cable of {} into the leaf of {}", Uplink(each.rail), rail));
        break;
      case Miscabled::Kind::kUndecided:
        Find(Severity::kWarning, "address-by-other-rail", rail,
             fmt::format("addresses of {} of the node AS {} come straight from {}, the leaf of {} here",
                         other, each.other, leaf, rail),
             "one of the two nodes has its cables on wrong leaves; as many nodes say this as that",
             fmt::format(
                 "compare with the plan: which rail's leaf is {}? `railctl get topology` shows both nodes",
                 leaf));
        break;
      case Miscabled::Kind::kTwoUnits:
        Find(Severity::kWarning, "leaf-in-two-units", rail,
             fmt::format("{} leads to {}, in the unit of the node AS {}; {} leads to {}, in another{}", rail,
                         leaf, each.other, other, LeafText(view_, each.other_leaf),
                         each.decided ? ", as do most rails" : ""),
             "the node is in no unit whole: what a scheduler keeps within one unit crosses the spines",
             fmt::format("plug the cable of {} into the unit of the other rails{}; if the node is being "
                         "moved, plug in the others, too",
                         Uplink(each.rail),
                         each.decided ? "" : fmt::format(", or that of {}", Uplink(each.other_rail))));
        break;
    }
  }

  void Remote(const Miscabled& each) {
    std::string what;
    const std::string rail = RailName(each.rail);
    const std::string other = RailName(each.other_rail);
    switch (each.kind) {
      case Miscabled::Kind::kSwapped:
        what = fmt::format("has {} and {} swapped: its {} is behind {}, which {} on {}", rail, other, rail,
                           LeafText(view_, each.leaf), OthersText(each), other);
        break;
      case Miscabled::Kind::kOneLeaf:
        what = fmt::format("has {} and {} on one leaf, {}; {} it on {} alone", rail, other,
                           LeafText(view_, each.leaf), OthersText(each), other);
        break;
      case Miscabled::Kind::kOtherRail:
      case Miscabled::Kind::kUndecided:
        what = fmt::format("has {} behind {}, which {} on {}", rail, LeafText(view_, each.leaf),
                           OthersText(each), other);
        break;
      case Miscabled::Kind::kTwoUnits:
        what = fmt::format(
            "is in two units: its {} is behind {}, with the node AS {}; its {} behind {}, without it", rail,
            LeafText(view_, each.leaf), each.other, other, LeafText(view_, each.other_leaf));
        break;
    }
    Find(Severity::kWarning, "remote-on-other-leaf", fmt::format("AS {}", each.node),
         fmt::format("the node AS {} {}", each.node, what),
         "its traffic to the same rail crosses the spines where that of its neighbours does not",
         "run `railctl doctor` on that node (bgp.asn of its node.json is the AS number); its finding names "
         "the cable");
  }

  // Whether the two rails have leaves of their own by the plan: other nodes have, or this rail had another one of another AS. A leaf that is set
  // up anew has another router id, and its old AS.
  static bool AreApart(const Fabric& fabric, const engine::RailView& rail, const engine::RailView& other) {
    if (rail.leaf && other.leaf && rail.leaf->leaf.asn != other.leaf->leaf.asn &&
        rail.leaf->leaf.router_id != other.leaf->leaf.router_id)
      return true;
    return std::ranges::any_of(fabric.nodes(), [&](const auto& node) {
      if (node.first == fabric.own()) return false;
      const auto one = node.second.find(rail.rail.index);
      const auto two = node.second.find(other.rail.index);
      return one != node.second.end() && two != node.second.end() && one->second != two->second;
    });
  }

  // BGP says nothing of a leaf with which there is no session. LLDP says which switch the cable is in.
  void WithoutSession(const Fabric& fabric) {
    for (const engine::RailView& rail : view_.rails) {
      if (!rail.seen.has_lldp() || rail.connected()) continue;
      const auto other = std::ranges::find_if(view_.rails, [&](const engine::RailView& each) {
        return each.rail.name != rail.rail.name && each.seen.has_lldp() &&
               each.seen.bgp_state() == frr::kEstablished &&
               each.seen.lldp().chassis() == rail.seen.lldp().chassis() && AreApart(fabric, rail, each);
      });
      if (other == view_.rails.end()) continue;
      const std::string leaf = other->leaf ? LeafText(other->leaf->leaf) : other->seen.lldp().system_name();
      Find(Severity::kWarning, "cable-in-other-leaf", rail.rail.name,
           fmt::format("the cable of {} is in {}{}, the leaf of {} ({}), and no session comes up there",
                       rail.rail.pf, leaf, PortText(rail), other->rail.name, other->seen.lldp().port()),
           "the leaf does not expect this node's rail on that port: nothing is told or learned on this rail",
           fmt::format("plug the cable of {} into the leaf of {}", rail.rail.pf, rail.rail.name));
    }
  }

  void LeafAs() {
    std::map<const config::Rail*, uint32_t> numbers;
    std::map<IpAddress, const config::Rail*> leaves;
    for (const engine::RailView& shown : view_.rails) {
      if (!shown.leaf || !leaves.emplace(shown.leaf->leaf.router_id, nullptr).second) continue;
      numbers[&shown.rail] = shown.leaf->leaf.asn;
    }
    std::map<uint32_t, size_t> counts;
    for (const auto& [rail, as] : numbers) ++counts[as];
    std::vector<const config::Rail*> odd;
    if (numbers.size() >= 3) odd = Odd(numbers, 0U);
    // All have one of their own, but two.
    if (odd.empty() && numbers.size() >= 4 && counts.size() + 1 == numbers.size()) {
      for (const auto& [rail, as] : numbers) {
        if (counts[as] == 2) odd.push_back(rail);
      }
      std::ranges::sort(odd, {}, &config::Rail::index);
    }
    for (const config::Rail* rail : odd) {
      const bool twice = counts[numbers[rail]] == 2;
      Find(Severity::kWarning, "leaf-as-unlike-siblings", rail->name,
           fmt::format(
               "the leaf of {} has the AS {}, {}", rail->name, numbers[rail],
               twice ? "as another leaf here has" : "and those of most rails have another one in common"),
           "leaves of one AS drop each other's routes (RFC 4271 section 9.1.2), and leaves of different ASs "
           "do not: what works on one rail fails on another",
           "give the leaf the AS of the plan: one for each leaf (RFC 7938 section 5.2.1), or the same for "
           "all");
    }
  }

  void Mtu() {
    std::map<const config::Rail*, uint32_t> values;
    uint32_t largest = 0;
    for (const config::Rail& rail : config_.rails) {
      values[&rail] = rail.mtu;
      largest = std::max(largest, rail.mtu);
    }
    for (const config::Rail* rail : Odd(values, largest)) {
      Find(Severity::kWarning, "rail-mtu-unlike-siblings", rail->name,
           fmt::format("pods have MTU {} on {}, and another one on the other rails", rail->mtu, rail->name),
           "a job negotiates one size for all rails, or fails where it does not: RoCE takes the path MTU "
           "from the interface",
           "give the rails one rails[].mtu in node.json, and restart raild");
    }
  }

  void Speed() {
    std::map<const config::Rail*, uint32_t> speeds;
    for (const config::Rail& rail : config_.rails) {
      const auto seen = facts_.rails.find(rail.name);
      if (seen != facts_.rails.end() && seen->second.speed_mbit > 0) speeds[&rail] = seen->second.speed_mbit;
    }
    uint32_t fastest = 0;
    for (const auto& [rail, speed] : speeds) fastest = std::max(fastest, speed);
    for (const config::Rail* rail : Odd(speeds, fastest)) {
      Find(Severity::kWarning, "uplink-speed-unlike-siblings", rail->name,
           fmt::format("the uplink {} runs at {} Mbit/s, unlike those of the other rails", rail->pf,
                       speeds[rail]),
           "a collective runs at the pace of its slowest rail",
           fmt::format("cable, optics, the leaf's port: `ethtool {}` shows what both ends offer", rail->pf));
    }
  }
};

}  // namespace

void ExamineCabling(const NodeFacts& facts, std::vector<Finding>& found) {
  Cabling(facts, found).Run();
}

void LookAtSpeeds(NodeFacts& facts, const std::string& sysfs) {
  for (const config::Rail& rail : facts.config.rails) {
    std::ifstream file(sysfs + "/class/net/" + rail.pf + "/speed");
    int64_t speed = 0;  // -1 or an error: nobody knows, as without a carrier
    if (file >> speed && speed > 0 && speed <= UINT32_MAX)
      facts.rails[rail.name].speed_mbit = static_cast<uint32_t>(speed);
  }
}

}  // namespace rail::inspect
