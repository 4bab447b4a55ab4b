// What every Backend does: the same cases on the fake, on netdev with veth pairs in throw-away namespaces, on sriov with a NIC in
// memory, and, where RAILCNI_TEST_VFS names two VFs of one PF (0000:01:10.0,0000:01:10.2), on sriov with these.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>

#include "lib/device/netdev.h"
#include "lib/device/sriov.h"
#include "lib/device/testing/fake.h"
#include "lib/device/testing/vf_host.h"
#include "lib/netlink/kernel.h"
#include "lib/netlink/kernel_devlink.h"
#include "lib/netlink/kernel_rates.h"
#include "lib/netlink/kernel_rdma.h"
#include "lib/netlink/kernel_vf.h"
#include "lib/netlink/testing/scratch.h"

namespace rail::device {
namespace {

using netns::Netns;
using netns::testing::MakeScratch;
using ::testing::HasSubstr;

// What the cases need beside the Backend.
class World {
 public:
  virtual ~World() = default;
  virtual Backend& backend() = 0;
  // Runs in the host's namespace.
  virtual Status OnHost(const std::function<Status()>& body) = 0;
  virtual Result<Saved> StateOf(const std::string& device) = 0;
  virtual void KillPod() = 0;
  // vf0 is the pod's net1 and vf1 its net2. It calls each as the other was called on the host (`name0`, `name1`); then its namespace
  // dies, and the kernel returns them under these names, as it does with physical devices.
  virtual void KillPodThatSwappedNames(const std::string& name0, const std::string& name1) = 0;
  virtual const Netns& pod() const { return *pod_; }
  virtual config::Rail rail() const {
    config::Rail rail;
    rail.name = "rail0";
    rail.devices = {{"vf0", "rep0"}, {"vf1", "rep1"}, {"vf9", "rep9"}};
    return rail;
  }
  // Two devices of the rail, and one that is not there.
  virtual std::string vf0() const { return "vf0"; }
  virtual std::string vf1() const { return "vf1"; }
  virtual std::string absent() const { return "vf9"; }
  // Whether the kernel returns a device whose namespace has died.
  virtual bool returns() const { return false; }

 protected:
  std::optional<Netns> pod_ = MakeScratch();
};

class FakeWorld : public World {
 public:
  FakeWorld() {
    fake_.Add("rail0", "vf0", "rep0");
    fake_.Add("rail0", "vf1", "rep1");
  }
  Backend& backend() override { return fake_; }
  Status OnHost(const std::function<Status()>& body) override { return body(); }
  Result<Saved> StateOf(const std::string& device) override {
    const auto state = fake_.State(device);
    if (!state || fake_.Where(device)) return Fail(Code::kNotFound, "not on the host");
    return *state;
  }
  void KillPod() override {
    fake_.KillNamespace(pod_->identity());
    pod_.reset();
  }
  void KillPodThatSwappedNames(const std::string&, const std::string&) override {
    fake_.ReturnSwapped("vf0", "vf1");
    KillPod();
  }

 private:
  testing::Fake fake_;
};

class KernelWorld : public World {
 public:
  KernelWorld() {
    Status status = netns::testing::Shell(host_,
                                          "ip link add vf0 type veth peer name rep0 && "
                                          "ip link add vf1 type veth peer name rep1");
    EXPECT_TRUE(status) << status.error().message;
    status = host_.Run([&]() -> Status {
      RAIL_ASSIGN(netlink_, netlink::Kernel::Open());
      return {};
    });
    EXPECT_TRUE(status) << status.error().message;
    backend_.emplace(*netlink_, netlink::Kernel::Open);
  }
  Backend& backend() override { return *backend_; }
  Status OnHost(const std::function<Status()>& body) override { return host_.Run(body); }
  Result<Saved> StateOf(const std::string& device) override {
    return backend_->Save({device, device, "rep" + device.substr(2), {}});
  }
  void KillPod() override { pod_.reset(); }
  // A veth would die.
  void KillPodThatSwappedNames(const std::string& name0, const std::string& name1) override {
    const Status status = pod_->Run([&]() -> Status {
      RAIL_ASSIGN(const auto netlink, netlink::Kernel::Open());
      for (const auto& [inside, outside] : {std::pair("net1", name1), std::pair("net2", name0)}) {
        RAIL_ASSIGN(const netlink::Link link, netlink->GetLink(inside));
        RAIL_TRY(netlink->MoveLink(link.index, host_.fd(), outside));
      }
      return {};
    });
    EXPECT_TRUE(status) << status.error().message;
    KillPod();
  }

