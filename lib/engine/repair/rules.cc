#include "lib/engine/repair/rules.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "lib/base/thread.h"

namespace rail::engine {
namespace {

using ovs::CookieKind;
using ovs::CookieMatch;
using ovs::Rule;
using pipeline::RemoteCookie;
using pipeline::TenantIds;
using pipeline::VlanAddress;

// The switch applies a bundle as a whole and does nothing else meanwhile. This many rules take it some milliseconds.
constexpr size_t kBundle = 4096;
// The rules of more cookies than this are not read one cookie at a time.
constexpr size_t kMostCookies = 64;
// After this many audits all rules of remotes have been read.
constexpr uint64_t kAuditParts = 64;

bool IsRemotes(uint64_t cookie) {
  return CookieMatch::Kind(CookieKind::kRemote).Selects(cookie);
}

bool IsTenants(uint64_t cookie) {
  return CookieMatch::Kind(CookieKind::kCompare).Selects(cookie);
}

// Calls `each` with the rule of every remote that differs, as it should be or, where it should not be, as it was; and with how many
// remotes more there are.
void EachDifference(const BridgeRules& before, const BridgeRules& now,
                    const std::function<void(std::optional<Rule>, bool is_wanted, int more)>& each) {
  RemoteSelection::Difference(
      before.remotes(), now.remotes(),
      [&](const VlanAddress& address, RemoteSelection::Tenants was, RemoteSelection::Tenants is) {
        each(pipeline::RemoteRule(before.bridge(), address, is ? *is : *was), is.has_value(),
             (is ? 1 : 0) - (was ? 1 : 0));
      });
}

size_t HashOf(const Rule& rule) {
  return std::hash<std::string>()(rule.match) ^ (size_t{rule.table} << 1);
}

// Collects changes and commits them, a bundle at a time.
class Bundles {
 public:
  Bundles(ovs::OpenFlow& bridge, const std::function<Deadline()>& deadline, RuleCounts& counts)
      : bridge_(bridge), deadline_(deadline), counts_(counts) {}

  void Remove(Rule rule) { change_.remove.push_back(std::move(rule)); }
  void Add(Rule rule) { change_.add.push_back(std::move(rule)); }
  // All changes that are made between two calls end up in one bundle.
  Status CommitIfFull() { return change_.add.size() + change_.remove.size() < kBundle ? Status() : Commit(); }
  Status Commit() {
    RAIL_TRY(bridge_.Commit(change_, deadline_()));
    counts_.added += change_.add.size();
    counts_.removed += change_.remove.size();
    change_ = {};
    return {};
  }

 private:
  ovs::OpenFlow& bridge_;
  const std::function<Deadline()>& deadline_;
  RuleCounts& counts_;
  ovs::Change change_;
};

// What a round reads from the switch: which rules, and how they compare with those that should be there.
class Reading {
 public:
  void Choose(CookieMatch some) { which_.push_back(some); }
  bool whole() const { return !which_.empty() && which_.front() == CookieMatch::Ours(); }
  bool empty() const { return which_.empty(); }
  bool Covers(uint64_t cookie) const {
    return std::ranges::any_of(which_, [&](const CookieMatch& some) { return some.Selects(cookie); });
  }
  bool Covers(const VlanAddress& remote) const { return whole() || Covers(RemoteCookie(remote.address)); }

  // `base`: what the switch should have now.
  Status Read(ovs::OpenFlow& bridge, const BridgeRules& base, const std::function<Deadline()>& deadline) {
    for (const CookieMatch& which : which_) {
      RAIL_TRY(bridge.ForEach(
          which,
          [&](ovs::RuleStats stats) {
            Rule& rule = stats.rule;
            if (!IsRemotes(rule.cookie)) {
              local_.push_back(std::move(rule));
            } else if (base.At(rule) == rule) {
              right_.push_back(HashOf(rule));
            } else {
              odd_.push_back(std::move(rule));
            }
          },
          deadline()));
    }
    std::ranges::sort(right_);
    return {};
  }
  const std::vector<Rule>& local() const { return local_; }
  const std::vector<Rule>& odd() const { return odd_; }

  // Of the remotes of `base` whose rules were read, whether one lacks its rule.
  bool LacksSome(const RemoteSelection& base) const {
    if (std::ranges::none_of(which_, &CookieMatch::MaySelectRemotes)) return false;
    size_t expected = 0;
    base.ForEach([&](const VlanAddress& address, const TenantIds&) { expected += Covers(address) ? 1 : 0; });
    return expected != right_.size();
  }
  // `rule`: of such a remote.
  bool Lacks(const Rule& rule) const { return !std::ranges::binary_search(right_, HashOf(rule)); }

