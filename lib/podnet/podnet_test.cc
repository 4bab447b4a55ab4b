#include "lib/podnet/kernel.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/netlink/kernel.h"
#include "lib/netlink/testing/scratch.h"

namespace rail::podnet {
namespace {

using netns::Netns;
using netns::testing::MakeScratch;
using netns::testing::Shell;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kGatewayMac[] = "02:52:41:49:4c:03";

IpAddress Ip(const char* text) {
  return *IpAddress::Parse(text);
}

// A pod with net1; rep0 is its other end on the "host".
class PodNetKernel : public ::testing::Test {
 protected:
  void SetUp() override {
    Must(Shell(host_, "ip link add vf0 type veth peer name rep0 && ip link set rep0 address " +
                          std::string(kGatewayMac) + " mtu 4200 up && ip link set vf0 mtu 4200"));
    Must(host_.Run([&]() -> Status {
      RAIL_ASSIGN(auto netlink, netlink::Kernel::Open());
      RAIL_ASSIGN(const auto link, netlink->GetLink("vf0"));
      pod_mac_ = link.mac.ToString();
      return netlink->MoveLink(link.index, pod_.fd(), "net1");
    }));
    plan_.ifname = "net1";
    plan_.mtu = 4200;
    plan_.gateway_mac = *MacAddress::Parse(kGatewayMac);
    plan_.addresses = {Ip("10.0.3.7")};
    plan_.gateways = {Ip("169.254.1.1")};
    plan_.table = 103;
    plan_.rule = 1003;
  }

  static void Must(const Status& status) { ASSERT_TRUE(status) << status.error().message; }

  void UseIpv6Too() {
    plan_.addresses.push_back(Ip("2001:db8::7"));
    plan_.gateways.push_back(Ip("fe80::1"));
  }

  std::vector<std::string> Deviations() {
    auto found = pods_.Verify(pod_, plan_);
    EXPECT_TRUE(found) << found.error().message;
    std::vector<std::string> sentences;
    for (const Deviation& each : found.value_or(std::vector<Deviation>{{"Verify failed", ""}}))
      sentences.push_back(each.what);
    return sentences;
  }

  // Sends a datagram from `from` in the pod to `to` on the host and waits for it there.
  void ExpectDelivery(const char* from, const char* to);

  const Netns host_ = MakeScratch();
  const Netns pod_ = MakeScratch();
  std::string pod_mac_;
  Kernel pods_;
  Plan plan_;
};

Result<Fd> BoundSocket(const Netns& where, const char* address, sockaddr_storage& bound, socklen_t& size) {
  Fd fd;
  const IpAddress ip = Ip(address);
  RAIL_TRY(where.Run([&]() -> Status {
    fd.Reset(::socket(ip.is_v6() ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd) return FailErrno(errno, "socket");
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    v4.sin_family = AF_INET;
    v6.sin6_family = AF_INET6;
    std::memcpy(ip.is_v6() ? static_cast<void*>(&v6.sin6_addr) : &v4.sin_addr, ip.bytes().data(),
                ip.bytes().size());
    size = ip.is_v6() ? sizeof v6 : sizeof v4;
    std::memcpy(&bound, ip.is_v6() ? static_cast<void*>(&v6) : &v4, size);
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&bound), size) != 0) return FailErrno(errno, "bind");
    if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0)
      return FailErrno(errno, "getsockname");
    return {};
  }));
  return fd;
}

void PodNetKernel::ExpectDelivery(const char* from, const char* to) {
  sockaddr_storage there{};
  sockaddr_storage here{};
  socklen_t there_size = 0;
  socklen_t here_size = 0;
  auto receiver = BoundSocket(host_, to, there, there_size);
  ASSERT_TRUE(receiver) << receiver.error().message;
  auto sender = BoundSocket(pod_, from, here, here_size);
  ASSERT_TRUE(sender) << sender.error().message;
  // A link that has just come up drops what it is given until the kernel has noticed.
  pollfd p{receiver->get(), POLLIN, 0};
  int arrived = 0;
  for (int tries = 0; tries < 50 && arrived == 0; ++tries) {
    ASSERT_EQ(::sendto(sender->get(), "rail", 4, 0, reinterpret_cast<sockaddr*>(&there), there_size), 4)
        << strerror(errno);
    arrived = ::poll(&p, 1, 100);
  }
  ASSERT_EQ(arrived, 1) << "nothing arrived from " << from << " at " << to;
  char buffer[8] = {};
  sockaddr_storage source{};
  socklen_t source_size = sizeof source;
  ASSERT_EQ(::recvfrom(receiver->get(), buffer, sizeof buffer, 0, reinterpret_cast<sockaddr*>(&source),
                       &source_size),
            4);
  EXPECT_EQ(std::memcmp(&source, &here, here_size), 0) << "it arrived with another source";

  // And back.
  ASSERT_EQ(::sendto(receiver->get(), "back", 4, 0, reinterpret_cast<sockaddr*>(&source), source_size), 4);
  pollfd q{sender->get(), POLLIN, 0};
  EXPECT_EQ(::poll(&q, 1, 5000), 1) << "no answer came back to " << from;
}

