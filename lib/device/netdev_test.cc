#include "lib/device/netdev.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <chrono>
#include <optional>

#include "lib/netlink/kernel.h"
#include "lib/netlink/testing/borrowed.h"
#include "lib/netlink/testing/fake.h"
#include "lib/netlink/testing/scratch.h"

namespace rail::device {
namespace {

using netns::Netns;
using netns::testing::MakeScratch;
using netns::testing::Shell;
using ::testing::HasSubstr;

constexpr auto kPatience = std::chrono::seconds(5);

// A veth device moved into a pod that does as it likes with it.
class HostilePod : public ::testing::Test {
 protected:
  void SetUp() override {
    Must(Shell(host_, "ip link add vf0 type veth peer name rep0 && ip link set vf0 mtu 2000 up"));
    Must(host_.Run([&]() -> Status {
      RAIL_ASSIGN(netlink_, netlink::Kernel::Open());
      backend_.emplace(*netlink_, netlink::Kernel::Open);
      RAIL_ASSIGN(saved_, backend_->Save(Vf0()));
      RAIL_TRY(backend_->RaiseRepresentor(Vf0(), 4200));
      RAIL_TRY(backend_->MoveIn(Vf0(), *pod_, "net1"));
      return {};
    }));
    mac_ = saved_.mac.ToString();
  }

  static Device Vf0() { return {"vf0", "vf0", "rep0", {}}; }
  static void Must(const Status& status) { ASSERT_TRUE(status) << status.error().message; }
  Status Restore(const Netns* pod, std::chrono::milliseconds patience = kPatience) {
    return host_.Run([&] { return backend_->Restore(saved_, pod, "net1", After(patience)); });
  }
  std::string MeanwhileName() const {
    std::string name = "dev" + mac_;
    std::erase(name, ':');
    return name;
  }
  void ExpectAsItWas() {
    const auto now = backend_->Save(Vf0());
    ASSERT_TRUE(now) << now.error().message;
    EXPECT_EQ(*now, saved_);
  }

  const Netns host_ = MakeScratch();
  std::optional<Netns> pod_ = MakeScratch();
  std::unique_ptr<netlink::Netlink> netlink_;
  std::optional<Netdev> backend_;
  Saved saved_;
  std::string mac_;
};

TEST_F(HostilePod, DoesNotKeepADeviceThatItRenamedAndChanged) {
  Must(Shell(*pod_,
             "ip link set net1 address 02:66:66:66:66:66 && ip link set net1 name hidden && "
             "ip link set hidden mtu 1300 up && ip address add 10.6.6.6/24 dev hidden"));
  Must(Restore(&*pod_));
  ExpectAsItWas();
  Must(Shell(*pod_, "! ip link show hidden 2>/dev/null"));
  Must(Shell(host_, "test -z \"$(ip -4 address show dev vf0)\""));
}

TEST_F(HostilePod, GivesADeviceWithManyAddressesBackWithoutThem) {
  Must(Shell(*pod_, "for i in $(seq 1 200); do echo address add 10.6.6.$i/32 dev net1; done | ip -batch -"));
  Must(Restore(&*pod_));
  ExpectAsItWas();
  Must(Shell(host_, "test -z \"$(ip -4 address show dev vf0)\""));
}

TEST_F(HostilePod, CannotHandOutAnotherDeviceWithTheNameAndMacOfOurs) {
  Must(Shell(*pod_,
             "ip link set net1 name hidden && ip link set hidden address 02:66:66:66:66:66 && "
             "ip link add net1 address " +
                 mac_ + " type veth peer name decoy"));
  Must(Restore(&*pod_));
  ExpectAsItWas();
  Must(Shell(*pod_, "ip link show net1 >/dev/null && ip link show decoy >/dev/null"));
}

TEST_F(HostilePod, IsToldOfWhenItHidTheDeviceInANamespaceOfItsOwn) {
  std::optional<Netns> nested = MakeScratch();
  Must(pod_->Run([&]() -> Status {
    RAIL_ASSIGN(const auto netlink, netlink::Kernel::Open());
    RAIL_ASSIGN(const auto link, netlink->GetLink("net1"));
    return netlink->MoveLink(link.index, nested->fd(), "net1");
  }));
  const Status hidden = Restore(&*pod_);
  ASSERT_FALSE(hidden);
  EXPECT_EQ(hidden.error().code, Code::kBusy);
  EXPECT_THAT(hidden.error().message, HasSubstr("vf0"));

  const auto start = Clock::now();
  EXPECT_EQ(Restore(nullptr, std::chrono::milliseconds(30)).error().code, Code::kBusy);
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(30));
  nested.reset();
  Must(Restore(nullptr));
}

TEST_F(HostilePod, GetsItsDeviceTakenAlsoWhileItsNameOnTheHostIsTaken) {
  Must(Shell(host_, "ip link add vf0 type veth peer name other"));
  for (int i = 0; i < 2; ++i) {
    const Status taken = Restore(&*pod_);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, Code::kExists) << taken.error().message;
    Must(Shell(*pod_, "! ip link show net1 2>/dev/null"));
    // Everything else is as it was; whoever has the name keeps it.
    const auto now = backend_->Save({"vf0", MeanwhileName(), "rep0", {}});
    ASSERT_TRUE(now) << now.error().message;
    Saved expected = saved_;
    expected.netdev = MeanwhileName();
    EXPECT_EQ(*now, expected);
    Must(Shell(host_, "ip -details link show vf0 | grep -q 'vf0@other'"));
  }
  Must(Shell(host_, "ip link del vf0"));
  Must(Restore(&*pod_));
  ExpectAsItWas();
}

