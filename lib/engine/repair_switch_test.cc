// Bridges and their rules: what the switch has lost, and what others have changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "lib/engine/testing/repair_fixture.h"
#include "lib/netns/testing/scratch.h"

namespace rail::engine {
namespace {

using ovs::CookieKind;
using ovs::Rule;
using ::testing::Contains;
using testing::Dependency;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::PodSpec;
using testing::RepairTest;

TEST_F(RepairTest, GivesAFreshBridgeItsPipeline) {
  raild = world.StartRaild();
  Audit();
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_THAT(world.RulesOf(CookieKind::kPipeline), Not(IsEmpty()));
  EXPECT_THAT(world.RulesOf(CookieKind::kPipeline, "br-rail1"), Not(IsEmpty()));
  EXPECT_THAT(world.RulesOf(CookieKind::kLeaf), Not(IsEmpty()));
}

TEST_F(RepairTest, SendsNothingWhenAllIsRight) {
  Settle();
  const int commits = world.Bridge().commits();
  const uint64_t repairs = Repairs();
  const uint64_t table = *world.bgp.TableVersion({});
  Audit();
  raild->RecordChanged();
  raild->Poll();
  Audit();
  EXPECT_EQ(world.Bridge().commits(), commits);
  EXPECT_EQ(Repairs(), repairs);
  EXPECT_EQ(*world.bgp.TableVersion({}), table);
}

// A change costs what changed.

class Calls : public RepairTest {
 protected:
  // Counts calls from now on, by their name.
  void Count() {
    calls.clear();
    world.faults.before = [this](Dependency, std::string_view call) { ++calls[std::string(call)]; };
  }
  std::map<std::string, int> calls;
};

TEST_F(Calls, AnAttachmentOfOneRailMakesRaildReadThePortsOfThatRailOnly) {
  Settle();
  Attach(world.MakePod("p2", "ns-b", "vf10", "rail1"), "10.0.3.2");
  Count();
  raild->RecordChanged();
  EXPECT_EQ(calls["FindBridge"], 1);
  Count();
  raild->RecordChanged();
  EXPECT_EQ(calls["FindBridge"], 0) << "nothing has changed";
}

TEST_F(Calls, AnEventOfOvsdbThatChangedNothingReadsTheBridgesAndNoRule) {
  Settle();
  Attach(world.MakePod("p2", "ns-b", "vf1"), "10.0.3.2");
  raild->RecordChanged();
  Count();
  raild->the_switch.DatabaseChanged();
  EXPECT_EQ(calls["FindBridge"], 2);
  EXPECT_EQ(calls["Dump"] + calls["Count"] + calls["GetLink"], 0);
}

TEST_F(Calls, WhatBgpTellsDuringAnAuditWaitsForOneRail) {
  Settle();
  int rails = 0;
  world.faults.before = [&](Dependency, std::string_view call) {
    if (call != "Count") return;  // a rail's audit
    if (++rails == 1) {
      world.LearnRemote("10.0.9.1", "ns-a");
      raild->Learn();
    } else {
      EXPECT_THAT(world.RulesOf(CookieKind::kRemote), ::testing::SizeIs(2)) << "before the next rail's audit";
    }
  };
  raild->the_switch.Audit();
  world.faults.before = nullptr;
  EXPECT_EQ(rails, 2);
}

TEST_F(RepairTest, AfterARailThatHangsTheOthersHaveASecond) {
  Settle();
  std::map<std::string, Clock::duration> time;  // of a call, by bridge
  Clock::duration hangs{};
  Deps deps = world.DepsOfRaild();
  deps.openers = [&, openers = deps.openers](const config::NodeConfig& node) {
    Openers all = openers(node);
    all.openflow = [&, open = all.openflow](const std::string& bridge, Deadline until) {
      time[bridge] = until - Clock::now();
      if (bridge == "br-rail0") world.passed += hangs;
      return open(bridge, until);
    };
    return all;
  };
  SwitchRepair the_switch(world.config, deps, *raild->store, raild->node_status);
  the_switch.Audit();
  EXPECT_GT(time["br-rail1"], std::chrono::seconds(4));
  hangs = std::chrono::seconds(6);
  the_switch.Audit();
  EXPECT_GT(time["br-rail0"], std::chrono::seconds(4));
  EXPECT_LE(time["br-rail1"], std::chrono::seconds(1));
}

TEST_F(RepairTest, ShowsThatAnAttachmentsRulesMayBeMissingWhileTheSwitchDoesNotAnswer) {
  Settle();
  const auto in_place = [&] { return raild->views.Current()->attachments.at(0).rules_in_place; };
  EXPECT_TRUE(in_place());
  world.faults.down = {Dependency::kOpenFlow};
  Audit();
  EXPECT_FALSE(in_place());
  world.faults.down.clear();
  Audit();
  EXPECT_TRUE(in_place());
}

TEST_F(RepairTest, AfterARestartOfRaildNothingIsSentEither) {
  Settle();
  const int commits = world.Bridge().commits();
  raild = world.StartRaild(std::chrono::hours(1));
  Audit();
  EXPECT_EQ(world.Bridge().commits(), commits);
  EXPECT_EQ(Repairs(), 0U);
}

TEST_F(RepairTest, PutsEveryRuleBackWhenTheSwitchHasLostThem) {
  Settle();
  const auto before = world.Bridge().rules();
  world.Bridge().LoseAllRules();
  Audit();
  EXPECT_EQ(world.Bridge().rules(), before);
}

TEST_F(RepairTest, RepairsEachDeletedAndEachEditedRule) {
  Settle();
  const auto right = world.Bridge().rules();
  for (const Rule& rule : right) {
    SCOPED_TRACE(rule.match);
    ASSERT_TRUE(Commit({.remove_by_cookie = {}, .remove = {rule}, .add = {}}));
    ASSERT_NE(world.Bridge().rules(), right);
    Audit();
    ASSERT_EQ(world.Bridge().rules(), right);
    Rule edited = rule;
    edited.actions = rule.actions == "drop" ? "NORMAL" : "drop";
    ASSERT_TRUE(Commit({.remove_by_cookie = {}, .remove = {}, .add = {edited}}));
    Audit();
    ASSERT_EQ(world.Bridge().rules(), right);
  }
}

TEST_F(RepairTest, RemovesARuleOfOursThatNobodyWantsAndLeavesOthersRulesAlone) {
  Settle();
  const Rule stray{.table = 0,
                   .priority = 999,
                   .cookie = ovs::Cookie(CookieKind::kAttachment, 77),
                   .match = "in_port=9",
                   .actions = "NORMAL"};
  const Rule foreign{
      .table = 0, .priority = 998, .cookie = 0x1234, .match = "in_port=9", .actions = "NORMAL"};
  ASSERT_TRUE(Commit({.remove_by_cookie = {}, .remove = {}, .add = {stray, foreign}}));
  Audit();
  EXPECT_THAT(world.Bridge().rules(), Not(Contains(Field(&Rule::priority, 999))));
  EXPECT_THAT(world.Bridge().rules(), Contains(Field(&Rule::priority, 998)));
}

TEST_F(RepairTest, AnotherLeafMacRewritesTheLeafsRulesOnly) {
  Settle();
  std::vector<Rule> others;
  for (const Rule& rule : world.Bridge().rules()) {
    if (!ovs::CookieMatch::Kind(CookieKind::kLeaf).Selects(rule.cookie)) others.push_back(rule);
  }
  const int commits = world.Bridge().commits();
  world.SetLeafMac("br-rail0", "02:1e:af:00:00:99");
  raild->Poll();
  EXPECT_EQ(world.Bridge().commits(), commits + 1);
  EXPECT_THAT(world.RulesOf(CookieKind::kLeaf), Each(Field(&Rule::actions, HasSubstr("02:1e:af:00:00:99"))));
  std::vector<Rule> now;
  for (const Rule& rule : world.Bridge().rules()) {
    if (rule.table == 4 && ovs::CookieMatch::Kind(CookieKind::kLeaf).Selects(rule.cookie)) continue;
    now.push_back(rule);
  }
  EXPECT_EQ(now, others);
}

TEST_F(RepairTest, AnEdgeThatIsDownIsAProblemAndTheNextRoundFindsItRightAgain) {
  Settle();
  for (const auto& [dependency, part] :
       std::map<Dependency, std::string>{{Dependency::kOvsdb, "rail rail0"},
                                         {Dependency::kOpenFlow, "rail rail0"},
                                         {Dependency::kBgp, "bgp"}}) {
    SCOPED_TRACE(part);
    world.faults.down = {dependency};
    Audit();
    EXPECT_THAT(Problems(), Contains(HasSubstr(part + ": " + testing::Name(dependency) + " is down")));
    world.faults.down.clear();
    Audit();
    EXPECT_THAT(Problems(), IsEmpty());
  }
}

TEST_F(RepairTest, LeavesTheRulesOfAnAttachmentAloneWhosePortCameAfterItLookedAtThePorts) {
  Settle();
  PodSpec late;
  world.faults.before = [&](Dependency dependency, std::string_view call) {
    if (dependency != Dependency::kOpenFlow || call != "Dump" || !late.name.empty()) return;
    late = world.MakePod("p2", "ns-b", "vf1");  // a whole ADD between raild's looks at ports and rules
    Attach(late, "10.0.3.2");
  };
  world.Bridge().LoseAllRules();
  Audit();
  world.faults.before = nullptr;
  ASSERT_FALSE(late.name.empty());
  EXPECT_THAT(world.RulesOf(late), Not(IsEmpty()));
  const auto all = world.Bridge().rules();
  const int commits = world.Bridge().commits();
  Audit();
  EXPECT_EQ(world.Bridge().rules(), all);
  EXPECT_EQ(world.Bridge().commits(), commits);
}

TEST_F(RepairTest, PutsRightWhatOthersHaveChangedInRulesOfOursOrPutInTheirPlace) {
  Settle();
  const auto right = world.Bridge().rules();
  ASSERT_TRUE(Commit({.remove_by_cookie = {}, .remove = {right[0]}, .add = {}}));
  raild->the_switch.RulesChanged();
  EXPECT_EQ(world.Bridge().rules(), right);

  Rule theirs = right[0];
  theirs.cookie = 0x1234;
  theirs.actions = "NORMAL";
  ASSERT_TRUE(Commit({.remove_by_cookie = {}, .remove = {}, .add = {theirs}}));
  raild->the_switch.RulesChanged();
  EXPECT_EQ(world.Bridge().rules(), right);
}

// Bridges, in a namespace with real links: raild writes sysctls of the host's side.
TEST_F(RepairTest, MakesAndMendsItsBridgesWhenItManagesThem) {
  const netns::Netns host = netns::testing::MakeScratch();
  ASSERT_TRUE(netns::testing::Shell(
      host,
      "ip link add ens0 type veth peer name br-rail0 && ip link add ens1 type veth peer name br-rail1"));
  world.config.ovs.manage_bridges = true;
  raild = world.StartRaild();
  std::string uplink;
  std::string local;
  ASSERT_TRUE(host.Run([&]() -> Status {
    Audit();
    RAIL_ASSIGN(uplink, netns::ReadSysctl("net/ipv6/conf/ens0/disable_ipv6"));
    RAIL_ASSIGN(local, netns::ReadSysctl("net/ipv6/conf/br-rail0/accept_ra"));
    return {};
  }));
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(uplink, "1");
  EXPECT_EQ(local, "0");
  const auto bridge = *world.ovsdb.FindBridge("br-rail0", {});
  ASSERT_TRUE(bridge);
  EXPECT_EQ(bridge->hwaddr, "02:00:00:00:00:01") << "the uplink's address";
  EXPECT_EQ(bridge->external_ids.at(kOwnerKey), "rail0");
  EXPECT_THAT(world.RulesOf(CookieKind::kPipeline), Not(IsEmpty()));
}

}  // namespace
}  // namespace rail::engine
