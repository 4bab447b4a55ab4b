// raild's repair of the rules of one bridge. It compares the rules that should be in the switch with those that are known to be
// there, and commits the difference.
//
// Use:      RuleRepair rules;
//           RAIL_TRY(rules.Repair(*bridge, ask, RuleRepair::Look::kNews));     // after an event: costs only what has changed
//           RAIL_TRY(rules.Repair(*bridge, ask, RuleRepair::Look::kAudit));    // every 30 s
// Threads:  one
// Source:   README.md of this folder ("What is known of a bridge's rules"), DECISIONS 9
//
// A rule that was committed or read is known to be in the switch until the switch says that others have changed
// something (ovs::RuleChanges). Then raild reads the rules of the cookies that the switch names. It reads all
// rules only if the switch cannot name them.
#pragma once

#include <functional>
#include <future>
#include <set>

#include "lib/base/file_lock.h"
#include "lib/engine/attach/connections.h"
#include "lib/engine/repair/bridge_rules.h"
#include "lib/engine/repair/foreign_rules.h"
#include "lib/engine/repair/mended.h"

namespace rail::engine {

// What a bridge should have, as far as it is known now.
struct RuleTarget {
  BridgeRules rules;
  // A rule that nothing explains may belong to something that is not known yet. Then it stays: rules of remotes
  // while an earlier raild has learned more than this one, rules of the leaf while its MAC is not known, rules
  // of an attachment whose port is not known.
  bool remotes_known = false;
  std::set<uint64_t> leaves_unknown;  // cookies of the leaf's rules; in mode `vrf` it has some in each VLAN
  std::set<uint64_t> undecided;       // cookies of those attachments
  bool remove_nothing = false;        // pods live here that the record has lost
};

// No pod joins a tenant of the bridge while this exists.
struct ClosedTenants {
  FileLock lock;
  std::set<uint64_t> in_use;  // the cookies of the rules of tenants that have a pod
};

struct RuleCounts {
  uint64_t wanted = 0;
  uint64_t installed = 0;  // our rules that are known to be in the switch
  uint64_t added = 0;      // by the last Repair
  uint64_t removed = 0;
};

class RuleRepair {
 public:
  enum class Look {
    kNews,   // read what may have changed
    kAudit,  // also read all rules but those of remotes; count those, and read a part of them
  };
  struct Ask {
    // What should be there. Asked before the switch is read and, if rules were read, once more afterwards.
    std::function<Result<RuleTarget>()> target;
    // Asked before a tenant's last rule goes. An error: the rule stays until the next call.
    std::function<Result<ClosedTenants>()> close_tenants;
    std::function<Deadline()> deadline;  // of a call that starts now
    bool remove_foreign = false;         // rules of others go
  };
  // Errors: kTransient, kInvalid; the next call reads everything.
  Status Repair(ovs::OpenFlow& bridge, const Ask& ask, Look look);

  // Before Repair: sends what has changed of the remotes since the last one, and does not wait, so that ovs-vswitchd works on the bridges
  // of all rails at once. Does nothing where more is to be looked at. TakeSent waits; call it while `bridge` is open.
  void Send(ovs::OpenFlow& bridge, const RuleTarget& target, Deadline deadline, std::launch how);
  void TakeSent();

  // The next Repair reads everything.
  void Forget() { whole_ = true; }
  const RuleCounts& counts() const { return counts_; }
  // What others had changed in the switch and the last Repair has put right; not what only follows a change of the record.
  const MendedRules& mended() const { return mended_; }
  // Rules of others that are on the bridge.
  const ForeignRules& foreign() const { return foreign_; }
  // The rule of a tenant that has left is still there, because tenants could not be closed: call again soon.
  bool tenant_stays() const { return tenant_stays_; }

 private:
  class Round;

  BridgeRules known_;         // rules known to be in the switch, except those of the cookies in touched_
  std::future<Status> sent_;  // a commit that turns the rules known into these:
  BridgeRules ahead_;
  int64_t ahead_more_ = 0;              // how many remotes more they have
  uint64_t remotes_known_ = 0;          // addresses with rules in the switch
  uint64_t unexplained_ = 0;            // rules of remotes that stay though nothing explains them
  bool remotes_judged_ = false;         // none of these stays unexplained
  std::set<uint64_t> leaves_unjudged_;  // some of these of the leaf may
  bool whole_ = true;
  std::set<uint64_t> touched_;
  bool tenant_stays_ = false;
  uint64_t audit_ = 0;  // which part of the remotes' rules is read next
  RuleCounts counts_;
  MendedRules mended_;
  ForeignRules foreign_;
};

}  // namespace rail::engine
