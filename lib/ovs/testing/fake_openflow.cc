#include "lib/ovs/testing/fake_openflow.h"

#include <algorithm>
#include <utility>

#include "lib/ovs/text.h"

namespace rail::ovs::testing {

class FakeOpenFlow::Connection : public OpenFlow {
 public:
  Connection(FakeOpenFlow& bridge, bool watches) : bridge_(bridge), watches_(watches) {
    if (!watches_) return;
    const std::scoped_lock lock(bridge_.mutex_);
    bridge_.watching_.insert(this);
  }
  ~Connection() override {
    const std::scoped_lock lock(bridge_.mutex_);
    bridge_.watching_.erase(this);
  }

  Status ForEach(CookieMatch which, const EachRule& each, Deadline deadline) override {
    return bridge_.ForEach(which, each, deadline);
  }
  Result<uint64_t> Count(CookieMatch which, Deadline deadline) override {
    return bridge_.Count(which, deadline);
  }
  Result<RuleChanges> Changes() override {
    if (!watches_) return bridge_.Changes();
    RAIL_TRY(bridge_.Check());
    const std::scoped_lock lock(bridge_.mutex_);
    return std::exchange(changes_, {});
  }
  Status Commit(const Change& change, Deadline) override { return bridge_.CommitAs(this, change); }

 private:
  friend class FakeOpenFlow;
  FakeOpenFlow& bridge_;
  const bool watches_;
  RuleChanges changes_{.unknown = true, .cookies = {}, .foreign_cookies = {}, .others = {}};
};

std::unique_ptr<OpenFlow> FakeOpenFlow::Connect() {
  return std::make_unique<Connection>(*this, false);
}

std::unique_ptr<OpenFlow> FakeOpenFlow::Watch() {
  return std::make_unique<Connection>(*this, true);
}

namespace {

// What ovs-vswitchd has in its table 254, which only its index of cookies leads to.
const Rule kHidden{254, 0, 0, "recirc_id=0", "drop"};

bool SelectsHidden(CookieMatch which) {
  return which == CookieMatch{0, ~0ULL};
}

}  // namespace

Status FakeOpenFlow::ForEach(CookieMatch which, const EachRule& each, Deadline) {
  RAIL_TRY(Check());
  std::vector<RuleStats> selected;
  if (SelectsHidden(which)) selected.push_back({.rule = kHidden});
  {
    const std::scoped_lock lock(mutex_);
    ++dumps_;
    for (const auto& [key, stats] : rules_) {
      if (which.Selects(stats.rule.cookie)) selected.push_back(stats);
    }
  }
  for (RuleStats& stats : selected) each(std::move(stats));
  return {};
}

Result<uint64_t> FakeOpenFlow::Count(CookieMatch which, Deadline) {
  RAIL_TRY(Check());
  const std::scoped_lock lock(mutex_);
  return static_cast<uint64_t>(std::ranges::count_if(
      rules_, [&](const auto& entry) { return which.Selects(entry.second.rule.cookie); }));
}

Result<RuleChanges> FakeOpenFlow::Changes() {
  RAIL_TRY(Check());
  return RuleChanges{.unknown = true, .cookies = {}, .foreign_cookies = {}, .others = {}};
}

Status FakeOpenFlow::Commit(const Change& change, Deadline) {
  return CommitAs(nullptr, change);
}

Status FakeOpenFlow::CommitAs(const Connection* who, const Change& change) {
  RAIL_TRY(Check());
  const std::scoped_lock lock(mutex_);
  if (change.empty()) return {};
  auto rules = rules_;
  for (const CookieMatch& which : change.remove_by_cookie) {
    if (SelectsHidden(which)) return Fail(Code::kInvalid, "remove all of cookie 0x0: OFPBRC_EPERM");
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
  for (const auto& [key, stats] : rules_) {
    if (!rules.contains(key)) Tell(who, stats.rule, true);
  }
  for (const auto& [key, stats] : rules) {
    const auto before = rules_.find(key);
    if (before == rules_.end() || before->second.rule != stats.rule) Tell(who, stats.rule, false);
  }
  rules_ = std::move(rules);
  ++commits_;
  messages_ += change.remove_by_cookie.size() + change.remove.size() + change.add.size();
  return {};
}

void FakeOpenFlow::Tell(const Connection* who, const Rule& rule, bool removed) {
  for (Connection* other : watching_) {
    if (other == who) continue;
    if (CookieMatch::Ours().Selects(rule.cookie)) {
      other->changes_.cookies.insert(rule.cookie);
      continue;
    }
    other->changes_.foreign_cookies.insert(rule.cookie);
    if (!removed) {
      other->changes_.others.push_back({rule.table, rule.priority, rule.cookie, rule.match, ""});
    }
  }
}

void FakeOpenFlow::AddPackets(const Rule& rule, uint64_t packets, uint64_t bytes) {
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
  for (Connection* other : watching_) other->changes_.unknown = true;
}

int FakeOpenFlow::commits() const {
  const std::scoped_lock lock(mutex_);
  return commits_;
}

size_t FakeOpenFlow::messages() const {
  const std::scoped_lock lock(mutex_);
  return messages_;
}

int FakeOpenFlow::dumps() const {
  const std::scoped_lock lock(mutex_);
  return dumps_;
}

std::vector<Rule> FakeOpenFlow::rules() {
  const std::scoped_lock lock(mutex_);
  std::vector<Rule> all;
  for (const auto& [key, stats] : rules_) all.push_back(stats.rule);
  std::ranges::sort(all, InDumpOrder);
  return all;
}

}  // namespace rail::ovs::testing
