// The rules of remotes: who gets them, and for how long what a session has told stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/testing/repair_fixture.h"

namespace rail::engine {
namespace {

using ovs::CookieKind;
using ovs::Rule;
using testing::Dependency;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::PodSpec;
using testing::RepairTest;
using ::testing::SizeIs;

TEST_F(RepairTest, InstallsRemotesOfTenantsThatArePresentOnly) {
  Settle();
  world.LearnRemote("10.0.9.1", "ns-a");
  world.LearnRemote("10.0.9.2", "ns-b");
  raild->Poll();
  const auto rules = world.RulesOf(CookieKind::kRemote);
  EXPECT_THAT(rules, SizeIs(1));
  EXPECT_THAT(rules, Each(Field(&Rule::match, HasSubstr("10.0.9.1"))));
  const auto view = raild->views.Current();
  ASSERT_THAT(view->remotes, SizeIs(2));
  EXPECT_TRUE(view->remotes[0].installed);
  EXPECT_FALSE(view->remotes[1].installed);
  EXPECT_EQ(view->remote_counts.known, 2U);
  EXPECT_THAT(view->remote_counts.of_tenant, ElementsAre(Pair("ns-a", 1U)));
}

TEST_F(RepairTest, RemotesComeWithTheFirstPodOfTheirTenantAndGoWithTheLast) {
  Settle();
  world.LearnRemote("10.0.9.2", "ns-b");
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), IsEmpty());
  const PodSpec second = world.MakePod("p2", "ns-b", "vf1");
  Attach(second, "10.0.3.2");
  raild->RecordChanged();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  const auto context = VerbContext::Open(world.deps());
  ASSERT_TRUE(UndoAttachment(**context, world.Attachment(second).key, ""));
  raild->RecordChanged();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), IsEmpty());
}

TEST_F(RepairTest, AnAddressOfTwoTenantsIsShownAsContested) {
  Settle();
  auto learned = std::make_shared<Learned>();
  for (const char* tenant : {"ns-a", "ns-b"}) {
    RemoteSet remotes;
    remotes.Set({.address = Ip("10.0.9.1"), .rail = 0, .contested = true});
    learned->remotes.by_tenant[world.Tenant(tenant)] = std::make_shared<const RemoteSet>(remotes);
  }
  raild->node_status.SetLearned(learned);
  raild->node_status.Publish(raild->record);
  const auto view = raild->views.Current();
  ASSERT_THAT(view->remotes, SizeIs(2));
  EXPECT_TRUE(view->remotes[0].contested && view->remotes[1].contested);
  EXPECT_FALSE(view->remotes[0].installed || view->remotes[1].installed);
}

TEST_F(RepairTest, ARemoteThatIsWithdrawnLosesItsRules) {
  Settle();
  world.LearnRemote("10.0.9.1", "ns-a");
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  world.bgp.Forget(*IpPrefix::Parse("10.0.9.1/32"), "br-rail0");
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), IsEmpty());
}

TEST_F(RepairTest, ARemoteStaysWhileASessionThatCameBackMayNotHaveSentEverything) {
  Settle();
  world.LearnRemote("10.0.9.1", "ns-a");
  raild->Poll();
  world.bgp.Forget(*IpPrefix::Parse("10.0.9.1/32"), "br-rail0");
  world.bgp.SetUptime(0);
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  world.passed += Remotes::kSettled;
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1))
      << "its leaf may have no session with the fabric yet";
  world.passed += Remotes::kStale - Remotes::kSettled;
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), IsEmpty());
}

TEST_F(RepairTest, ARemoteStaysWhileItsLeafHasNotToldAll) {
  Settle();
  world.LearnRemote("10.0.9.1", "ns-a");
  raild->Poll();
  world.bgp.Forget(*IpPrefix::Parse("10.0.9.1/32"), "br-rail0");
  world.bgp.SetEndOfRibDue(true);
  world.bgp.SetUptime(0);
  raild->Poll();
  world.passed += std::chrono::seconds(10);
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  world.bgp.SetEndOfRibDue(false);
  raild->Poll();
  world.passed += Remotes::kStale - std::chrono::seconds(10);
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), IsEmpty());
}

TEST_F(RepairTest, ANewRaildLeavesRemotesAloneUntilItHasLearnedThemItself) {
  Settle();
  world.LearnRemote("10.0.9.1", "ns-a");
  raild->Poll();
  world.bgp.FailAll(Error{Code::kTransient, "bgpd is down"});
  raild = world.StartRaild(std::chrono::hours(1));
  raild->Audit();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  world.bgp.FailAll(std::nullopt);
  world.bgp.Forget(*IpPrefix::Parse("10.0.9.1/32"), "br-rail0");
  raild->Audit();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), IsEmpty());
}