 private:
  const Netns host_ = MakeScratch();
  std::unique_ptr<netlink::Netlink> netlink_;
  std::optional<Netdev> backend_;
};

class RecordedWorld : public World {
 public:
  Backend& backend() override { return host_.backend(); }
  Status OnHost(const std::function<Status()>& body) override { return host_.On(body); }
  Result<Saved> StateOf(const std::string& device) override {
    return host_.backend().Save(host_.backend().Find(host_.rail(), device).value());
  }
  void KillPod() override { host_.KillPod(); }
  void KillPodThatSwappedNames(const std::string& name0, const std::string& name1) override {
    for (const auto& [inside, outside] : {std::pair("net1", name1), std::pair("net2", name0)}) {
      EXPECT_TRUE(host_.inside.Rename(host_.inside.GetLink(inside)->index, outside));
    }
    KillPod();
  }
  const Netns& pod() const override { return host_.pod(); }
  config::Rail rail() const override { return host_.rail(); }
  std::string vf0() const override { return testing::VfHost::kVf0; }
  std::string vf1() const override { return testing::VfHost::kVf1; }
  std::string absent() const override { return "0000:3b:1f.7"; }
  bool returns() const override { return true; }

 private:
  testing::VfHost host_{netlink::RdmaNetns::kExclusive};
};

constexpr char kRealVfs[] = "RAILCNI_TEST_VFS";

// VFs of this machine. What stands for them is one end of a veth: a NIC without switchdev mode has no representors.
class RealWorld : public World {
 public:
  RealWorld() {
    const std::string vfs = std::getenv(kRealVfs);
    vfs_ = {vfs.substr(0, vfs.find(',')), vfs.substr(vfs.find(',') + 1)};
    const sriov::Lookup lookup(sriov::Sysfs("/sys"), netlink::KernelDevlink::Open);
    for (const std::string& address : vfs_) {
      const auto vf = lookup.FindVf(address);
      EXPECT_TRUE(vf) << vf.error().message;
      rail_.pf = vf->pf.netdev;
      // As a VF is that was just made: the PF has not assigned it an address, which igb lets it change then only.
      Must("ip link set " + rail_.pf + " vf " + std::to_string(vf->index) + " mac 00:00:00:00:00:00");
    }
    rail_.name = "rail0";
    rail_.devices = {{vfs_[0], "testrep0"}, {vfs_[1], "testrep1"}};
    netlink_ = netlink::Kernel::Open().value();
    Must(
        "ip link add testrep0 type veth peer name testend0 && ip link add testrep1 type veth peer name "
        "testend1");
    backend_.emplace(*netlink_, netlink::Kernel::Open,
                     Sriov::Connections{.sysfs = "/sys",
                                        .devlink = netlink::KernelDevlink::Open,
                                        .vfs = netlink::KernelVfs::Open,
                                        .rdma = netlink::KernelRdma::Open,
                                        .rates = netlink::KernelRates::Open});
  }
  ~RealWorld() override { Must("ip link del testrep0; ip link del testrep1"); }

