// Expected against seen: what nodes announce, and what the others have learned of it. Documents have counts and no addresses, so whoever is
// named is whose addresses are missing at all who should have them, and at nobody else.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "lib/fabric/announced.h"
#include "lib/fabric/cause.h"
#include "lib/fabric/text.h"

namespace rail::fabric {
namespace {

struct OfTenant {
  std::string_view tenant;
  size_t lacks = 0;  // addresses; what a cause explains is taken off
  const Announced::Counts* groups = nullptr;
};

struct Reader {
  const Node* node = nullptr;
  size_t place = 0;  // in Look::nodes
  RailSet rails;     // on which it hears its leaf
  std::string unit{};
  std::set<std::string> leaves{};  // as LeafScope
  std::vector<OfTenant> tenants{};
  size_t expected = 0;
  size_t lacked = 0;  // before anything was explained

  bool Lacks() const {
    return std::ranges::any_of(tenants, [](const OfTenant& of) { return of.lacks > 0; });
  }
};

// Whose addresses are missing, and where.
struct Suspect {
  enum What { kIsolated, kUnheard, kApart, kLeaf, kNode };
  What what = kNode;
  std::string name;
  std::string other{};  // kApart: the other unit

  bool operator==(const Suspect&) const = default;
};

size_t CountIn(const OfTenant& of, Group::Of kind, const std::string& name) {
  const auto at = of.groups->find({kind, name});
  return at == of.groups->end() || at->second.nodes < (kind == Group::kNode ? 1U : 2U) ? 0
                                                                                       : at->second.addresses;
}

// How many the reader would lack, were the suspect to blame.
size_t Predicted(const Suspect& suspect, const Reader& reader, const OfTenant& of) {
  switch (suspect.what) {
    case Suspect::kIsolated:
      return CountIn(of, reader.unit == suspect.name ? Group::kOthers : Group::kUnit, suspect.name);
    case Suspect::kUnheard: return reader.unit == suspect.name ? 0 : CountIn(of, Group::kUnit, suspect.name);
    case Suspect::kApart:
      if (reader.unit == suspect.name) return CountIn(of, Group::kUnit, suspect.other);
      return reader.unit == suspect.other ? CountIn(of, Group::kUnit, suspect.name) : 0;
    case Suspect::kLeaf:
      return reader.leaves.contains(suspect.name) ? 0 : CountIn(of, Group::kLeaf, suspect.name);
    case Suspect::kNode: break;
  }
  return reader.node->name == suspect.name ? 0 : CountIn(of, Group::kNode, suspect.name);
}

class Learning {
 public:
  Learning(const Look& look, const std::set<std::string>& deaf) : look_(look), announced_(look, deaf) {
    for (size_t i = 0; i < look.nodes.size(); ++i) Read(i);
  }

  void Tell(std::vector<Cause>& found) {
    if (std::ranges::none_of(readers_, &Reader::Lacks)) return;
    for (Reader& reader : readers_) {
      for (OfTenant& of : reader.tenants) of.groups = &announced_.Groups(of.tenant, reader.rails);
      for (const Cell& cell : look_.grid.OfNode(reader.node->name)) reader.leaves.insert(LeafScope(cell));
    }
    // Whoever lacks nothing contradicts most suspects.
    std::stable_sort(readers_.begin(), readers_.end(),
                     [](const Reader& a, const Reader& b) { return !a.Lacks() && b.Lacks(); });
    if (Explain(Units(), found)) Explain(LeavesAndNodes(), found);
    TellReaders(found);
  }

  int64_t NextLookMs() const { return announced_.NextLookMs(); }

 private:
  void Read(size_t place) {
    const Node& node = *look_.nodes[place];
    if (!node.state.learned().complete() || !node.state.node().bmp_up()) return;
    Reader reader{.node = &node,
                  .place = place,
                  .rails = announced_.RailsOf(node),
                  .unit = look_.grid.UnitOf(node.name)};
    if (reader.rails.none()) return;
    for (const v1::LearnedCounts::OfTenant& of : node.state.learned().of_tenants()) {
      const size_t expected = announced_.To(node, of.tenant(), reader.rails);
      const size_t lacks = expected > of.remotes() ? expected - of.remotes() : 0;
      reader.expected += expected;
      reader.lacked += lacks;
      reader.tenants.push_back({of.tenant(), lacks});
    }
    if (reader.expected > 0) readers_.push_back(std::move(reader));
  }

