// The rules of one bridge, over OpenFlow 1.5 on its management socket.
//
// Use:      RAIL_ASSIGN(auto bridge, MgmtConnection::Open("/run/openvswitch/br-rail0.mgmt", deadline));
//           RAIL_ASSIGN(auto rules, bridge->Dump(CookieMatch::Ours(), deadline));          // or ForEach: one rule at a time
//           RAIL_TRY(bridge->Commit({.add = {...}, .remove = {...}}, deadline));      // all or nothing
// Threads:  one at a time
// Owns:     its connection; a failed call leaves it unusable: open a new one
// Source:   OpenFlow 1.5.1 (7.3.9 bundles), ovs-fields(7), ovs-actions(7)
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/ovs/rule.h"

namespace rail::ovs {

// A change of a bridge's rules, made in this order: remove_by_cookie, remove, add. `add` replaces a rule of the same
// table, priority and match, whatever its cookie.
struct Change {
  std::vector<CookieMatch> remove_by_cookie;
  std::vector<Rule> remove;  // strict: same table, priority and match, and the same cookie
  std::vector<Rule> add;
  bool empty() const { return remove_by_cookie.empty() && remove.empty() && add.empty(); }
};

// What others have changed in a bridge's rules. Does not include what the connection itself has committed.
struct RuleChanges {
  // Everything may have changed: nothing was watched, or there are too many changes to list.
  bool unknown = false;
  std::set<uint64_t> cookies;          // of rules of ours that were added, edited or removed
  std::set<uint64_t> foreign_cookies;  // of rules of others that were
  std::vector<Rule>
      others;  // added or edited rules of others, without actions: one may be in the place of one of ours
  bool empty() const { return !unknown && cookies.empty() && foreign_cookies.empty(); }
};

class OpenFlow {
 public:
  using EachRule = std::function<void(RuleStats)>;
  virtual ~OpenFlow() = default;

  // Calls `each` for every rule that `which` selects, in canonical form, with counters, in no order. Keeps one rule in memory.
  // Errors: kTransient (deadline, connection). Safe to repeat.
  virtual Status ForEach(CookieMatch which, const EachRule& each, Deadline deadline) = 0;

  // The rules that `which` selects, ordered by table, then priority (high first), then match. Errors, repeat: as ForEach.
  Result<std::vector<RuleStats>> Dump(CookieMatch which, Deadline deadline);

  // How many rules `which` selects. The switch counts them and answers with one message. Errors, repeat: as ForEach.
  virtual Result<uint64_t> Count(CookieMatch which, Deadline deadline) = 0;

  // What others have changed since the last call on this connection. `unknown` at the first call, and always if the connection
  // does not watch (FlowMonitor's does). Does not wait. Errors: kTransient the connection is lost.
  virtual Result<RuleChanges> Changes() = 0;

  // Sends `change` as one atomic, ordered bundle: when this returns, either all of it is in force or nothing of it.
  // Removing a rule that does not exist is no error. An empty change does nothing. Errors: kInvalid a rule does not parse,
  // or the switch refuses it (the message quotes it); kTransient. Safe to repeat.
  virtual Status Commit(const Change& change, Deadline deadline) = 0;
};

// `rule` with its match and actions in the form in which a switch returns them. Errors: kInvalid; the message quotes
// the rule.
Result<Rule> Canonical(const Rule& rule);

// The change that turns the rules `have` into `want`. It removes a rule of ours that is not in `want`, replaces in
// place a rule whose actions or cookie differ, and leaves out rules that are right already. Both sides are canonical;
// `want` has at most one rule for each (table, priority, match).
Change Difference(std::span<const Rule> have, std::span<const Rule> want);

}  // namespace rail::ovs
