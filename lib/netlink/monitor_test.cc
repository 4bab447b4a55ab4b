#include "lib/netlink/monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "lib/base/clock.h"
#include "lib/netlink/kernel.h"
#include "lib/netlink/testing/scratch.h"

namespace rail::netlink {
namespace {

using netns::testing::MakeScratch;
using netns::testing::Shell;
using ::testing::Contains;
using ::testing::IsEmpty;

class MonitorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Must(Shell(where_, "ip link add vf0 type veth peer name rep0"));
    Must(where_.Run([&]() -> Status {
      RAIL_ASSIGN(monitor_, Monitor::Open());
      RAIL_ASSIGN(netlink_, Kernel::Open());
      return {};
    }));
    vf0_ = netlink_->GetLink("vf0")->index;
    rep0_ = netlink_->GetLink("rep0")->index;
  }
  static void Must(const Status& status) { ASSERT_TRUE(status) << status.error().message; }
  bool Readable() const {
    pollfd p{monitor_->fd(), POLLIN, 0};
    return ::poll(&p, 1, 0) == 1;
  }

  const netns::Netns where_ = MakeScratch();
  std::unique_ptr<Monitor> monitor_;
  std::unique_ptr<Netlink> netlink_;
  int vf0_ = 0;
  int rep0_ = 0;
};

TEST_F(MonitorTest, IsSilentWhenNothingHappens) {
  EXPECT_FALSE(Readable());
  const auto changes = monitor_->Receive();
  ASSERT_TRUE(changes) << changes.error().message;
  EXPECT_THAT(changes->links, IsEmpty());
  EXPECT_FALSE(changes->neighbours_changed);
  EXPECT_FALSE(changes->overrun);
}

TEST_F(MonitorTest, NamesEachChangedLinkOnce) {
  Must(netlink_->SetMtu(vf0_, 2000));
  Must(netlink_->SetMtu(vf0_, 3000));
  EXPECT_TRUE(Readable());
  EXPECT_THAT(monitor_->Receive()->links, ::testing::ElementsAre(vf0_));
  EXPECT_FALSE(Readable());
}

TEST_F(MonitorTest, TellsOfLinksThatGoAndCome) {
  Must(Shell(where_, "ip link del vf0 && ip link add vf7 type veth peer name rep7"));
  const auto changes = monitor_->Receive();
  EXPECT_THAT(changes->links, Contains(vf0_));
  EXPECT_THAT(changes->links, Contains(rep0_));
  EXPECT_THAT(changes->links, Contains(netlink_->GetLink("vf7")->index));
}

TEST_F(MonitorTest, TellsOfNeighbours) {
  Must(netlink_->SetUp(vf0_));
  (void)monitor_->Receive();
  Must(netlink_->SetPermanentNeighbour(vf0_, *IpAddress::Parse("169.254.1.1"),
                                       *MacAddress::Parse("02:00:00:00:00:01")));
  EXPECT_TRUE(monitor_->Receive()->neighbours_changed);
  Must(netlink_->SetPermanentNeighbour(vf0_, *IpAddress::Parse("169.254.1.1"),
                                       *MacAddress::Parse("02:00:00:00:00:02")));
  EXPECT_TRUE(monitor_->Receive()->neighbours_changed);
}

TEST_F(MonitorTest, TellsOfDefaultRoutesAndNotOfThoseThatComeWithPods) {
  Must(netlink_->SetUp(vf0_));
  Must(netlink_->SetUp(rep0_));
  Must(where_.Run([&]() -> Status {
    RAIL_ASSIGN(monitor_, Monitor::OpenForAddresses());
    return {};
  }));
  const auto changed = [&](const std::string& command) {
    Must(Shell(where_, command));
    return monitor_->Receive()->default_routes_changed;
  };
  EXPECT_TRUE(changed("ip -4 route add default via inet6 fe80::1 dev vf0"));
  EXPECT_FALSE(changed("ip route add 10.0.3.7/32 dev vf0; ip -6 route add fd00::7/128 dev vf0"));
  EXPECT_TRUE(changed("ip -6 route add default via fe80::1 dev vf0"));
  EXPECT_TRUE(changed("ip route del default"));
  EXPECT_TRUE(changed("ip nexthop add id 1 via fe80::1 dev vf0"));
}

TEST_F(MonitorTest, HearsNothingOfOtherNamespaces) {
  const netns::Netns other = MakeScratch();
  Must(Shell(other, "ip link add vf0 type veth peer name rep0"));
  EXPECT_THAT(monitor_->Receive()->links, IsEmpty());
}

TEST_F(MonitorTest, SaysThatItLostEventsAndGoesOn) {
  for (uint32_t i = 0; i < 4000; ++i) Must(netlink_->SetMtu(vf0_, 2000 + i % 2));
  const auto changes = monitor_->Receive();
  ASSERT_TRUE(changes) << changes.error().message;
  EXPECT_TRUE(changes->overrun);
  Must(netlink_->SetMtu(rep0_, 3000));
  const auto later = monitor_->Receive();
  EXPECT_FALSE(later->overrun);
  EXPECT_THAT(later->links, ::testing::ElementsAre(rep0_));
}

}  // namespace
}  // namespace rail::netlink