  Backend& backend() override { return *backend_; }
  Status OnHost(const std::function<Status()>& body) override { return body(); }
  Result<Saved> StateOf(const std::string& device) override {
    RAIL_ASSIGN(const Device found, backend_->Find(rail_, device));
    return backend_->Save(found);
  }
  void KillPod() override { pod_.reset(); }
  void KillPodThatSwappedNames(const std::string& name0, const std::string& name1) override {
    const Status status =
        netns::testing::Shell(*pod_, "ip link set net1 name " + name1 + " && ip link set net2 name " + name0);
    EXPECT_TRUE(status) << status.error().message;
    KillPod();
  }
  config::Rail rail() const override { return rail_; }
  std::string vf0() const override { return vfs_[0]; }
  std::string vf1() const override { return vfs_[1]; }
  std::string absent() const override { return "ffff:ff:1f.7"; }
  bool returns() const override { return true; }

 private:
  static void Must(const std::string& command) {
    const Status status = netns::testing::Shell(Netns::Current().value(), command);
    EXPECT_TRUE(status) << status.error().message;
  }

  std::vector<std::string> vfs_;
  config::Rail rail_;
  std::unique_ptr<netlink::Netlink> netlink_;
  std::optional<Sriov> backend_;
};

enum class Which { kFake, kNetdev, kRecorded, kReal };
std::string NameOf(Which which) {
  switch (which) {
    case Which::kFake: return "Fake";
    case Which::kNetdev: return "Netdev";
    case Which::kRecorded: return "Sriov";
    case Which::kReal: break;
  }
  return "SriovReal";
}
void PrintTo(Which which, std::ostream* out) {
  *out << NameOf(which);
}
std::vector<Which> Backends() {
  std::vector<Which> all{Which::kFake, Which::kNetdev, Which::kRecorded};
  if (std::getenv(kRealVfs) != nullptr) all.push_back(Which::kReal);
  return all;
}
std::unique_ptr<World> MakeWorld(Which which) {
  switch (which) {
    case Which::kFake: return std::make_unique<FakeWorld>();
    case Which::kNetdev: return std::make_unique<KernelWorld>();
    case Which::kRecorded: return std::make_unique<RecordedWorld>();
    case Which::kReal: break;
  }
  return std::make_unique<RealWorld>();
}

class DeviceContract : public ::testing::TestWithParam<Which> {
 protected:
  void SetUp() override {
    world_ = MakeWorld(GetParam());
    rail_ = world_->rail();
  }

  Result<Device> Find(const std::string& id) {
    return OnHost<Device>([&] { return world_->backend().Find(rail_, id); });
  }
  Result<Saved> Save(const Device& device) {
    return OnHost<Saved>([&] { return world_->backend().Save(device); });
  }
  Result<Saved> StateOf(const std::string& id) {
    return OnHost<Saved>([&] { return world_->StateOf(id); });
  }
  Result<MacAddress> MoveIn(const Device& device, const std::string& ifname) {
    return OnHost<MacAddress>([&]() -> Result<MacAddress> {
      RAIL_TRY(world_->backend().RaiseRepresentor(device, 4200));
      return world_->backend().MoveIn(device, world_->pod(), ifname);
    });
  }
  // As it was before. A VF to which nobody had given a MAC address keeps its own: without one it has no node GUID (mlx5).
  static Saved GivenBack(Saved saved) {
    if (saved.vf && saved.vf->state.mac.is_zero()) saved.vf->state.mac = saved.mac;
    return saved;
  }
  Location Locate(const Saved& saved) {
    return OnHost<Location>([&] { return world_->backend().Locate(saved); }).value();
  }
  Status Restore(const Saved& saved, const Netns* pod, const std::string& ifname) {
    return world_->OnHost(
        [&] { return world_->backend().Restore(saved, pod, ifname, After(std::chrono::seconds(5))); });
  }

  template <class T>
  Result<T> OnHost(const std::function<Result<T>()>& body) {
    Result<T> result = Fail(Code::kInternal, "not run");
    const Status status = world_->OnHost([&]() -> Status {
      result = body();
      return {};
    });
    EXPECT_TRUE(status) << status.error().message;
    return result;
  }

