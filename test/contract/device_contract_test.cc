// What every Backend does: the same cases on the fake and on netdev with veth pairs in throw-away namespaces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>

#include "lib/device/netdev.h"
#include "lib/device/testing/fake.h"
#include "lib/netlink/kernel.h"
#include "lib/netns/testing/scratch.h"

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
  const Netns& pod() const { return *pod_; }

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

 private:
  const Netns host_ = MakeScratch();
  std::unique_ptr<netlink::Netlink> netlink_;
  std::optional<Netdev> backend_;
};

enum class Which { kFake, kNetdev };
void PrintTo(Which which, std::ostream* out) {
  *out << (which == Which::kFake ? "fake" : "netdev");
}

class DeviceContract : public ::testing::TestWithParam<Which> {
 protected:
  void SetUp() override {
    if (GetParam() == Which::kFake) {
      world_ = std::make_unique<FakeWorld>();
    } else {
      world_ = std::make_unique<KernelWorld>();
    }
    rail_.name = "rail0";
    rail_.devices = {{"vf0", "rep0"}, {"vf1", "rep1"}, {"vf9", "rep9"}};
  }

  Result<Device> Find(const std::string& id) {
    return OnHost<Device>([&] { return world_->backend().Find(rail_, id); });
  }
  Result<Saved> Save(const Device& device) {
    return OnHost<Saved>([&] { return world_->backend().Save(device); });
  }
  Result<MacAddress> MoveIn(const Device& device, const std::string& ifname) {
    return OnHost<MacAddress>([&] { return world_->backend().MoveIn(device, world_->pod(), ifname, 4200); });
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

INSTANTIATE_TEST_SUITE_P(, DeviceContract, ::testing::Values(Which::kFake, Which::kNetdev),
                         [](const auto& param) { return param.param == Which::kFake ? "Fake" : "Netdev"; });

TEST_P(DeviceContract, FindsTheDevicesOfTheRail) {
  const auto device = Find("vf0");
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->id, "vf0");
  EXPECT_EQ(device->netdev, "vf0");
  EXPECT_EQ(device->representor, "rep0");
  EXPECT_FALSE(device->mac.is_zero());
}

TEST_P(DeviceContract, TellsAForeignDeviceFromAnAbsentOne) {
  EXPECT_EQ(Find("lo").error().code, Code::kInvalid);
  EXPECT_EQ(Find("").error().code, Code::kInvalid);
  EXPECT_EQ(Find("vf9").error().code, Code::kNotFound);
}

TEST_P(DeviceContract, MovesADeviceInAndGivesItBackAsItWas) {
  const Device device = Find("vf0").value();
  const Saved saved = Save(device).value();
  const auto mac = MoveIn(device, "net1");
  ASSERT_TRUE(mac) << mac.error().message;
  EXPECT_EQ(*mac, device.mac);
  EXPECT_EQ(Find("vf0").error().code, Code::kNotFound);
  EXPECT_EQ(MoveIn(device, "net2").error().code, Code::kNotFound);

  for (int i = 0; i < 2; ++i) {
    const Status status = Restore(saved, &world_->pod(), "net1");
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(world_->StateOf("vf0").value(), saved);
  }
  EXPECT_TRUE(Find("vf0"));
}

TEST_P(DeviceContract, RefusesANameThatIsTakenInThePod) {
  const Device first = Find("vf0").value();
  const Device second = Find("vf1").value();
  const Saved saved = Save(second).value();
  ASSERT_TRUE(MoveIn(first, "net1"));
  EXPECT_EQ(MoveIn(second, "net1").error().code, Code::kExists);
  // What was begun is undone.
  ASSERT_TRUE(Restore(saved, &world_->pod(), "net1"));
  EXPECT_EQ(world_->StateOf("vf1").value(), saved);
  EXPECT_EQ(Find("vf0").error().code, Code::kNotFound);
}

TEST_P(DeviceContract, MendsADeviceThatNeverLeft) {
  const Saved saved = Save(Find("vf0").value()).value();
  EXPECT_TRUE(Restore(saved, &world_->pod(), "net1"));
  EXPECT_TRUE(Restore(saved, nullptr, "net1"));
  EXPECT_EQ(world_->StateOf("vf0").value(), saved);
}

TEST_P(DeviceContract, IsDoneWhenAVirtualDeviceDiedWithItsNamespace) {
  const Device device = Find("vf0").value();
  const Saved saved = Save(device).value();
  ASSERT_TRUE(MoveIn(device, "net1"));
  world_->KillPod();
  for (int i = 0; i < 2; ++i) {
    const Status status = Restore(saved, nullptr, "net1");
    EXPECT_TRUE(status) << status.error().message;
  }
  EXPECT_EQ(Find("vf0").error().code, Code::kNotFound);
  EXPECT_TRUE(Find("vf1"));
}

}  // namespace
}  // namespace rail::device
