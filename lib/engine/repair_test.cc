#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/testing/attach.h"
#include "lib/netns/testing/scratch.h"

namespace rail::engine {
namespace {

using ovs::CookieKind;
using ovs::Rule;
using ::testing::AllOf;
using ::testing::Contains;
using testing::Dependency;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using testing::PodSpec;
using testing::Raild;
using ::testing::SizeIs;
using testing::World;

IpAddress Ip(const std::string& text) {
  return *IpAddress::Parse(text);
}

class RepairTest : public ::testing::Test {
 protected:
  void Attach(const PodSpec& spec, const std::string& address) {
    const auto attached = testing::Attach(world, spec, address);
    ASSERT_TRUE(attached) << attached.error().message;
  }
  // A node with a pod of ns-a, and raild that has looked once.
  void Settle() {
    pod = world.MakePod("p1", "ns-a", "vf0");
    Attach(pod, "10.0.3.1");
    raild = world.StartRaild(std::chrono::hours(1));
    raild->Audit();
    EXPECT_THAT(Problems(), IsEmpty());
  }
  // For so long that nothing is kept for it any more.
  void LearnBesideASessionThatStaysDown() {
    Settle();
    world.bgp.SetSession("br-rail1", "Idle");
    world.LearnRemote("10.0.9.1", "ns-a");
    raild->Poll();
    world.passed += 2 * Remotes::kStale;
    raild->Poll();
  }
  void Audit() { raild->Audit(); }
  std::vector<std::string> Problems() {
    std::vector<std::string> problems;
    for (const Health& health : raild->views.Current()->health) {
      if (!health.ok) problems.push_back(health.part + ": " + health.problem);
    }
    return problems;
  }
  uint64_t Repairs() { return raild->views.Current()->repairs; }
  Status Commit(const ovs::Change& change) { return world.Bridge().Commit(change, {}); }
  bool HasPort(const std::string& name) { return world.ovsdb.FindPort(name, {})->has_value(); }

