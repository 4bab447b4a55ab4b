#include "lib/fabric/places.h"

#include <algorithm>
#include <set>

namespace rail::fabric {
namespace {

// What has most votes; of several the first. "": there is no vote.
std::string Most(const std::map<std::string, size_t>& votes) {
  std::string most;
  size_t count = 0;
  for (const auto& [name, votes_of_it] : votes) {
    if (votes_of_it <= count) continue;
    most = name;
    count = votes_of_it;
  }
  return most;
}

}  // namespace

std::string LeafKey(const v1::Rail& rail) {
  const v1::Leaf& leaf = rail.leaf();
  if (!leaf.router_id().empty()) return leaf.router_id();
  if (!leaf.name().empty()) return leaf.name();
  return leaf.asn() == 0 ? "" : "AS " + std::to_string(leaf.asn());
}

Places::Places(const Fleet& fleet) {
  NameLeaves(fleet);
  PlaceNodes(fleet);
  std::map<std::pair<std::string, uint32_t>, Votes> votes;
  for (const auto& [name, node] : fleet.nodes()) {
    const std::string& unit = UnitOf(name);
    for (const v1::Rail& rail : node.state.rails()) {
      const std::string key = LeafKey(rail);
      if (!key.empty() && !unit.empty()) ++votes[{unit, rail.index()}][names_.at(key)];
    }
  }
  for (const auto& [place, names] : votes) unit_leaves_[place] = Most(names);
}

const std::string& Places::UnitOf(std::string_view node) const {
  static const std::string none;
  const auto at = units_.find(node);
  return at == units_.end() ? none : at->second;
}

std::string Places::LeafOf(std::string_view node, const v1::Rail& rail) const {
  if (const auto at = names_.find(LeafKey(rail)); at != names_.end()) return at->second;
  const auto at = unit_leaves_.find({UnitOf(node), rail.index()});
  return at == unit_leaves_.end() ? "" : at->second;
}

void Places::NameLeaves(const Fleet& fleet) {
  std::map<std::string, std::set<std::string>> keys_of;  // by name
  std::map<std::string, std::string> name_of;            // by key
  for (const auto& [name, node] : fleet.nodes()) {
    for (const v1::Rail& rail : node.state.rails()) {
      std::string key = LeafKey(rail);
      if (key.empty()) continue;
      const std::string& said = rail.leaf().name();
      std::string& known = name_of[key];
      if (known.empty() || rail.leaf().heard()) known = said.empty() ? key : said;
    }
  }
  for (const auto& [key, name] : name_of) keys_of[name].insert(key);
  for (const auto& [key, name] : name_of)
    names_[key] = keys_of.at(name).size() == 1 ? name : name + " (" + key + ")";
}

// A node alone in a unit of its own making has a cable in another unit's leaf: it is of the unit of most of its leaves.
void Places::PlaceNodes(const Fleet& fleet) {
  std::map<std::string, size_t> members;
  std::unordered_map<std::string, Votes> of_leaf;
  for (const auto& [name, node] : fleet.nodes()) {
    const std::string& unit = node.state.node().unit();
    units_[name] = unit;
    if (unit.empty()) continue;
    ++members[unit];
    for (const v1::Rail& rail : node.state.rails()) {
      if (const std::string key = LeafKey(rail); !key.empty()) ++of_leaf[key][unit];
    }
  }
  for (const auto& [name, node] : fleet.nodes()) {
    const std::string& own = node.state.node().unit();
    if (!own.empty() && members.at(own) > 1) continue;
    Votes votes;
    size_t leaves = 0;
    for (const v1::Rail& rail : node.state.rails()) {
      const auto at = of_leaf.find(LeafKey(rail));
      if (at == of_leaf.end()) continue;
      ++leaves;
      Votes others = at->second;
      others.erase(own);
      if (const std::string unit = Most(others); !unit.empty()) ++votes[unit];
    }
    const std::string most = Most(votes);
    if (!most.empty() && votes.at(most) * 2 > leaves) units_[name] = most;
  }
}

}  // namespace rail::fabric