 private:
  std::vector<CookieMatch> which_;
  std::vector<Rule> local_;    // of all cookies but those of remotes
  std::vector<Rule> odd_;      // of remotes, not as they should be
  std::vector<size_t> right_;  // hashes of those of remotes that are as they should be
};

}  // namespace

// One call of Repair.
class RuleRepair::Round {
 public:
  Round(RuleRepair& repair, ovs::OpenFlow& bridge, const Ask& ask)
      : my_(repair),
        bridge_(bridge),
        ask_(ask),
        bundles_(bridge, ask.deadline, repair.counts_),
        first_(repair.known_.local().empty()) {}

  Status Run(Look look) {
    RAIL_TRY(TakeChanges());
    RAIL_TRY(LookAtForeign(look));
    RAIL_ASSIGN(target_, ask_.target());
    // Rules that had to stay because too little was known can be judged now.
    if (target_.remotes_known && !my_.remotes_judged_) my_.whole_ = true;
    for (const uint64_t cookie : my_.leaves_unjudged_) {
      if (!target_.leaves_unknown.contains(cookie)) my_.touched_.insert(cookie);
    }
    if (target_.rules.bridge().uplink_port != my_.known_.bridge().uplink_port) my_.whole_ = true;
    if (look == Look::kAudit) RAIL_TRY(CountRemotes());
    ChooseWhatToRead(look);
    base_ = reading_.whole() ? target_.rules : my_.known_;
    RAIL_TRY(reading_.Read(bridge_, base_, ask_.deadline));
    // The switch is read first and the record second: a rule that was read and is not explained now was left behind.
    wanted_before_ = target_.rules;
    if (!reading_.empty()) {
      RAIL_ASSIGN(target_, ask_.target());
    }
    RepairLocal();
    for (const Rule& rule : reading_.odd()) Replace(rule);
    RAIL_TRY(AddMissing());
    RAIL_TRY(FollowRemotes());
    // What an earlier raild has put elsewhere says whose a remote is until this one's rule is there.
    for (Rule& rule : gone_) {
      bundles_.Remove(std::move(rule));
      RAIL_TRY(bundles_.CommitIfFull());
    }
    RAIL_TRY(bundles_.Commit());
    RAIL_TRY(RemoveUnused());
    Remember();
    // A rule of ours that was added has replaced what others had put into its place.
    if (my_.foreign_.count() == 0 || my_.counts_.added == 0) return {};
    my_.foreign_.Forget();
    return my_.foreign_.Look(bridge_, ForeignRules::How::kNews, ask_.deadline);
  }

 private:
  // First of all, and without what the record and BGP say: nothing that fails there keeps the isolation open.
  Status LookAtForeign(Look look) {
    ForeignRules& foreign = my_.foreign_;
    RAIL_TRY(foreign.Look(
        bridge_, look == Look::kAudit ? ForeignRules::How::kCount : ForeignRules::How::kNews, ask_.deadline));
    if (!ask_.remove_foreign || foreign.count() == 0) return {};
    const uint64_t count = foreign.count();
    std::vector<Rule> examples = foreign.examples();
    RAIL_TRY(foreign.Remove(bridge_, ask_.deadline));
    my_.mended_.foreign = count;
    my_.mended_.foreign_examples = std::move(examples);
    return {};
  }

  Status TakeChanges() {
    RAIL_ASSIGN(const ovs::RuleChanges changes, bridge_.Changes());
    my_.whole_ = my_.whole_ || changes.unknown;
    my_.touched_.insert(changes.cookies.begin(), changes.cookies.end());
    my_.foreign_.Take(changes);
    for (const Rule& other : changes.others) {
      // It may have replaced one of our rules.
      if (const auto ours = my_.known_.At(other)) my_.touched_.insert(ours->cookie);
    }
    return {};
  }

  Status CountRemotes() {
    if (my_.whole_ || std::ranges::any_of(my_.touched_, IsRemotes)) return {};  // they are read anyhow
    RAIL_ASSIGN(const uint64_t count, bridge_.Count(CookieMatch::Kind(CookieKind::kRemote), ask_.deadline()));
    if (count != my_.remotes_known_ + my_.unexplained_) my_.whole_ = true;
    return {};
  }