  World world;
  PodSpec pod;
  std::unique_ptr<Raild> raild;
};

// Rules.

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

// Ports.

TEST_F(RepairTest, GivesAPortItsMarkBack) {
  Settle();
  const auto before = (*world.ovsdb.FindPort("rep0", {}))->external_ids;
  ASSERT_TRUE(world.ovsdb.RemoveExternalIds("rep0", {kOwnerKey, "contPodUid"}, {}));
  ASSERT_TRUE(world.ovsdb.SetExternalIds("rep0", {{"contIface", "edited"}, {"theirs", "1"}}, {}));
  Audit();
  auto ids = (*world.ovsdb.FindPort("rep0", {}))->external_ids;
  EXPECT_EQ(ids.at("theirs"), "1");
  ids.erase("theirs");
  EXPECT_EQ(ids, before);
}

TEST_F(RepairTest, TakesAPortBackFromAnotherBridge) {
  Settle();
  world.ovsdb.AddForeignBridge("br-other");
  ASSERT_TRUE(world.ovsdb.DeletePort("br-rail0", "rep0", {}, ovs::Ovsdb::Wait::kCommitted, {}));
  ASSERT_TRUE(world.ovsdb.AddPort(
      {.bridge = "br-other", .name = "rep0", .external_ids = {}, .mtu = 0, .ofport_request = {}}, {}));
  Audit();
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ((*world.ovsdb.FindPort("rep0", {}))->bridge, "br-rail0");
}

TEST_F(RepairTest, AddsAMissingPortAgainWithItsMark) {
  Settle();
  ASSERT_TRUE(world.ovsdb.DeletePort("br-rail0", "rep0", {}, ovs::Ovsdb::Wait::kCommitted, {}));
  Audit();
  ASSERT_TRUE(HasPort("rep0"));
  EXPECT_EQ((*world.ovsdb.FindPort("rep0", {}))->external_ids.at(kOwnerKey),
            std::to_string(world.Attachment(pod).id));
}

TEST_F(RepairTest, FollowsAPortThatCameBackUnderAnotherNumber) {
  Settle();
  ASSERT_TRUE(world.ovsdb.DeletePort("br-rail0", "rep0", {}, ovs::Ovsdb::Wait::kCommitted, {}));
  ASSERT_TRUE(world.ovsdb.AddPort(
      {.bridge = "br-rail0", .name = "rep3", .external_ids = {}, .mtu = 0, .ofport_request = 2}, {}));
  Audit();
  EXPECT_EQ(world.Attachment(pod).ofport, 3);
  EXPECT_THAT(world.RulesOf(CookieKind::kAttachment), Contains(Field(&Rule::match, HasSubstr("in_port=3"))));
  EXPECT_THAT(world.RulesOf(CookieKind::kAttachment),
              Not(Contains(Field(&Rule::match, HasSubstr("in_port=2")))));
}

TEST_F(RepairTest, RemovesAPortOfOursThatNoAttachmentHasAndNoOther) {
  Settle();
  const auto add = [&](const std::string& name, const ovs::ExternalIds& ids) {
    ASSERT_TRUE(world.ovsdb.AddPort(
        {.bridge = "br-rail0", .name = name, .external_ids = ids, .mtu = 0, .ofport_request = {}}, {}));
  };
  add("rep1", {{kOwnerKey, "77"}});
  add("rep2", {{"contPodUid", "x"}});
  add("rep3", {{kOwnerKey, "78"}, {"owner", "ovs-cni.network.kubevirt.io"}});
  Audit();
  EXPECT_FALSE(HasPort("rep1")) << "ours, of no attachment";
  EXPECT_TRUE(HasPort("rep2")) << "not ours";
  EXPECT_TRUE(HasPort("rep3")) << "adopted: its owner deletes it";
  EXPECT_TRUE(HasPort("rep0"));
}

// A device that is gone, its port with it, and another pod on the rail.
class DeadPort : public RepairTest {
 protected:
  void SetUp() override {
    Settle();
    other = world.MakePod("p2", "ns-b", "vf1");
    Attach(other, "10.0.3.2");
    Audit();
    world.ovsdb.RemoveDevice("rep0");
    ASSERT_TRUE(world.ovsdb.DeletePort("br-rail0", "rep0", {}, ovs::Ovsdb::Wait::kCommitted, {}));
    world.faults.before = [this](Dependency dependency, std::string_view call) {
      added += dependency == Dependency::kOvsdb && call == "AddPort" ? 1 : 0;
    };
  }
  void DeletePort(const std::string& name) {
    ASSERT_TRUE(world.ovsdb.DeletePort("br-rail0", name, {}, ovs::Ovsdb::Wait::kCommitted, {}));
  }
  PodSpec other;
  int added = 0;
};

TEST_F(DeadPort, KeepsNeitherOtherPortsNorTheRulesWaiting) {
  DeletePort("rep1");
  world.Bridge().LoseAllRules();
  Audit();
  EXPECT_TRUE(HasPort("rep1"));
  EXPECT_THAT(world.RulesOf(other), Not(IsEmpty()));
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("rail rail0: add port rep0 to bridge br-rail0")));
  EXPECT_EQ(added, 2) << "each once";
  world.LearnRemote("10.0.9.2", "ns-b");
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
}

TEST_F(DeadPort, StaysAProblemAndIsTriedInItsTimeWhateverElseIsRight) {
  Audit();
  const auto next = raild->the_switch.next_retry();
  ASSERT_TRUE(next);
  raild->Poll();
  raild->the_switch.RulesChanged();
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("add port rep0")));
  EXPECT_EQ(raild->the_switch.next_retry(), next);
}

TEST_F(DeadPort, IsNotTriedAgainForWhatItsOwnTryHasChanged) {
  Audit();
  ASSERT_EQ(added, 1);
  raild->the_switch.DatabaseChanged();
  raild->the_switch.DatabaseChanged();
  EXPECT_EQ(added, 1);
  DeletePort("rep1");
  raild->the_switch.DatabaseChanged();
  EXPECT_TRUE(HasPort("rep1")) << "others have changed something";
  raild->the_switch.DatabaseChanged();
  EXPECT_EQ(added, 3);
  world.ovsdb.AddDevice("rep0");
  Audit();
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_FALSE(raild->the_switch.next_retry());
}

