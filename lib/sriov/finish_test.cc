// VFs as mlx5 makes them: the GUID is zero when the driver binds to a VF that has no MAC address by the PF.
#include "lib/sriov/finish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/netlink/testing/borrowed.h"
#include "lib/netlink/testing/fake.h"
#include "lib/netlink/testing/vfs.h"
#include "lib/sriov/prepare.h"
#include "lib/sriov/testing/machine.h"

namespace rail::sriov {
namespace {

using netlink::EswitchMode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Machine;

constexpr char kPf[] = "bus/pci/devices/0000:3b:00.0";
constexpr char kVf0[] = "0000:3b:00.2";
constexpr char kVf1[] = "0000:3b:00.3";
constexpr char kZero[] = "0000:0000:0000:0000";
const MacAddress kPfMac = *MacAddress::Parse("0c:42:a1:65:ba:fe");

// A NIC in switchdev mode, as it is wanted.
class Switchdev : public netlink::Devlink {
 public:
  Result<std::vector<netlink::DevlinkPort>> ListPorts(const netlink::DevlinkHandle&) override {
    return std::vector<netlink::DevlinkPort>();
  }
  Result<EswitchMode> GetEswitchMode(const netlink::DevlinkHandle&) override {
    return EswitchMode::kSwitchdev;
  }
  Status SetEswitchMode(const netlink::DevlinkHandle&, EswitchMode) override { return {}; }
  Result<std::string> GetParam(const netlink::DevlinkHandle&, const std::string&) override {
    return Fail(Code::kNotFound, "no such parameter");
  }
  Status SetParam(const netlink::DevlinkHandle&, const std::string&, const std::string&) override {
    return {};
  }
};

// Two VFs of a ConnectX with RDMA. Its files do what the kernel does.
class FinishTest : public ::testing::Test {
 protected:
  FinishTest() {
    machine_.AddPf({.address = "0000:3b:00.0", .netdev = "ens1f0np0", .switch_id = "", .vfs = 2});
    netlink::Link pf;
    pf.name = "ens1f0np0";
    pf.permanent_mac = kPfMac;
    pf_ = links_.AddLink(pf);
    machine_.on_write = [this](const std::string& path, const std::string& value) { Written(path, value); };
    for (const char* vf : {kVf0, kVf1}) Unbind(vf);
    machine_.Write(std::string(kPf) + "/sriov_numvfs", "0");
  }

  void Written(const std::string& path, const std::string& value) {
    const bool autoprobe = machine_.sysfs().Read(std::string(kPf) + "/sriov_drivers_autoprobe") == "1";
    if (path.ends_with("/sriov_numvfs") && value == "2") {
      for (const uint32_t i : {0U, 1U}) vfs_.Add(pf_, i, {});
      for (const char* vf : {kVf0, kVf1}) {
        if (autoprobe) Bind(vf);
      }
    }
    if (path.ends_with("mlx5_core/unbind")) Unbind(value);
    if (path == "bus/pci/drivers_probe" && autoprobe && module_loaded_) Bind(value);
  }
  static std::string Folder(const std::string& vf) { return testing::DevicePath(vf); }
  static uint32_t IndexOf(const std::string& vf) { return vf == kVf0 ? 0 : 1; }
  MacAddress MacOf(const std::string& vf) { return vfs_.Get(pf_, IndexOf(vf))->mac; }
  void Bind(const std::string& vf) {
    binds_.push_back(vf);
    const MacAddress mac = MacOf(vf);
    machine_.Link(Folder(vf) + "/driver", "bus/pci/drivers/mlx5_core");
    const std::string netdev = "ens1f0npv" + std::to_string(IndexOf(vf));
    machine_.AddNetdev(netdev, Folder(vf));
    netlink::Link link;
    link.name = netdev;
    link.mac = mac.is_zero() ? *MacAddress::Parse("ae:11:22:33:44:55") : mac;  // mlx5 takes a random one
    links_.AddLink(link);
    machine_.Write(Folder(vf) + "/infiniband/mlx5_" + netdev + "/node_guid",
                   mac.is_zero() ? kZero : "0000:00ff:fe00:000" + std::to_string(IndexOf(vf) + 1));
  }
  void Unbind(const std::string& vf) {
    const std::string netdev = Lookup(machine_.sysfs(), machine_.OpenDevlink()).NetdevOf(vf);
    for (const char* part : {"/driver", "/infiniband"}) machine_.Remove(Folder(vf) + part);
    if (netdev.empty()) return;
    machine_.RemoveNetdev(netdev);
    links_.RemoveLink(netdev);
  }
  // As another program makes them, or a raild of before: bound at once, without a MAC address.
  void MakeVfsByHand() { ASSERT_TRUE(machine_.sysfs().Write(std::string(kPf) + "/sriov_numvfs", "2")); }
  std::string GuidOf(const std::string& vf) {
    const std::string rdma = Lookup(machine_.sysfs(), machine_.OpenDevlink()).RdmaOf(vf);
    return machine_.sysfs()
        .Read(Folder(vf) + "/infiniband/" + rdma + "/node_guid")
        .value_or("no RDMA device");
  }

