#include "lib/engine/attach/attachment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/testing/no_threads.h"
#include "lib/engine/testing/attach.h"

namespace rail::engine {
namespace {

using ::testing::Contains;
using testing::Dependency;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::PodSpec;
using testing::World;

class AttachmentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto attached = testing::Attach(world, pod, "10.0.3.1");
    ASSERT_TRUE(attached) << attached.error().message;
    context = std::move(*VerbContext::Open(world.deps()));
  }
  Undone MustUndo() {
    Node node = context->node();
    auto undone = Undo(node, world.Attachment(pod), "");
    EXPECT_TRUE(undone) << undone.error().message;
    return undone.value_or(Undone());
  }
  // As the ADD does after the steps.
  void Configure() {
    const auto netns = netns::Netns::Open(pod.netns);
    ASSERT_TRUE(netns);
    ASSERT_TRUE(world.pods.Configure(*netns, PlanOf(world.config.rails[0], world.Attachment(pod))));
    ASSERT_THAT(world.pods.ruled(), Not(IsEmpty()));
  }
  std::vector<std::string> Kinds() {
    std::vector<std::string> kinds;
    for (const state::Step& step : world.Steps(pod)) kinds.push_back(step.kind);
    return kinds;
  }

  World world;
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  std::unique_ptr<VerbContext> context;
};

TEST_F(AttachmentTest, RecordsItsStepsInTheirOrder) {
  EXPECT_THAT(Kinds(), ElementsAre(step::kDevice, step::kPort, step::kAdmit, step::kTenant, step::kAnnounce));
}

// When an effect is made, its step is in the record: the test reads the record before each call that changes something.
TEST(Effects, AreRecordedBeforeTheyAreMade) {
  World world;
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  std::map<std::string, bool> seen;  // effect -> its step was there
  const std::map<std::string, std::string> step_of = {{"RaiseRepresentor", step::kDevice},
                                                      {"Attach", step::kPort},
                                                      {"AddPort", step::kPort},
                                                      {"Allow", step::kAdmit},
                                                      {"AnnounceAll", step::kAnnounce}};
  int commits = 0;
  world.faults.before = [&](Dependency, std::string_view call) {
    std::string wanted;
    if (const auto it = step_of.find(std::string(call)); it != step_of.end()) wanted = it->second;
    if (call == "Commit") wanted = ++commits == 1 ? step::kAdmit : step::kTenant;
    if (wanted.empty()) return;
    const auto steps = world.Steps(pod);
    seen[wanted] = std::ranges::any_of(steps, [&](const state::Step& s) { return s.kind == wanted; });
  };
  ASSERT_TRUE(testing::Attach(world, pod, "10.0.3.1"));
  EXPECT_EQ(seen, (std::map<std::string, bool>{{step::kPort, true},
                                               {step::kDevice, true},
                                               {step::kAdmit, true},
                                               {step::kTenant, true},
                                               {step::kAnnounce, true}}));
}

TEST_F(AttachmentTest, GuardsTheRepresentorByWhatThePodMaySend) {
  const auto& guards = world.guard.guards();
  ASSERT_TRUE(guards.contains("rep0"));
  ASSERT_TRUE(guards.at("rep0").allowed);
  EXPECT_EQ(guards.at("rep0").allowed->mac, world.Attachment(pod).mac);
  EXPECT_EQ(guards.at("rep0").allowed->gateway, world.config.rails.front().GatewayMac());
  EXPECT_EQ(guards.at("rep0").allowed->addresses, world.Attachment(pod).addresses);
}

TEST_F(AttachmentTest, UndoOpensTheGuardWhenThePortAndTheDeviceAreGone) {
  bool opened = false;
  world.faults.before = [&](Dependency, std::string_view call) {
    if (call != "Open") return;
    opened = true;
    EXPECT_FALSE(world.ovsdb.FindPort("rep0", {})->has_value());
    EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
  };
  MustUndo();
  EXPECT_TRUE(opened);
  EXPECT_TRUE(world.guard.guards().at("rep0").open);
}