  void ChooseWhatToRead(Look look) {
    std::set<uint64_t> cookies = my_.touched_;
    // A rule that is to be added may be there already, because a plugin has made it.
    if (!target_.rules.SharesLocal(my_.known_)) {
      for (const auto& [place, rule] : target_.rules.local()) {
        const auto known = my_.known_.local().find(place);
        if (known == my_.known_.local().end() || known->second != rule) cookies.insert(rule.cookie);
      }
    }
    if (static_cast<size_t>(std::ranges::count_if(cookies, IsRemotes)) > kMostCookies) my_.whole_ = true;
    if (my_.whole_) return reading_.Choose(CookieMatch::Ours());
    if (look == Look::kAudit || cookies.size() > kMostCookies) reading_.Choose(CookieMatch::OursButRemotes());
    if (look == Look::kAudit)
      reading_.Choose(CookieMatch::RemotesPart(my_.audit_++ % kAuditParts, kAuditParts));
    for (const uint64_t cookie : cookies) {
      if (!reading_.Covers(cookie)) reading_.Choose({cookie, ~0ULL});
    }
  }

  // Whether `rule`, which nothing explains, may belong to something that is not known yet.
  bool Stays(const Rule& rule) const {
    if (target_.remove_nothing || target_.undecided.contains(rule.cookie)) return true;
    // Whatever its cookie says: what is no rule of a remote, or not where the leaf's rules are, does not wait.
    if (IsRemotes(rule.cookie)) return !target_.remotes_known && pipeline::MayBeRemotes(rule);
    return target_.leaves_unknown.contains(rule.cookie) && rule.table == pipeline::kForwardTable;
  }

  // Whether the switch differs from what was known to be in it, at the place of `rule`, which is in the switch. What a start finds
  // there was left by an earlier raild.
  bool IsChanged(const Rule& rule) const { return !first_ && my_.known_.At(rule) != rule; }

  // Puts `rule` right, which is in the switch and not as it should be.
  void Replace(const Rule& rule) {
    if (auto instead = target_.rules.At(rule)) {
      if (*instead == rule) return;
      if (IsChanged(rule)) {
        my_.mended_.Changed(rule.cookie);
        changed_.insert(BridgeRules::PlaceOf(rule));
      }
      bundles_.Add(std::move(*instead));
    } else if (!Stays(rule)) {
      if (IsChanged(rule)) my_.mended_.Unexplained(rule.cookie);
      // Only raild itself lets an attachment leave a tenant: nobody else has a use for those rules.
      if (IsTenants(rule.cookie) && !pipeline::IsOfLeaving(rule)) {
        unused_.push_back(rule);
      } else if (IsRemotes(rule.cookie)) {
        gone_.push_back(rule);
      } else {
        bundles_.Remove(rule);
      }
    } else if (IsRemotes(rule.cookie)) {
      ++unexplained_;
    }
  }

  void RepairLocal() {
    if (reading_.empty() && target_.rules.SharesLocal(my_.known_)) return;
    std::map<BridgeRules::Place, Rule> have;
    for (const auto& [place, rule] : my_.known_.local()) {
      if (!reading_.Covers(rule.cookie)) have.emplace(place, rule);
    }
    for (const Rule& rule : reading_.local()) have.insert_or_assign(BridgeRules::PlaceOf(rule), rule);
    for (const auto& [place, rule] : have) {
      const auto wanted = target_.rules.local().find(place);
      if (wanted == target_.rules.local().end()) Replace(rule);
    }
    for (const auto& [place, rule] : target_.rules.local()) {
      const auto seen = have.find(place);
      if (seen != have.end() && seen->second == rule) continue;
      if (seen != have.end() && IsChanged(seen->second)) my_.mended_.Changed(rule.cookie);
      // A pod that came after the switch was read may have the place of one that went: nobody has taken its rule away.
      if (seen == have.end() && my_.known_.local().contains(place) && wanted_before_.local().contains(place))
        my_.mended_.Missing(rule.cookie);
      bundles_.Add(rule);
    }
  }

  // Adds the rule of each remote that lacks it, among the remotes whose rules were read.
  Status AddMissing() {
    if (!reading_.LacksSome(base_.remotes())) return {};
    Status status;
    base_.remotes().ForEach([&](const VlanAddress& address, const TenantIds& tenants) {
      if (!status || !reading_.Covers(address)) return;
      const auto rule = pipeline::RemoteRule(base_.bridge(), address, tenants);
      if (!rule || !reading_.Lacks(*rule)) return;
      const auto now = target_.rules.remotes().TenantsOf(address);
      if (!now) return;
      if (my_.known_.remotes().TenantsOf(address) == tenants &&
          !changed_.contains(BridgeRules::PlaceOf(*rule)))
        my_.mended_.Missing(rule->cookie);
      bundles_.Add(*pipeline::RemoteRule(base_.bridge(), address, *now));
      status = bundles_.CommitIfFull();
    });
    return status;
  }

