// The kernel's own bytes where this machine has the thing (veth), messages made by the kernel's headers where it needs a NIC.
#include "lib/netlink/stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/dcbnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

#include <algorithm>
#include <map>
#include <vector>

#include "lib/netlink/builder.h"
#include "lib/netlink/testing/scratch.h"

namespace rail::netlink {
namespace {

template <class T>
std::string_view BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string_view Wire(const Builder& message) {
  nlmsghdr* header = nlmsg_hdr(message.get());
  return {reinterpret_cast<const char*>(header), header->nlmsg_len};
}

std::map<int, LinkStats> Read(Stats& stats, std::vector<int> links) {
  std::map<int, LinkStats> found;
  std::ranges::sort(links);
  const Status read =
      stats.Links(Stats::Detail::kAll, links, [&](const LinkStats& each) { found[each.index] = each; });
  EXPECT_TRUE(read) << read.error().message;
  return found;
}

TEST(StatsTest, CountsTheBytesOfALink) {
  const netns::Netns node = netns::testing::MakeScratch();
  ASSERT_TRUE(netns::testing::Shell(node,
                                    "ip link add vf0 type veth peer name rep0 && ip link set vf0 up && "
                                    "ip link set rep0 up && ip address add 10.9.0.1/24 dev vf0"));
  ASSERT_TRUE(node.Run([&]() -> Status {
    RAIL_ASSIGN(auto stats, Stats::Open());
    const int index = Stats::IndexOf("rep0");
    if (index <= 0) return Fail(Code::kInternal, "no rep0");
    const LinkStats before = Read(*stats, {index})[index];
    RAIL_TRY(netns::testing::Shell(node,
                                   "ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev vf0; "
                                   "ping -c 3 -i 0.01 -s 1000 -W 1 10.9.0.2 >/dev/null; true"));
    const auto found = Read(*stats, {index});
    EXPECT_THAT(found, testing::SizeIs(1)) << "nothing that nobody wants";
    const LinkStats after = found.at(index);
    EXPECT_GE(after.rx_bytes - before.rx_bytes, 3 * 1000U);
    EXPECT_GE(after.rx_packets - before.rx_packets, 3U);
    EXPECT_FALSE(after.slow_rx_packets.has_value()) << "a veth has no switch";
    EXPECT_EQ(Stats::IndexOf("none"), 0);
    return {};
  }));
}

// Few of many links are asked for one by one: the answers are those of the dump. The links have no IPv6: the kernel
// sends router solicitations and reports of multicast groups by itself, at times of its own.
TEST(StatsTest, FewLinksOfManyAreCountedAsInADump) {
  const netns::Netns node = netns::testing::MakeScratch();
  ASSERT_TRUE(netns::testing::Shell(
      node,
      "sysctl -qw net.ipv6.conf.default.disable_ipv6=1 && "
      "for i in $(seq 0 99); do echo link add r$i type veth peer name v$i; echo link set r$i up; "
      "echo link set v$i up; done | ip -batch - && "
      "for i in $(seq 0 39); do ip neigh add 10.9.$i.2 lladdr 02:00:00:00:00:02 dev v$i; "
      "ip address add 10.9.$i.1/24 dev v$i; ping -c 1 -s $((100 + i)) -W 0.01 10.9.$i.2 >/dev/null; done; "
      "true"));
  ASSERT_TRUE(node.Run([&]() -> Status {
    RAIL_ASSIGN(auto stats, Stats::Open());
    std::vector<int> few;
    for (int i = 0; i < 40; ++i) few.push_back(Stats::IndexOf("r" + std::to_string(i)));
    const auto dumped = Read(*stats, few);  // the first is always one
    EXPECT_THAT(dumped, testing::SizeIs(40));
    const auto asked = Read(*stats, few);  // more than one datagram of requests
    if (asked.size() != 40) return Fail(Code::kInternal, std::to_string(asked.size()) + " links");
    for (const auto& [index, link] : dumped) {
      EXPECT_GT(link.rx_bytes, 100U);
      EXPECT_EQ(asked.at(index).rx_packets, link.rx_packets);
      EXPECT_EQ(asked.at(index).rx_bytes, link.rx_bytes);
    }
    RAIL_TRY(netns::testing::Shell(node, "ip link del r7"));
    EXPECT_THAT(Read(*stats, few), testing::SizeIs(39)) << "a link that is gone is left out";
    return {};
  }));
}

TEST(StatsTest, AVethHasALineRateAndNoPfc) {
  const netns::Netns node = netns::testing::MakeScratch();
  ASSERT_TRUE(netns::testing::Shell(node, "ip link add vf0 type veth peer name rep0"));
  ASSERT_TRUE(node.Run([&]() -> Status {
    EXPECT_EQ(Stats::LineRate("vf0"), std::optional<uint64_t>(10'000 * uint64_t{125'000}));
    EXPECT_EQ(Stats::LineRate("lo"), std::nullopt);
    EXPECT_EQ(Stats::LineRate("none"), std::nullopt);
    RAIL_ASSIGN(auto stats, Stats::Open());
    const auto pfc = stats->Pfc("vf0");
    EXPECT_FALSE(pfc);
    EXPECT_EQ(pfc.error().code, Code::kUnsupported) << pfc.error().message;
    return {};
  }));
}

TEST(StatsTest, ReadsTheSlowPathOfARepresentor) {
  rtnl_link_stats64 all{};
  all.rx_bytes = 70;
  all.rx_packets = 7;
  rtnl_link_stats64 slow{};
  slow.rx_packets = 3;
  slow.tx_packets = 2;
  if_stats_msg body{};
  body.ifindex = 12;
  Builder message(RTM_NEWSTATS, 0, body);
  message.Bytes(IFLA_STATS_LINK_64, BytesOf(all));
  nlattr* nest = message.Nest(IFLA_STATS_LINK_OFFLOAD_XSTATS);
  message.Bytes(IFLA_OFFLOAD_XSTATS_CPU_HIT, BytesOf(slow));
  message.EndNest(nest);
  const auto stats = DecodeLinkStats(Wire(message));
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->index, 12);
  EXPECT_EQ(stats->rx_bytes, 70U);
  EXPECT_EQ(stats->slow_rx_packets, std::optional<uint64_t>(3));
  EXPECT_EQ(stats->slow_tx_packets, std::optional<uint64_t>(2));
}