TEST_F(RepairTest, LooksAtOnceWhenTheDatabaseOfARailThatIsRightHasChanged) {
  Settle();
  ASSERT_TRUE(world.ovsdb.DeletePort("br-rail0", "rep0", {}, ovs::Ovsdb::Wait::kCommitted, {}));
  raild->the_switch.DatabaseChanged();
  EXPECT_TRUE(HasPort("rep0"));
}

TEST_F(RepairTest, APodWhosePortDoesNotWorkIsNotShownAsRight) {
  Settle();
  EXPECT_TRUE(raild->views.Current()->attachments[0].rules_in_place);
  world.ovsdb.RemoveDevice("rep0");
  Audit();
  EXPECT_FALSE(raild->views.Current()->attachments[0].rules_in_place);
}

// Announcements.

TEST_F(RepairTest, AnnouncesAgainWhatBgpdHasForgotten) {
  Settle();
  world.bgp.Restart();
  Audit();
  EXPECT_THAT(*world.bgp.Announced({}),
              ElementsAre(frr::Announcement{Ip("10.0.3.1"), "rail0", 0, world.Tenant("ns-a")}));
}

TEST_F(RepairTest, CorrectsAnAnnouncementOfTheWrongTenant) {
  Settle();
  ASSERT_TRUE(world.bgp.Announce({Ip("10.0.3.1"), "rail0", 0, world.Tenant("ns-b")}, {}));
  Audit();
  EXPECT_THAT(*world.bgp.Announced({}),
              ElementsAre(frr::Announcement{Ip("10.0.3.1"), "rail0", 0, world.Tenant("ns-a")}));
}

TEST_F(RepairTest, WithdrawsWhatNoAttachmentHasAndLeavesForeignNetworks) {
  Settle();
  ASSERT_TRUE(world.bgp.Announce({Ip("10.0.3.77"), "rail0", 0, world.Tenant("ns-a")}, {}));
  world.bgp.AddForeignNetwork(Ip("192.0.2.1"));
  Audit();
  EXPECT_THAT(*world.bgp.Announced({}), SizeIs(1));
  EXPECT_THAT(world.bgp.foreign_networks(), ElementsAre(Ip("192.0.2.1")));
}

TEST_F(RepairTest, AnnouncesAgainWhoseRouteMapSomebodyHasEdited) {
  Settle();
  ASSERT_TRUE(world.bgp.Announce({Ip("10.0.3.77"), "rail0", 0, world.Tenant("ns-a")}, {}));
  world.bgp.EditRouteMapOf(Ip("10.0.3.1"));
  world.bgp.EditRouteMapOf(Ip("10.0.3.77"));  // of no attachment
  Audit();
  EXPECT_THAT(*world.bgp.Announced({}),
              ElementsAre(frr::Announcement{Ip("10.0.3.1"), "rail0", 0, world.Tenant("ns-a")}));
}

TEST_F(RepairTest, AnAddressThatBgpdRefusesKeepsNoOtherFromTheLeaf) {
  Settle();
  Attach(world.MakePod("p2", "ns-a", "vf1"), "10.0.3.2");
  Attach(world.MakePod("p3", "ns-a", "vf2"), "10.0.3.3");
  world.bgp.Restart();
  world.bgp.AddForeignNetwork(Ip("10.0.3.1"));  // the operator's, read from its file
  for (int round = 0; round < 2; ++round) {
    Audit();
    EXPECT_THAT(*world.bgp.Announced({}),
                ElementsAre(frr::Announcement{Ip("10.0.3.2"), "rail0", 0, world.Tenant("ns-a")},
                            frr::Announcement{Ip("10.0.3.3"), "rail0", 0, world.Tenant("ns-a")}));
    EXPECT_THAT(Problems(), ElementsAre(AllOf(HasSubstr("bgp announcements"), HasSubstr("10.0.3.1/32"))));
    EXPECT_THAT(*world.bgp.Sessions({}), SizeIs(2));
  }
}

