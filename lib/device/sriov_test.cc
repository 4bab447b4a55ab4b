#include "lib/device/sriov.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lib/device/select.h"
#include "lib/device/testing/fake.h"
#include "lib/device/testing/sriov_fixture.h"
#include "lib/netlink/testing/scratch.h"

namespace rail::device {
namespace {

using netlink::RdmaNetns;
using netlink::VfLinkState;
using netlink::VfState;
using ::testing::ElementsAre;
using testing::Everything;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SriovTest;
using testing::VfHost;

constexpr char kRdma[] = "mlx5_ens1f0npv0";  // of the first VF

TEST_F(SriovTest, TellsWhatItFound) {
  const Device device = Find().value();
  EXPECT_EQ(device.netdev, "ens1f0npv0");
  EXPECT_EQ(device.representor, "ens1f0np0_0");
  EXPECT_EQ(device.pf_address, "0000:3b:00.0");
  EXPECT_EQ(device.rdma, kRdma);
}

TEST_F(SriovTest, RefusesAVfOfAnotherRailsPf) {
  const auto found = Find(VfHost::kOtherPfsVf);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kInvalid);
  EXPECT_THAT(found.error().message, HasSubstr("belongs to PF ens1f1np1 (0000:3b:00.1)"));
  EXPECT_THAT(found.error().message, HasSubstr("ens1f0np0 (0000:3b:00.0)"));
}

TEST_F(SriovTest, JudgesADeviceThatIsInAPodAlready) {
  const auto judge = [&](const std::string& id) {
    return host_.On([&] { return host_.backend().CheckRail(host_.rail(), id); });
  };
  ASSERT_TRUE(MoveIn(*Find()));
  ASSERT_EQ(Find().error().code, Code::kNotFound);
  Must(judge(VfHost::kVf0));
  Must(judge("0000:3b:1f.7"));
  const Status foreign = judge(VfHost::kOtherPfsVf);
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, Code::kInvalid);
  EXPECT_EQ(foreign.error().message, Find(VfHost::kOtherPfsVf).error().message);
}

TEST_F(SriovTest, RefusesAVfWithoutANetworkInterface) {
  host_.machine.Link(sriov::testing::DevicePath(VfHost::kVf0) + "/driver", "bus/pci/drivers/vfio-pci");
  EXPECT_EQ(Find().error().code, Code::kUnsupported);
  EXPECT_THAT(Find().error().message, HasSubstr("bound to vfio-pci"));
  host_.machine.Remove(sriov::testing::DevicePath(VfHost::kVf0) + "/driver");
  EXPECT_EQ(Find().error().code, Code::kUnsupported);
  EXPECT_THAT(Find().error().message, HasSubstr("no driver is bound"));
}

TEST_F(SriovTest, NeedsARepresentorFromTheKernelOrFromNodeJson) {
  host_.machine.ForgetDevlink();
  for (const char* netdev : {"ens1f0np0", "ens1f0np0_0"}) {
    host_.machine.Remove(std::string("class/net/") + netdev + "/phys_switch_id");
  }
  EXPECT_EQ(Find().error().code, Code::kUnsupported);
  EXPECT_THAT(Find().error().message, HasSubstr("switchdev"));
  host_.rail().devices = {{VfHost::kVf0, "ens1f0np0_1"}};
  EXPECT_EQ(Find()->representor, "ens1f0np0_1");
}

TEST_F(SriovTest, RefusesANodeJsonThatContradictsTheKernel) {
  host_.rail().devices = {{VfHost::kVf0, "ens1f0np0_1"}};
  EXPECT_EQ(Find().error().code, Code::kInvalid);
  EXPECT_THAT(Find().error().message, HasSubstr("the kernel says ens1f0np0_0"));
}

// A VF that lost it would have a node GUID of zero from its next driver on, and rdma_cm would not work in its next pod (mlx5).
TEST_F(SriovTest, GivesTheVfItsMacThroughThePfAndNeverTakesItBack) {
  const Device device = Find().value();
  const Saved saved = Save(device);
  EXPECT_TRUE(Vf0().mac.is_zero());
  Must(MoveIn(device) ? Status() : Fail(Code::kInternal, "not moved"));
  EXPECT_EQ(Vf0().mac, device.mac);
  EXPECT_THAT(Verify(saved, Settings()), IsEmpty());
  Must(Restore(saved));
  EXPECT_EQ(Vf0().mac, device.mac);
  ExpectAsItWas(saved);
  const Device again = Find().value();
  ASSERT_TRUE(MoveIn(again));
  EXPECT_EQ(Vf0().mac, device.mac);
  EXPECT_THAT(host_.vfs.calls(), ElementsAre("mac of 0")) << "the next pod finds it as it should be";
}

