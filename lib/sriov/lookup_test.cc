#include "lib/sriov/lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/sriov/testing/machine.h"

namespace rail::sriov {
namespace {

using netlink::DevlinkPort;
using testing::DevicePath;
using ::testing::HasSubstr;
using testing::Machine;
using testing::PfSpec;

// One ConnectX-7 with two ports, eight VFs each. Whatever a case changes in these is the case.
PfSpec First() {
  return {.address = "0000:3b:00.0",
          .netdev = "ens1f0np0",
          .switch_id = "3c1a0f0003a1c0e8",
          .port = 0,
          .pf_number = 0};
}
PfSpec Second() {
  return {.address = "0000:3b:00.1",
          .netdev = "ens1f1np1",
          .switch_id = "3d1a0f0003a1c0e8",
          .port = 1,
          .pf_number = 1,
          .first_function = 10};
}

class LookupTest : public ::testing::Test {
 protected:
  std::string RepresentorOf(const PfSpec& pf, uint32_t vf) {
    Lookup lookup(machine_.sysfs(), machine_.OpenDevlink());
    const auto found = lookup.FindVf(Machine::VfAddress(pf, vf));
    if (!found) return found.error().message;
    const auto representor = lookup.FindRepresentor(*found);
    return representor ? *representor : representor.error().message;
  }
  void ExpectAll(const PfSpec& pf, const std::string& prefix) {
    for (uint32_t i = 0; i < pf.vfs; ++i) EXPECT_EQ(RepresentorOf(pf, i), prefix + std::to_string(i));
  }