TEST_F(PodNetKernel, VerifiesWhatItConfigured) {
  UseIpv6Too();
  Must(pods_.Configure(pod_, plan_));
  EXPECT_THAT(Deviations(), IsEmpty());
}

TEST_F(PodNetKernel, MayBeRepeated) {
  UseIpv6Too();
  plan_.routes = {
      {.destination = *IpPrefix::Parse("10.0.0.0/8"), .gateway = {}, .priority = {}, .table = {}}};
  Must(pods_.Configure(pod_, plan_));
  Must(pods_.Configure(pod_, plan_));
  EXPECT_THAT(Deviations(), IsEmpty());
}

TEST_F(PodNetKernel, CompletesWhatACrashLeftHalfDone) {
  Must(Shell(pod_,
             "ip address add 10.0.3.7/32 dev net1 && ip link set net1 up && ip rule add from 10.0.3.7 table "
             "103 pref 1003"));
  EXPECT_FALSE(Deviations().empty());
  Must(pods_.Configure(pod_, plan_));
  EXPECT_THAT(Deviations(), IsEmpty());
}

TEST_F(PodNetKernel, LeavesTheMainTableToThePrimaryInterface) {
  Must(pods_.Configure(pod_, plan_));
  Must(Shell(pod_, "test -z \"$(ip route show table main)\""));
}

TEST_F(PodNetKernel, HasNoIpv6AddressAtAllUnlessIpv6IsUsed) {
  Must(pods_.Configure(pod_, plan_));
  Must(Shell(pod_, "test -z \"$(ip -6 address show dev net1)\""));
}

TEST_F(PodNetKernel, HasNoLinkLocalAddressBesideItsIpv6One) {
  UseIpv6Too();
  Must(pods_.Configure(pod_, plan_));
  Must(Shell(pod_, "test \"$(ip -6 -oneline address show dev net1 | wc -l)\" = 1"));
}

TEST_F(PodNetKernel, CarriesIpv4WithoutArp) {
  Must(pods_.Configure(pod_, plan_));
  Must(Shell(host_,
             "ip link set rep0 arp off && ip address add 10.9.9.9/32 dev rep0 && ip route add 10.0.3.7/32 "
             "dev rep0 && "
             "ip neighbour replace 10.0.3.7 lladdr " +
                 pod_mac_ + " nud permanent dev rep0"));
  ExpectDelivery("10.0.3.7", "10.9.9.9");
}

TEST_F(PodNetKernel, CarriesIpv6WithoutNeighbourDiscovery) {
  UseIpv6Too();
  Must(pods_.Configure(pod_, plan_));
  Must(Shell(host_,
             "ip link set rep0 arp off && ip address add 2001:db8::9/128 dev rep0 nodad && "
             "ip route add 2001:db8::7/128 dev rep0 && "
             "ip neighbour replace 2001:db8::7 lladdr " +
                 pod_mac_ + " nud permanent dev rep0"));
  ExpectDelivery("2001:db8::7", "2001:db8::9");
}