// A rail without a carrier.

TEST_F(RepairTest, WithdrawsTheAddressesOfARailWithoutACarrierUntilItIsBack) {
  Settle();
  const PodSpec other = world.MakePod("p2", "ns-a", "vf10", "rail1");
  Attach(other, "10.0.3.2");
  Audit();
  EXPECT_THAT(*world.bgp.Announced({}), SizeIs(2));
  const int uplink = world.host.GetLink("ens0")->index;
  ASSERT_TRUE(world.host.SetDown(uplink));
  Audit();
  EXPECT_THAT(*world.bgp.Announced({}),
              ElementsAre(frr::Announcement{Ip("10.0.3.2"), "rail1", 1, world.Tenant("ns-a")}));
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("the uplink ens0 of rail rail0 has no carrier")));
  EXPECT_FALSE(raild->views.Current()->rails[0].uplink_carrier);
  EXPECT_TRUE(raild->views.Current()->rails[1].uplink_carrier);
  ASSERT_TRUE(world.host.SetUp(uplink));
  Audit();
  EXPECT_THAT(*world.bgp.Announced({}), SizeIs(2));
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_TRUE(raild->views.Current()->rails[0].uplink_carrier);
}

TEST_F(RepairTest, ASessionDoesNotOutliveItsCarrier) {
  Settle();
  const int uplink = world.host.GetLink("ens0")->index;
  ASSERT_TRUE(world.host.SetDown(uplink));
  UplinkNews news = raild->uplinks.Look();
  EXPECT_TRUE(news.changed);
  EXPECT_THAT(news.back, IsEmpty());
  ASSERT_TRUE(world.host.SetUp(uplink));
  news = raild->uplinks.Look();
  ASSERT_THAT(news.back, ElementsAre("rail0"));
  EXPECT_TRUE(raild->bgp.CarrierBack(news.back, news.seen));
  EXPECT_THAT(world.bgp.resets(), ElementsAre("br-rail0"));
  EXPECT_TRUE(raild->bgp.Solicit());
  EXPECT_TRUE(raild->bgp.Solicit()) << "until the session is there";
  EXPECT_THAT(world.solicited, ElementsAre("br-rail0", "br-rail0"));
  world.bgp.SetSession("br-rail0", "Established");
  raild->bgp.Poll();
  EXPECT_FALSE(raild->bgp.Solicit());
  EXPECT_THAT(world.solicited, SizeIs(2));
  EXPECT_FALSE(raild->uplinks.Look().changed);
}

TEST_F(RepairTest, ASessionThatIsYoungerThanTheCarrierStays) {
  Settle();
  world.bgp.SetUptime(0);
  raild->bgp.CarrierBack({"rail0"}, Clock::now());
  EXPECT_THAT(world.bgp.resets(), IsEmpty());
  EXPECT_FALSE(raild->bgp.Solicit());
}

TEST_F(RepairTest, AnUplinkThatIsGoneHasNoCarrier) {
  Settle();
  world.host.RemoveLink("ens0");
  Audit();
  EXPECT_THAT(*world.bgp.Announced({}), IsEmpty());
  EXPECT_THAT(Problems(), Contains(HasSubstr("the uplink ens0 of rail rail0: find link ens0")));
}

TEST_F(RepairTest, NobodyIsWithdrawnForAKernelThatDoesNotAnswer) {
  Settle();
  world.host.FailOn("GetLink", {Code::kTransient, "no answer", 0});
  EXPECT_FALSE(raild->uplinks.Look().changed);
  raild->bgp.Audit();
  EXPECT_THAT(*world.bgp.Announced({}), SizeIs(1));
}

TEST_F(RepairTest, SaysWhichLinksAreUplinks) {
  Settle();
  EXPECT_TRUE(raild->uplinks.Concerned({world.host.GetLink("ens0")->index}));
  EXPECT_FALSE(raild->uplinks.Concerned({world.host.GetLink("rep0")->index}));
}

