// A namespace changes its tenant while its pods live.
#include "lib/engine/attach/tenant_move.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/engine/attach/differences.h"
#include "lib/engine/testing/repair_fixture.h"

namespace rail::engine {
namespace {

using ovs::CookieKind;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PodSpec;
using ::testing::SizeIs;

class Moves : public testing::RepairTest {
 protected:
  Moves() {
    world.config.kubernetes.tenants = true;
    Label("ns-a", "red");
    Label("ns-b", "blue");
  }
  void Label(const std::string& name, std::optional<std::string> label, int64_t created_ms = 0,
             const std::string& uid = "") {
    tenancy::TenantMap map = world.tenants ? **world.tenants : tenancy::TenantMap{.label_key = "l"};
    map.namespaces[name] = {.label = std::move(label), .created_ms = created_ms, .uid = uid};
    world.tenants = std::make_shared<const tenancy::TenantMap>(std::move(map));
  }
  // What raild does when the list has changed.
  void Follow() {
    raild->the_switch.TenantsChanged();
    Announce();
  }
  void StartAnew() {
    raild = world.StartRaild(std::chrono::hours(1));
    Audit();
    Announce();
  }
  void Announce() {
    if (raild->the_switch.TakeMoved()) raild->bgp.Audit();
  }
  tenancy::TenantId Id(const std::string& name) { return tenancy::NamedTenant(world.config, name).id; }
  tenancy::TenantId Announced() {
    const auto all = world.bgp.Announced({});
    EXPECT_THAT(*all, SizeIs(1));
    return all->front().tenant;
  }
  // The time in which who has moved is in both tenants is over.
  void Leave() {
    world.passed += kTwoIds;
    raild->the_switch.Retry();
  }
  // Whose the pod is in tables 1 and 2, and which tenants may talk.
  void ExpectIn(const PodSpec& spec, const std::string& tenant, const std::string& leaving = "") {
    EXPECT_EQ(world.Attachment(spec).tenant, tenant);
    EXPECT_EQ(world.Attachment(spec).tenant_id, Id(tenant));
    const state::Attachment attachment = world.Attachment(spec);
    const auto have = world.RulesOf(spec);
    const tenancy::TenantId left = leaving.empty() ? tenancy::TenantId() : Id(leaving);
    EXPECT_EQ(attachment.leaving, left);
    for (const ovs::Rule& rule : pipeline::TenantRules({}, PodOf({}, attachment), {Id(tenant), left}))
      EXPECT_THAT(have, ::testing::Contains(rule));
    if (!left.is_none()) {
      EXPECT_THAT(world.RulesOf(CookieKind::kCompare), ::testing::IsSupersetOf(pipeline::LeavingRules(left)));
    }
    EXPECT_THAT(world.RulesOf(CookieKind::kCompare), ::testing::Contains(pipeline::CompareRule(Id(tenant))));
  }
};

TEST_F(Moves, FollowTheLabelInRecordRulesAndAnnouncement) {
  Settle();
  ExpectIn(pod, "red");
  Label("ns-a", "green");
  Follow();
  ExpectIn(pod, "green", "red");
  EXPECT_EQ(Announced(), Id("green"));
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(4)) << "green's, and three of those who leave red";
  Leave();
  ExpectIn(pod, "green");
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(1)) << "the old tenant has nobody here any more";
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(Moves, LeaveTheOldTenantWhenTheTimeIsOverAndNotBefore) {
  Settle();
  const uint64_t repairs = Repairs();
  Label("ns-a", "green");
  Follow();
  EXPECT_TRUE(raild->the_switch.next_retry()) << "nobody has to wake raild";
  EXPECT_FALSE(raild->the_switch.broken());
  world.passed += kTwoIds - std::chrono::seconds(1);
  raild->the_switch.Retry();
  raild->the_switch.Audit();
  ExpectIn(pod, "green", "red");
  world.passed += std::chrono::seconds(1);
  ASSERT_LE(*raild->the_switch.next_retry(), world.deps().now());
  raild->the_switch.Retry();
  ExpectIn(pod, "green");
  EXPECT_FALSE(raild->the_switch.next_retry());
  EXPECT_EQ(Repairs(), repairs) << "nothing of this is a repair";
}

// CHECK and raild read one record, so who looks in between finds nothing wrong.
TEST_F(Moves, NobodyMissesARuleWhileSomebodyLeaves) {
  Settle();
  Label("ns-a", "green");
  Follow();
  auto deps = world.deps();
  Connections connections(deps.openers(world.config), After(std::chrono::seconds(5)));
  Node node{world.config, world.record, connections};
  const state::Attachment attachment = world.Attachment(pod);
  const auto differences = RulesDiffer(node, attachment, WantedRules({}, attachment, world.Steps(pod)));
  ASSERT_TRUE(differences);
  for (const std::string& difference :
       *differences) {  // of the other tables, which the bridge's facts are in
    for (const char* table : {"table=1,", "table=2,", "table=3,"})
      EXPECT_THAT(difference, ::testing::Not(HasSubstr(table)));
  }
}

TEST_F(Moves, StayInBothTenantsForTheRestOfTheTimeAfterAStart) {
  Settle();
  Label("ns-a", "green");
  Follow();
  StartAnew();
  ExpectIn(pod, "green", "red");
  EXPECT_TRUE(raild->the_switch.next_retry());
  Leave();
  ExpectIn(pod, "green");
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(1));
}

