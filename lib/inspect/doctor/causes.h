// What follows from what: the table of causes, and the tree that it makes of findings. A daemon that has died makes a dozen things
// wrong; whoever is woken by it reads the daemon first and the dozen as one line.
//
// Use:      const std::vector<Finding> roots = CausesFirst(std::move(found), facts);
//           FollowsInShort(roots[0])                       // "2 sessions, 4 attachments"; "" nothing follows
// Threads:  pure functions
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/inspect/doctor/doctor.h"

namespace rail::inspect {

// A row of the table. An entry of `follows` is the id of a finding, or "id:aspect": "part-failing:leaf" is part-failing of "leaf of
// rail rail0", on the rail of the cause where the scope is kRail.
struct Cause {
  std::string_view id;
  Scope scope;
  std::vector<std::string_view> follows;
};

// A cause may have several rows, of different scopes. No id follows from itself, however long the way.
std::span<const Cause> Causes();

// Puts each finding below the one that it follows from: of several, below the nearest (the same attachment, then the same rail, then
// the node), and of those the first in the table. What is left is ordered by the worst severity of all that hangs on it, which becomes its
// own; then daemons and files of the node on which others depend, rails, attachments, the rest; then by how much follows.
std::vector<Finding> CausesFirst(std::vector<Finding> found, const NodeFacts& facts);

// How many findings hang on it, at any depth.
size_t CountFollows(const Finding& finding);
// What they are about, each thing counted once: "2 sessions, 4 attachments, 1 part of raild"; "": nothing follows.
std::string FollowsInShort(const Finding& finding);

}  // namespace rail::inspect