  Result<std::vector<std::string>> Ensure(const std::set<std::string>& claimed = {}) {
    class Lent : public netlink::Vfs {
     public:
      explicit Lent(netlink::Vfs& vfs) : vfs_(vfs) {}
      Result<netlink::VfState> Get(int pf, uint32_t vf) override { return vfs_.Get(pf, vf); }
      Status Set(int pf, uint32_t vf, const netlink::VfChange& change) override {
        return vfs_.Set(pf, vf, change);
      }

     private:
      netlink::Vfs& vfs_;
    };
    Preparer preparer(
        machine_.sysfs(),
        []() -> Result<std::unique_ptr<netlink::Devlink>> { return std::make_unique<Switchdev>(); },
        {.netlink = [this]() -> Result<std::unique_ptr<netlink::Netlink>> {
           return std::make_unique<netlink::testing::Borrowed>(links_);
         },
         .vfs = [this]() -> Result<std::unique_ptr<netlink::Vfs>> { return std::make_unique<Lent>(vfs_); }});
    return preparer.Ensure({.pf = "ens1f0np0", .vfs = 2, .steering = ""},
                           [&] { return Result<std::set<std::string>>(claimed); });
  }

  Machine machine_;
  netlink::testing::Fake links_;
  netlink::testing::FakeVfs vfs_;
  int pf_ = 0;
  bool module_loaded_ = true;
  std::vector<std::string> binds_;
};

TEST_F(FinishTest, GivesEachNewVfAMacAddressBeforeItsDriverSoThatItsNodeGuidIsNotZero) {
  const auto done = Ensure();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(*done, ElementsAre("sriov_numvfs 0 -> 2", "MAC address and driver of 2 VFs"));
  EXPECT_EQ(MacOf(kVf0), DerivedMac(kPfMac, kVf0));
  EXPECT_EQ(MacOf(kVf1), DerivedMac(kPfMac, kVf1));
  EXPECT_EQ(GuidOf(kVf0), "0000:00ff:fe00:0001");
  EXPECT_EQ(GuidOf(kVf1), "0000:00ff:fe00:0002");
  EXPECT_THAT(binds_, ElementsAre(kVf0, kVf1)) << "once each";
  EXPECT_EQ(machine_.sysfs().Read(std::string(kPf) + "/sriov_drivers_autoprobe"), "1");
  EXPECT_THAT(*Ensure(), IsEmpty());
}

TEST_F(FinishTest, BindsFreeVfsAnewWhoseNodeGuidIsZero) {
  MakeVfsByHand();
  ASSERT_EQ(GuidOf(kVf0), kZero);
  EXPECT_THAT(*Ensure(), ElementsAre("MAC address and driver of 2 VFs"));
  EXPECT_EQ(MacOf(kVf0), DerivedMac(kPfMac, kVf0));
  EXPECT_EQ(GuidOf(kVf0), "0000:00ff:fe00:0001");
  EXPECT_THAT(*Ensure(), IsEmpty());
}

TEST_F(FinishTest, LeavesVfsInUseAlone) {
  MakeVfsByHand();
  machine_.Write("class/net/ens1f0npv1/flags", "0x1003");
  EXPECT_THAT(*Ensure({kVf0}), IsEmpty());
  EXPECT_EQ(GuidOf(kVf0), kZero) << "a pod's";
  EXPECT_EQ(GuidOf(kVf1), kZero) << "up on the host";
  EXPECT_THAT(binds_, ElementsAre(kVf0, kVf1)) << "by whoever made them";
}

// Again and again would change nothing; the doctor reports it.
TEST_F(FinishTest, BindsNoVfAnewThatHasItsMacAddress) {
  MakeVfsByHand();
  for (const uint32_t i : {0U, 1U}) ASSERT_TRUE(vfs_.Set(pf_, i, {.mac = kPfMac}));
  EXPECT_THAT(*Ensure(), IsEmpty());
  EXPECT_THAT(binds_, ElementsAre(kVf0, kVf1));
}

TEST_F(FinishTest, FinishesWhatARaildThatDiedHasLeft) {
  machine_.Write(std::string(kPf) + "/sriov_drivers_autoprobe", "0");
  MakeVfsByHand();
  ASSERT_TRUE(vfs_.Set(pf_, 0, {.mac = kPfMac}));
  EXPECT_THAT(*Ensure(), ElementsAre("MAC address and driver of 2 VFs"));
  EXPECT_EQ(MacOf(kVf0), kPfMac) << "what it has, it keeps";
  EXPECT_EQ(MacOf(kVf1), DerivedMac(kPfMac, kVf1));
  EXPECT_EQ(GuidOf(kVf1), "0000:00ff:fe00:0002");
}

TEST_F(FinishTest, PinsTheMacAddressThatAVfHasWhereItsDriverWasNotHeld) {
  machine_.Remove(std::string(kPf) + "/sriov_drivers_autoprobe");
  machine_.on_write = [this](const std::string& path, const std::string&) {
    if (!path.ends_with("/sriov_numvfs")) return;
    for (const uint32_t i : {0U, 1U}) vfs_.Add(pf_, i, {});
    for (const char* vf : {kVf0, kVf1}) {
      Bind(vf);
      machine_.Remove(Folder(vf) + "/infiniband");  // no RDMA
    }
  };
  ASSERT_TRUE(Ensure());
  EXPECT_EQ(MacOf(kVf0).ToString(), "ae:11:22:33:44:55");
  EXPECT_THAT(binds_, ElementsAre(kVf0, kVf1)) << "nothing is to be gained";
}

TEST_F(FinishTest, SaysThatNoDriverTakesAVf) {
  module_loaded_ = false;
  const auto done = Ensure();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kUnsupported);
  EXPECT_THAT(done.error().message, HasSubstr("finish virtual function 0000:3b:00.2: no driver takes it"));
  EXPECT_FALSE(MacOf(kVf1).is_zero()) << "one VF does not stop the others";
}

TEST_F(FinishTest, BindsAVfThatRefusesItsMacAddress) {
  vfs_.FailOn("mac", {Code::kUnsupported, "set the MAC address of VF 0: Operation not supported"});
  const auto done = Ensure();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("set the MAC address of VF 0"));
  EXPECT_THAT(binds_, ElementsAre(kVf0, kVf1));
}

