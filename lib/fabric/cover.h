// The fewest things that explain all that is red, and none of which has anything green.
//
// Use:      Cover cover(items);   cover.Put(0, Scope::kLeaf, "10.255.1.1", "leaf4");  ...
//           for (const Explained& each : cover.Explain(red, {Scope::kLeaf, Scope::kNode})) ...
// Threads:  pure functions
// Cost:     O(items x scopes of an item) a question, and O(scopes) for each that is found
// Source:   README.md of this folder ("Causes")
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rail::fabric {

// The narrowest first: of two that explain the same, the first is meant.
enum class Scope : uint8_t { kLeaf, kNode, kRail, kUnit, kVersion, kFleet, kAlone };

struct Explained {
  Scope scope = Scope::kAlone;
  std::string name;           // "leaf4"; of kAlone and kFleet: ""
  std::vector<size_t> items;  // ascending; of kAlone: one
};

class Cover {
 public:
  explicit Cover(size_t items) : scopes_of_(items) {}

  // The item is within the scope with this key, which people call `name`. What is not known of an item is not put.
  void Put(size_t item, Scope scope, const std::string& key, const std::string& name);
  // How many items the scope of an item has.
  size_t SizeOf(size_t item, Scope scope) const;

  // Greedy: first the scope that explains most of what is left; a scope has two items at least, all of which are red. Each red item is in one
  // answer. What is in none is alone.
  std::vector<Explained> Explain(const std::vector<size_t>& red, std::initializer_list<Scope> allowed) const;

 private:
  struct Group {
    Scope scope = Scope::kAlone;
    std::string name;
    std::vector<size_t> items;
  };

  std::vector<std::vector<size_t>> scopes_of_;  // by item: groups
  std::vector<Group> groups_;
  std::map<std::pair<Scope, std::string>, size_t> by_key_;
};

}  // namespace rail::fabric