// Sessions.

TEST_F(RepairTest, ASessionOfABgpdThatDoesNotAnswerIsNotThere) {
  Settle();
  const auto states = [&] {
    std::vector<std::string> of_rails;
    for (const RailView& rail : raild->views.Current()->rails) of_rails.push_back(rail.bgp_state);
    return of_rails;
  };
  ASSERT_THAT(states(), ElementsAre("Established", "Established"));
  world.faults.down = {Dependency::kBgp};
  raild->bgp.ConnectionGone();
  EXPECT_TRUE(raild->bgp.Poll());
  EXPECT_THAT(states(), ElementsAre("", ""));
  world.faults.down.clear();
  Audit();
  EXPECT_THAT(states(), ElementsAre("Established", "Established"));
  world.bgp.FailAll(Error{Code::kTransient, "bgpd hangs"});
  raild->bgp.ConnectionGone();
  EXPECT_TRUE(raild->bgp.Poll());
  EXPECT_THAT(states(), ElementsAre("", ""));
}

TEST_F(RepairTest, ASessionWhoseNeighborIsRemovedIsNotThereAndWhatItHasToldStays) {
  Settle();
  world.LearnRemote("10.0.9.1", "ns-a");
  raild->Poll();
  ASSERT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
  world.bgp.RemoveNeighbor("br-rail0");
  raild->bgp.ConnectionGone();
  raild->Poll();
  EXPECT_EQ(raild->views.Current()->rails[0].bgp_state, "");
  EXPECT_EQ(raild->views.Current()->rails[1].bgp_state, "Established");
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
}

// bgpd's connection for what it pushes.
class PushedTo : public RepairTest {
 protected:
  void SetUp() override {
    Settle();
    raild->Poll();
  }
  bool IsOpenedAnew() {
    const int before = raild->push.connections();
    raild->bgp.ConnectionGone();  // bgpd is asked for its sessions
    raild->Poll();
    return raild->push.connections() > before;
  }
  bool BmpIsUp() { return raild->views.Current()->bmp_up; }
};

TEST_F(PushedTo, IsOpenedAnewWhenBgpdHasQueuedWhatALostSessionHadTold) {
  EXPECT_FALSE(IsOpenedAnew());
  for (const char* lost : {"Idle", "removed"}) {
    SCOPED_TRACE(lost);
    world.bgp.SetSession("br-rail1", "Clearing");
    EXPECT_FALSE(IsOpenedAnew());
    if (lost == std::string("removed")) {
      world.bgp.RemoveNeighbor("br-rail1");
    } else {
      world.bgp.SetSession("br-rail1", lost);
    }
    EXPECT_TRUE(IsOpenedAnew());
    EXPECT_FALSE(IsOpenedAnew()) << "once is enough";
    world.bgp.SetSession("br-rail1", "Established");
    EXPECT_FALSE(IsOpenedAnew());
  }
}