// A device that was made anew under a pod has had the pod's MAC address.
TEST_F(SriovTest, GivesTheVfItsOwnMacBackWhereThePodHadAnother) {
  Device device = Find().value();
  const Saved saved = Save(device);
  device.settings.mac = MacAddress{{2, 6, 6, 6, 6, 6}};
  ASSERT_TRUE(MoveIn(device));
  EXPECT_EQ(Vf0().mac, *device.settings.mac);
  Must(Restore(saved));
  EXPECT_EQ(Vf0().mac, saved.mac);
  ExpectAsItWas(saved);
}

TEST_F(SriovTest, LeavesWhatTheNetworkDoesNotAskFor) {
  const Device device = Find().value();
  const Saved saved = Save(device);
  ASSERT_TRUE(MoveIn(device));
  EXPECT_THAT(host_.vfs.calls(), ElementsAre("mac of 0"));
}

TEST_F(SriovTest, SetsWhatTheNetworkAsksForAndRestoresIt) {
  Device device = Find().value();
  const Saved saved = Save(device);
  device.settings = Everything();
  const auto moved = MoveIn(device);
  ASSERT_TRUE(moved) << moved.error().message;
  const VfState now = Vf0();
  EXPECT_EQ(now.vlan, (netlink::VfVlan{100, 3, true}));
  EXPECT_EQ(now.rates, (netlink::VfRates{100, 1000}));
  EXPECT_EQ(now.spoofchk, false);
  EXPECT_EQ(now.trust, true);
  EXPECT_EQ(now.link_state, VfLinkState::kEnable);
  EXPECT_THAT(Verify(saved, device.settings), IsEmpty());
  Must(Restore(saved));
  ExpectAsItWas(saved);
  // A record that went through the disk says the same.
  EXPECT_EQ(Saved::FromJson(saved.ToJson()).value(), saved);
}

