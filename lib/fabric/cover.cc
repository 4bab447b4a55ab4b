#include "lib/fabric/cover.h"

#include <algorithm>
#include <tuple>

namespace rail::fabric {

void Cover::Put(size_t item, Scope scope, const std::string& key, const std::string& name) {
  const auto [at, is_new] = by_key_.try_emplace({scope, key}, groups_.size());
  if (is_new) groups_.push_back({scope, name, {}});
  groups_[at->second].items.push_back(item);
  scopes_of_[item].push_back(at->second);
}

size_t Cover::SizeOf(size_t item, Scope scope) const {
  for (const size_t group : scopes_of_[item]) {
    if (groups_[group].scope == scope) return groups_[group].items.size();
  }
  return 0;
}

std::vector<Explained> Cover::Explain(const std::vector<size_t>& red,
                                      std::initializer_list<Scope> allowed) const {
  std::vector<size_t> left(groups_.size());  // by group: red items that nothing explains so far
  for (const size_t item : red) {
    for (const size_t group : scopes_of_[item]) ++left[group];
  }
  std::vector<size_t> possible;
  for (size_t group = 0; group < groups_.size(); ++group) {
    const bool is_allowed = std::ranges::find(allowed, groups_[group].scope) != allowed.end();
    if (is_allowed && left[group] > 1 && left[group] == groups_[group].items.size())
      possible.push_back(group);
  }
  std::vector<bool> done(scopes_of_.size());
  std::vector<Explained> found;
  for (;;) {
    const auto rank = [&](size_t group) {
      return std::tuple(left[group], -static_cast<int>(groups_[group].scope));
    };
    const auto best = std::ranges::max_element(possible, {}, rank);
    if (best == possible.end() || left[*best] < 2) break;
    Explained explained{groups_[*best].scope, groups_[*best].name, {}};
    for (const size_t item : groups_[*best].items) {
      if (done[item]) continue;
      done[item] = true;
      explained.items.push_back(item);
      for (const size_t group : scopes_of_[item]) --left[group];
    }
    std::ranges::sort(explained.items);
    found.push_back(std::move(explained));
  }
  for (const size_t item : red) {
    if (!done[item]) found.push_back({Scope::kAlone, "", {item}});
  }
  return found;
}

}  // namespace rail::fabric