  std::unique_ptr<World> world_;
  config::Rail rail_;
};

INSTANTIATE_TEST_SUITE_P(, DeviceContract, ::testing::ValuesIn(Backends()),
                         [](const auto& param) { return NameOf(param.param); });

TEST_P(DeviceContract, FindsTheDevicesOfTheRail) {
  const auto device = Find(world_->vf0());
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->id, world_->vf0());
  EXPECT_FALSE(device->netdev.empty());
  EXPECT_FALSE(device->representor.empty());
  EXPECT_TRUE(device->settings.empty());
  EXPECT_FALSE(device->mac.is_zero());
}

TEST_P(DeviceContract, TellsAForeignDeviceFromAnAbsentOne) {
  EXPECT_EQ(Find("lo").error().code, Code::kInvalid);
  EXPECT_EQ(Find("").error().code, Code::kInvalid);
  EXPECT_EQ(Find(world_->absent()).error().code, Code::kNotFound);
}

TEST_P(DeviceContract, MovesADeviceInAndGivesItBackAsItWas) {
  const Device device = Find(world_->vf0()).value();
  const Saved saved = Save(device).value();
  EXPECT_EQ(Locate(saved), Location::kHost);
  const auto mac = MoveIn(device, "net1");
  ASSERT_TRUE(mac) << mac.error().message;
  EXPECT_EQ(*mac, device.mac);
  EXPECT_EQ(Locate(saved), Location::kElsewhere);
  EXPECT_EQ(OnHost<std::string>([&] { return world_->backend().WhyGone(saved); }).value(), "");
  EXPECT_EQ(Find(world_->vf0()).error().code, Code::kNotFound);
  EXPECT_TRUE(world_->OnHost([&] { return world_->backend().CheckRail(rail_, world_->vf0()); }));
  EXPECT_EQ(MoveIn(device, "net2").error().code, Code::kNotFound);

  for (int i = 0; i < 2; ++i) {
    const Status status = Restore(saved, &world_->pod(), "net1");
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(StateOf(world_->vf0()).value(), GivenBack(saved));
  }
  EXPECT_TRUE(Find(world_->vf0()));
}

// Open vSwitch takes it as a port before the device moves.
TEST_P(DeviceContract, ReadiesARepresentorWhileItsDeviceStaysAndGivesItBack) {
  const Device device = Find(world_->vf0()).value();
  const Saved saved = Save(device).value();
  const auto raise = [&] { return world_->backend().RaiseRepresentor(device, 4200); };
  for (int i = 0; i < 2; ++i) {
    const Status raised = world_->OnHost(raise);
    ASSERT_TRUE(raised) << raised.error().message;
    Saved ready = saved;
    ready.representor_mtu = 4200;
    ready.representor_up = true;
    EXPECT_EQ(StateOf(world_->vf0()).value(), ready);
  }
  ASSERT_TRUE(Restore(saved, &world_->pod(), "net1"));
  EXPECT_EQ(StateOf(world_->vf0()).value(), GivenBack(saved));
}

TEST_P(DeviceContract, RefusesANameThatIsTakenInThePod) {
  const Device first = Find(world_->vf0()).value();
  const Device second = Find(world_->vf1()).value();
  const Saved saved = Save(second).value();
  ASSERT_TRUE(MoveIn(first, "net1"));
  EXPECT_EQ(MoveIn(second, "net1").error().code, Code::kExists);
  // What was begun is undone.
  ASSERT_TRUE(Restore(saved, &world_->pod(), "net1"));
  EXPECT_EQ(StateOf(world_->vf1()).value(), GivenBack(saved));
  EXPECT_EQ(Find(world_->vf0()).error().code, Code::kNotFound);
}

// What igb can too: it has no link state, and rates only with a link.
TEST_P(DeviceContract, SetsWhatTheNetworkAsksForOrSaysThatItCannot) {
  Device device = Find(world_->vf0()).value();
  const Saved saved = Save(device).value();
  device.settings.vlan = netlink::VfVlan{100, 3, false};
  device.settings.spoofchk = false;
  device.settings.trust = true;
  const auto moved = MoveIn(device, "net1");
  if (saved.vf) {
    ASSERT_TRUE(moved) << moved.error().message;
    const auto problems = OnHost<std::vector<std::string>>(
        [&] { return world_->backend().Verify(saved, device.settings, world_->pod()); });
    EXPECT_THAT(problems.value(), ::testing::IsEmpty());
    const auto others = OnHost<std::vector<std::string>>(
        [&] { return world_->backend().Verify(saved, Settings{.trust = false}, world_->pod()); });
    EXPECT_THAT(others.value(), ::testing::ElementsAre(HasSubstr("trust")));
  } else {
    EXPECT_EQ(moved.error().code, Code::kUnsupported);
  }
  const Status restored = Restore(saved, &world_->pod(), "net1");
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(StateOf(world_->vf0()).value(), GivenBack(saved));
}

// A device that was made anew has another address than the pod is known by.
TEST_P(DeviceContract, GivesTheAddressThatItIsToldAndTakesItBack) {
  Device device = Find(world_->vf0()).value();
  const Saved saved = Save(device).value();
  device.settings.mac = *MacAddress::Parse("02:52:41:49:4c:77");
  const auto moved = MoveIn(device, "net1");
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(*moved, *device.settings.mac);
  ASSERT_TRUE(Restore(saved, &world_->pod(), "net1"));
  EXPECT_EQ(StateOf(world_->vf0()).value(), GivenBack(saved));
}

TEST_P(DeviceContract, MendsADeviceThatNeverLeft) {
  const Saved saved = Save(Find(world_->vf0()).value()).value();
  EXPECT_TRUE(Restore(saved, &world_->pod(), "net1"));
  EXPECT_TRUE(Restore(saved, nullptr, "net1"));
  EXPECT_EQ(StateOf(world_->vf0()).value(), GivenBack(saved));
}

TEST_P(DeviceContract, IsDoneWhenTheNamespaceDied) {
  const Device device = Find(world_->vf0()).value();
  const Saved saved = Save(device).value();
  ASSERT_TRUE(MoveIn(device, "net1"));
  world_->KillPod();
  for (int i = 0; i < 2; ++i) {
    const Status status = Restore(saved, nullptr, "net1");
    EXPECT_TRUE(status) << status.error().message;
  }
  // A physical device is back as it was; a virtual one died with the namespace.
  EXPECT_EQ(Locate(saved), world_->returns() ? Location::kHost : Location::kNowhere);
  if (world_->returns()) {
    EXPECT_EQ(StateOf(world_->vf0()).value(), GivenBack(saved));
  } else {
    EXPECT_EQ(Find(world_->vf0()).error().code, Code::kNotFound);
  }
  EXPECT_TRUE(Find(world_->vf1()));
}

TEST_P(DeviceContract, GivesTwoBackWhoseNamesThePodHasSwapped) {
  const Device first = Find(world_->vf0()).value();
  const Device second = Find(world_->vf1()).value();
  const Saved saved0 = Save(first).value();
  const Saved saved1 = Save(second).value();
  ASSERT_TRUE(MoveIn(first, "net1"));
  ASSERT_TRUE(MoveIn(second, "net2"));
  world_->KillPodThatSwappedNames(first.netdev, second.netdev);

  // The second still has the name of the first, which gives up that of the second. A VF needs no more: it is known by its address.
  const Status first_back = Restore(saved0, nullptr, "net1");
  if (saved0.vf) {
    ASSERT_TRUE(first_back) << first_back.error().message;
  } else {
    ASSERT_FALSE(first_back);
    EXPECT_EQ(first_back.error().code, Code::kExists) << first_back.error().message;
  }
  const Status freed = Restore(saved1, nullptr, "net2");
  ASSERT_TRUE(freed) << freed.error().message;
  EXPECT_EQ(StateOf(world_->vf1()).value(), GivenBack(saved1));
  const Status named = Restore(saved0, nullptr, "net1");
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(StateOf(world_->vf0()).value(), GivenBack(saved0));
}

}  // namespace
}  // namespace rail::device