  Machine machine_;
};

TEST_F(LookupTest, SaysAllOfAVirtualFunction) {
  machine_.AddPf(First());
  machine_.AddPf(Second());
  Lookup lookup(machine_.sysfs(), machine_.OpenDevlink());
  const auto vf = lookup.FindVf(Machine::VfAddress(Second(), 3));
  ASSERT_TRUE(vf) << vf.error().message;
  EXPECT_EQ(vf->address, "0000:3b:01.5");
  EXPECT_EQ(vf->index, 3U);
  EXPECT_EQ(vf->pf.address, "0000:3b:00.1");
  EXPECT_EQ(vf->pf.netdev, "ens1f1np1");
  EXPECT_EQ(vf->pf.handle.ToString(), "pci/0000:3b:00.1");
  EXPECT_EQ(vf->driver, "mlx5_core");
  EXPECT_EQ(vf->netdev, "ens1f1npv3");
  EXPECT_EQ(vf->rdma, "mlx5_ens1f1npv3");
  EXPECT_EQ(lookup.FindRepresentor(*vf).value(), "ens1f1np1_3");
  EXPECT_EQ(lookup.VfsOf(vf->pf).size(), 8U);
  EXPECT_EQ(lookup.FindPfs("ens1f1np1")->front().device, vf->pf.device);
}

// While the kernel takes VFs away, the later ones keep their numbers.
// A host bridge that counts domains of its own: Intel's VMD.
TEST_F(LookupTest, KnowsADomainOfMoreThanFourDigits) {
  PfSpec spec = First();
  spec.address = "10002:01:00.0";
  spec.vf_bus = "10002:01:00";
  machine_.AddPf(spec);
  Lookup lookup(machine_.sysfs(), machine_.OpenDevlink());
  const auto vf = lookup.FindVf("10002:01:00.4");
  ASSERT_TRUE(vf) << vf.error().message;
  EXPECT_EQ(vf->index, 2U);
  EXPECT_EQ(vf->pf.address, "10002:01:00.0");
  EXPECT_EQ(*lookup.FindUplink("10002:01:00.0"), "ens1f0np0");
  ExpectAll(spec, "ens1f0np0_");
  EXPECT_TRUE(lookup.IsVfOf("10002:01:00.4", "10002:01:00.0", 2));
  EXPECT_FALSE(lookup.IsVfOf("10002:01:00.4", "10002:01:00.0", 1));
  EXPECT_FALSE(lookup.IsVfOf("10002:01:00.4", "0002:01:00.0", 2));
  EXPECT_FALSE(lookup.IsVf("10002:01:00.0"));
}

TEST_F(LookupTest, KeepsTheIndexWhenAnEarlierVfHasGone) {
  machine_.AddPf(First());
  machine_.Remove("bus/pci/devices/0000:3b:00.0/virtfn0");
  const Lookup lookup(machine_.sysfs(), machine_.OpenDevlink());
  const auto vf = lookup.FindVf(Machine::VfAddress(First(), 3));
  ASSERT_TRUE(vf) << vf.error().message;
  EXPECT_EQ(vf->index, 3U);
  EXPECT_EQ(lookup.VfsOf(vf->pf).size(), 7U);
}

TEST_F(LookupTest, FindsRepresentorsThroughDevlink) {
  machine_.AddPf(First());
  machine_.AddPf(Second());
  // sysfs would say the same: only devlink may be what is asked.
  for (const char* prefix : {"ens1f0np0_", "ens1f1np1_"}) {
    for (int i = 0; i < 8; ++i) {
      machine_.Remove("class/net/" + (prefix + std::to_string(i)) + "/phys_port_name");
    }
  }
  ExpectAll(First(), "ens1f0np0_");
  ExpectAll(Second(), "ens1f1np1_");
}

TEST_F(LookupTest, FindsRepresentorsThroughSysfs) {
  machine_.AddPf(First());
  machine_.AddPf(Second());
  machine_.ForgetDevlink();
  ExpectAll(First(), "ens1f0np0_");
  ExpectAll(Second(), "ens1f1np1_");
}

TEST_F(LookupTest, FindsRepresentorsWithoutDevlinkInTheKernel) {
  machine_.AddPf(First());
  Lookup lookup(machine_.sysfs(), []() -> Result<std::unique_ptr<netlink::Devlink>> {
    return Fail(Code::kUnsupported, "no devlink");
  });
  EXPECT_EQ(lookup.FindRepresentor(lookup.FindVf("0000:3b:00.4").value()).value(), "ens1f0np0_2");
}

// With a VF LAG both PFs are one switch, and only the number of the PF tells their representors apart.
TEST_F(LookupTest, TellsThePfsOfALagApart) {
  PfSpec first = First();
  PfSpec second = Second();
  second.switch_id = first.switch_id;
  for (const bool devlink : {true, false}) {
    SCOPED_TRACE(devlink);
    machine_.AddPf(first);
    machine_.AddPf(second);
    if (!devlink) machine_.ForgetDevlink();
    ExpectAll(first, "ens1f0np0_");
    ExpectAll(second, "ens1f1np1_");
  }
}

TEST_F(LookupTest, TellsThePfsOfALagApartWhenOneDeviceHoldsAllRepresentors) {
  PfSpec first = First();
  PfSpec second = Second();
  second.switch_id = first.switch_id;
  second.representors_under = first.address;
  machine_.AddPf(first);
  machine_.AddPf(second);
  machine_.ForgetDevlink();
  ExpectAll(first, "ens1f0np0_");
  ExpectAll(second, "ens1f1np1_");
}

TEST_F(LookupTest, DoesNotTakeTheRepresentorOfAnotherCard) {
  PfSpec other = First();
  other.address = "0000:5e:00.0";
  other.vf_bus = "0000:5e:00";
  other.netdev = "ens2f0np0";
  other.switch_id = First().switch_id;  // as a cloned firmware would say
  PfSpec legacy = First();
  legacy.vfs = 8;
  machine_.AddPf(other);
  machine_.AddPf(legacy);
  machine_.ForgetDevlink();
  for (int i = 0; i < 8; ++i) machine_.RemoveNetdev("ens1f0np0_" + std::to_string(i));
  EXPECT_EQ(RepresentorOf(legacy, 0), "");
  ExpectAll(other, "ens2f0np0_");
}

TEST_F(LookupTest, FindsRepresentorsThatUdevRenamed) {
  PfSpec pf = First();
  pf.representor_prefix = "rep-a-";
  for (const bool devlink : {true, false}) {
    machine_.AddPf(pf);
    if (!devlink) machine_.ForgetDevlink();
    ExpectAll(pf, "rep-a-");
  }
}

TEST_F(LookupTest, UnderstandsNamesWithAController) {
  PfSpec pf = First();
  pf.controller = "c0";
  machine_.AddPf(pf);
  ExpectAll(pf, "ens1f0np0_");
  machine_.ForgetDevlink();
  ExpectAll(pf, "ens1f0np0_");
}

// On a DPU the same card also has the representors of the host's functions.
TEST_F(LookupTest, LeavesTheFunctionsOfAnotherHostAlone) {
  PfSpec pf = First();
  pf.controller = "c1";
  machine_.AddPf(pf);
  EXPECT_EQ(RepresentorOf(pf, 0), "");
  machine_.ForgetDevlink();
  EXPECT_EQ(RepresentorOf(pf, 0), "");
}

TEST_F(LookupTest, LeavesPortsOfOtherFlavoursAlone) {
  machine_.AddPf(First());
  for (DevlinkPort& port : machine_.ports()["pci/0000:3b:00.0"]) port.flavour = DevlinkPort::Flavour::kPciSf;
  for (int i = 0; i < 8; ++i) {
    machine_.Write("class/net/ens1f0np0_" + std::to_string(i) + "/phys_port_name",
                   "pf0sf" + std::to_string(i));
  }
  EXPECT_EQ(RepresentorOf(First(), 0), "");
}

TEST_F(LookupTest, GoesByTheUplinksNumberWhereTheFunctionIsNotThePfs) {
  PfSpec pf = First();
  pf.port = 1;
  pf.pf_number = 1;
  machine_.AddPf(pf);
  ExpectAll(pf, "ens1f0np0_");
}

TEST_F(LookupTest, BelievesADevlinkThatListsOnePfOnlyWhateverItsNumber) {
  PfSpec pf = First();
  pf.pf_number = 5;
  machine_.AddPf(pf);
  ExpectAll(pf, "ens1f0np0_");
  machine_.ports()["pci/0000:3b:00.0"].push_back(
      {.flavour = DevlinkPort::Flavour::kPciVf, .pf = 6, .vf = 0, .netdev = "another"});
  EXPECT_EQ(RepresentorOf(pf, 0), "");
}

TEST_F(LookupTest, SaysWhenTwoRepresentorsFit) {
  machine_.AddPf(First());
  machine_.ports()["pci/0000:3b:00.0"].push_back(
      {.flavour = DevlinkPort::Flavour::kPciVf, .pf = 0, .vf = 2, .netdev = "another"});
  EXPECT_THAT(RepresentorOf(First(), 2), HasSubstr("ens1f0np0_2 and another both stand for VF 2"));
}

TEST_F(LookupTest, KnowsNoRepresentorInLegacyMode) {
  PfSpec pf = First();
  pf.switch_id.clear();
  machine_.AddPf(pf);
  EXPECT_EQ(RepresentorOf(pf, 0), "");
  Lookup lookup(machine_.sysfs(), machine_.OpenDevlink());
  EXPECT_EQ(lookup.FindVf("0000:3b:00.2")->pf.netdev, "ens1f0np0");
}

TEST_F(LookupTest, TellsWhyADeviceIsNoneOfItsOwn) {
  machine_.AddPf(First());
  Lookup lookup(machine_.sysfs(), machine_.OpenDevlink());
  EXPECT_EQ(lookup.FindVf("0000:3b:07.2").error().code, Code::kNotFound);
  EXPECT_EQ(lookup.FindVf("0000:3b:00.0").error().code, Code::kInvalid);
  for (const char* bad : {"", "vf0", "../../../../etc", "0000:3b:00.9", "0000:3B:00.2", "0000:3b:00.2/"}) {
    EXPECT_EQ(lookup.FindVf(bad).error().code, Code::kInvalid) << bad;
  }
}

TEST_F(LookupTest, SeesThatAVirtualFunctionIsElsewhere) {
  machine_.AddPf(First());
  machine_.RemoveNetdev("ens1f0npv0");
  machine_.Remove(testing::DevicePath("0000:3b:00.2") + "/infiniband");
  machine_.Link(testing::DevicePath("0000:3b:00.3") + "/driver", "bus/pci/drivers/vfio-pci");
  machine_.Remove(testing::DevicePath("0000:3b:00.4") + "/driver");
  Lookup lookup(machine_.sysfs(), machine_.OpenDevlink());
  EXPECT_EQ(lookup.FindVf("0000:3b:00.2")->netdev, "");
  EXPECT_EQ(lookup.FindVf("0000:3b:00.2")->rdma, "");
  EXPECT_EQ(lookup.FindVf("0000:3b:00.3")->driver, "vfio-pci");
  EXPECT_EQ(lookup.FindVf("0000:3b:00.4")->driver, "");
}

TEST_F(LookupTest, FindsThePfsBehindALink) {
  machine_.AddPf(First());
  machine_.AddPf(Second());
  machine_.Write("class/net/bond0/bonding/mode", "802.3ad 4");
  machine_.Link("class/net/bond0/lower_ens1f0np0", "class/net/ens1f0np0");
  machine_.Link("class/net/bond0/lower_ens1f1np1", "class/net/ens1f1np1");
  Lookup lookup(machine_.sysfs(), machine_.OpenDevlink());
  EXPECT_EQ(lookup.FindPfs("bond0")->size(), 2U);
  EXPECT_EQ(lookup.FindPfs("ens1f0np0")->size(), 1U);
  EXPECT_EQ(lookup.FindPfs("eth7").error().code, Code::kNotFound);
}

// What stands for a PF need not be on the PCI bus: netdevsim is not.
TEST_F(LookupTest, TakesTheHandleFromTheDeviceItself) {
  machine_.AddPf(First());
  machine_.Write("devices/netdevsim10/uevent", "");
  machine_.Write("bus/netdevsim/uevent", "");
  machine_.Link("devices/netdevsim10/subsystem", "bus/netdevsim");
  machine_.AddNetdev("eni10np1", "devices/netdevsim10");
  Lookup lookup(machine_.sysfs(), machine_.OpenDevlink());
  EXPECT_EQ(lookup.FindPfs("eni10np1")->front().handle.ToString(), "netdevsim/netdevsim10");
}

TEST_F(LookupTest, FindsTheUplinkOfAPciAddressAmongItsRepresentors) {
  machine_.AddPf(First());
  PfSpec legacy = Second();
  legacy.switch_id = "";
  machine_.AddPf(legacy);
  Lookup lookup(machine_.sysfs(), machine_.OpenDevlink());
  EXPECT_EQ(lookup.FindUplink("0000:3b:00.0").value_or(""), "ens1f0np0");
  EXPECT_EQ(lookup.FindUplink("0000:3b:00.1").value_or(""), "ens1f1np1") << "a NIC that is no switch";
}

TEST_F(LookupTest, SaysWhyAPciAddressHasNoUplink) {
  machine_.AddPf(First());
  PfSpec two = Second();
  two.switch_id = "";
  machine_.AddPf(two);
  machine_.AddNetdev("another", DevicePath("0000:3b:00.1"));
  machine_.Write("bus/pci/devices/0000:5e:00.0/class", "0x020000");
  Lookup lookup(machine_.sysfs(), machine_.OpenDevlink());
  const auto error = [&](const std::string& address) {
    const auto found = lookup.FindUplink(address);
    return found ? "no error: " + *found : found.error().message;
  };
  EXPECT_THAT(error("ens1f0np0"), HasSubstr("it is no PCI address"));
  EXPECT_THAT(error("0000:3c:00.0"), HasSubstr("this node has no such device"));
  EXPECT_THAT(error(Machine::VfAddress(First(), 0)), HasSubstr("it is a virtual function of 0000:3b:00.0"));
  EXPECT_THAT(error("0000:5e:00.0"), HasSubstr("the device has no link; its driver is missing"));
  EXPECT_THAT(error("0000:3b:00.1"), HasSubstr("several links (another, ens1f1np1)"));
}

}  // namespace
}  // namespace rail::sriov