TEST_F(PodNetKernel, PutsTheRoutesOfIpamWhereItSays) {
  plan_.routes = {{.destination = *IpPrefix::Parse("10.0.0.0/8"),
                   .gateway = {},
                   .mtu = 4000,
                   .advmss = 3960,
                   .priority = {},
                   .table = {}},
                  {.destination = *IpPrefix::Parse("10.1.0.0/16"),
                   .gateway = Ip("10.0.3.1"),
                   .priority = 50,
                   .table = 77},
                  {.destination = *IpPrefix::Parse("10.2.0.0/16"),
                   .gateway = {},
                   .priority = {},
                   .table = {},
                   .scope = Scope::kLink}};
  Must(pods_.Configure(pod_, plan_));
  EXPECT_THAT(Deviations(), IsEmpty());
  Must(Shell(pod_,
             "ip route show table main | grep -q '10.0.0.0/8 via 169.254.1.1 dev net1 .*onlink mtu 4000 "
             "advmss 3960'"));
  Must(Shell(pod_, "ip route show table 77 | grep -q '10.1.0.0/16 via 10.0.3.1 dev net1 .*metric 50'"));
  Must(Shell(pod_, "ip route show table main | grep -q '10.2.0.0/16 dev net1 .*scope link'"));
  Must(Shell(pod_, "ip neighbour show dev net1 | grep -q '10.0.3.1 lladdr " + std::string(kGatewayMac) +
                       " PERMANENT'"));
}

// As ovs-cni leaves an interface: IPAM's addresses with the length of their subnet, and its routes without the flag onlink.
TEST_F(PodNetKernel, TakesTheAddressesAndRoutesThatAnotherPluginHasSet) {
  plan_.addresses.push_back(Ip("2001:db8::7"));
  plan_.gateways = {Ip("10.0.3.1"), Ip("2001:db8::1")};
  plan_.routes = {
      {.destination = *IpPrefix::Parse("10.96.0.0/16"), .gateway = {}, .priority = {}, .table = {}},
      {.destination = *IpPrefix::Parse("2001:db8:9::/48"), .gateway = {}, .priority = {}, .table = {}}};
  Must(Shell(pod_,
             "ip link set net1 up && ip address add 10.0.3.7/24 dev net1 && "
             "ip address add 2001:db8::7/64 dev net1 nodad && ip route add 10.96.0.0/16 via 10.0.3.1 && "
             "ip -6 route add 2001:db8:9::/48 via 2001:db8::1 dev net1"));
  for (int i = 0; i < 2; ++i) {
    Must(pods_.Configure(pod_, plan_));
    EXPECT_THAT(Deviations(), IsEmpty());
  }
}

// What Multus does when a pod's annotation says "default-route": [gateway] of this network. It takes the default routes in main off
// the other interfaces, and adds its own without the flag onlink.
TEST_F(PodNetKernel, TakesTheDefaultRouteThatMultusGivesIt) {
  UseIpv6Too();
  plan_.gateways[1] = Ip("2001:db8::1");  // the kernel does not look for a link-local one
  Must(Shell(pod_,
             "ip link add eth0 type veth peer name other && ip link set eth0 up && ip address add "
             "192.0.2.2/24 dev eth0 && ip route add default via 192.0.2.1"));
  Must(pods_.Configure(pod_, plan_));
  Must(Shell(pod_, "ip route del default dev eth0"));
  Must(Shell(pod_, "ip route add default via 169.254.1.1 dev net1"));
  Must(Shell(pod_, "ip -6 route add default via 2001:db8::1 dev net1"));
  Must(Shell(pod_, "ip route get 198.51.100.9 | grep -q 'via 169.254.1.1 dev net1 .*src 10.0.3.7'"));
  EXPECT_THAT(Deviations(), IsEmpty());
  // Multus also writes the routes into the result, from which CHECK takes them.
  plan_.routes = {
      {.destination = *IpPrefix::Parse("0.0.0.0/0"),
       .gateway = Ip("169.254.1.1"),
       .priority = {},
       .table = {}},
      {.destination = *IpPrefix::Parse("::0/0"), .gateway = Ip("2001:db8::1"), .priority = {}, .table = {}}};
  EXPECT_THAT(Deviations(), IsEmpty());
  Must(Shell(pod_, "ip route del default dev net1"));
  EXPECT_THAT(Deviations(), ElementsAre(HasSubstr("route 0.0.0.0/0 via 169.254.1.1")));
}