  // Turns the rules of remotes that the switch has by now into those that it should have.
  Status FollowRemotes() {
    Status status;
    EachDifference(base_, target_.rules, [&](std::optional<Rule> rule, bool is_wanted, int more) {
      if (!status || (!is_wanted && target_.remove_nothing)) return;
      if (rule && is_wanted) {
        bundles_.Add(std::move(*rule));
      } else if (rule) {
        bundles_.Remove(std::move(*rule));
      }
      remotes_ += more;
      status = bundles_.CommitIfFull();
    });
    return status;
  }

  // A plugin may have put a pod into one of these tenants since the record was read. Its rule must not go after that.
  Status RemoveUnused() {
    if (unused_.empty()) return {};
    const Result<ClosedTenants> closed = ask_.close_tenants();
    my_.tenant_stays_ = !closed;
    for (Rule& rule : unused_) {
      if (closed && !closed->in_use.contains(rule.cookie)) {
        bundles_.Remove(std::move(rule));
      } else {
        judge_again_.insert(rule.cookie);
      }
    }
    return bundles_.Commit();
  }

  void Remember() {
    if (reading_.whole()) {
      my_.unexplained_ = unexplained_;
      my_.remotes_known_ = 0;
      base_.remotes().ForEach([&](const VlanAddress&, const TenantIds&) { ++my_.remotes_known_; });
    }
    my_.remotes_known_ += static_cast<uint64_t>(remotes_);
    my_.known_ = std::move(target_.rules);
    my_.remotes_judged_ = target_.remotes_known;
    my_.leaves_unjudged_ = target_.leaves_unknown;
    my_.whole_ = target_.remove_nothing;  // more is there than is known
    my_.touched_ = std::move(judge_again_);
    my_.counts_.wanted = my_.counts_.installed = my_.known_.local().size() + my_.remotes_known_;
  }

  RuleRepair& my_;
  ovs::OpenFlow& bridge_;
  const Ask& ask_;
  Bundles bundles_;

  RuleTarget target_;
  BridgeRules wanted_before_;  // what the record wanted before the switch was read
  const bool first_;           // nothing has been known so far
  Reading reading_;
  BridgeRules base_;                      // what the switch should have had when it was read
  std::set<BridgeRules::Place> changed_;  // places of rules that others had edited
  std::vector<Rule> gone_;                // rules of remotes that nobody has any more
  std::vector<Rule> unused_;              // rules of tenants that nobody wants
  std::set<uint64_t> judge_again_;        // cookies of those that stay until the next round
  uint64_t unexplained_ = 0;
  int64_t remotes_ = 0;  // how many more remotes are selected now
};

// What others have changed meanwhile the next Repair hears of.
void RuleRepair::Send(ovs::OpenFlow& bridge, const RuleTarget& target, Deadline deadline, std::launch how) {
  if (whole_ || !touched_.empty() || !remotes_judged_ || !target.undecided.empty() || target.remove_nothing ||
      !target.rules.SharesLocal(known_) || target.rules.bridge() != known_.bridge())
    return;
  auto change = std::make_shared<ovs::Change>();
  ahead_more_ = 0;
  EachDifference(known_, target.rules, [&](std::optional<Rule> rule, bool is_wanted, int more) {
    ahead_more_ += more;
    if (rule && change->add.size() + change->remove.size() <= kBundle)
      (is_wanted ? change->add : change->remove).push_back(std::move(*rule));
  });
  if (change->empty() || change->add.size() + change->remove.size() > kBundle) return;
  ahead_ = target.rules;
  sent_ = Beside([&bridge, change, deadline] { return bridge.Commit(*change, deadline); }, how);
}

void RuleRepair::TakeSent() {
  if (!sent_.valid()) return;
  if (!sent_.get()) {
    whole_ = true;  // Repair says why, if it still is so
    return;
  }
  remotes_known_ += static_cast<uint64_t>(ahead_more_);
  known_ = std::move(ahead_);
}

Status RuleRepair::Repair(ovs::OpenFlow& bridge, const Ask& ask, Look look) {
  counts_.added = counts_.removed = 0;
  tenant_stays_ = false;
  mended_ = {};
  const Status repaired = Round(*this, bridge, ask).Run(look);
  if (!repaired) {
    whole_ = true;
    foreign_.Forget();
  }
  return repaired;
}

}  // namespace rail::engine
