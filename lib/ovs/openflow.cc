#include "lib/ovs/openflow.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "lib/ovs/text.h"

namespace rail::ovs {

Result<Rule> Canonical(const Rule& rule) {
  const rail_rule view = View(rule);
  char* match = nullptr;
  char* actions = nullptr;
  if (const auto error = TakeText(rail_canonical(&view, &match, &actions)); !error.empty()) {
    return Fail(Code::kInvalid, "the rule \"" + ToText(rule) + "\": " + error);
  }
  Rule canonical = rule;
  canonical.match = TakeText(match);
  canonical.actions = TakeText(actions);
  return canonical;
}

Result<std::vector<RuleStats>> OpenFlow::Dump(CookieMatch which, Deadline deadline) {
  std::vector<RuleStats> rules;
  RAIL_TRY(ForEach(which, [&](RuleStats rule) { rules.push_back(std::move(rule)); }, deadline));
  std::ranges::sort(rules,
                    [](const RuleStats& a, const RuleStats& b) { return InDumpOrder(a.rule, b.rule); });
  return rules;
}

Change Difference(std::span<const Rule> have, std::span<const Rule> want) {
  using Key = std::tuple<uint8_t, uint16_t, std::string_view>;
  const auto key = [](const Rule& rule) { return Key(rule.table, rule.priority, rule.match); };
  std::map<Key, const Rule*> wanted;
  for (const Rule& rule : want) wanted.emplace(key(rule), &rule);

  Change change;
  for (const Rule& rule : have) {
    const auto it = wanted.find(key(rule));
    if (it == wanted.end()) {
      change.remove.push_back(rule);
    } else if (*it->second == rule) {
      wanted.erase(it);
    }
  }
  for (const Rule& rule : want) {
    const auto it = wanted.find(key(rule));
    if (it != wanted.end() && it->second == &rule) change.add.push_back(rule);
  }
  return change;
}

}  // namespace rail::ovs
