#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/device/testing/sriov_fixture.h"

namespace rail::device {
namespace {

using netlink::VfState;
using ::testing::ElementsAre;
using testing::SriovTest;
using testing::VfHost;

// The machine was off, and its buses have other numbers now: what has the VF's address is none of ours, whatever it is. On the host it is
// up under the name `netdev`.
class RenumberedBus : public SriovTest {
 protected:
  RenumberedBus() : before_(Save(Find().value())) {}

  // As version 0.1.0 with format 3 has recorded it.
  static Saved WithoutItsPlace(Saved saved) {
    saved.vf->pf.clear();
    saved.vf->pf_mac = {};
    saved.vf->index = 0;
    return saved;
  }
  void Boot() {
    host_.host.RemoveLink("ens1f0npv0");
    host_.host.AddLink({.name = "ens9f0np0",
                        .mac = MacAddress{{2, 9, 9, 9, 9, 9}},
                        .mtu = 9000,
                        .up = true,
                        .parent_device = VfHost::kVf0});
    host_.Sync();
  }
  static std::string At(const std::string& address) { return sriov::testing::DevicePath(address); }
  void ExpectLeftAlone(const Saved& saved, const std::string& why) {
    const VfState vf = Vf0();
    const std::vector<std::string> vfs = host_.vfs.calls();
    const size_t calls = host_.host.calls().size();
    for (const bool pod_lives : {true, false}) Must(Restore(saved, pod_lives));
    EXPECT_EQ(host_.host.calls().size(), calls);
    EXPECT_EQ(host_.vfs.calls(), vfs);
    EXPECT_EQ(Vf0(), vf);
    EXPECT_EQ(OnHost<std::string>([&] { return host_.backend().WhyGone(saved); }).value(), why);
    EXPECT_THAT(Verify(saved, Settings()), ElementsAre("VF 0000:3b:00.2 is gone: " + why));
  }
  Location Locate(const Saved& saved) {
    return OnHost<Location>([&] { return host_.backend().Locate(saved); }).value();
  }

  const Saved before_;
};

TEST_F(RenumberedBus, APfWhereTheVfWasIsLeftAloneAlsoByARecordOfAnEarlierFormat) {
  Boot();
  host_.machine.Remove(At(VfHost::kVf0) + "/physfn");
  for (const Saved& saved : {before_, WithoutItsPlace(before_)}) {
    ExpectLeftAlone(saved, "what is at 0000:3b:00.2 now is no virtual function");
    EXPECT_EQ(Locate(saved), Location::kNowhere);
  }
}

// It has a driver and no link: a disk behind it, say. No pod has it.
TEST_F(RenumberedBus, ADeviceWithoutALinkIsInNoPod) {
  host_.host.RemoveLink("ens1f0npv0");
  host_.Sync();
  host_.machine.Remove(At(VfHost::kVf0) + "/physfn");
  EXPECT_EQ(Locate(before_), Location::kNowhere);
  ExpectLeftAlone(before_, "what is at 0000:3b:00.2 now is no virtual function");
}

TEST_F(RenumberedBus, AVfOfAnotherPfIsLeftAlone) {
  Boot();
  host_.machine.Link(At(VfHost::kVf0) + "/physfn", At(VfHost::kOtherPf));
  host_.machine.Link(At(VfHost::kOtherPf) + "/virtfn0", At(VfHost::kVf0));
  ExpectLeftAlone(
      before_,
      "what is at 0000:3b:00.2 now is VF 0 of PF 0000:3b:00.1 (3c:1a:0f:00:a1:01), and the device was "
      "VF 0 of PF 0000:3b:00.0 (3c:1a:0f:00:a1:00)");
  EXPECT_EQ(Locate(before_), Location::kNowhere);
}

TEST_F(RenumberedBus, AnotherVfOfThePfIsLeftAlone) {
  Boot();
  host_.machine.Link(At(VfHost::kPf) + "/virtfn1", At(VfHost::kVf0));
  host_.machine.Link(At(VfHost::kPf) + "/virtfn0", At(VfHost::kVf1));
  ExpectLeftAlone(
      before_,
      "what is at 0000:3b:00.2 now is VF 1 of PF 0000:3b:00.0 (3c:1a:0f:00:a1:00), and the device was "
      "VF 0 of PF 0000:3b:00.0 (3c:1a:0f:00:a1:00)");
  EXPECT_EQ(Locate(before_), Location::kNowhere);
}

TEST_F(RenumberedBus, TheSamePlaceOnAnotherNicIsLeftAlone) {
  Boot();
  netlink::Link pf = host_.host.GetLink("ens1f0np0").value();
  host_.host.RemoveLink(pf.name);
  pf.permanent_mac = MacAddress{{0x3c, 0x1a, 0x0f, 0x00, 0xb2, 0x00}};
  host_.vfs.Add(host_.host.AddLink(pf), 0, {});
  ExpectLeftAlone(
      before_,
      "what is at 0000:3b:00.2 now is VF 0 of PF 0000:3b:00.0 (3c:1a:0f:00:b2:00), and the device was "
      "VF 0 of PF 0000:3b:00.0 (3c:1a:0f:00:a1:00)");
}

// Only the bus above another NIC has changed. The VF has come back under the kernel's name.
TEST_F(RenumberedBus, TheVfThatIsStillThereGetsItsNameBack) {
  for (const Saved& saved : {before_, WithoutItsPlace(before_)}) {
    netlink::Link link = host_.host.GetLink("ens1f0npv0").value();
    Must(host_.host.Rename(link.index, "eth7"));
    Must(Restore(saved, false));
    ExpectAsItWas(before_);
    EXPECT_EQ(Locate(saved), Location::kHost);
  }
}

}  // namespace
}  // namespace rail::device