TEST_F(HostilePod, LeavesADeviceThatOnlyLacksItsNameToBeMended) {
  Must(pod_->Run([&]() -> Status {
    RAIL_ASSIGN(const auto netlink, netlink::Kernel::Open());
    RAIL_ASSIGN(const auto link, netlink->GetLink("net1"));
    return netlink->MoveLink(link.index, host_.fd(), "dev5");
  }));
  Must(Shell(host_, "ip link set dev5 up mtu 1400"));
  Must(Restore(&*pod_));
  ExpectAsItWas();
}

// A physical device, whose return the kernel announces.
class Returning : public netlink::Monitor {
 public:
  explicit Returning(std::function<void()> on_event)
      : fd_(::eventfd(on_event ? 1 : 0, EFD_CLOEXEC)), on_event_(std::move(on_event)) {}
  int fd() const override { return fd_.get(); }
  Result<netlink::Changes> Receive() override {
    if (on_event_) on_event_();
    return netlink::Changes{};
  }

 private:
  Fd fd_;
  std::function<void()> on_event_;
};

class PhysicalDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    netlink::Link link;
    link.name = "vf0";
    link.parent_device = "0000:08:00.2";
    link.mac = *MacAddress::Parse("02:00:00:00:00:07");
    device_ = link;
    host_.AddLink(link);
    netlink::Link representor;
    representor.name = "rep0";
    host_.AddLink(representor);
    Netdev backend = Backend({});
    saved_ = backend.Save({"vf0", "vf0", "rep0", {}}).value();
    host_.RemoveLink("vf0");  // it is in a pod
  }

  Netdev Backend(const std::function<void()>& on_event) {
    return Netdev(
        host_, [] { return Result<std::unique_ptr<netlink::Netlink>>(Fail(Code::kInternal, "no pod")); },
        [on_event] {
          return Result<std::unique_ptr<netlink::Monitor>>(std::make_unique<Returning>(on_event));
        });
  }

  netlink::testing::Fake host_;
  netlink::Link device_;
  Saved saved_;
};

TEST_F(PhysicalDevice, IsWaitedForAndGetsItsNameBack) {
  Netdev backend = Backend([&] {
    netlink::Link returned = device_;
    returned.name = "dev5";
    returned.mac = *MacAddress::Parse("02:66:66:66:66:66");
    returned.mtu = 4200;
    returned.up = true;
    host_.AddLink(returned);
  });
  const Status status = backend.Restore(saved_, nullptr, "net1", After(kPatience));
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(backend.Save({"vf0", "vf0", "rep0", {}}).value(), saved_);
}