TEST_F(Moves, AgainLeaveTheTenantThatTheyWereInLast) {
  Settle();
  Label("ns-a", "green");
  Follow();
  world.passed += kTwoIds / 2;
  Label("ns-a", "blue");
  Follow();
  ExpectIn(pod, "blue", "green");
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(4)) << "nobody leaves red any more";
  Label("ns-a", "green");
  Follow();
  ExpectIn(pod, "green", "blue");
  Leave();
  ExpectIn(pod, "green");
}

// The rules of who leaves red go, though red is still here: its own rule stays.
TEST_F(Moves, LeaveThoseWhoStayAsTheyWere) {
  Settle();
  Label("ns-c", "red");
  const PodSpec stays = world.MakePod("p2", "ns-c", "vf1");
  Attach(stays, "10.0.3.2");
  raild->RecordChanged();
  const auto before = world.RulesOf(stays);
  Label("ns-a", "green");
  Follow();
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(5));
  EXPECT_EQ(world.RulesOf(stays), before);
  Leave();
  EXPECT_THAT(
      world.RulesOf(CookieKind::kCompare),
      ::testing::UnorderedElementsAre(pipeline::CompareRule(Id("red")), pipeline::CompareRule(Id("green"))));
  ExpectIn(stays, "red");
  EXPECT_FALSE(raild->the_switch.next_retry());
}

// A pod on another rail is reached through the fabric, and has both ids on this bridge, too.
TEST_F(Moves, LeaveOnEveryRailOfTheNode) {
  Settle();
  const PodSpec other = world.MakePod("p2", "ns-a", "vf10", "rail1");
  Attach(other, "10.0.3.2");
  raild->RecordChanged();
  Label("ns-a", "green");
  Follow();
  raild->RecordChanged();
  const auto rules = world.RulesOf(CookieKind::kRemote);
  pipeline::BridgeFacts facts;
  facts.uplink_port = 1;
  EXPECT_THAT(rules, ::testing::Contains(
                         pipeline::RemoteRule(facts, Ip("10.0.3.2"), {Id("green"), Id("red")}).value()));
  Leave();
  for (const ovs::Rule& rule : world.RulesOf(CookieKind::kRemote))
    EXPECT_THAT(rule.actions, ::testing::Not(HasSubstr("xxreg2"))) << rule.match;
  for (const char* bridge : {"br-rail0", "br-rail1"})
    EXPECT_THAT(world.RulesOf(CookieKind::kCompare, bridge), SizeIs(1));
}

TEST_F(Moves, AreSaidToBeInTwoTenantsWhereTheRecordCannotBeWritten) {
  Settle();
  Label("ns-a", "green");
  Follow();
  world.faults.disk = testing::FaultInjector::Disk::kFull;
  Leave();
  ExpectIn(pod, "green", "red");
  EXPECT_THAT(Problems(), ::testing::Contains(HasSubstr("tenants that pods have left")));
  world.faults.disk = testing::FaultInjector::Disk::kGood;
  world.passed += Leaving::kAgain;
  raild->the_switch.Retry();
  ExpectIn(pod, "green");
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(Moves, ChangeTheRulesOfARailInOneBundle) {
  Settle();
  const PodSpec other = world.MakePod("p2", "ns-a", "vf1");
  Attach(other, "10.0.3.2");
  raild->RecordChanged();
  const PodSpec keeps = world.MakePod("p3", "ns-b", "vf2");
  Attach(keeps, "10.0.3.3");
  raild->RecordChanged();
  Label("ns-a", "blue");
  const int commits = world.Bridge().commits();
  Follow();
  EXPECT_EQ(world.Bridge().commits(), commits + 2) << "all rules; then the one that red's pods had in common";
  for (const PodSpec& each : {pod, other}) ExpectIn(each, "blue", "red");
  ExpectIn(keeps, "blue");
  Leave();
  EXPECT_EQ(world.Bridge().commits(), commits + 3) << "nobody leaves red any more";
  for (const PodSpec& each : {pod, other, keeps}) ExpectIn(each, "blue");
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(1));
}

TEST_F(Moves, CostNothingWhereNobodyMoves) {
  Settle();
  const int dumps = world.Bridge().dumps();
  const int commits = world.Bridge().commits();
  Label("ns-elsewhere", "red");
  Label("ns-b", "red");
  Follow();
  EXPECT_EQ(world.Bridge().dumps(), dumps);
  EXPECT_EQ(world.Bridge().commits(), commits);
}

TEST_F(Moves, AreDoneByTheStartWhenTheListHasChangedMeanwhile) {
  Settle();
  raild.reset();
  Label("ns-a", "green");
  StartAnew();
  ExpectIn(pod, "green", "red");
  EXPECT_EQ(Announced(), Id("green"));
}

