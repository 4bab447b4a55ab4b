#include "lib/sriov/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/netlink/testing/borrowed.h"
#include "lib/netlink/testing/fake.h"
#include "lib/netlink/testing/vfs.h"
#include "lib/sriov/testing/machine.h"

namespace rail::sriov {
namespace {

using netlink::DevlinkHandle;
using netlink::EswitchMode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Machine;

constexpr char kFinished[] = "MAC address and driver of 4 VFs";
constexpr char kNumvfs[] = "bus/pci/devices/0000:3b:00.0/sriov_numvfs";

Preparer::Claimed Having(const std::set<std::string>& devices) {
  return [devices] { return Result<std::set<std::string>>(devices); };
}

// A ConnectX's switch: it takes another steering mode in legacy mode only, and notes how many VFs there were at each change.
class Nic : public netlink::Devlink {
 public:
  explicit Nic(const Machine& machine) : machine_(machine) {}

  Result<std::vector<netlink::DevlinkPort>> ListPorts(const DevlinkHandle&) override {
    return std::vector<netlink::DevlinkPort>();
  }
  Result<EswitchMode> GetEswitchMode(const DevlinkHandle&) override {
    if (!mode) return Fail(Code::kUnsupported, "no eSwitch");
    return *mode;
  }
  Status SetEswitchMode(const DevlinkHandle& device, EswitchMode wanted) override {
    if (fail_mode) return Fail(Code::kInternal, "firmware says no");
    mode = wanted;
    Note(device, wanted == EswitchMode::kSwitchdev ? "switchdev" : "legacy");
    return {};
  }
  Result<std::string> GetParam(const DevlinkHandle&, const std::string& name) override {
    if (steering.empty() || name != "flow_steering_mode") return Fail(Code::kNotFound, "no such parameter");
    return steering;
  }
  Status SetParam(const DevlinkHandle& device, const std::string&, const std::string& value) override {
    if (mode == EswitchMode::kSwitchdev) return Fail(Code::kBusy, "not in switchdev mode");
    steering = value;
    Note(device, value);
    return {};
  }

  std::optional<EswitchMode> mode = EswitchMode::kLegacy;
  std::string steering = "dmfs";
  bool fail_mode = false;
  std::vector<std::string> changes;

 private:
  void Note(const DevlinkHandle& device, const std::string& what) {
    changes.push_back(device.ToString() + " " + what + " with " + *machine_.sysfs().Read(kNumvfs) + " VFs");
  }
  const Machine& machine_;
};

// One connection to it.
class Shared : public netlink::Devlink {
 public:
  explicit Shared(Nic& nic) : nic_(nic) {}
  Result<std::vector<netlink::DevlinkPort>> ListPorts(const DevlinkHandle& d) override {
    return nic_.ListPorts(d);
  }
  Result<EswitchMode> GetEswitchMode(const DevlinkHandle& d) override { return nic_.GetEswitchMode(d); }
  Status SetEswitchMode(const DevlinkHandle& d, EswitchMode m) override { return nic_.SetEswitchMode(d, m); }
  Result<std::string> GetParam(const DevlinkHandle& d, const std::string& n) override {
    return nic_.GetParam(d, n);
  }
  Status SetParam(const DevlinkHandle& d, const std::string& n, const std::string& v) override {
    return nic_.SetParam(d, n, v);
  }

 private:
  Nic& nic_;
};

class PrepareTest : public ::testing::Test {
 protected:
  PrepareTest() {
    machine_.AddPf({.address = "0000:3b:00.0", .netdev = "ens1f0np0", .switch_id = "", .vfs = 4});
    for (const char* name : {"ens1f0np0", "ens1f1np1", "eni10np1"}) AddLink(name);
    for (const char* pf : {"ens1f0npv", "ens1f1npv"}) {
      for (int vf = 0; vf < 4; ++vf) AddLink(pf + std::to_string(vf));
    }
  }
  void AddLink(const std::string& name) {
    netlink::Link link;
    link.name = name;
    links_.AddLink(link);
  }

  Result<std::vector<std::string>> Ensure(const std::set<std::string>& claimed = {}) {
    return MakePreparer().Ensure({.pf = "ens1f0np0", .vfs = 8, .steering = "smfs"}, Having(claimed));
  }
  Result<std::vector<NicState>> Look(const std::string& pf) { return MakePreparer().Look(pf); }
  Preparer MakePreparer() {
    return {machine_.sysfs(),
            [this]() -> Result<std::unique_ptr<netlink::Devlink>> { return std::make_unique<Shared>(nic_); },
            Kernel()};
  }
  VfFinisher::Connections Kernel() {
    return {.netlink = [this]() -> Result<std::unique_ptr<netlink::Netlink>> {
              return std::make_unique<netlink::testing::Borrowed>(links_);
            },
            .vfs = [this]() -> Result<std::unique_ptr<netlink::Vfs>> {
              auto vfs = std::make_unique<netlink::testing::FakeVfs>();
              for (int pf = 1; pf <= 3; ++pf) {
                for (uint32_t vf = 0; vf < 4; ++vf) vfs->Add(pf, vf, {});
              }
              return vfs;
            }};
  }
  void MakeRight() {
    machine_.Write(kNumvfs, "8");
    nic_.mode = EswitchMode::kSwitchdev;
    nic_.steering = "smfs";
  }
  std::string Problem(const std::set<std::string>& claimed = {}) {
    const auto done = Ensure(claimed);
    if (done) return "accepted";
    code_ = done.error().code;
    return done.error().message;
  }