TEST_F(PhysicalDevice, IsNotGivenUpWhenItDoesNotReturnInTime) {
  Netdev backend = Backend({});
  const Status status = backend.Restore(saved_, nullptr, "net1", After(std::chrono::milliseconds(20)));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kBusy);
}

TEST_F(PhysicalDevice, IsNotMistakenForAnotherOfItsName) {
  netlink::Link other = device_;
  other.parent_device = "0000:08:00.3";
  host_.AddLink(other);
  Netdev backend = Backend({});
  EXPECT_EQ(backend.Restore(saved_, nullptr, "net1", After(std::chrono::milliseconds(20))).error().code,
            Code::kBusy);
}

// Each step into the pod fails once; Restore then gives the host back as it was.
TEST(Netdev, IsUndoneFromEveryStep) {
  for (const char* step : {"SetMtu", "SetUp", "MoveLink"}) {
    SCOPED_TRACE(step);
    const Netns pod = MakeScratch();
    netlink::testing::Fake host;
    netlink::testing::Fake inside;
    host.AddVeth("vf0", "rep0");
    host.Connect(pod.fd(), inside);
    Netdev backend(host,
                   [] { return Result<std::unique_ptr<netlink::Netlink>>(Fail(Code::kInternal, "no pod")); });
    const Device device{"vf0", "vf0", "rep0", {}};
    const Saved saved = backend.Save(device).value();
    host.FailOn(step, {Code::kTransient, "no", 0});
    const auto move_in = [&]() -> Status {
      RAIL_TRY(backend.RaiseRepresentor(device, 4200));
      RAIL_TRY(backend.MoveIn(device, pod, "net1"));
      return {};
    };
    EXPECT_EQ(move_in().error().code, Code::kTransient);
    const Status status = backend.Restore(saved, &pod, "net1", After(kPatience));
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(backend.Save(device).value(), saved);
  }
}

// ovs-vswitchd looks at all its bridges again at each change of a link of the host.
TEST(Netdev, MakesADeviceAsItWasInsideThePod) {
  const Netns pod = MakeScratch();
  netlink::testing::Fake host;
  netlink::testing::Fake inside;
  host.AddVeth("vf0", "rep0");
  host.Connect(pod.fd(), inside);
  const Netns home = Netns::Current().value();
  inside.Connect(home.fd(), host);
  Netdev backend(host, [&] {
    return Result<std::unique_ptr<netlink::Netlink>>(std::make_unique<netlink::testing::Borrowed>(inside));
  });
  const Device device{"vf0", "vf0", "rep0", {}};
  const Saved saved = backend.Save(device).value();
  ASSERT_TRUE(backend.MoveIn(device, pod, "net1"));
  const int link = inside.GetLink("net1").value().index;
  ASSERT_TRUE(inside.SetMtu(link, 4200));
  ASSERT_TRUE(inside.SetMac(link, *MacAddress::Parse("02:66:66:66:66:66")));
  const size_t heard = host.calls().size();
  const Status restored = backend.Restore(saved, &pod, "net1", After(kPatience));
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(backend.Save(device).value(), saved);
  const std::vector<std::string> calls(host.calls().begin() + static_cast<ptrdiff_t>(heard),
                                       host.calls().end());
  EXPECT_THAT(calls, ::testing::IsEmpty());
}

TEST(Netdev, NamesTheDevicesThatTheRailHas) {
  netlink::testing::Fake host;
  Netdev backend(host, {});
  config::Rail rail;
  rail.name = "rail0";
  rail.devices = {{"vf0", "rep0"}, {"vf1", "rep1"}};
  EXPECT_THAT(backend.Find(rail, "eth0").error().message, HasSubstr("vf0, vf1"));
}

}  // namespace
}  // namespace rail::device