TEST_F(Moves, AreDoneByTheStartWhenNodeJsonHasChanged) {
  world.config.kubernetes.tenants = false;
  world.config.tenancy.tenants = {{"red", {"ns-a"}}};
  Settle();
  raild.reset();
  world.config.tenancy.tenants.clear();
  StartAnew();
  EXPECT_EQ(world.Attachment(pod).tenant, "ns-a");
  EXPECT_EQ(world.Attachment(pod).tenant_id, world.Tenant("ns-a"));
  EXPECT_EQ(Announced(), world.Tenant("ns-a"));
}

// Whatever the crash left between record, rules and announcement.
TEST_F(Moves, AreEndedByTheNextStartAfterACrashAtAnyPoint) {
  Settle();
  const char* names[] = {"red", "green"};
  for (int at = 1;; ++at) {
    Label("ns-a", names[at % 2]);
    world.CrashAt(at);
    raild = world.StartRaild(std::chrono::hours(1));
    bool crashed = false;
    try {
      Follow();
    } catch (const testing::Crash&) {
      crashed = true;
    }
    world.NoCrash();
    StartAnew();
    ExpectIn(pod, names[at % 2], names[(at + 1) % 2]);
    EXPECT_EQ(Announced(), Id(names[at % 2]));
    Leave();
    EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(1));
    if (!crashed) break;
    ASSERT_LT(at, 20);
  }
}

TEST_F(Moves, WaitWhileATenantsRuleIsBeingRemoved) {
  Settle();
  const auto removing = world.LockTenants("rail0", FileLock::Kind::kAlone);
  ASSERT_TRUE(removing);
  Label("ns-a", "green");
  Follow();
  ExpectIn(pod, "red");
  EXPECT_THAT(Problems(), ::testing::Contains(HasSubstr("the tenants of rail rail0 are being changed")));
  EXPECT_TRUE(raild->the_switch.next_retry()) << "raild tries again by itself";
}

TEST_F(Moves, AreNotMadeOnWhatNobodyKnows) {
  Settle();
  Label("ns-a", "Not_A_Tenant");
  Follow();
  ExpectIn(pod, "red");
  Label("ns-a", "");
  Follow();
  ExpectIn(pod, "red");
  world.tenants = tenancy::NoMap();
  Follow();
  ExpectIn(pod, "red");
  world.tenants = std::make_shared<const tenancy::TenantMap>();  // the namespace is gone
  Follow();
  ExpectIn(pod, "red");
  EXPECT_THAT(Problems(), IsEmpty()) << "a wrong label is no trouble of this node";
}

TEST_F(Moves, DoNotTakeAPodIntoTheTenantOfALaterNamespace) {
  Settle();
  const int64_t attached = world.Attachment(pod).created_ms;
  Label("ns-a", "green", attached + 1);
  Follow();
  ExpectIn(pod, "red");
  Label("ns-a", "green", attached);
  Follow();
  ExpectIn(pod, "green", "red");
}

// The clocks of the node and of the API server differ, by an hour in the one direction and in the other.
TEST_F(Moves, GoByTheNamespacesUidWhateverTheClocksSay) {
  Label("ns-a", "red", 0, "uid-1");
  Settle();
  const int64_t attached = world.Attachment(pod).created_ms;
  const int64_t hour = 3'600'000;
  Label("ns-a", "evil", attached - hour, "uid-2");
  Follow();
  ExpectIn(pod, "red");
  Label("ns-a", "evil", attached - hour);
  Follow();
  ExpectIn(pod, "red");  // nobody says whose namespace it is
  Label("ns-a", "green", attached + hour, "uid-1");
  Follow();
  ExpectIn(pod, "green", "red");
}

TEST_F(Moves, GoByTheUidOfANamespaceThatNodeJsonHasListedUntilNow) {
  Label("ns-a", "green", 0, "uid-1");
  world.config.tenancy.tenants = {{"red", {"ns-a"}}};
  Settle();
  raild.reset();
  world.config.tenancy.tenants.clear();
  Label("ns-a", "evil", 0, "uid-2");
  StartAnew();
  ExpectIn(pod, "red");
}

TEST_F(Moves, LeaveIdsOfTheFirstFormatUntilTheTenantsNameChanges) {
  Settle();
  state::Attachment old = world.Attachment(pod);
  ASSERT_TRUE(world.record.SetTenant(old.id, "red", {0, 7}));
  raild->RecordChanged();
  Follow();
  EXPECT_EQ(world.Attachment(pod).tenant_id, (tenancy::TenantId{0, 7}));
  Label("ns-a", "green");
  Follow();
  Leave();
  ExpectIn(pod, "green");
}

TEST_F(Moves, ThatGoThereAndBackLeaveNothingBehind) {
  Settle();
  const auto before = world.Bridge().rules();
  for (int i = 0; i < 10; ++i) {
    Label("ns-a", i % 2 == 0 ? "green" : "red");
    Follow();
  }
  Leave();
  auto after = world.Bridge().rules();
  EXPECT_EQ(after.size(), before.size());
  EXPECT_TRUE(std::ranges::is_permutation(before, after));
}

}  // namespace
}  // namespace rail::engine