TEST_F(PodNetKernel, OnlyTheRailThatMultusNamesTakesTheDefaultRouteThoughTheRailsShareAGateway) {
  Must(Shell(
      pod_, "ip link add net2 type veth peer name rep1 && ip link set net2 mtu 4200 && ip link set rep1 up"));
  Plan other = plan_;
  other.ifname = "net2";
  other.addresses = {Ip("10.1.3.7")};
  other.table = 104;
  other.rule = 1004;
  Must(pods_.Configure(pod_, plan_));
  Must(pods_.Configure(pod_, other));
  Must(Shell(pod_, "ip route add default via 169.254.1.1 dev net2"));
  Must(Shell(pod_, "ip route get 198.51.100.9 | grep -q 'dev net2 .*src 10.1.3.7'"));
  Must(Shell(pod_, "ip route get 198.51.100.9 from 10.0.3.7 | grep -q 'dev net1 table 103'"));
  Must(Shell(pod_, "ip route get 198.51.100.9 oif net1 | grep -q 'dev net1 table 103'"));
  EXPECT_THAT(Deviations(), IsEmpty());
}

TEST_F(PodNetKernel, RefusesADefaultRouteByWayOfAStranger) {
  Must(pods_.Configure(pod_, plan_));
  EXPECT_FALSE(Shell(pod_, "ip route add default via 169.254.1.9 dev net1 2>/dev/null"));
}

TEST_F(PodNetKernel, RefusesToReplaceAnothersRoute) {
  Must(Shell(pod_,
             "ip link add eth0 type veth peer name other && ip link set eth0 up && ip address add "
             "192.0.2.2/24 dev eth0 && "
             "ip route add default via 192.0.2.1"));
  plan_.routes = {{.destination = *IpPrefix::Parse("0.0.0.0/0"), .gateway = {}, .priority = 0, .table = {}}};
  const Status status = pods_.Configure(pod_, plan_);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kExists);
  EXPECT_THAT(status.error().message, HasSubstr("another route, 0.0.0.0/0 via 192.0.2.1"));
  EXPECT_THAT(status.error().message,
              HasSubstr("(interface eth0), is in the pod; give IPAM's another priority"));
  Must(Shell(pod_, "ip route show default | grep -q 'via 192.0.2.1 dev eth0'"));
}

// host-local with two ranges, each with a gateway.
TEST_F(PodNetKernel, TakesTwoAddressesOfAFamilyWithAGatewayEach) {
  plan_.addresses = {Ip("10.0.3.7"), Ip("10.0.4.7"), Ip("2001:db8:3::7"), Ip("2001:db8:4::7")};
  plan_.gateways = {Ip("10.0.3.1"), Ip("10.0.4.1"), Ip("2001:db8:3::1"), Ip("2001:db8:4::1")};
  plan_.routes = {{.destination = *IpPrefix::Parse("2001:db8::/32"),
                   .gateway = Ip("2001:db8:4::1"),
                   .priority = {},
                   .table = {}}};
  Must(pods_.Configure(pod_, plan_));
  EXPECT_THAT(Deviations(), IsEmpty());
  for (const char* each : {"10.0.3.", "10.0.4.", "2001:db8:3::", "2001:db8:4::"}) {
    const char* there = std::string_view(each).ends_with(':') ? "2001:db8:9::9" : "198.51.100.9";
    Must(Shell(pod_, std::string("ip route get ") + there + " from " + each +
                         "7 | grep -q 'dev net1 table 103' && ip neighbour show dev net1 | grep -q '^" +
                         each + "1 lladdr " + kGatewayMac + " PERMANENT'"));
  }
}

// The pod's first interface routes the whole fabric, and the rail's gateways with it.
TEST_F(PodNetKernel, WhatIsBoundToAnAddressLeavesByItsRailThoughEth0RoutesTheFabric) {
  plan_.addresses = {Ip("10.0.3.7"), Ip("2001:db8::7")};
  plan_.gateways = {Ip("10.0.3.6"), Ip("2001:db8::6")};
  plan_.metric = 2003;
  for (const char* fabric : {"10.0.0.0/8", "2001:db8::/32"})
    plan_.routes.push_back(
        {.destination = *IpPrefix::Parse(fabric), .gateway = {}, .priority = {}, .table = {}});
  Must(
      Shell(pod_,
            "ip link add eth0 type veth peer name other && ip link set eth0 up && ip link set other up && "
            "ip address add 192.0.2.2/24 dev eth0 && ip -6 address add 2001:db8:ffff::2/64 dev eth0 nodad && "
            "ip route add 10.0.0.0/8 via 192.0.2.1 && ip -6 route add 2001:db8::/32 dev eth0"));
  Must(pods_.Configure(pod_, plan_));
  EXPECT_THAT(Deviations(), IsEmpty());
  Must(Shell(host_,
             "ip link set rep0 arp off && ip address add 10.9.9.9/32 dev rep0 && ip route add 10.0.3.7/32 "
             "dev rep0 && ip neighbour replace 10.0.3.7 lladdr " +
                 pod_mac_ +
                 " nud permanent dev rep0 && ip address add 2001:db8:9::9/128 dev rep0 nodad && "
                 "ip route add 2001:db8::7/128 dev rep0 && ip neighbour replace 2001:db8::7 lladdr " +
                 pod_mac_ + " nud permanent dev rep0"));
  ExpectDelivery("10.0.3.7", "10.9.9.9");
  ExpectDelivery("2001:db8::7", "2001:db8:9::9");
}

