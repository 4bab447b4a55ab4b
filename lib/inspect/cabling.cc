#include "lib/inspect/cabling.h"

#include <fmt/core.h>

#include <algorithm>

namespace rail::inspect {
namespace {

using Nodes = std::set<uint32_t>;

class Search {
 public:
  explicit Search(const Fabric& fabric) : fabric_(fabric) {
    for (const auto& [node, leaves] : fabric.nodes()) {
      for (const auto& [rail, all] : leaves) {
        for (const uint32_t leaf : all) users_[leaf][rail].insert(node);
      }
      CountVotes(node, leaves);
    }
  }

  std::vector<Miscabled> Run() {
    Look(fabric_.own());
    for (const auto& [node, leaves] : fabric_.nodes()) {
      if (node != fabric_.own()) Look(node);
    }
    return std::move(found_);
  }

 private:
  // A rail whose leaf is another rail's for more nodes than it is this rail's.
  struct Crossed {
    uint32_t home = 0;  // that other rail
    uint32_t leaf = 0;
    uint32_t witness = 0;
    size_t votes = 0;
    bool decided = true;
  };

  // The only leaf of the node's rail; nothing while there are several: it is being cabled anew.
  static std::optional<uint32_t> LeafOf(const LeavesOfNode& leaves, uint32_t rail) {
    const auto found = leaves.find(rail);
    if (found == leaves.end() || found->second.size() != 1) return std::nullopt;
    return *found->second.begin();
  }

  // A node says whose a leaf is when it has one rail there and another one elsewhere. Who is seen on the one alone says nothing: both may
  // be there by the plan.
  void CountVotes(uint32_t node, const LeavesOfNode& leaves) {
    for (const auto& [home, there] : leaves) {
      const auto leaf = LeafOf(leaves, home);
      if (!leaf) continue;
      for (const auto& [rail, all] : leaves) {
        const auto elsewhere = LeafOf(leaves, rail);
        if (!elsewhere || *elsewhere == *leaf) continue;
        Votes& votes = votes_[{*leaf, rail}][home];
        if (votes.count++ == 0) votes.witness = node;
      }
    }
  }

  std::optional<Crossed> Cross(const LeavesOfNode& leaves, uint32_t rail) const {
    const auto leaf = LeafOf(leaves, rail);
    const auto against = leaf ? votes_.find({*leaf, rail}) : votes_.end();
    if (against == votes_.end()) return std::nullopt;
    const size_t here = users_.at(*leaf).at(rail).size();
    std::optional<Crossed> most;
    for (const auto& [home, votes] : against->second) {
      if (votes.count < here || (most && votes.count <= most->votes)) continue;
      const bool both_there = LeafOf(leaves, home) == leaf;  // so this node says itself whose the leaf is
      most = Crossed{home, *leaf, votes.witness, votes.count, votes.count > here || both_there};
    }
    return most;
  }

  void Look(uint32_t node) {
    const LeavesOfNode& leaves = fabric_.nodes().at(node);
    std::map<uint32_t, Crossed> crossed;
    for (const auto& [rail, all] : leaves) {
      if (const auto one = Cross(leaves, rail)) crossed.emplace(rail, *one);
    }
    const bool own = node == fabric_.own();
    std::set<uint32_t> told;
    for (const auto& [rail, one] : crossed) {
      if (told.contains(rail)) continue;
      const auto back = crossed.find(one.home);
      const bool swapped = back != crossed.end() && back->second.home == rail;
      const auto other_leaf = LeafOf(leaves, one.home);
      using enum Miscabled::Kind;
      Miscabled::Kind kind = swapped ? kSwapped : other_leaf == one.leaf ? kOneLeaf : kOtherRail;
      if (!one.decided) kind = kUndecided;
      if (kind == kUndecided && !own) continue;
      if (swapped) told.insert(one.home);
      found_.push_back(
          {kind, node, rail, one.home, one.leaf, other_leaf.value_or(0), one.witness, one.votes});
    }
    if (crossed.empty()) LookAtUnits(node, leaves);
  }

  // Who else has the node's leaf on that rail.
  Nodes Sharers(uint32_t node, uint32_t rail, uint32_t leaf) const {
    Nodes nodes = users_.at(leaf).at(rail);
    nodes.erase(node);
    return nodes;
  }

  // One of `nodes` that is known to have another leaf than `leaf` on `rail`.
  uint32_t Elsewhere(const Nodes& nodes, uint32_t rail, uint32_t leaf) const {
    for (const uint32_t node : nodes) {
      const auto has = LeafOf(fabric_.nodes().at(node), rail);
      if (has && *has != leaf) return node;
    }
    return 0;
  }

  void LookAtUnits(uint32_t node, const LeavesOfNode& leaves) {
    struct Rail {
      uint32_t index = 0;
      uint32_t leaf = 0;
      Nodes with;
      size_t agree = 0;
    };
    std::vector<Rail> rails;
    for (const auto& [rail, all] : leaves) {
      const auto leaf = LeafOf(leaves, rail);
      if (leaf) rails.push_back({rail, *leaf, Sharers(node, rail, *leaf)});
    }
    const auto contradict = [&](const Rail& a, const Rail& b) {
      if (std::ranges::any_of(a.with, [&](uint32_t each) { return b.with.contains(each); })) return false;
      return Elsewhere(a.with, b.index, b.leaf) != 0 && Elsewhere(b.with, a.index, a.leaf) != 0;
    };
    size_t most = 0;
    for (Rail& a : rails) {
      for (const Rail& b : rails) a.agree += &a != &b && !contradict(a, b) ? 1 : 0;
      most = std::max(most, a.agree);
    }
    // Of equals the first is taken for right, and it is said that nobody knows.
    const auto right = std::ranges::find(rails, most, &Rail::agree);
    for (const Rail& rail : rails) {
      if (&rail == &*right || !contradict(rail, *right)) continue;
      found_.push_back({Miscabled::Kind::kTwoUnits, node, rail.index, right->index, rail.leaf, right->leaf,
                        Elsewhere(rail.with, right->index, right->leaf), rail.with.size(),
                        rail.agree < most});
    }
  }

  const Fabric& fabric_;
  std::map<uint32_t, std::map<uint32_t, Nodes>> users_;  // by leaf, then rail
  struct Votes {
    size_t count = 0;
    uint32_t witness = 0;  // the first who says so
  };
  // Those who have `rail` elsewhere than on `leaf`, by the rail that they have there.
  std::map<std::pair<uint32_t, uint32_t>, std::map<uint32_t, Votes>> votes_;  // by leaf and rail
  std::vector<Miscabled> found_;
};

}  // namespace

std::string OthersText(const Miscabled& each) {
  return each.others == 1 ? fmt::format("the node AS {} has", each.other)
                          : fmt::format("{} nodes have (AS {})", each.others, each.other);
}

bool AcrossPlanes(const Miscabled& each, const Fabric& fabric) {
  const auto one = fabric.PlaneOf(each.rail);
  const auto other = fabric.PlaneOf(each.other_rail);
  return each.kind != Miscabled::Kind::kTwoUnits && one && other && one->number != other->number;
}

std::vector<Miscabled> FindMiscabled(const Fabric& fabric) {
  return Search(fabric).Run();
}

}  // namespace rail::inspect