TEST_F(PushedTo, IsSaidToBeDownWhenItDoesNotComeBackInTime) {
  EXPECT_TRUE(BmpIsUp());
  raild->bgp.FeedClosed("");
  raild->bgp.Poll();
  EXPECT_TRUE(BmpIsUp()) << "bgpd connects again within a second";
  ASSERT_TRUE(raild->bgp.next_poll());
  EXPECT_LE(*raild->bgp.next_poll(), Clock::now() + std::chrono::seconds(4));
  world.passed += std::chrono::seconds(4);
  raild->bgp.Poll();
  EXPECT_FALSE(BmpIsUp());
  EXPECT_THAT(Problems(), ElementsAre(AllOf(HasSubstr("bgp feed: nothing new is learned"),
                                            HasSubstr("has not connected to 127.0.0.1 port 11019"))));
  raild->bgp.FeedOpened();
  raild->bgp.Poll();
  EXPECT_TRUE(BmpIsUp());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(PushedTo, IsOpenedAnewForASessionThatCameBackBetweenTwoLooks) {
  world.bgp.SetUptime(1000);
  EXPECT_TRUE(IsOpenedAnew());
}

TEST_F(PushedTo, IsOpenedAnewWhileASessionIsDownIfTheTableHasChanged) {
  world.bgp.SetSession("br-rail1", "Idle");
  EXPECT_TRUE(IsOpenedAnew());
  const auto is_opened_anew = [&] {
    const int before = raild->push.connections();
    raild->Poll();
    return raild->push.connections() > before;
  };
  for (int i = 0; i < 3; ++i) {
    world.passed += std::chrono::seconds(30);
    EXPECT_FALSE(is_opened_anew()) << "nothing can be held back";
    world.LearnRemote("10.0.9." + std::to_string(i), "ns-a");
    EXPECT_FALSE(is_opened_anew()) << "not before it is time to look again";
    world.passed += std::chrono::seconds(30);
    EXPECT_TRUE(is_opened_anew());
  }
  world.passed += std::chrono::seconds(4095);
  EXPECT_FALSE(is_opened_anew());
  world.LearnRemote("10.0.9.9", "ns-a");
  world.passed += std::chrono::seconds(60);
  EXPECT_FALSE(is_opened_anew()) << "bgpd keeps nothing of it any more";
}

TEST_F(PushedTo, NothingIsDueOnANodeThatDoesNothing) {
  world.passed += std::chrono::seconds(1);
  raild->Poll();
  raild->Poll();
  EXPECT_EQ(raild->bgp.next_poll(), std::nullopt);
  world.bgp.SetOwesEndOfRib(true);
  world.bgp.SetUptime(0);
  EXPECT_TRUE(IsOpenedAnew());
  raild->Poll();
  ASSERT_TRUE(raild->bgp.next_poll());
  EXPECT_LE(*raild->bgp.next_poll(), Clock::now() + world.passed + std::chrono::milliseconds(250))
      << "bgpd tells nobody when a leaf has sent its End-of-RIB";
}

// Two sessions with one leaf that has one link-local address on all its ports.
TEST_F(PushedTo, WhatOneOfTwoSessionsThatLookAlikeWithdrawsStaysWhileTheOtherHasIt) {
  world.bgp.SetOneLeaf();
  raild = world.StartRaild(std::chrono::hours(1));
  Audit();
  raild->Poll();
  EXPECT_TRUE(raild->views.Current()->bmp_ambiguous);
  EXPECT_EQ(raild->push.connections(), 1);
  world.LearnRemote("10.0.9.1", "ns-a");
  world.LearnRemote("10.0.9.1", "ns-a", "br-rail1");
  raild->Poll();
  ASSERT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
  for (const char* interface : {"br-rail0", "br-rail1"}) {
    SCOPED_TRACE(interface);
    world.bgp.Forget(*IpPrefix::Parse("10.0.9.1/32"), interface);
    const int before = raild->push.connections();
    raild->Poll();
    EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
    EXPECT_EQ(raild->push.connections(), before) << "bgpd does not dump its table for each withdrawal";
    world.passed += std::chrono::seconds(30);
    raild->Poll();
    EXPECT_EQ(raild->push.connections(), before + 1);
    EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(interface == std::string("br-rail0") ? 2 : 0));
  }
  world.passed += std::chrono::minutes(5);
  raild->Poll();
  raild->Poll();
  EXPECT_EQ(raild->push.connections(), 3) << "nothing is in doubt";
}

// bgpd without its BMP module.