// The guard cannot be reached, for whatever reason: the rest comes back, and the device is free once it can.
TEST_F(AttachmentTest, UndoGivesTheRestBackWhereTheGuardCannotBeReached) {
  world.faults.down = {Dependency::kGuard};
  EXPECT_FALSE(MustUndo().removed);
  EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
  EXPECT_FALSE(world.ovsdb.FindPort("rep0", {})->has_value());
  world.faults.down.clear();
  context = std::move(*VerbContext::Open(world.deps()));
  EXPECT_TRUE(MustUndo().removed);
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(AttachmentTest, UndoLeavesNothing) {
  const Undone undone = MustUndo();
  EXPECT_TRUE(undone.removed);
  EXPECT_THAT(undone.failed, IsEmpty());
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

// raild records the step anew before it puts a lost device back, and dies before it has forgotten the old one.
// At the limit of tasks of raild's container, or of the machine after a fork bomb.
TEST_F(AttachmentTest, UndoLeavesNothingWhereNoThreadCanBeMade) {
  Deps deps = world.deps();
  deps.openers = [openers = deps.openers](const config::NodeConfig& config) {
    Openers all = openers(config);
    all.beside = std::launch::async;  // as the product's; World's tests have `deferred`
    return all;
  };
  context = std::move(*VerbContext::Open(deps));
  const rail::testing::NoThreads none;
  EXPECT_TRUE(MustUndo().removed);
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(AttachmentTest, UndoBringsADeviceThatIsRecordedTwiceHomeOnce) {
  const auto steps = world.Steps(pod);
  const auto device = std::ranges::find(steps, step::kDevice, &state::Step::kind);
  ASSERT_NE(device, steps.end());
  ASSERT_TRUE(world.record.RecordStep(world.Attachment(pod).id, kOvsProvider, step::kDevice, device->detail));
  int restored = 0;
  world.faults.before = [&](Dependency, std::string_view call) { restored += call == "Restore" ? 1 : 0; };
  EXPECT_TRUE(MustUndo().removed);
  world.faults.before = nullptr;
  EXPECT_EQ(restored, 1);
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(AttachmentTest, UndoLetsThePortGoBeforeTheDeviceMoves) {
  std::vector<std::string> calls;
  world.faults.before = [&](Dependency, std::string_view call) {
    if (call == "DeletePort" || call == "OwnerOf")
      calls.emplace_back(call);  // OwnerOf: before the device is moved
  };
  Node node = context->node();
  ASSERT_TRUE(Undo(node, world.Attachment(pod), kOvsProvider));
  EXPECT_THAT(calls, ElementsAre("DeletePort", "DeletePort", "OwnerOf", "OwnerOf"));
}

TEST_F(AttachmentTest, UndoGoesOnAfterAStepThatFailsAndKeepsItAsPending) {
  world.faults.down = {Dependency::kBgp};
  const Undone undone = MustUndo();
  EXPECT_FALSE(undone.removed);
  EXPECT_THAT(undone.failed, ElementsAre(HasSubstr("undo announce of rail0/c-p1/net1: bgpd is down")));
  EXPECT_THAT(Kinds(), ElementsAre(step::kAnnounce));
  EXPECT_THAT(world.Pending(pod), ElementsAre(step::kAnnounce));
}

// Made again by hand, or stripped of its external_ids, and the pod goes before raild has marked it.
TEST_F(AttachmentTest, UndoRemovesAPortThatHasLostItsMark) {
  const auto port = world.ovsdb.FindPort("rep0", {});
  ASSERT_TRUE(port && *port);
  ASSERT_TRUE(world.ovsdb.RemoveExternalIds("rep0", {kOwnerKey, "contIface"}, {}));
  EXPECT_TRUE(MustUndo().removed);
  EXPECT_FALSE(world.ovsdb.FindPort("rep0", {})->has_value());
}

TEST_F(AttachmentTest, UndoLeavesAPortThatOvsCniHasMadeMeanwhile) {
  ASSERT_TRUE(world.ovsdb.RemoveExternalIds("rep0", {kOwnerKey}, {}));
  ASSERT_TRUE(world.ovsdb.SetExternalIds("rep0", {{"owner", "ovs-cni.network.kubevirt.io"}}, {}));
  EXPECT_TRUE(MustUndo().removed);
  EXPECT_TRUE(world.ovsdb.FindPort("rep0", {})->has_value());
}

TEST_F(AttachmentTest, UndoLeavesAPortThatIsMarkedByAnother) {
  ASSERT_TRUE(world.ovsdb.SetExternalIds("rep0", {{kOwnerKey, "77"}}, {}));
  EXPECT_TRUE(MustUndo().removed);
  EXPECT_TRUE(world.ovsdb.FindPort("rep0", {})->has_value());
}

TEST_F(AttachmentTest, UndoLeavesAnAnnouncementOfAnAddressThatAnotherHolds) {
  state::Attachment other;
  other.key = {"rail0", "c9", "net1"};
  const auto created = world.record.Create(other);
  ASSERT_TRUE(world.record.Release(world.Attachment(pod).id, state::ClaimKind::kAddress, "10.0.3.1"));
  ASSERT_TRUE(world.record.Claim(created->id, state::ClaimKind::kAddress, "10.0.3.1"));
  EXPECT_TRUE(MustUndo().removed);
  EXPECT_EQ(world.bgp.Announced({})->size(), 1U);
}

TEST_F(AttachmentTest, UndoLeavesADeviceThatAnotherHolds) {
  ASSERT_TRUE(world.record.Release(world.Attachment(pod).id, state::ClaimKind::kDevice, "vf0"));
  state::Attachment other;
  other.key = {"rail0", "c9", "net1"};
  other.device = "vf0";
  ASSERT_TRUE(world.record.Create(other));
  EXPECT_TRUE(MustUndo().removed);
  EXPECT_EQ(world.devices.Where("vf0"), pod.identity);
}

// A DEL that overtakes its ADD gives the device back before the ADD has configured the pod.
TEST_F(AttachmentTest, UndoClearsThePodWhereAnotherUndoHasGivenTheDeviceBack) {
  ASSERT_TRUE(world.record.Release(world.Attachment(pod).id, state::ClaimKind::kDevice, "vf0"));
  Configure();
  EXPECT_TRUE(MustUndo().removed);
  EXPECT_THAT(world.pods.ruled(), IsEmpty());
}

TEST_F(AttachmentTest, UndoClearsThePodWhileAnotherUndoHasTheDevice) {
  Deps deps = world.deps();
  deps.openers = [openers = deps.openers](const config::NodeConfig& config) {
    Openers all = openers(config);
    all.lock_device = [](const std::string&, Deadline) -> Result<FileLock> {
      return Fail(Code::kBusy, "held");
    };
    return all;
  };
  context = std::move(*VerbContext::Open(deps));
  Configure();
  EXPECT_THAT(MustUndo().failed, ElementsAre(HasSubstr("held")));
  EXPECT_THAT(world.pods.ruled(), IsEmpty());
}

TEST_F(AttachmentTest, UndoLeavesThePodToItsNextAttachment) {
  const state::Attachment attachment = world.Attachment(pod);
  Node node = context->node();
  Configure();
  node.made = world.Steps(pod);
  for (const state::Step& step : node.made) ASSERT_TRUE(world.record.ForgetStep(step.id));
  ASSERT_TRUE(world.record.Remove(attachment.id));
  ASSERT_TRUE(world.record.Create({.key = attachment.key}));
  ASSERT_TRUE(Undo(node, attachment, kOvsProvider));
  EXPECT_THAT(world.pods.ruled(), Not(IsEmpty()));
}

TEST_F(AttachmentTest, UndoDoesNotEnterANamespaceOfAnotherPodUnderTheRecordedPath) {
  const PodSpec other = world.MakePod("p2", "ns-a", "vf1");
  world.devices.KillNamespace(pod.identity);
  ASSERT_EQ(::rename(other.netns.c_str(), pod.netns.c_str()), 0);
  int entered = 0;
  world.faults.before = [&](Dependency dependency, std::string_view) {
    entered += dependency == Dependency::kPods ? 1 : 0;
  };
  EXPECT_TRUE(MustUndo().removed);
  EXPECT_EQ(entered, 0);
}

TEST_F(AttachmentTest, UndoOfAStepOfANewerVersionIsLeftPending) {
  ASSERT_TRUE(
      world.record.RecordStep(world.Attachment(pod).id, "x", "teleport", R"({"bridge": "br-rail0"})"));
  const Undone undone = MustUndo();
  EXPECT_THAT(undone.failed, ElementsAre(HasSubstr("'teleport' that this version does not know")));
  EXPECT_THAT(Kinds(), ElementsAre("teleport"));
}

TEST_F(AttachmentTest, NamesTheRailsThatThereAreWhenOneIsUnknown) {
  EXPECT_THAT(RailOf(world.config, "rail9").error().message, HasSubstr("its rails are: rail0, rail1"));
}

// Its bus was renumbered while the machine was off.
TEST_F(AttachmentTest, UndoLeavesWhateverHasThePlaceOfItsDevice) {
  ASSERT_TRUE(world.host.SetMtu(world.host.GetLink("rep0")->index, 9000));
  world.devices.Replace("vf0", "what is at vf0 now is no virtual function");
  EXPECT_TRUE(MustUndo().removed);
  EXPECT_THAT(world.devices.calls(), Not(Contains("Restore vf0")));
  EXPECT_EQ(world.host.GetLink("rep0")->mtu, 9000U);
  EXPECT_EQ(*world.record.OwnerOf(state::ClaimKind::kDevice, "vf0"), std::nullopt);
}

class AttachmentOfEarlierBoot : public AttachmentTest {
 protected:
  // The record says that the attachment is of another boot.
  void SetUp() override {
    AttachmentTest::SetUp();
    state::Attachment attachment = world.Attachment(pod);
    attachment.boot = "0f1d9c6a-2f0e-4f6e-8d19-3f6c5b7a9e11";
    ASSERT_TRUE(world.record.Put(attachment));
  }
};

// The path, the device and the inode are as they were: another pod's process has the number of the old one's.
TEST_F(AttachmentOfEarlierBoot, ANamespaceUnderTheSamePathWithTheSameNumbersIsNotItsOwn) {
  EXPECT_FALSE(PodNamespace(world.Attachment(pod)));
  state::Attachment attachment = world.Attachment(pod);
  attachment.boot = netns::BootId();
  EXPECT_TRUE(PodNamespace(attachment));
  attachment.boot = "";
  EXPECT_TRUE(PodNamespace(attachment)) << "a record of format 3";
}

// Another pod has got the device since, by another plugin: nobody knows for how long.
TEST_F(AttachmentOfEarlierBoot, UndoDoesNotWaitForADeviceThatAnotherPodHas) {
  int entered = 0;
  world.faults.before = [&](Dependency dependency, std::string_view call) {
    entered += dependency == Dependency::kPods || call == "Restore" ? 1 : 0;
  };
  EXPECT_TRUE(MustUndo().removed);
  EXPECT_EQ(entered, 0);
  EXPECT_EQ(world.devices.Where("vf0"), pod.identity);
}

TEST_F(AttachmentOfEarlierBoot, UndoGivesADeviceThatIsOnTheHostItsNameBack) {
  world.devices.Reset("vf0");
  EXPECT_TRUE(MustUndo().removed);
  EXPECT_THAT(world.devices.calls(), Contains("Restore vf0"));
}

// An earlier undo has released the device and died before it forgot the step. Its new owner's ADD waits for IPAM meanwhile.
TEST_F(AttachmentTest, UndoDoesNotWaitForTheAddOfTheNextPodOfItsDevice) {
  ASSERT_TRUE(world.record.Release(world.Attachment(pod).id, state::ClaimKind::kDevice, "vf0"));
  const auto held = context->connections.LockDevice("vf0");
  ASSERT_TRUE(held);
  EXPECT_TRUE(MustUndo().removed);
}

// Two links of node.json came back under each other's names. The first has to give up its present name and is
// tried again. The second is right at once.
TEST_F(AttachmentTest, ADeviceWaitsForANameThatComesFree) {
  const PodSpec other = world.MakePod("p2", "ns-a", "vf1");
  ASSERT_TRUE(testing::Attach(world, other, "10.0.3.2"));
  world.devices.ReturnSwapped("vf0", "vf1");
  world.EndNamespace(pod);
  world.EndNamespace(other);
  EXPECT_THAT(MustUndo().failed, ElementsAre(HasSubstr("vf0 is another's name now")));
  EXPECT_THAT(world.Pending(pod), ElementsAre(step::kDevice));
  Node node = context->node();
  EXPECT_TRUE(Undo(node, world.Attachment(other), "")->removed);
  EXPECT_TRUE(MustUndo().removed);
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

// ovs-vswitchd has set the port's MTU once more before it was told that the port has gone.
TEST_F(AttachmentTest, TheRepresentorHasItsOwnMtuWhenThePortHasGone) {
  world.host.AddLink({.name = "rep0", .mtu = 1500});
  world.faults.before = [&](Dependency, std::string_view call) {
    if (call != "DeletePort") return;
    EXPECT_TRUE(world.host.SetMtu(world.host.GetLink("rep0")->index, 4200));
  };
  EXPECT_TRUE(MustUndo().removed);
  EXPECT_EQ(world.host.GetLink("rep0")->mtu, 1500U);
}

// The record was lost, and with it whose port and rules they are: the rules let whoever has the port speak as the last pod.
TEST_F(AttachmentTest, APortThatNoRecordKnowsComesAnewAndWithoutTheRulesOfItsLastOwner) {
  ASSERT_TRUE(world.ovsdb.AddPort(
      {.bridge = "br-rail0", .name = "rep1", .external_ids = {{kOwnerKey, "77"}}, .ofport_request = {}}, {}));
  using ovs::CookieKind;
  const auto left = [&] {
    return std::ranges::count_if(world.Bridge().rules(), [](const ovs::Rule& rule) {
      return rule.cookie == ovs::Cookie(CookieKind::kAttachment, 77) ||
             rule.cookie == ovs::Cookie(CookieKind::kTenant, 77);
    });
  };
  ASSERT_TRUE(world.Bridge().Commit({.remove_by_cookie = {},
                                     .remove = {},
                                     .add = {{0, 100, ovs::Cookie(CookieKind::kAttachment, 77),
                                              "in_port=3,ip,nw_src=10.0.3.9", "goto_table:1"},
                                             {1, 100, ovs::Cookie(CookieKind::kTenant, 77),
                                              "in_port=3,ip,nw_src=10.0.3.9", "goto_table:2"}}},
                                    {}));
  ASSERT_EQ(left(), 2);
  int deleted = 0;
  world.faults.before = [&](Dependency, std::string_view call) {
    if (call != "DeletePort") return;
    ++deleted;
    EXPECT_EQ(left(), 0) << "the port goes after its rules";
  };
  const PodSpec other = world.MakePod("p2", "ns-b", "vf1");
  const auto attached = testing::Attach(world, other, "10.0.3.2");
  world.faults.before = nullptr;
  ASSERT_TRUE(attached) << attached.error().message;
  EXPECT_EQ(deleted, 1);
  EXPECT_EQ(left(), 0);
  const auto port = *world.ovsdb.FindPort("rep1", {});
  ASSERT_TRUE(port);
  EXPECT_EQ(port->external_ids.at(kOwnerKey), std::to_string(attached->id));
}

TEST_F(AttachmentTest, FactsNeedASecureBridgeWithItsUplink) {
  config::Rail rail = world.config.rails[0];
  Node node = context->node();
  ASSERT_TRUE(Facts(node, rail));
  rail.pf = "ens9";
  EXPECT_THAT(Facts(node, rail).error().message, HasSubstr("the uplink ens9 is not a working port"));
  rail.bridge = "br9";
  EXPECT_THAT(Facts(node, rail).error().message, HasSubstr("no bridge br9"));
  world.ovsdb.AddForeignBridge("br9");
  EXPECT_THAT(Facts(node, rail).error().message, HasSubstr("not fail_mode=secure"));
  EXPECT_EQ(Facts(node, rail).error().code, Code::kTransient);
}

TEST_F(AttachmentTest, FactsRefuseABridgeOfOthersThatMayHideRules) {
  const config::Rail& rail = world.config.rails[0];
  world.ovsdb.ChangeBridge(rail.bridge, [](ovs::Bridge& bridge) { bridge.disable_in_band = ""; });
  Node node = context->node();
  ASSERT_FALSE(Facts(node, rail));
  EXPECT_THAT(Facts(node, rail).error().message,
              HasSubstr("`ovs-vsctl set Bridge br-rail0 other_config:disable-in-band=true`"));
  config::NodeConfig managed = world.config;
  managed.ovs.manage_bridges = true;
  Node keeping{managed, node.store, node.connections};
  EXPECT_TRUE(Facts(keeping, rail)) << "raild sets it";
}

}  // namespace
}  // namespace rail::engine