  Machine machine_;
  netlink::testing::Fake links_;
  Nic nic_{machine_};
  Code code_ = Code::kInternal;
};

TEST_F(PrepareTest, ChangesTheSwitchWhileThereAreNoVfs) {
  const auto done = Ensure();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(*done, ElementsAre("sriov_numvfs 4 -> 0", "flow_steering_mode dmfs -> smfs",
                                 "eSwitch legacy -> switchdev", "sriov_numvfs 0 -> 8", kFinished));
  EXPECT_THAT(nic_.changes,
              ElementsAre("pci/0000:3b:00.0 smfs with 0 VFs", "pci/0000:3b:00.0 switchdev with 0 VFs"));
  EXPECT_EQ(machine_.sysfs().Read(kNumvfs), "8");
  EXPECT_THAT(*Ensure(), IsEmpty());
}

TEST_F(PrepareTest, LeavesARightNicAlone) {
  MakeRight();
  EXPECT_THAT(*Ensure({"0000:3b:00.2"}), IsEmpty());
  EXPECT_THAT(nic_.changes, IsEmpty());
}

TEST_F(PrepareTest, LeavesTheSwitchAloneWhenOnlyTheNumberDiffers) {
  MakeRight();
  machine_.Write(kNumvfs, "2");
  EXPECT_THAT(*Ensure(), ElementsAre("sriov_numvfs 2 -> 0", "sriov_numvfs 0 -> 8", kFinished));
  EXPECT_THAT(nic_.changes, IsEmpty());
}

TEST_F(PrepareTest, GoesThroughLegacyModeForAnotherSteering) {
  MakeRight();
  nic_.steering = "dmfs";
  EXPECT_THAT(*Ensure(), ElementsAre("sriov_numvfs 8 -> 0", "eSwitch switchdev -> legacy",
                                     "flow_steering_mode dmfs -> smfs", "eSwitch legacy -> switchdev",
                                     "sriov_numvfs 0 -> 8", kFinished));
}

TEST_F(PrepareTest, AsksForNoSteeringThatTheDriverDoesNotKnow) {
  nic_.steering.clear();
  EXPECT_THAT(*Ensure(), ElementsAre("sriov_numvfs 4 -> 0", "eSwitch legacy -> switchdev",
                                     "sriov_numvfs 0 -> 8", kFinished));
}

TEST_F(PrepareTest, ChangesNothingWhileAVfIsInUse) {
  const std::string pod = Problem({"0000:3b:00.3", "0000:5e:00.2"});
  EXPECT_EQ(code_, Code::kBusy);
  EXPECT_THAT(pod,
              HasSubstr("sriov_numvfs 4 -> 8, eSwitch legacy -> switchdev, flow_steering_mode dmfs -> smfs"));
  EXPECT_THAT(pod, HasSubstr("0000:3b:00.3 belongs to a pod"));

  machine_.Link(testing::DevicePath("0000:3b:00.2") + "/driver", "bus/pci/drivers/vfio-pci");
  EXPECT_THAT(Problem(), HasSubstr("0000:3b:00.2 is bound to vfio-pci"));
  machine_.Link(testing::DevicePath("0000:3b:00.2") + "/driver", "bus/pci/drivers/mlx5_core");

  machine_.Link("class/net/ens1f0npv1/master", "class/net/ens1f0np0");
  EXPECT_THAT(Problem(), HasSubstr("0000:3b:00.3 (ens1f0npv1) is a port of ens1f0np0"));
  machine_.Remove("class/net/ens1f0npv1/master");

  machine_.Link("class/net/ens1f0npv1/upper_v100", "class/net/ens1f0np0");
  EXPECT_THAT(Problem(), HasSubstr("0000:3b:00.3 (ens1f0npv1) has v100 above it"));
  machine_.Remove("class/net/ens1f0npv1/upper_v100");

  machine_.Write("class/net/ens1f0npv1/flags", "0x1003\n");
  EXPECT_THAT(Problem(), HasSubstr("0000:3b:00.3 (ens1f0npv1) is up on the host"));
  machine_.Write("class/net/ens1f0npv1/flags", "0x1002\n");

  machine_.RemoveNetdev("ens1f0npv0");
  EXPECT_THAT(Problem(), HasSubstr("0000:3b:00.2 has its interface in another namespace"));
  EXPECT_THAT(nic_.changes, IsEmpty());
  EXPECT_EQ(machine_.sysfs().Read(kNumvfs), "4");
}

TEST_F(PrepareTest, ChangesNoPfOfABondWhileOneIsInUse) {
  machine_.AddPf({.address = "0000:3b:00.1",
                  .netdev = "ens1f1np1",
                  .switch_id = "",
                  .port = 1,
                  .pf_number = 1,
                  .vfs = 4,
                  .first_function = 10});
  machine_.Write("class/net/bond0/bonding/mode", "active-backup 1");
  for (const char* member : {"ens1f0np0", "ens1f1np1"}) {
    machine_.Link(std::string("class/net/bond0/lower_") + member, std::string("class/net/") + member);
  }
  const auto ensure = [&](const std::set<std::string>& claimed) {
    return MakePreparer().Ensure({.pf = "bond0", .vfs = 8, .steering = "smfs"}, Having(claimed));
  };
  const auto used = ensure({"0000:3b:01.3"});
  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().code, Code::kBusy);
  EXPECT_THAT(used.error().message, HasSubstr("0000:3b:01.3 belongs to a pod"));
  EXPECT_THAT(nic_.changes, IsEmpty());
  EXPECT_EQ(machine_.sysfs().Read(kNumvfs), "4");
  MakeRight();
  EXPECT_THAT(*ensure({}), ElementsAre("sriov_numvfs 4 -> 0", "sriov_numvfs 0 -> 8", kFinished))
      << "of the other PF";
}

TEST_F(PrepareTest, ClaimsOfOtherNicsDoNotMatter) {
  EXPECT_TRUE(Ensure({"0000:5e:00.2", "vf0"}));
}

TEST_F(PrepareTest, SaysWhatTheNicCannot) {
  nic_.mode.reset();
  EXPECT_THAT(Problem(), HasSubstr("no switchdev mode"));
  EXPECT_EQ(code_, Code::kUnsupported);
  nic_.mode = EswitchMode::kLegacy;
  machine_.Write("bus/pci/devices/0000:3b:00.0/sriov_totalvfs", "7");
  EXPECT_THAT(Problem(), HasSubstr("the NIC has 7 VFs at most, not 8"));
  machine_.Remove(kNumvfs);
  EXPECT_THAT(Problem(), HasSubstr("no SR-IOV device"));
  EXPECT_THAT(nic_.changes, IsEmpty());
}

TEST_F(PrepareTest, TellsWhatWasDoneBeforeAFailure) {
  nic_.fail_mode = true;
  EXPECT_THAT(Problem(),
              HasSubstr("(done: sriov_numvfs 4 -> 0, flow_steering_mode dmfs -> smfs): firmware says no"));
}

// netdevsim: the PF is no PCI device, its VFs are nowhere, and another folder may say which VFs there are.
TEST_F(PrepareTest, LooksWithoutChangingAnything) {
  const auto nic = Look("ens1f0np0");
  ASSERT_TRUE(nic) << nic.error().message;
  ASSERT_EQ(nic->size(), 1U);
  EXPECT_EQ(nic->front().address, "0000:3b:00.0");
  EXPECT_EQ(nic->front().vfs, 4U);
  EXPECT_EQ(nic->front().mode, EswitchMode::kLegacy);
  EXPECT_EQ(nic->front().steering, "dmfs");
  EXPECT_THAT(nic_.changes, IsEmpty());
  EXPECT_THAT(*Look("lo"), IsEmpty()) << "a link without a device";
}

TEST_F(PrepareTest, PreparesWhatIsNoPciDevice) {
  machine_.Write("bus/netdevsim/uevent", "");
  machine_.Link("devices/netdevsim10/subsystem", "bus/netdevsim");
  machine_.Write("devices/netdevsim10/sriov_numvfs", "0");
  machine_.AddNetdev("eni10np1", "devices/netdevsim10");
  machine_.Link("devices/netdevsim10/virtfn0", testing::DevicePath("0000:3b:00.2"));
  nic_.steering.clear();
  Preparer preparer(
      machine_.sysfs(),
      [this]() -> Result<std::unique_ptr<netlink::Devlink>> {
        auto nic = std::make_unique<Nic>(machine_);
        nic->steering.clear();
        return nic;
      },
      Kernel());
  EXPECT_THAT(
      *preparer.Ensure({.pf = "eni10np1", .vfs = 2, .steering = "smfs"}, Having({})),
      ElementsAre("eSwitch legacy -> switchdev", "sriov_numvfs 0 -> 2", "MAC address and driver of 1 VFs"));
  const auto used = preparer.Ensure({.pf = "eni10np1", .vfs = 4, .steering = ""}, Having({"0000:3b:00.2"}));
  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().code, Code::kBusy);
}

}  // namespace
}  // namespace rail::sriov