// Earlier versions gave IPAM's routes no metric, and ovs-cni gives them none.
TEST_F(PodNetKernel, KnowsARouteOfIpamWithoutTheRailsMetric) {
  plan_.routes = {
      {.destination = *IpPrefix::Parse("10.0.0.0/8"), .gateway = {}, .priority = {}, .table = {}}};
  Must(pods_.Configure(pod_, plan_));
  Must(Shell(pod_, "test \"$(ip route show 10.0.0.0/8 | grep -c metric)\" = 0"));
  plan_.metric = 2003;
  EXPECT_THAT(Deviations(), IsEmpty());
  Must(Shell(pod_, "ip route del 10.0.0.0/8"));
  EXPECT_THAT(Deviations(), ElementsAre(HasSubstr("route 10.0.0.0/8 via 169.254.1.1")));
  Must(pods_.Deconfigure(pod_, plan_));
}

TEST_F(PodNetKernel, TellsEveryDeviationApart) {
  UseIpv6Too();
  plan_.routes = {
      {.destination = *IpPrefix::Parse("10.0.0.0/8"), .gateway = {}, .priority = {}, .table = {}}};
  Must(pods_.Configure(pod_, plan_));
  const struct {
    const char* break_it;
    const char* mend_it;
    const char* expected;
  } kCases[] = {
      {"ip rule del pref 1003", "ip rule add from 10.0.3.7 table 103 pref 1003",
       "policy rule 1003: from 10.0.3.7/32"},
      {"ip rule del pref 1103", "ip rule add oif net1 table 103 pref 1103", "policy rule 1103: oif net1"},
      {"ip -6 rule del pref 1103", "ip -6 rule add oif net1 table 103 pref 1103", "(IPv6) is missing"},
      {"ip route del default table 103", "ip route add default via 169.254.1.1 dev net1 onlink table 103",
       "route 0.0.0.0/0 via"},
      {"ip route change 10.0.0.0/8 via 169.254.1.1 dev net1 onlink mtu 1400",
       "ip route change 10.0.0.0/8 via 169.254.1.1 dev net1 onlink", "route 10.0.0.0/8"},
      {"ip link set net1 mtu 4000", "ip link set net1 mtu 4200", "MTU is 4000 instead of 4200"},
      {"ip neighbour del 169.254.1.1 dev net1",
       "ip neighbour add 169.254.1.1 lladdr 02:52:41:49:4c:03 nud permanent dev net1",
       "gateway 169.254.1.1 is missing"},
      {"ip neighbour replace 169.254.1.1 lladdr 02:00:00:00:00:01 nud permanent dev net1",
       "ip neighbour replace 169.254.1.1 lladdr 02:52:41:49:4c:03 nud permanent dev net1",
       "02:00:00:00:00:01 instead of"},
      {"echo 1 > /proc/sys/net/ipv4/conf/net1/rp_filter", "echo 2 > /proc/sys/net/ipv4/conf/net1/rp_filter",
       "rp_filter is 1 instead of 2"},
      {"ip -6 address del 2001:db8::7/128 dev net1", "ip -6 address add 2001:db8::7/128 dev net1 nodad",
       "address 2001:db8::7/128 is missing"},
  };
  for (const auto& [break_it, mend_it, expected] : kCases) {
    SCOPED_TRACE(break_it);
    Must(Shell(pod_, break_it));
    EXPECT_THAT(Deviations(), ElementsAre(HasSubstr(expected)));
    Must(Shell(pod_, mend_it));
    EXPECT_THAT(Deviations(), IsEmpty());
  }
  Must(Shell(pod_, "ip link set net1 down"));
  EXPECT_THAT(Deviations(), ::testing::Contains("net1: the interface is down"));
  Must(Shell(pod_, "ip link del net1"));
  EXPECT_THAT(Deviations(), ElementsAre("net1: there is no such interface in the pod"));
}