TEST(StatsTest, LeavesOutWhatIsTooShort) {
  Builder message(RTM_NEWSTATS, 0, if_stats_msg{});
  message.Bytes(IFLA_STATS_LINK_64, "short");
  EXPECT_FALSE(DecodeLinkStats(Wire(message)));
  EXPECT_FALSE(DecodeLinkStats("x"));
  EXPECT_FALSE(DecodePfc(Wire(message)));
  EXPECT_FALSE(DecodeRdmaCounters(Wire(message)));
}

TEST(StatsTest, ReadsPausesByPriority) {
  ieee_pfc pfc{};
  pfc.pfc_en = 1 << 3;
  pfc.requests[3] = 41;
  pfc.indications[5] = 6;
  dcbmsg body{};
  body.cmd = DCB_CMD_IEEE_GET;
  Builder message(RTM_GETDCB, 0, body);
  message.String(DCB_ATTR_IFNAME, "p0");
  nlattr* nest = message.Nest(DCB_ATTR_IEEE);
  message.Bytes(DCB_ATTR_IEEE_PFC, BytesOf(pfc));
  message.EndNest(nest);
  const auto stats = DecodePfc(Wire(message));
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->enabled, 8);
  EXPECT_EQ(stats->requests[3], 41U);
  EXPECT_EQ(stats->indications[5], 6U);
  EXPECT_EQ(stats->indications[3], 0U);
}

TEST(StatsTest, ReadsAnRdmaDevicesCounters) {
  Builder message(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_STAT_GET), 0);
  message.Uint32(RDMA_NLDEV_ATTR_DEV_INDEX, 1);
  nlattr* table = message.Nest(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
  for (const auto& [name, value] :
       std::map<std::string, uint64_t>{{"np_cnp_sent", 9}, {"out_of_sequence", 4}}) {
    nlattr* entry = message.Nest(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
    message.String(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name);
    message.Bytes(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, BytesOf(value));
    message.EndNest(entry);
  }
  message.EndNest(table);
  const auto counters = DecodeRdmaCounters(Wire(message));
  ASSERT_TRUE(counters);
  ASSERT_EQ(counters->size(), 2U);
  EXPECT_EQ((*counters)[0].name, "np_cnp_sent");
  EXPECT_EQ((*counters)[1].value, 4U);
}

TEST(StatsTest, ReadsWhichLinkAnRdmaPortIs) {
  Builder message(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET), 0);
  message.Uint32(RDMA_NLDEV_ATTR_DEV_INDEX, 1)
      .Uint32(RDMA_NLDEV_ATTR_PORT_INDEX, 1)
      .String(RDMA_NLDEV_ATTR_NDEV_NAME, "net1");
  const auto port = DecodeRdmaPort(Wire(message));
  ASSERT_TRUE(port);
  EXPECT_EQ(port->port, 1U);
  EXPECT_EQ(port->link, "net1");
  EXPECT_FALSE(DecodeRdmaCounters(Wire(message)));
  EXPECT_FALSE(DecodeRdmaPort("x"));
}

TEST(StatsTest, APodsCountersAreNotThoseOfWhoeverHasItsPathNow) {
  const netns::Netns pod = netns::testing::MakeScratch();
  const std::string path = "/proc/self/fd/" + std::to_string(pod.fd());
  std::string device;
  const auto of_another = RdmaOfPod(path, {.device = 1, .inode = 2}, "net1", device);
  ASSERT_FALSE(of_another);
  EXPECT_EQ(of_another.error().code, Code::kNotFound);
  EXPECT_NE(of_another.error().message.find("another pod's namespace"), std::string::npos);
  EXPECT_FALSE(RdmaOfPod(path, pod.identity(), "net1", device)) << "it has no such device";
}

}  // namespace
}  // namespace rail::netlink