TEST_F(PushedTo, ABgpdThatComesBackWithoutTheModuleCostsNoPodItsRules) {
  world.LearnRemote("10.0.9.1", "ns-a");
  raild->Poll();
  ASSERT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
  world.bgp.Restart();
  world.bgp.SetModule(false);
  Audit();
  for (const config::Rail& rail : world.config.rails) world.bgp.SetSession(rail.bridge, "Established");
  Audit();
  EXPECT_FALSE(BmpIsUp());
  EXPECT_THAT(Problems(),
              ElementsAre(AllOf(HasSubstr("bgp feed: nothing new is learned, and what was learned stays"),
                                HasSubstr("-M bmp"), HasSubstr("/etc/frr/daemons"))));
  for (int i = 0; i < 3; ++i) {
    world.passed += Remotes::kStale;
    raild->Poll();
    Audit();
    EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
  }
  EXPECT_THAT(raild->views.Current()->remotes, SizeIs(1));
  // One that pushes again is believed: after its dump, when it is old enough.
  world.bgp.Restart();
  world.bgp.SetModule(true);
  Audit();
  for (const config::Rail& rail : world.config.rails) world.bgp.SetSession(rail.bridge, "Established");
  Audit();
  EXPECT_TRUE(BmpIsUp());
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
  world.passed += Remotes::kSettled + std::chrono::seconds(1);
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), IsEmpty());
}

TEST_F(PushedTo, ANewRaildWithoutTheModuleLeavesTheRulesOfTheOneBefore) {
  world.LearnRemote("10.0.9.1", "ns-a");
  raild->Poll();
  world.bgp.Restart();
  world.bgp.SetModule(false);
  raild = world.StartRaild(std::chrono::hours(1));
  for (int i = 0; i < 3; ++i) {
    Audit();
    raild->Poll();
    EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
    EXPECT_FALSE(raild->views.Current()->learning_complete);
    world.passed += Remotes::kStale;
  }
}

TEST_F(PushedTo, APortThatCannotBeBoundIsSaidAndBgpdIsNotToldToPushThere) {
  world.bgp.Restart();
  raild = world.StartRaild(std::chrono::hours(1));
  raild->bgp.NoFeed("listen for bgpd's BMP on 127.0.0.1 port 11019: another program has it");
  Audit();
  for (const config::Rail& rail : world.config.rails) world.bgp.SetSession(rail.bridge, "Established");
  Audit();
  EXPECT_EQ(world.bgp.feed_port(), std::nullopt);
  EXPECT_THAT(Problems(), ElementsAre(AllOf(HasSubstr("bgp feed"), HasSubstr("another program has it"))));
  EXPECT_FALSE(BmpIsUp());
  raild->bgp.NoFeed("");
  Audit();
  EXPECT_EQ(world.bgp.feed_port(), world.config.bgp.bmp_port);
  EXPECT_TRUE(BmpIsUp());
  EXPECT_THAT(Problems(), IsEmpty());
}

// Remotes.

TEST_F(RepairTest, InstallsRemotesOfTenantsThatArePresentOnly) {
  Settle();
  world.LearnRemote("10.0.9.1", "ns-a");
  world.LearnRemote("10.0.9.2", "ns-b");
  raild->Poll();
  const auto rules = world.RulesOf(CookieKind::kRemote);
  EXPECT_THAT(rules, SizeIs(2));
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
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
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
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
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
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
  world.passed += Remotes::kSettled;
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), IsEmpty());
}

TEST_F(RepairTest, ARemoteStaysWhileItsLeafHasNotToldAll) {
  Settle();
  world.LearnRemote("10.0.9.1", "ns-a");
  raild->Poll();
  world.bgp.Forget(*IpPrefix::Parse("10.0.9.1/32"), "br-rail0");
  world.bgp.SetOwesEndOfRib(true);
  world.bgp.SetUptime(0);
  raild->Poll();
  world.passed += std::chrono::seconds(10);
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
  world.bgp.SetOwesEndOfRib(false);
  raild->Poll();
  world.passed += std::chrono::seconds(1);
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
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
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
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
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
  ASSERT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
  const auto context = VerbContext::Open(world.deps());
  ASSERT_TRUE(UndoAttachment(**context, {"rail1", "c-p2", "net1"}, ""));
  raild->RecordChanged();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), IsEmpty());
}

