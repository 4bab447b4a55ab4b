// The rules of others on one bridge of ours. The isolation rests on every rule of a bridge, so one rule that is not ours can open it.
//
// Use:      ForeignRules foreign;
//           foreign.Take(changes);                                       // what the switch has reported
//           RAIL_TRY(foreign.Look(bridge, ForeignRules::How::kNews, deadline));   // after an event: only what may have changed
//           if (foreign.count() > 0) RAIL_TRY(foreign.Remove(bridge, deadline));
// Threads:  one
// Source:   README.md of this folder ("Rules of others")
//
// However many there are, this keeps the counts of few cookies and few rules, and removes them by cookie in one bundle.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/ovs/openflow.h"

namespace rail::engine {

class ForeignRules {
 public:
  enum class How {
    kNews,   // read the cookies that the switch has named; everything after Forget
    kCount,  // also let the switch count them, and read everything if it has another number than is known
  };
  using DeadlineOf = std::function<Deadline()>;  // of a call that starts now

  void Take(const ovs::RuleChanges& changes);
  // Errors: of the switch; the next Look reads everything.
  Status Look(ovs::OpenFlow& bridge, How how, const DeadlineOf& deadline);
  // Removes all that Look has found, as one bundle. Errors: as Look.
  Status Remove(ovs::OpenFlow& bridge, const DeadlineOf& deadline);
  // The next Look reads everything.
  void Forget() { whole_ = true; }

  uint64_t count() const {
    uint64_t count = rest_;
    for (const auto& [cookie, group] : by_cookie_) count += group.count;
    return count;
  }
  // The first few, with actions, by cookie.
  std::vector<ovs::Rule> examples() const;

 private:
  struct Group {
    uint64_t count = 0;
    std::vector<ovs::Rule> examples;
  };
  Status Read(ovs::OpenFlow& bridge, const DeadlineOf& deadline);
  Status ReadCookie(ovs::OpenFlow& bridge, uint64_t cookie, const DeadlineOf& deadline);
  Status ReadAll(ovs::OpenFlow& bridge, uint64_t expected, const DeadlineOf& deadline);
  void Add(ovs::Rule rule);

  std::map<uint64_t, Group> by_cookie_;
  uint64_t rest_ = 0;  // how many more there are, of cookies that are not kept
  std::set<uint64_t> touched_;
  bool whole_ = true;
};

// "table=0,priority=60000,cookie=0x0,ip,nw_dst=10.0.3.7 actions=output:5"
std::string RuleText(const ovs::Rule& rule);
// The command that deletes this rule of `bridge` and no other.
std::string DeletingCommand(const std::string& bridge, const ovs::Rule& rule);
// What Open vSwitch itself gives a bridge that is not secure: it forwards as a plain switch does.
bool IsDefaultOfOpenVswitch(const ovs::Rule& rule);

}  // namespace rail::engine