  std::vector<Suspect> Units() const {
    std::set<std::string, NaturalLess> units;
    for (const Reader& reader : readers_) units.insert(reader.unit);
    units.erase("");
    std::vector<Suspect> suspects;
    for (const std::string& unit : units) {
      if (units.size() > 2) suspects.push_back({Suspect::kIsolated, unit});
      suspects.push_back({Suspect::kUnheard, unit});
      for (const std::string& other : units) {
        if (IsBefore(unit, other)) suspects.push_back({Suspect::kApart, unit, other});
      }
    }
    return suspects;
  }

  std::vector<Suspect> LeavesAndNodes() const {
    std::set<const Announced::Counts*> seen;
    std::set<Group> groups;
    for (const Reader& reader : readers_) {
      for (const OfTenant& of : reader.tenants) {
        if (of.lacks == 0 || !seen.insert(of.groups).second) continue;
        for (const auto& [group, count] : *of.groups) {
          if (group.of == Group::kNode || group.of == Group::kLeaf) groups.insert(group);
        }
      }
    }
    std::vector<Suspect> suspects;
    for (const Group& group : groups)
      suspects.push_back({group.of == Group::kNode ? Suspect::kNode : Suspect::kLeaf, group.name});
    return suspects;
  }

  // What the suspect explains; 0: somebody has what would be missing, or it is one reader's matter.
  size_t Explains(const Suspect& suspect) const {
    size_t sum = 0;
    size_t readers = 0;
    for (const Reader& reader : readers_) {
      size_t of_reader = 0;
      for (const OfTenant& of : reader.tenants) {
        const size_t predicted = Predicted(suspect, reader, of);
        if (predicted > of.lacks) return 0;
        of_reader += predicted;
      }
      sum += of_reader;
      readers += of_reader > 0 ? 1 : 0;
    }
    return readers > 1 ? sum : 0;
  }

  // Takes off what the suspect explains, or puts it back.
  void Take(const Suspect& suspect, bool back) {
    for (Reader& reader : readers_) {
      for (OfTenant& of : reader.tenants) {
        const size_t predicted = Predicted(suspect, reader, of);
        of.lacks = back ? of.lacks + predicted : of.lacks - predicted;
      }
    }
  }

  // What those lack to whom the suspect's addresses are no news: it has another cause.
  size_t LacksInside(const Suspect& suspect) const {
    size_t sum = 0;
    for (const Reader& reader : readers_) {
      const bool is_inside = suspect.what == Suspect::kNode ? reader.node->name == suspect.name
                             : suspect.what == Suspect::kLeaf
                                 ? reader.leaves.contains(suspect.name)
                                 : suspect.what == Suspect::kUnheard && reader.unit == suspect.name;
      for (const OfTenant& of : reader.tenants) sum += is_inside ? of.lacks : 0;
    }
    return sum;
  }

  // Those that explain most, and of these those who have most of what others lack; nothing: nobody explains anything.
  std::vector<Suspect> Best(const std::vector<Suspect>& suspects) const {
    std::pair<size_t, std::ptrdiff_t> most;
    std::vector<Suspect> best;
    for (const Suspect& suspect : suspects) {
      const size_t sum = Explains(suspect);
      if (sum == 0 || sum < most.first) continue;
      const std::pair rank{sum, -static_cast<std::ptrdiff_t>(LacksInside(suspect))};
      if (best.empty() || rank > most) best.clear();
      if (!best.empty() && rank < most) continue;
      most = rank;
      best.push_back(suspect);
    }
    return best;
  }

  // False: of several that explain as much, one leaves nothing to another: nobody knows which it is, and none is named.
  bool Explain(std::vector<Suspect> suspects, std::vector<Cause>& found) {
    for (std::vector<Suspect> best = Best(suspects); !best.empty(); best = Best(suspects)) {
      std::vector<Suspect> taken;
      for (const Suspect& suspect : best) {
        if (Explains(suspect) == 0) {
          for (const Suspect& each : taken) Take(each, true);
          return false;
        }
        Take(suspect, false);
        taken.push_back(suspect);
      }
      for (const Suspect& suspect : taken) {
        found.push_back(Made(suspect));
        std::erase(suspects, suspect);
      }
    }
    return true;
  }

  size_t CountPredicted(const Suspect& suspect) const {
    return static_cast<size_t>(std::ranges::count_if(readers_, [&](const Reader& reader) {
      return std::ranges::any_of(reader.tenants,
                                 [&](const OfTenant& of) { return Predicted(suspect, reader, of) > 0; });
    }));
  }