TEST_F(RepairTest, WhatABgpdThatStaysAwayHasToldStays) {
  Settle();
  world.LearnRemote("10.0.9.1", "ns-a");
  Audit();
  ASSERT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
  world.faults.down = {Dependency::kBgp};
  raild->Poll();
  world.passed += 3 * Remotes::kStale;
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
  EXPECT_THAT(raild->views.Current()->remotes, SizeIs(1));
  raild = world.StartRaild(std::chrono::hours(1));
  Audit();
  world.passed += 3 * Remotes::kStale;
  Audit();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2)) << "nor does a new raild judge them";
  // What its sessions do not tell within the time that counts from then on is gone.
  world.bgp.Restart();
  world.faults.down.clear();
  Audit();
  world.passed += Remotes::kStale - std::chrono::seconds(1);
  Audit();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
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
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
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
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
}

TEST_F(RepairTest, APodOfThisNodeOnAnotherRailIsARemote) {
  Settle();
  Attach(world.MakePod("p2", "ns-a", "vf10", "rail1"), "10.0.4.1");
  raild->RecordChanged();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), Each(Field(&Rule::match, HasSubstr("10.0.4.1"))));
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
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

// The sweep.

TEST_F(RepairTest, UndoesAnAttachmentWhoseNamespaceIsGoneAfterTheGrace) {
  Settle();
  world.EndNamespace(pod);
  Audit();
  Audit();
  EXPECT_TRUE(world.FindAttachment(pod)) << "its DEL may be on its way";
  raild = world.StartRaild(std::chrono::hours(0));
  Audit();
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(RepairTest, UndoesAtOnceWhatWasMadeBeforeTheMachineWasBooted) {
  Settle();
  const int64_t made = world.Attachment(pod).created_ms;
  raild = world.StartRaild(std::chrono::hours(1), made + 1);
  Audit();
  EXPECT_TRUE(world.FindAttachment(pod)) << "its namespace is there";
  world.EndNamespace(pod);
  raild = world.StartRaild(std::chrono::hours(1), made);
  Audit();
  EXPECT_TRUE(world.FindAttachment(pod)) << "its DEL may be on its way";
  raild = world.StartRaild(std::chrono::hours(1), made + 1);
  Audit();
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST(BootedMs, IsReadFromTheKernel) {
  struct timespec up{};
  ASSERT_EQ(::clock_gettime(CLOCK_BOOTTIME, &up), 0);
  const int64_t expected = ::time(nullptr) - up.tv_sec;
  EXPECT_NEAR(static_cast<double>(BootedMs()) / 1000, static_cast<double>(expected), 5);
  EXPECT_EQ(BootedMs("/nowhere"), 0);
}

TEST_F(RepairTest, ANamespaceOfAnotherPodUnderTheSamePathCountsAsGone) {
  Settle();
  const PodSpec other = world.MakePod("p2", "ns-a", "vf1");
  std::string stolen = pod.netns;
  world.EndNamespace(pod);
  ASSERT_EQ(::rename(other.netns.c_str(), stolen.c_str()), 0);
  raild = world.StartRaild(std::chrono::hours(0));
  Audit();
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(RepairTest, FinishesADelThatDiedThoughTheNamespaceLivesOnAfterTheGrace) {
  Settle();
  ASSERT_TRUE(world.record.SetPhase(world.Attachment(pod).id, state::Phase::kDeleting));
  Audit();
  EXPECT_TRUE(world.FindAttachment(pod)) << "the DEL may be under way";
  raild = world.StartRaild(std::chrono::hours(0));
  Audit();
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(RepairTest, LeavesAnAttachmentThatIsBeingMadeAlone) {
  raild = world.StartRaild(std::chrono::hours(0));
  state::Attachment draft;
  pod = world.MakePod("p1", "ns-a", "vf0");
  draft.key = {"rail0", pod.container, "net1"};
  draft.rail = "rail0";
  draft.device = "vf0";
  draft.netns_path = pod.netns;
  draft.netns_device = pod.identity.device;
  draft.netns_inode = pod.identity.inode;
  ASSERT_TRUE(world.record.Create(draft));
  Audit();
  EXPECT_TRUE(world.FindAttachment(pod));
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
