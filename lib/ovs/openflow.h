// The rules of one bridge, over OpenFlow 1.5 on its management socket.
//
// Use:      RAIL_ASSIGN(auto bridge, MgmtConnection::Open("/run/openvswitch/br-rail0.mgmt", deadline));
//           RAIL_ASSIGN(auto rules, bridge->Dump(CookieMatch::Ours(), deadline));
//           RAIL_TRY(bridge->Commit({.add = {...}, .remove = {...}}, deadline));      // all or nothing
// Threads:  one at a time
// Owns:     its connection; a failed call leaves it unusable: open a new one
// Source:   OpenFlow 1.5.1 (7.3.9 bundles), ovs-fields(7), ovs-actions(7)
#pragma once

#include <memory>
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

class OpenFlow {
 public:
  virtual ~OpenFlow() = default;

  // The rules that `which` selects, with counters, ordered by table, then priority (high first), then match;
  // canonical. Errors: kTransient (deadline, connection). Safe to repeat.
  virtual Result<std::vector<RuleStats>> Dump(CookieMatch which, Deadline deadline) = 0;

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