  Cause Made(const Suspect& suspect) const {
    const std::string& name = suspect.name;
    const size_t readers = CountPredicted(suspect);
    const bool is_unit = suspect.what == Suspect::kIsolated || suspect.what == Suspect::kApart ||
                         suspect.what == Suspect::kUnheard;
    Cause cause{.kind = &KindOf(is_unit ? "units-apart" : "not-announced-further"), .subject = name};
    cause.follows["not-learned"] = static_cast<uint32_t>(readers);
    for (const Node* node : look_.nodes) {
      const std::string& unit = look_.grid.UnitOf(node->name);
      const auto is_behind = [&name](const Cell& cell) { return LeafScope(cell) == name; };
      const bool concerns = is_unit ? unit == name || unit == suspect.other
                            : suspect.what == Suspect::kNode
                                ? node->name == name
                                : std::ranges::any_of(look_.grid.OfNode(node->name), is_behind);
      if (concerns) cause.nodes.push_back(node->name);
    }
    switch (suspect.what) {
      case Suspect::kIsolated:
        cause.what = fmt::format(
            "{} and all other units have not learned each other's addresses; look at the spines of {}", name,
            name);
        break;
      case Suspect::kUnheard:
        cause.what = fmt::format(
            "no other unit has learned the addresses of {}, and {} has learned theirs; look at what its "
            "leaves and spines pass on",
            name, name);
        break;
      case Suspect::kApart:
        cause.subject = name + " and " + suspect.other;
        cause.what = fmt::format(
            "{} have not learned each other's addresses, and have learned all else; look at the spines "
            "between them",
            cause.subject);
        break;
      case Suspect::kLeaf:
        cause.what = fmt::format(
            "{}: none of the {} nodes behind other leaves has learned the addresses behind it; look at what "
            "it passes on",
            name, readers);
        break;
      case Suspect::kNode:
        cause.what = fmt::format(
            "{}: none of {} other nodes has learned its addresses, though its sessions are up; look at what "
            "its leaves take of it and pass on",
            name, readers);
        break;
    }
    return cause;
  }

  // "16 of 240 addresses (tenants blue and red)"
  static std::string What(const Reader& reader) {
    std::vector<std::string> tenants;
    for (const OfTenant& of : reader.tenants) {
      if (of.lacks > 0) tenants.emplace_back(of.tenant);
    }
    return fmt::format("{} of {} addresses ({} {})", reader.lacked, reader.expected,
                       tenants.size() == 1 ? "tenant" : "tenants", ListOf(tenants));
  }

  void TellReaders(std::vector<Cause>& found) const {
    constexpr size_t kFewestOfSeveral = 3;
    std::map<size_t, const Reader*> left;  // by the node's place
    std::vector<size_t> places;
    for (const Reader& reader : readers_) {
      if (reader.Lacks()) left[reader.place] = &reader;
    }
    for (const auto& [place, reader] : left) places.push_back(place);
    for (const Explained& each :
         look_.of_nodes.Explain(places, {Scope::kUnit, Scope::kVersion, Scope::kFleet})) {
      if (each.scope == Scope::kAlone) continue;
      const std::string name = each.scope == Scope::kFleet ? "fleet" : each.name;
      const std::string of = each.scope == Scope::kVersion ? "with " + name
                             : each.scope == Scope::kUnit  ? "of " + name
                                                           : "of the fleet";
      found.push_back(
          OfSeveral(name, "all " + Some(each.items.size(), "node", "nodes") + " " + of, each.items, left));
      for (const size_t place : each.items) left.erase(place);
    }
    if (left.size() >= kFewestOfSeveral) {
      std::vector<size_t> several;
      for (const auto& [place, reader] : left) several.push_back(place);
      found.push_back(OfSeveral(
          "several nodes", fmt::format("{} of {} nodes", several.size(), look_.nodes.size()), several, left));
      return;
    }
    for (const auto& [place, reader] : left) {
      const std::string& name = reader->node->name;
      found.push_back({.kind = &KindOf("not-learned"),
                       .subject = name,
                       .what = name + " has not learned " + What(*reader),
                       .nodes = {name}});
    }
  }

  Cause OfSeveral(const std::string& subject, const std::string& whom, const std::vector<size_t>& places,
                  const std::map<size_t, const Reader*>& readers) const {
    Cause cause{.kind = &KindOf("not-learned"), .subject = subject};
    for (const size_t place : places) cause.nodes.push_back(look_.nodes[place]->name);
    cause.follows["not-learned"] = static_cast<uint32_t>(places.size());
    cause.what = fmt::format("{} have not learned all addresses ({}): {} lacks {}", whom, ListOf(cause.nodes),
                             cause.nodes.front(), What(*readers.at(places.front())));
    return cause;
  }

  const Look& look_;
  Announced announced_;
  std::vector<Reader> readers_;
};

}  // namespace

int64_t JudgeLearning(const Look& look, const std::set<std::string>& deaf, std::vector<Cause>& found) {
  Learning learning(look, deaf);
  learning.Tell(found);
  return learning.NextLookMs();
}

}  // namespace rail::fabric
