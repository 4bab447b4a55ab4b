// A cause, and what the judges that find causes are given. A judge looks for the causes of one subject; causes.cc asks all.
//
// Use:      std::vector<Cause> found;   JudgeLinks(look, found);
// Threads:  pure functions
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/fabric/cover.h"
#include "lib/fabric/fleet.h"
#include "lib/fabric/grid.h"
#include "lib/fabric/kinds.h"

namespace rail::fabric {

struct Cause {
  const Kind* kind = nullptr;
  std::string subject{};
  int64_t since_ms = 0;  // 0: not known
  std::string what{};
  std::map<std::string, uint32_t> follows{};  // ids of what rails show, and "attachments"; counts
  std::vector<std::string> nodes{};           // all, in order
  std::vector<std::string> rails{};

  bool operator==(const Cause&) const = default;
};

// What is judged: the rails and nodes that are seen.
struct Look {
  Look(const Fleet& the_fleet, const Grid& the_grid, int64_t the_time);

  const Fleet& fleet;
  const Grid& grid;
  const int64_t now_ms;
  std::vector<const Cell*> cells{};  // of nodes that are not away
  std::vector<const Node*> nodes{};  // that are not away
  // What they are within, by their places in `cells` and `nodes`. A unit and a version are scopes where there are several.
  Cover of_cells;
  Cover of_nodes;
};

// The name by which a leaf is told from others; of one that nobody has heard: its place.
std::string LeafScope(const Cell& cell);
// "leaf4", "the leaf of su-1 on rail1"
std::string LeafName(const Cell& cell);
// The cells at these places of Look::cells.
std::vector<const Cell*> At(const Look& look, const std::vector<size_t>& places);
std::vector<std::string> NodesOf(const std::vector<const Cell*>& cells);
std::vector<std::string> RailsOf(const std::vector<const Cell*>& cells);

// Since when all of them are as they are. 0: not known of any.
int64_t SinceOf(const std::vector<const Cell*>& cells);

// Which cause of the list a cell belongs to; by the cell's place in Look::cells. -1: none.
using Taken = std::vector<int>;

void JudgeAway(const Look& look, std::vector<Cause>& found);
void JudgeLinks(const Look& look, std::vector<Cause>& found, Taken& taken);
// What rails show beside links, and what nodes show.
void JudgeRails(const Look& look, std::vector<Cause>& found, Taken& taken);
void JudgeNodes(const Look& look, std::vector<Cause>& found, const Taken& taken);
// Leaves that hear no other leaf. The names by which these are told (LeafScope) are added to `deaf`.
void JudgeSpines(const Look& look, std::vector<Cause>& found, std::set<std::string>& deaf);
// The answer: when what is too new to be judged has to be looked at; 0: nothing is.
int64_t JudgeLearning(const Look& look, const std::set<std::string>& deaf, std::vector<Cause>& found);
void JudgeCables(const Look& look, std::vector<Cause>& found);
void JudgeOwners(const Look& look, std::vector<Cause>& found);
void JudgeTenants(const Look& look, std::vector<Cause>& found);

}  // namespace rail::fabric
