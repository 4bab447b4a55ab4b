// On the real kernel: a veth stands for an uplink, and what is sent through it is counted.
#include "lib/counters/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "lib/netlink/testing/scratch.h"

namespace rail::counters {
namespace {

// The kernel sends nothing by itself: no neighbour solicitation is among what is counted.
constexpr const char* kQuiet =
    "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 && ";

engine::NodeView WithAPod() {
  engine::NodeView view;
  engine::AttachmentView a;
  a.attachment.id = 7;
  a.attachment.rail = "rail0";
  a.attachment.phase = state::Phase::kReady;
  a.attachment.representor = "rep0";
  a.attachment.key.ifname = "net1";
  a.attachment.pod_namespace = "ml";
  a.attachment.pod_name = "train-0";
  a.attachment.tenant = "team-a";
  a.attachment.tenant_id = {1, 2};
  view.attachments.push_back(a);
  a.attachment.id = 8;
  a.attachment.representor = "not-there";
  view.attachments.push_back(a);
  return view;
}

config::NodeConfig OneRail() {
  config::NodeConfig config;
  config.rails.push_back({.name = "rail0", .pf = "p0"});
  config.bursts = {.every_ms = 10, .line_rate_mbit = 80};
  return config;
}

TEST(SamplerTest, PortsAreUplinksAndReadyAttachments) {
  engine::NodeView view = WithAPod();
  view.attachments[1].attachment.phase = state::Phase::kAdding;
  const auto ports = PortsOf(OneRail(), view);
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_EQ(ports[0]->Name(), "rail0 uplink p0");
  EXPECT_EQ(ports[1]->Name(), "ml/train-0 net1");
  EXPECT_EQ(ports[1]->tenant, "team-a");
  EXPECT_EQ(ports[1]->tenant_id, (tenancy::TenantId{1, 2}));
}

TEST(SamplerTest, CountsWhatPodAndUplinkSend) {
  const netns::Netns node = netns::testing::MakeScratch();
  const netns::Netns pod = netns::testing::MakeScratch();
  ASSERT_TRUE(netns::testing::Shell(
      node, std::string(kQuiet) +
                "ip link add p0 type veth peer name leaf && ip link set p0 up && ip link set leaf up && "
                "ip link add rep0 type veth peer name vf0 && ip link set rep0 up && ip link set vf0 up && "
                "ip address add 10.9.0.1/24 dev vf0 && "
                "ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev vf0"));
  const config::NodeConfig config = OneRail();
  engine::ViewPublisher views;
  views.Publish(WithAPod());
  Sampler sampler(config, views, "/nowhere");
  EXPECT_EQ(sampler.Current()->version, 0U);
  ASSERT_TRUE(node.Run([&]() -> Status {
    RAIL_TRY(sampler.Open());
    RAIL_TRY(sampler.Tick());  // finds the ports
    RAIL_TRY(sampler.Tick());
    RAIL_TRY(netns::testing::Shell(node, "ping -c 11 -i 0.1 -s 1000 -W 1 10.9.0.2 >/dev/null; true"));
    RAIL_TRY(sampler.Tick());
    RAIL_TRY(netns::testing::Shell(node, "ping -c 11 -i 0.1 -s 1000 -W 1 10.9.0.2 >/dev/null; true"));
    RAIL_TRY(sampler.Tick());
    return {};
  }));
  const auto view = sampler.WaitNewer(2, After(std::chrono::seconds(1)));
  ASSERT_EQ(view->ports.size(), 2U) << "the link that is not there is left out";
  EXPECT_EQ(view->ports[0].line_rate, 80 * 125'000U);
  EXPECT_EQ(view->ports[1].line_rate, 80 * 125'000U) << "a pod has its rail's";
  const PortView& port = view->ports[1];
  EXPECT_GE(port.now.traffic[Direction::kSent].bytes - port.before->traffic[Direction::kSent].bytes,
            11 * 1000U);
  EXPECT_EQ(port.now.traffic[Direction::kSent].slow_packets, std::nullopt);
  const auto& sum = view->tenants.at({"rail0", "team-a"});
  EXPECT_GE(sum[Direction::kSent].packets, 11U);
  EXPECT_LT(sum[Direction::kReceived].bytes, sum[Direction::kSent].bytes);
  ASSERT_TRUE(port.second);
  EXPECT_GT(port.peak[Direction::kSent], 0U);
  EXPECT_TRUE(view->bursts_on);
  const BurstList list = sampler.Bursts(0);
  EXPECT_TRUE(list.bursts.empty());
  ASSERT_FALSE(list.worst.empty());
  EXPECT_EQ(list.worst[0].port->pod, "train-0");
  EXPECT_TRUE(sampler.Bursts(UnixMs() + 10'000).worst.empty());
}

TEST(SamplerTest, SlowTicksPublishOnceASecondThoughOneIsEarly) {
  const netns::Netns node = netns::testing::MakeScratch();
  ASSERT_TRUE(netns::testing::Shell(
      node, std::string(kQuiet) + "ip link add p0 type veth peer name leaf && ip link set p0 up"));
  config::NodeConfig config = OneRail();
  config.bursts.every_ms = 1000;
  engine::ViewPublisher views;
  Sampler sampler(config, views, "/nowhere");
  ASSERT_TRUE(node.Run([&]() -> Status {
    RAIL_TRY(sampler.Open());
    RAIL_TRY(sampler.Tick());
    std::this_thread::sleep_for(std::chrono::milliseconds(900));
    return sampler.Tick();
  }));
  EXPECT_EQ(sampler.Current()->version, 2U);
}

// Its link has another index then, and no view of the node tells it.
TEST(SamplerTest, AnUplinkThatIsMadeAnewIsReadAgain) {
  const netns::Netns node = netns::testing::MakeScratch();
  const std::string make = "ip link add p0 type veth peer name leaf && ip link set p0 up";
  ASSERT_TRUE(netns::testing::Shell(node, make));
  config::NodeConfig config = OneRail();
  config.bursts = {};
  engine::ViewPublisher views;
  Sampler sampler(config, views, "/nowhere");
  const auto ports = [&] {
    EXPECT_TRUE(node.Run([&] { return sampler.Tick(); }));
    return sampler.Current()->ports.size();
  };
  ASSERT_TRUE(node.Run([&] { return sampler.Open(); }));
  EXPECT_EQ(ports(), 1U);
  ASSERT_TRUE(netns::testing::Shell(node, "ip link del p0 && " + make));
  EXPECT_EQ(ports(), 0U);
  EXPECT_EQ(ports(), 1U);
}

// Without bursts nobody reads for nobody: who asks is told of a fresh reading, and for some seconds there is one each second.
TEST(SamplerTest, WithoutBurstsWhoAsksWakesTheThread) {
  const netns::Netns node = netns::testing::MakeScratch();
  ASSERT_TRUE(netns::testing::Shell(
      node, std::string(kQuiet) + "ip link add p0 type veth peer name leaf && ip link set p0 up"));
  config::NodeConfig config = OneRail();
  config.bursts = {};
  engine::ViewPublisher views;
  Sampler sampler(config, views, "/nowhere");
  int woken = 0;
  const auto tick = [&] {
    ++woken;
    if (!sampler.Due()) return;
    EXPECT_TRUE(node.Run([&] { return sampler.Tick(); }));
  };
  ASSERT_TRUE(node.Run([&] { return sampler.Open(); }));
  sampler.OnDemand(tick);
  EXPECT_FALSE(sampler.Due()) << "nobody has asked";
  EXPECT_GE(sampler.Pace(), std::chrono::seconds(5));
  EXPECT_EQ(sampler.Fresh(After(std::chrono::seconds(5)))->version, 1U);
  EXPECT_EQ(sampler.Pace(), std::chrono::seconds(1)) << "somebody looks";
  EXPECT_EQ(sampler.Fresh(After(std::chrono::seconds(5)))->version, 1U) << "it is fresh";
  EXPECT_EQ(woken, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1010));
  const auto view = sampler.WaitNewer(1, After(std::chrono::seconds(5)));
  EXPECT_EQ(view->version, 2U);
  EXPECT_EQ(woken, 2);
  ASSERT_EQ(view->ports.size(), 1U);
  EXPECT_TRUE(view->ports[0].before && view->ports[0].earlier);
  EXPECT_FALSE(view->ports[0].second) << "bursts are off";
  EXPECT_FALSE(view->bursts_on);
  std::this_thread::sleep_for(std::chrono::milliseconds(3010));
  EXPECT_GE(sampler.Pace(), std::chrono::seconds(5)) << "whoever it was has gone";
}

}  // namespace
}  // namespace rail::counters