TEST_F(RepairTest, ANewRaildDoesNotSendAgainWhatItHearsWhileSessionsAreYoung) {
  Settle();
  world.LearnRemote("10.0.9.1", "ns-a");
  raild->Poll();
  const int commits = world.Bridge().commits();
  world.bgp.SetUptime(1000);
  raild = world.StartRaild(std::chrono::hours(1));
  raild->Audit();
  raild->Poll();
  EXPECT_EQ(world.Bridge().commits(), commits) << "a rule that is sent again counts from zero";
}

TEST_F(RepairTest, WhatANewRaildCouldNotJudgeGoesAsSoonAsItCan) {
  Settle();
  world.LearnRemote("10.0.9.1", "ns-a");
  raild->Poll();
  world.bgp.Forget(*IpPrefix::Parse("10.0.9.1/32"), "br-rail0");
  world.bgp.SetUptime(0);
  raild = world.StartRaild(std::chrono::hours(1));
  raild->Audit();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  world.passed += Remotes::kSettled;
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), IsEmpty());
}

TEST_F(RepairTest, WhatANewRaildHasInstalledItselfItRemovesAtOnce) {
  Settle();
  world.bgp.SetUptime(1000);
  raild = world.StartRaild(std::chrono::hours(1));
  raild->Audit();
  Attach(world.MakePod("p2", "ns-a", "vf10", "rail1"), "10.0.4.1");
  raild->RecordChanged();
  ASSERT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  const auto context = VerbContext::Open(world.deps());
  ASSERT_TRUE(UndoAttachment(**context, {"rail1", "c-p2", "net1"}, ""));
  raild->RecordChanged();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), IsEmpty());
}

TEST_F(RepairTest, WhatABgpdThatStaysAwayHasToldStays) {
  Settle();
  world.LearnRemote("10.0.9.1", "ns-a");
  Audit();
  ASSERT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  world.faults.down = {Dependency::kBgp};
  raild->Poll();
  world.passed += 3 * Remotes::kStale;
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  EXPECT_THAT(raild->views.Current()->remotes, SizeIs(1));
  raild = world.StartRaild(std::chrono::hours(1));
  Audit();
  world.passed += 3 * Remotes::kStale;
  Audit();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1)) << "nor does a new raild judge them";
  // What its sessions do not tell within the time that counts from then on is gone.
  world.bgp.Restart();
  world.faults.down.clear();
  Audit();
  world.passed += Remotes::kStale - std::chrono::seconds(1);
  Audit();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  world.passed += std::chrono::seconds(1);
  Audit();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), IsEmpty());
}

// Another session that has been down for long has no part in it.
TEST_F(RepairTest, ASessionThatFlapsKeepsItsRemotesBesideOneThatStaysDown) {
  LearnBesideASessionThatStaysDown();
  world.bgp.Forget(*IpPrefix::Parse("10.0.9.1/32"), "br-rail0");
  world.bgp.SetUptime(1000);
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  world.passed += Remotes::kStale + std::chrono::seconds(1);
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), IsEmpty());
}

TEST_F(RepairTest, ABgpdThatIsRestartedKeepsItsRemotesBesideASessionThatStaysDown) {
  LearnBesideASessionThatStaysDown();
  world.faults.down = {Dependency::kBgp};
  raild->Poll();
  world.bgp.Restart();
  world.faults.down.clear();
  Audit();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
}

TEST_F(RepairTest, APodOfThisNodeOnAnotherRailIsARemote) {
  Settle();
  Attach(world.MakePod("p2", "ns-a", "vf10", "rail1"), "10.0.4.1");
  raild->RecordChanged();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), Each(Field(&Rule::match, HasSubstr("10.0.4.1"))));
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote, "br-rail1"),
              Each(Field(&Rule::match, HasSubstr("10.0.3.1"))));
}

TEST_F(RepairTest, AnAddressOfAPodHereIsNoRemoteWhateverBgpSays) {
  Settle();
  ASSERT_TRUE(world.bgp.Withdraw(Ip("10.0.3.1"), {}));
  world.LearnRemote("10.0.3.1", "ns-a");
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), IsEmpty());
  const auto view = raild->views.Current();
  EXPECT_THAT(view->remotes, SizeIs(0));
  EXPECT_EQ(view->remote_counts.known, 0U) << "counted as listed";
  EXPECT_THAT(view->remote_counts.of_tenant, ElementsAre(Pair("ns-a", 0U)));
}

}  // namespace
}  // namespace rail::engine
