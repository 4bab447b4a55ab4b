// The rules of one bridge, over OpenFlow 1.5 on its management socket.
//
// Use:      RAIL_ASSIGN(auto bridge, MgmtConnection::Open("/run/openvswitch/br-rail0.mgmt", deadline));
//           RAIL_ASSIGN(auto rules, bridge->Dump(CookieMatch::Ours(), deadline));          // or ForEach, one at a time
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

// What to change, in this order: remove_by_cookie, remove, add. `add` replaces a rule of the same table,
// priority and match, whatever its cookie.
struct Change {
  std::vector<CookieMatch> remove_by_cookie;
  std::vector<Rule> remove;  // strict: same table, priority and match, and the same cookie
  std::vector<Rule> add;
  bool empty() const { return remove_by_cookie.empty() && remove.empty() && add.empty(); }
};

// What others have changed in a bridge's rules. What the connection that is asked has committed itself is not in it.
struct RuleChanges {
  // Everything may have changed: nobody has watched, or more has changed than can be told.
  bool unknown = false;
  std::set<uint64_t> cookies;  // of rules of ours that were added, edited or removed
  std::vector<Rule>
      others;  // added or edited with another cookie, without actions: one may stand in a place of ours
  bool empty() const { return !unknown && cookies.empty() && others.empty(); }
};

class OpenFlow {
 public:
  using EachRule = std::function<void(RuleStats)>;
  virtual ~OpenFlow() = default;

  // Calls `each` for every rule that `which` selects, with counters, in no order; canonical. Memory: one rule.
  // Errors: kTransient (deadline, connection). Safe to repeat.
  virtual Status ForEach(CookieMatch which, const EachRule& each, Deadline deadline) = 0;

  // The same as a list, ordered by table, then priority (high first), then match.
  Result<std::vector<RuleStats>> Dump(CookieMatch which, Deadline deadline);

  // How many rules `which` selects: the switch counts, and one message comes back. Errors, repeat: as ForEach.
  virtual Result<uint64_t> Count(CookieMatch which, Deadline deadline) = 0;

  // What others have changed since the last call over this connection; `unknown` at the first call, and always where the
  // connection does not watch (FlowMonitor does). Does not wait. Errors: kTransient the connection is lost.
  virtual Result<RuleChanges> Changes() = 0;

  // One atomic, ordered bundle: either all of `change` is in force when this returns, or nothing of it.
  // Removing what is not there is no error. An empty change does nothing. Errors: kInvalid a rule that does
  // not parse or that the switch refuses (the message quotes it); kTransient. Safe to repeat.
  virtual Status Commit(const Change& change, Deadline deadline) = 0;
};

// `rule` with match and actions in the form in which a switch would give them back. Errors: kInvalid, quoting
// the rule.
Result<Rule> Canonical(const Rule& rule);

// The change that turns the rules `have` into `want`: nothing for what is right already; a rule of ours that
// nobody wants is removed; one whose actions or cookie differ is replaced in place. Both sides canonical; at
// most one rule per (table, priority, match) in `want`.
Change Difference(std::span<const Rule> have, std::span<const Rule> want);

}  // namespace rail::ovs
