#include "lib/engine/repair/foreign_rules.h"

#include <fmt/core.h>

#include <utility>

namespace rail::engine {
namespace {

using ovs::CookieMatch;
using ovs::Rule;

// Of more cookies than this only the number of rules is kept, and no cookie is read by itself.
constexpr size_t kMostCookies = 64;
constexpr size_t kMostExamples = 8;

// Others' rules with this cookie; with cookie 0 also those that have its first bit alone. Asked for the whole cookie 0,
// ovs-vswitchd answers from its index of cookies, in which it has rules of its own, in a hidden table, that nobody may remove.
CookieMatch OfCookie(uint64_t cookie) {
  return cookie == 0 ? CookieMatch{0, ~(1ULL << 63)} : CookieMatch::Whole(cookie);
}

}  // namespace

void ForeignRules::Take(const ovs::RuleChanges& changes) {
  whole_ = whole_ || changes.unknown;
  touched_.insert(changes.foreign_cookies.begin(), changes.foreign_cookies.end());
  if (touched_.size() > kMostCookies || (rest_ > 0 && !touched_.empty())) whole_ = true;
}

Status ForeignRules::Look(ovs::OpenFlow& bridge, How how, const DeadlineOf& deadline) {
  if (!whole_ && how == How::kNews) return Read(bridge, deadline);
  // The switch cannot select what is not ours. The difference of two counts says how much there is to find.
  const bool whole = std::exchange(whole_, true);
  RAIL_ASSIGN(const uint64_t ours, bridge.Count(CookieMatch::Ours(), deadline()));
  RAIL_ASSIGN(const uint64_t all, bridge.Count(CookieMatch::Everything(), deadline()));
  const uint64_t expected = all > ours ? all - ours : 0;
  if (whole || expected != count()) {
    RAIL_TRY(ReadAll(bridge, expected, deadline));
  } else {
    RAIL_TRY(Read(bridge, deadline));
  }
  whole_ = false;
  return {};
}

Status ForeignRules::Read(ovs::OpenFlow& bridge, const DeadlineOf& deadline) {
  for (const uint64_t cookie : touched_) {
    by_cookie_.erase(cookie);
    whole_ = true;  // unless all of it can be read
    RAIL_TRY(ReadCookie(bridge, cookie, deadline));
    whole_ = false;
  }
  touched_.clear();
  return {};
}

Status ForeignRules::ReadCookie(ovs::OpenFlow& bridge, uint64_t cookie, const DeadlineOf& deadline) {
  return bridge.ForEach(
      OfCookie(cookie),
      [&](ovs::RuleStats stats) {
        if (stats.rule.cookie == cookie) Add(std::move(stats.rule));
      },
      deadline());
}

// Cookie 0 is what most programs use. It is read whatever the counts say: between the two, rules may come and go.
Status ForeignRules::ReadAll(ovs::OpenFlow& bridge, uint64_t expected, const DeadlineOf& deadline) {
  by_cookie_.clear();
  touched_.clear();
  rest_ = 0;
  RAIL_TRY(ReadCookie(bridge, 0, deadline));
  for (int part = 0; part < CookieMatch::kForeignParts && count() < expected; ++part) {
    RAIL_TRY(bridge.ForEach(
        CookieMatch::ForeignPart(part),
        [&](ovs::RuleStats stats) {
          if (stats.rule.cookie != 0) Add(std::move(stats.rule));
        },
        deadline()));
  }
  return {};
}

void ForeignRules::Add(Rule rule) {
  if (by_cookie_.size() >= kMostCookies && !by_cookie_.contains(rule.cookie)) {
    ++rest_;
    return;
  }
  Group& group = by_cookie_[rule.cookie];
  ++group.count;
  if (group.examples.size() < kMostExamples) group.examples.push_back(std::move(rule));
}

Status ForeignRules::Remove(ovs::OpenFlow& bridge, const DeadlineOf& deadline) {
  if (count() == 0) return {};
  ovs::Change change;
  if (rest_ == 0) {
    for (const auto& [cookie, group] : by_cookie_) change.remove_by_cookie.push_back(OfCookie(cookie));
  } else {
    for (int part = 0; part < CookieMatch::kForeignParts; ++part)
      change.remove_by_cookie.push_back(CookieMatch::ForeignPart(part));
  }
  whole_ = true;
  RAIL_TRY(bridge.Commit(change, deadline()));
  by_cookie_.clear();
  rest_ = 0;
  whole_ = false;
  return {};
}

std::vector<Rule> ForeignRules::examples() const {
  std::vector<Rule> all;
  for (const auto& [cookie, group] : by_cookie_) {
    for (const Rule& rule : group.examples) {
      if (all.size() == kMostExamples) return all;
      all.push_back(rule);
    }
  }
  return all;
}

std::string RuleText(const Rule& rule) {
  return fmt::format("table={},priority={},cookie={:#x}{}{} actions={}", rule.table, rule.priority,
                     rule.cookie, rule.match.empty() ? "" : ",", rule.match, rule.actions);
}

std::string DeletingCommand(const std::string& bridge, const Rule& rule) {
  return fmt::format(
      "ovs-ofctl -O OpenFlow15 --strict del-flows {} 'cookie={:#x}/-1,table={},priority={}{}{}'", bridge,
      rule.cookie, rule.table, rule.priority, rule.match.empty() ? "" : ",", rule.match);
}

bool IsDefaultOfOpenVswitch(const Rule& rule) {
  return rule.table == 0 && rule.priority == 0 && rule.cookie == 0 && rule.match.empty() &&
         rule.actions == "NORMAL";
}

}  // namespace rail::engine
