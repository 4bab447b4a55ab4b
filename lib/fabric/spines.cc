// Leaves that have their own nodes' addresses alone.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "lib/base/text.h"
#include "lib/fabric/cause.h"
#include "lib/fabric/text.h"

namespace rail::fabric {
namespace {

// Addresses of pods. Counts.
struct Addresses {
  size_t announced = 0;  // those that the leaf has for sure
  size_t at_most = 0;    // all that it may have
};

struct LeafSeen {
  std::vector<const Cell*> cells;
  Addresses addresses;
  size_t deaf = 0;  // cells that hear no other leaf
  size_t judged = 0;
  bool strips = false;  // communities, so its nodes take nothing that it passes on
};

class Spines {
 public:
  explicit Spines(const Look& look) : look_(look) {
    for (const Cell& cell : look.grid.cells()) {
      const std::string scope = LeafScope(cell);
      if (scope.empty() || cell.rail->by_vlan()) continue;
      Addresses own = Of(cell);
      LeafSeen& leaf = leaves_[scope];
      leaf.addresses.at_most += own.at_most;
      if (!cell.node->IsSeen() || !cell.HasLink()) continue;
      leaf.addresses.announced += own.announced;
      of_rail_[cell.rail->index()] += own.announced;
      leaf.cells.push_back(&cell);
    }
    for (auto& [scope, leaf] : leaves_) Judge(leaf);
  }

  void Tell(std::vector<Cause>& found, std::set<std::string>& deaf) const {
    std::vector<const LeafSeen*> judged;
    std::vector<size_t> red;
    for (const auto& [scope, leaf] : leaves_) {
      if (leaf.strips) deaf.insert(scope);
      if (leaf.judged == 0) continue;
      if (leaf.deaf == leaf.judged) {
        red.push_back(judged.size());
        deaf.insert(scope);
      }
      judged.push_back(&leaf);
    }
    if (red.empty()) return;
    Cover cover(judged.size());
    for (size_t i = 0; i < judged.size(); ++i) {
      const Cell& cell = *judged[i]->cells.front();
      if (!cell.unit.empty()) cover.Put(i, Scope::kUnit, cell.unit, cell.unit);
      cover.Put(i, Scope::kRail, std::to_string(cell.rail->index()), cell.rail->name());
      cover.Put(i, Scope::kFleet, "", "fleet");
    }
    std::map<std::string, std::vector<size_t>> of_unit;  // what is alone
    for (const Explained& each : cover.Explain(red, {Scope::kRail, Scope::kUnit, Scope::kFleet})) {
      if (each.scope == Scope::kAlone) {
        of_unit[judged[each.items.front()]->cells.front()->unit].push_back(each.items.front());
      } else {
        found.push_back(Made("spines-down", each.name, judged, each.items));
      }
    }
    for (const auto& [unit, items] : of_unit) {
      if (items.size() > 1 && !unit.empty()) {
        found.push_back(Made("spine-down", unit, judged, items));
        continue;
      }
      for (const size_t item : items)
        found.push_back(Made("leaf-without-spines", LeafName(*judged[item]->cells.front()), judged, {item}));
    }
  }

 private:
  static Addresses Of(const Cell& cell) {
    Addresses found;
    for (const auto& [id, attachment] : cell.node->attachments) {
      if (attachment.rail() != cell.rail->name()) continue;
      const auto count = static_cast<size_t>(attachment.addresses_size());
      found.at_most += count;
      if (attachment.announced() && attachment.phase() == v1::Attachment::READY) found.announced += count;
    }
    return found;
  }

  // A leaf returns a node's own addresses or does not: what says neither way is not judged. Nor is a rail whose leaf strips communities,
  // which has a line of its own.
  void Judge(LeafSeen& leaf) const {
    for (const Cell* cell : leaf.cells) {
      if (cell->rail->stripped() > 0) {
        leaf.strips = true;
        continue;
      }
      const size_t elsewhere = of_rail_.at(cell->rail->index()) - leaf.addresses.announced;
      const size_t own = Of(*cell).announced;
      if (!cell->rail->connected() || elsewhere <= own) continue;
      ++leaf.judged;
      const size_t received = cell->rail->prefixes_received();
      if (received <= leaf.addresses.at_most && received + own < leaf.addresses.announced + elsewhere)
        ++leaf.deaf;
    }
  }

  Cause Made(std::string_view id, const std::string& subject, const std::vector<const LeafSeen*>& judged,
             const std::vector<size_t>& items) const {
    std::vector<const Cell*> cells;
    std::vector<std::string> names;
    for (const size_t item : items) {
      cells.insert(cells.end(), judged[item]->cells.begin(), judged[item]->cells.end());
      names.push_back(LeafName(*judged[item]->cells.front()));
    }
    std::ranges::sort(names, IsBefore);
    Cause cause{.kind = &KindOf(id), .subject = subject, .nodes = NodesOf(cells), .rails = RailsOf(cells)};
    for (const Cell* cell : cells) {
      if (cell->pods.all > 0) cause.follows["attachments"] += cell->pods.all;
    }
    const std::string on = Join(cause.rails, ", ");
    if (id == "leaf-without-spines") {
      cause.what = fmt::format(
          "{} of {} passes on its own nodes' addresses alone; look at its links to the spines", subject, on);
    } else if (id == "spine-down") {
      cause.what = fmt::format(
          "{} leaves of {}, and not its others, pass on their own nodes' addresses alone ({}); look at the "
          "spine "
          "that they share",
          names.size(), subject, ListOf(names));
    } else {
      cause.what =
          fmt::format("{}: all {} leaves pass on their own nodes' addresses alone ({}); look at the spines",
                      subject, names.size(), ListOf(names));
    }
    return cause;
  }

  const Look& look_;
  std::map<std::string, LeafSeen> leaves_;  // by LeafScope
  std::map<uint32_t, size_t> of_rail_;      // announced addresses, by the rail's index
};

}  // namespace

void JudgeSpines(const Look& look, std::vector<Cause>& found, std::set<std::string>& deaf) {
  Spines(look).Tell(found, deaf);
}

}  // namespace rail::fabric