TEST_F(PodNetKernel, TellsTheCommandThatMendsEachDeviationAndWhetherItCuts) {
  UseIpv6Too();
  plan_.mac = *MacAddress::Parse(pod_mac_);
  plan_.routes = {{.destination = *IpPrefix::Parse("10.0.0.0/8"),
                   .gateway = {},
                   .mtu = 4000,
                   .advmss = 3960,
                   .priority = 50,
                   .table = 77},
                  {.destination = *IpPrefix::Parse("10.2.0.0/16"),
                   .gateway = {},
                   .priority = {},
                   .table = {},
                   .scope = Scope::kLink},
                  {.destination = *IpPrefix::Parse("2001:db8:2::/48"),
                   .gateway = {},
                   .priority = {},
                   .table = {},
                   .scope = Scope::kLink}};
  Must(pods_.Configure(pod_, plan_));
  const struct {
    const char* break_it;
    bool cuts;
  } kCases[] = {
      {"ip rule del pref 1003", true},
      {"ip -6 rule del pref 1103", true},
      {"ip route del default table 103", true},
      {"ip -6 route del default table 103", true},
      {"ip route flush table 77", true},
      {"ip route del 10.2.0.0/16", true},
      {"ip -6 route del 2001:db8:2::/48", true},
      {"ip link set net1 mtu 4000", false},
      {"ip link set net1 address 02:66:66:66:66:66", true},
      {"ip neighbour del 169.254.1.1 dev net1", true},
      {"ip neighbour replace fe80::1 lladdr 02:00:00:00:00:01 nud permanent dev net1", true},
      {"echo 1 > /proc/sys/net/ipv4/conf/net1/rp_filter", false},
      {"echo 1 > /proc/sys/net/ipv6/conf/net1/disable_ipv6", true},
      {"ip address flush dev net1", true},
      {"ip link set net1 down", true},
  };
  for (const auto& [break_it, cuts] : kCases) {
    SCOPED_TRACE(break_it);
    Must(Shell(pod_, break_it));
    const auto found = pods_.Verify(pod_, plan_);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_THAT(*found, Not(IsEmpty()));
    std::string all;
    for (const Deviation& each : *found) all += (all.empty() ? "" : " && ") + each.command;
    EXPECT_EQ(std::ranges::any_of(*found, &Deviation::cuts), cuts);
    Must(Shell(pod_, all));
    EXPECT_THAT(Deviations(), IsEmpty()) << all;
  }
}

TEST_F(PodNetKernel, LeavesNoRuleBehind) {
  UseIpv6Too();
  Must(pods_.Configure(pod_, plan_));
  Must(pods_.Deconfigure(pod_, plan_));
  Must(pods_.Deconfigure(pod_, plan_));
  Must(Shell(pod_, "test -z \"$(ip rule show | grep 103; ip -6 rule show | grep 103)\""));
}

TEST_F(PodNetKernel, RefusesAPlanThatContradictsItself) {
  const auto refused = [&](const Plan& plan) {
    const Status status = pods_.Configure(pod_, plan);
    return !status && status.error().code == Code::kInvalid;
  };
  Plan plan = plan_;
  plan.addresses.clear();
  EXPECT_TRUE(refused(plan));
  plan = plan_;
  plan.table = 254;
  EXPECT_TRUE(refused(plan));
  plan = plan_;
  plan.gateways.clear();
  EXPECT_TRUE(refused(plan));
  plan = plan_;
  plan.routes = {{.destination = *IpPrefix::Parse("::/0"), .gateway = {}, .priority = {}, .table = {}}};
  EXPECT_TRUE(refused(plan));
}

TEST_F(PodNetKernel, SaysWhichInterfaceIsMissing) {
  plan_.ifname = "net9";
  const Status status = pods_.Configure(pod_, plan_);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kNotFound);
  EXPECT_THAT(status.error().message, HasSubstr("net9"));
}

}  // namespace
}  // namespace rail::podnet