// In switchdev mode a NIC's rates are devlink's. A leaf keeps the node under which it is.
TEST_F(SriovTest, RatesAreThoseOfTheLeafWhereTheNicHasOne) {
  netlink::RateTree& tree = host_.rates.trees["pci/0000:3b:00.0"];
  const uint32_t port = sriov::testing::Machine::kFirstVfPort;
  tree.nodes.push_back({"red", {}, ""});
  tree.leaves = {{port, {.share = 0, .max = 250'000}, "red"}, {port + 1, {}, ""}};
  host_.vfs.FailOn("rates", {Code::kUnsupported, "not in switchdev mode"});
  Device device = Find().value();
  device.settings = Everything();
  const Saved saved = Save(device);
  EXPECT_EQ(saved.vf->state.rates, (netlink::VfRates{0, 2}));
  const auto moved = MoveIn(device);
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(tree.leaves[0], (netlink::RateLeaf{port, {.share = 12'500'000, .max = 125'000'000}, "red"}));
  EXPECT_EQ(tree.leaves[1], (netlink::RateLeaf{port + 1, {}, ""}));
  EXPECT_THAT(Verify(saved, device.settings), IsEmpty());
  tree.leaves[0].rate.max = 125'000;
  EXPECT_THAT(Verify(saved, device.settings), ElementsAre(HasSubstr("the rate (100 to 1 Mbit/s)")));
  Must(Restore(saved));
  EXPECT_EQ(tree.leaves[0], (netlink::RateLeaf{port, {.share = 0, .max = 250'000}, "red"}));
}

TEST_F(SriovTest, WithoutALeafTheRatesGoThroughThePf) {
  host_.rates.trees["pci/0000:3b:00.0"].leaves = {{sriov::testing::Machine::kFirstVfPort + 1, {}, ""}};
  Device device = Find().value();
  device.settings = Everything();
  const Saved saved = Save(device);
  ASSERT_TRUE(MoveIn(device));
  EXPECT_EQ(Vf0().rates, (netlink::VfRates{100, 1000}));
  EXPECT_THAT(host_.rates.changes, IsEmpty());
  Must(Restore(saved));
  EXPECT_EQ(Vf0().rates, netlink::VfRates{});
}

TEST_F(SriovTest, CheckSeesEachChange) {
  Device device = Find().value();
  const Saved saved = Save(device);
  device.settings = Everything();
  ASSERT_TRUE(MoveIn(device));
  const int pf = host_.host.GetLink("ens1f0np0")->index;
  const VfState right = Vf0();
  const auto after = [&](const netlink::VfChange& change) -> std::string {
    Must(host_.vfs.Set(pf, 0, change));
    const std::vector<std::string> problems = Verify(saved, device.settings);
    host_.vfs.Add(pf, 0, right);
    return problems.size() == 1 ? problems.front() : std::to_string(problems.size()) + " problems";
  };
  EXPECT_THAT(after({.vlan = netlink::VfVlan{}}), HasSubstr("VLAN"));
  EXPECT_THAT(after({.mac = MacAddress{{2, 6, 6, 6, 6, 6}}}), HasSubstr("02:06:06:06:06:06"));
  EXPECT_THAT(after({.rates = netlink::VfRates{}}), HasSubstr("rate"));
  EXPECT_THAT(after({.spoofchk = true}), HasSubstr("spoof"));
  EXPECT_THAT(after({.trust = false}), HasSubstr("trust"));
  EXPECT_THAT(after({.link_state = VfLinkState::kDisable}), HasSubstr("link state"));
  host_.rdma.Rename("mlx5_rail0", "mlx5_mine");
  EXPECT_THAT(after({}), HasSubstr("called mlx5_mine, not mlx5_rail0"));
}

TEST_F(SriovTest, CheckWithoutTheNetworksWishLooksAtTheRest) {
  const Saved saved = MoveInAsAskedForEverything();
  EXPECT_THAT(Verify(saved, std::nullopt), IsEmpty());
  Must(host_.vfs.Set(host_.host.GetLink("ens1f0np0")->index, 0, {.mac = MacAddress{{2, 6, 6, 6, 6, 6}}}));
  EXPECT_THAT(Verify(saved, std::nullopt), ElementsAre(HasSubstr("02:06:06:06:06:06")));
}

TEST_F(SriovTest, SaysWhatTheDriverRefuses) {
  Device device = Find().value();
  const Saved saved = Save(device);
  device.settings = Everything();
  host_.vfs.FailOn("trust", {Code::kUnsupported, "set trust of VF 0 of link 1: Operation not supported"});
  const auto moved = MoveIn(device);
  EXPECT_EQ(moved.error().code, Code::kUnsupported);
  EXPECT_THAT(moved.error().message, HasSubstr("set trust of VF 0"));
  Must(Restore(saved));
  ExpectAsItWas(saved);
}

TEST_F(SriovTest, DoesNotBelieveADriverThatOnlySaysYes) {
  const Device device = Find().value();
  const Saved saved = Save(device);
  host_.vfs.Ignore("mac");
  const auto moved = MoveIn(device);
  EXPECT_EQ(moved.error().code, Code::kUnsupported);
  EXPECT_THAT(moved.error().message, HasSubstr("the PF gives it the MAC address 00:00:00:00:00:00"));
}

// The kernel moves a link without addresses sooner.
TEST_F(SriovTest, RemovesThePodsAddressesBeforeTheVfMovesHome) {
  const Device device = Find().value();
  const Saved saved = Save(device);
  ASSERT_TRUE(MoveIn(device));
  const int link = host_.inside.GetLink("net1")->index;
  Must(host_.inside.AddAddress({link, IpPrefix::Parse("10.0.3.1/32").value()}));
  Must(host_.inside.AddAddress({link, IpPrefix::Parse("fd00::1/128").value()}));
  const size_t before = host_.inside.calls().size();
  Must(Restore(saved));
  const std::vector<std::string> restored(host_.inside.calls().begin() + static_cast<ptrdiff_t>(before),
                                          host_.inside.calls().end());
  EXPECT_THAT(restored, ElementsAre("DeleteAddress", "DeleteAddress", "MoveLink"));
}

// Each would be a request, and a pod may have set thousands: they go with the move.
TEST_F(SriovTest, RemovesNoneOfManyAddressesBeforeTheVfMovesHome) {
  const Device device = Find().value();
  const Saved saved = Save(device);
  ASSERT_TRUE(MoveIn(device));
  const int link = host_.inside.GetLink("net1")->index;
  for (int i = 1; i <= 65; ++i)
    Must(host_.inside.AddAddress({link, IpPrefix::Parse("10.6.6." + std::to_string(i) + "/32").value()}));
  const size_t before = host_.inside.calls().size();
  Must(Restore(saved));
  const std::vector<std::string> restored(host_.inside.calls().begin() + static_cast<ptrdiff_t>(before),
                                          host_.inside.calls().end());
  EXPECT_THAT(restored, ElementsAre("MoveLink"));
}

TEST_F(SriovTest, MovesTheRdmaDeviceAlong) {
  const Device device = Find().value();
  const Saved saved = Save(device);
  ASSERT_TRUE(MoveIn(device));
  EXPECT_TRUE(RdmaIsIn(host_.pod(), kRdma));
  Must(Restore(saved));
  EXPECT_FALSE(RdmaIsIn(host_.pod(), kRdma));
  ExpectAsItWas(saved);
}

TEST_F(SriovTest, FindsTheRdmaDeviceThatThePodHasRenamed) {
  Device device = Find().value();
  const Saved saved = Save(device);
  device.settings.rdma_name = "mlx5_rail0";
  ASSERT_TRUE(MoveIn(device));
  EXPECT_TRUE(RdmaIsIn(host_.pod(), "mlx5_rail0"));
  host_.rdma.Rename("mlx5_rail0", "hidden");
  Must(Restore(saved));
  ExpectAsItWas(saved);
}

TEST_F(SriovTest, GivesTheRdmaNameToOnePodOnly) {
  Device device = Find().value();
  const Saved saved = Save(device);
  device.settings.rdma_name = "mlx5_ens1f0npv1";  // another VF's
  const auto moved = MoveIn(device);
  EXPECT_EQ(moved.error().code, Code::kExists);
  EXPECT_THAT(moved.error().message, HasSubstr("one pod at a time"));
  Must(Restore(saved));
  ExpectAsItWas(saved);
}

TEST_F(SriovTest, RefusesAnRdmaNameWithoutAnRdmaDevice) {
  host_.ForgetRdma(VfHost::kVf0);
  Device device = Find().value();
  const Saved saved = Save(device);
  device.settings.rdma_name = "mlx5_rail0";
  EXPECT_EQ(MoveIn(device).error().code, Code::kUnsupported);
  Must(Restore(saved));
  ExpectAsItWas(saved);
}

TEST_F(SriovTest, BringsTheVfHomeAlsoWhenItsRdmaDeviceIsHidden) {
  const Device device = Find().value();
  const Saved saved = Save(device);
  ASSERT_TRUE(MoveIn(device));
  const netns::Netns nested = netns::testing::MakeScratch();
  host_.rdma.Kill(host_.pod().identity(), nested.identity());
  EXPECT_EQ(Restore(saved).error().code, Code::kBusy);
  EXPECT_EQ(Find()->netdev, "ens1f0npv0");
}

TEST_F(SriovTest, TakesBackWhatTheKernelReturnsOfADeadNamespace) {
  const Saved saved = MoveInAsAskedForEverything();
  host_.KillPod();
  Must(Restore(saved, false));
  ExpectAsItWas(saved);
  Must(Restore(saved, false));
}

TEST_F(SriovTest, GivesTwoBackWhoseRdmaNamesThePodHasSwapped) {
  const Device first = Find().value();
  const Device second = Find(VfHost::kVf1).value();
  const Saved saved0 = Save(first);
  const Saved saved1 = Save(second);
  ASSERT_TRUE(MoveIn(first));
  ASSERT_TRUE(MoveIn(second, "net2"));
  host_.rdma.Rename(first.rdma, "between");
  host_.rdma.Rename(second.rdma, first.rdma);
  host_.rdma.Rename("between", second.rdma);
  Must(Restore(saved0));
  EXPECT_EQ(Find()->rdma, std::string(kRdma) + "-0000-3b-00-2");
  Must(Restore(saved1, true, "net2"));
  ExpectAsItWas(saved1);
}

// While a pod has an rdma_name, a device that is probed may get the VF's own.
TEST_F(SriovTest, RestoresEverythingElseWhenTheNameOfTheRdmaDeviceIsTaken) {
  const Saved saved = MoveInAsAskedForEverything();
  host_.rdma.Add(kRdma, {});
  for (int i = 0; i < 2; ++i) {
    Must(Restore(saved));
    EXPECT_EQ(Vf0(), Pinned(saved).vf->state);
    const auto found = Find();
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->netdev, "ens1f0npv0");
    EXPECT_EQ(found->rdma, std::string(kRdma) + "-0000-3b-00-2");
  }
  host_.rdma.Rename(kRdma, "mlx5_9");
  Must(Restore(saved));
  ExpectAsItWas(saved);
}

TEST_F(SriovTest, RestoresEverythingElseWhenTheNameOfTheLinkIsTaken) {
  const Saved saved = MoveInAsAskedForEverything();
  host_.host.AddVeth("ens1f0npv0", "other");
  Must(Restore(saved));
  EXPECT_EQ(Vf0(), Pinned(saved).vf->state);
  EXPECT_FALSE(RdmaIsIn(host_.pod(), kRdma));
  EXPECT_THAT(Find()->netdev, HasSubstr("dev"));
  host_.host.RemoveLink("other");
  Must(Restore(saved));
  ExpectAsItWas(saved);
}

// After a boot the index in the record may be any device's: a PF's, or one that a pod uses.
TEST_F(SriovTest, TakesNoOtherRdmaDeviceForItsOwnAfterABoot) {
  Device device = Find().value();
  const Saved saved = Save(device);
  device.settings.rdma_name = "mlx5_rail0";
  ASSERT_TRUE(MoveIn(device));
  host_.KillPod();
  host_.RecountRdma();
  Must(Restore(saved, false));
  const auto restored = Find();
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->rdma, kRdma);
  EXPECT_EQ(Find(VfHost::kVf1)->rdma, "mlx5_ens1f0npv1");
  EXPECT_THAT(host_.rdma.Names(),
              ElementsAre(kRdma, "mlx5_ens1f0npv1", "mlx5_ens1f1npv0", "mlx5_ens1f1npv1"));
}

// The VF of a PF that was told to have none is gone for good; nothing waits for it.
TEST_F(SriovTest, ForgetsAVfThatNoLongerExists) {
  const Device device = Find().value();
  const Saved saved = Save(device);
  ASSERT_TRUE(MoveIn(device));
  host_.machine.Remove(std::string("bus/pci/devices/") + VfHost::kVf0);
  EXPECT_TRUE(Restore(saved, false));
}

TEST_F(SriovTest, RestoresTheSettingsOfAVfThatSomebodyGaveToVfio) {
  const Saved saved = MoveInAsAskedForEverything();
  host_.machine.Link(sriov::testing::DevicePath(VfHost::kVf0) + "/driver", "bus/pci/drivers/vfio-pci");
  Must(Restore(saved, false));
  EXPECT_EQ(Vf0(), Pinned(saved).vf->state);
  host_.machine.Remove(sriov::testing::DevicePath(VfHost::kVf0) + "/driver");
  Must(Restore(saved, false));
  EXPECT_EQ(Vf0(), Pinned(saved).vf->state);
}

class SriovSharedRdma : public SriovTest {
 protected:
  SriovSharedRdma() : SriovTest(RdmaNetns::kShared) {}
};

TEST_F(SriovSharedRdma, LeavesTheDeviceWhereEverybodySeesIt) {
  Device device = Find().value();
  const Saved saved = Save(device);
  device.settings.rdma_name = "mlx5_rail0";
  ASSERT_TRUE(MoveIn(device));
  EXPECT_FALSE(RdmaIsIn(host_.pod(), "mlx5_rail0"));
  EXPECT_NE(host_.rdma.Find("mlx5_rail0"), nullptr);
  EXPECT_THAT(Verify(saved, device.settings), IsEmpty());
  Must(Restore(saved));
  ExpectAsItWas(saved);
}

TEST(Select, TakesAPciAddressOfALongDomainForAVf) {
  auto sriov = std::make_unique<testing::Fake>();
  sriov->FailOn("Find", {Code::kTransient, "sriov"});
  Select backend(std::move(sriov), std::make_unique<testing::Fake>());
  EXPECT_EQ(backend.Find({}, "10002:01:00.2").error().message, "sriov");
}

TEST(Select, TakesAPciAddressForAVf) {
  auto sriov = std::make_unique<testing::Fake>();
  auto netdev = std::make_unique<testing::Fake>();
  sriov->FailOn("Find", {Code::kTransient, "sriov"});
  netdev->FailOn("Find", {Code::kTransient, "netdev"});
  Select backend(std::move(sriov), std::move(netdev));
  EXPECT_EQ(backend.Find({}, "0000:3b:00.2").error().message, "sriov");
  EXPECT_EQ(backend.Find({}, "vf0").error().message, "netdev");
}

}  // namespace
}  // namespace rail::device