TEST(DerivedMac, IsTheSameEachTimeAndLocallyAdministeredAndDiffersBetweenVfsAndPfs) {
  std::set<MacAddress> all;
  for (uint8_t pf = 0; pf < 8; ++pf) {
    MacAddress of_pf = kPfMac;
    of_pf.bytes[5] = pf;
    for (int vf = 0; vf < 128; ++vf) {
      const std::string address = "0000:3b:" + std::to_string(10 + vf) + ".2";
      const MacAddress mac = DerivedMac(of_pf, address);
      EXPECT_EQ(mac, DerivedMac(of_pf, address));
      EXPECT_EQ(mac.bytes[0] & 3, 2) << mac.ToString();
      all.insert(mac);
    }
  }
  EXPECT_EQ(all.size(), 8U * 128U);
  // It must not change with a new release: pods and leaves know a VF by it.
  EXPECT_EQ(DerivedMac(kPfMac, kVf0).ToString(), "42:d4:e0:48:a5:c5");
}

TEST(RdmaGuids, AreThoseOfTheHostsDevices) {
  const Machine machine;
  machine.Write("class/infiniband/mlx5_1/node_guid", kZero);
  machine.Write("class/infiniband/mlx5_0/node_guid", "0c42:a103:0065:bafe");
  EXPECT_THAT(RdmaGuids(machine.sysfs()),
              ElementsAre(RdmaGuid{"mlx5_0", "0c42:a103:0065:bafe"}, RdmaGuid{"mlx5_1", kZero}));
  EXPECT_TRUE((RdmaGuid{"mlx5_1", kZero}).is_zero());
  EXPECT_FALSE((RdmaGuid{"mlx5_0", "0c42:a103:0065:bafe"}).is_zero());
  EXPECT_FALSE((RdmaGuid{"gone", ""}).is_zero()) << "not known";
}

}  // namespace
}  // namespace rail::sriov
