// The ports of attachments: marks, numbers, bridges, and devices that are gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/testing/repair_fixture.h"

namespace rail::engine {
namespace {

using ovs::CookieKind;
using ovs::Rule;
using ::testing::Contains;
using testing::Dependency;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::PodSpec;
using testing::RepairTest;
using ::testing::SizeIs;

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

// state.db was removed, or another was put in its place, while pods live.
class LostRecord : public RepairTest {
 protected:
  void SetUp() override {
    Settle();
    Attach(world.MakePod("p2", "ns-b", "vf1"), "10.0.3.2");
    world.LearnRemote("10.0.9.1", "ns-a");
    raild->Poll();
    Audit();
    ports_ = world.ovsdb.FindBridge("br-rail0", {})->value().ports;
    rules_ = world.Bridge().rules();
    const auto all = world.record.List();
    for (const state::Attachment& one : *all) {
      const auto steps = world.record.Steps(one.id);
      for (const state::Step& step : *steps) ASSERT_TRUE(world.record.ForgetStep(step.id));
      ASSERT_TRUE(world.record.Remove(one.id));
    }
  }
  void Later() {
    world.passed += std::chrono::seconds(61);
    Audit();
    raild->Poll();
  }

  std::vector<ovs::Port> ports_;
  std::vector<Rule> rules_;
};

TEST_F(LostRecord, TakesNothingFromPodsThatLiveAndSaysSo) {
  Audit();
  Later();
  EXPECT_EQ(world.ovsdb.FindBridge("br-rail0", {})->value().ports, ports_);
  EXPECT_THAT(world.Bridge().rules(), ::testing::UnorderedElementsAreArray(rules_));
  EXPECT_THAT(*world.bgp.Announced({}), SizeIs(2));
  EXPECT_THAT(Problems(), ElementsAre(::testing::AllOf(HasSubstr("record of rail rail0: 2 ports"),
                                                       HasSubstr("it was lost or replaced"))));
  EXPECT_EQ(raild->views.Current()->rails[0].seen.unrecorded_pods(), 2U);
}

TEST_F(LostRecord, StillGivesNewPodsAllTheyNeed) {
  const PodSpec fresh = world.MakePod("p3", "ns-a", "vf2");
  Attach(fresh, "10.0.3.3");
  const std::vector<Rule> its = world.RulesOf(fresh);
  ASSERT_TRUE(Commit({.remove = its}));
  Audit();
  Later();
  EXPECT_THAT(world.RulesOf(fresh), ::testing::UnorderedElementsAreArray(its));
  EXPECT_THAT(*world.bgp.Announced({}), SizeIs(3));
  world.LearnRemote("10.0.9.2", "ns-a");
  raild->Poll();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(2));
}

TEST_F(LostRecord, RemovesWhatIsLeftOfEachOnceItsPodIsGone) {
  Audit();
  world.devices.Remove("vf0");
  world.devices.Remove("vf1");
  Audit();
  Later();
  EXPECT_FALSE(HasPort("rep0"));
  EXPECT_FALSE(HasPort("rep1"));
  EXPECT_THAT(world.RulesOf(CookieKind::kAttachment), IsEmpty());
  EXPECT_THAT(world.RulesOf(CookieKind::kTenant), IsEmpty());
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), IsEmpty());
  EXPECT_THAT(*world.bgp.Announced({}), IsEmpty());
  EXPECT_THAT(Problems(), IsEmpty());
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

// A round that only reads the ports, for an ADD that came meanwhile, hides no port that is missing from the event of OVSDB.
TEST_F(RepairTest, APortThatWasSeenToBeMissingAndNotRepairedIsPutBackAtTheEvent) {
  Settle();
  ASSERT_TRUE(world.ovsdb.DeletePort("br-rail0", "rep0", {}, ovs::Ovsdb::Wait::kCommitted, {}));
  Connections connections(world.deps().openers(world.config), After(std::chrono::seconds(5)));
  PortRepair ports(world.config.rails[0], raild->record, raild->node_status);
  ASSERT_TRUE(ports.See(connections));
  EXPECT_FALSE(ports.IsAsRepaired((*connections.Ovsdb())->FindBridge("br-rail0", {}).value()));
  ASSERT_TRUE(ports.Repair(connections));
  EXPECT_TRUE(HasPort("rep0"));
}

// Its own event has not come yet: the bridge is again as it was read, which is as it was wrong.
TEST_F(RepairTest, ARepairThatSomebodyUndoesAtOnceIsMadeAgainAtTheEvent) {
  Settle();
  for (int times = 0; times < 3; ++times) {
    ASSERT_TRUE(world.ovsdb.DeletePort("br-rail0", "rep0", {}, ovs::Ovsdb::Wait::kCommitted, {}));
    raild->the_switch.DatabaseChanged();
    EXPECT_TRUE(HasPort("rep0")) << "the " << times + 1 << ". time";
  }
}

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
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(1));
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

}  // namespace
}  // namespace rail::engine
