#include "lib/ovs/testing/fake_openflow.h"

#include <algorithm>

#include "lib/ovs/text.h"

namespace rail::ovs::testing {
namespace {

class Connection : public OpenFlow {
 public:
  explicit Connection(FakeOpenFlow& bridge) : bridge_(bridge) {}
  Result<std::vector<RuleStats>> Dump(CookieMatch which, Deadline deadline) override {
    return bridge_.Dump(which, deadline);
  }
  Status Commit(const Change& change, Deadline deadline) override { return bridge_.Commit(change, deadline); }

 private:
  FakeOpenFlow& bridge_;
};

}  // namespace

std::unique_ptr<OpenFlow> FakeOpenFlow::Connect() {
  return std::make_unique<Connection>(*this);
}

Result<std::vector<RuleStats>> FakeOpenFlow::Dump(CookieMatch which, Deadline) {
  RAIL_TRY(Check());
  const std::scoped_lock lock(mutex_);
  std::vector<RuleStats> selected;
  for (const auto& [key, stats] : rules_) {
    if (which.Selects(stats.rule.cookie)) selected.push_back(stats);
  }
  std::ranges::sort(selected,
                    [](const RuleStats& a, const RuleStats& b) { return InDumpOrder(a.rule, b.rule); });
  return selected;
}

Status FakeOpenFlow::Commit(const Change& change, Deadline) {
  RAIL_TRY(Check());
  const std::scoped_lock lock(mutex_);
  if (change.empty()) return {};
  auto rules = rules_;
  for (const CookieMatch& which : change.remove_by_cookie) {
    std::erase_if(rules, [&](const auto& entry) { return which.Selects(entry.second.rule.cookie); });
  }
  for (Rule rule : change.remove) {
    rule.actions = "drop";  // a strict removal does not look at the actions
    RAIL_ASSIGN(const Rule canonical, Canonical(rule));
    const auto it = rules.find(Key(canonical.table, canonical.priority, canonical.match));
    if (it != rules.end() && it->second.rule.cookie == canonical.cookie) rules.erase(it);
  }
  for (const Rule& rule : change.add) {
    RAIL_ASSIGN(Rule canonical, Canonical(rule));
    RuleStats& stats = rules[Key(canonical.table, canonical.priority, canonical.match)];
    stats.rule = std::move(canonical);
  }
  rules_ = std::move(rules);
  ++commits_;
  return {};
}

void FakeOpenFlow::Count(const Rule& rule, uint64_t packets, uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  for (auto& [key, stats] : rules_) {
    if (stats.rule != rule) continue;
    stats.packets += packets;
    stats.bytes += bytes;
  }
}

void FakeOpenFlow::LoseAllRules() {
  const std::scoped_lock lock(mutex_);
  rules_.clear();
}

int FakeOpenFlow::commits() const {
  const std::scoped_lock lock(mutex_);
  return commits_;
}

std::vector<Rule> FakeOpenFlow::rules() {
  const std::scoped_lock lock(mutex_);
  std::vector<Rule> all;
  for (const auto& [key, stats] : rules_) all.push_back(stats.rule);
  std::ranges::sort(all, InDumpOrder);
  return all;
}

}  // namespace rail::ovs::testing
