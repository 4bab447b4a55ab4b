// Several rails in one pod, beside eth0 and what other plugins put there: routes, tables and rules on the kernel.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include <vector>

#include "lib/netlink/testing/scratch.h"
#include "lib/podnet/kernel.h"

namespace rail::podnet {
namespace {

using netns::Netns;
using netns::testing::MakeScratch;
using netns::testing::Shell;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

IpAddress Ip(const std::string& text) {
  return *IpAddress::Parse(text);
}

// A pod with eth0 and net0, net1, ... and what the pools of a rail-optimised fabric say: each rail its block, and on rails the
// whole fabric, 10.0.0.0/8 and fd00::/8, in which the gateways are, too.
class Rails : public ::testing::Test {
 protected:
  ~Rails() override { std::filesystem::remove(file_); }
  static void Must(const Status& status) { ASSERT_TRUE(status) << status.error().message; }

  // One process, however many lines. `and_then`: of the shell, on its output.
  void Batch(const std::string& lines, const std::string& and_then = "cat >/dev/null") {
    Must(Shell(pod_, "ip -batch - <<END | " + and_then + "\n" + lines + "END"));
  }
  void MakeLinks(int rails) {
    std::string lines =
        "link set lo up\nlink add eth0 type veth peer name peth0\nlink set eth0 up\nlink set peth0 up\n";
    for (int i = 0; i < rails; ++i)
      lines += fmt::format(
          "link add net{0} type veth peer name rep{0}\nlink set rep{0} up\nlink set net{0} up\n", i);
    Batch(lines);
  }
  void ConfigureEth0() {
    Must(Shell(pod_,
               "ip address add 10.255.0.2/24 dev eth0 && ip -6 address add fd00:ffff::2/64 dev eth0 nodad && "
               "ip route add default via 10.255.0.1 && ip -6 route add default via fd00:ffff::1 && "
               "ip route add 10.0.0.0/8 via 10.255.0.1 && ip -6 route add fd00::/8 dev eth0"));
  }
  static std::string Four(int rail) { return fmt::format("10.{}.9.201", rail); }
  static std::string Six(int rail) { return fmt::format("fd00:{}::c9", rail); }

  static Plan PlanOf(int rail, bool v4, bool v6, bool fabric) {
    Plan plan;
    const auto number = static_cast<uint32_t>(rail);
    plan.ifname = fmt::format("net{}", rail);
    plan.gateway_mac = *MacAddress::Parse("02:52:41:49:4c:03");
    plan.table = 524100 + number;
    plan.rule = 700 + number;
    plan.metric = 2000 + number;
    const auto route = [&](const std::string& to) {
      plan.routes.push_back(
          {.destination = *IpPrefix::Parse(to), .gateway = {}, .priority = {}, .table = {}});
    };
    if (v4) {
      plan.addresses.push_back(Ip(Four(rail)));
      plan.gateways.push_back(Ip(fmt::format("10.{}.9.200", rail)));
      route(fmt::format("10.{}.0.0/16", rail));
      if (fabric) route("10.0.0.0/8");
    }
    if (v6) {
      plan.addresses.push_back(Ip(Six(rail)));
      plan.gateways.push_back(Ip(fmt::format("fd00:{}::c8", rail)));
      route(fmt::format("fd00:{}::/32", rail));
      if (fabric) route("fd00::/8");
    }
    return plan;
  }
  std::vector<std::string> Deviations(const Plan& plan) {
    auto found = pods_.Verify(pod_, plan);
    EXPECT_TRUE(found) << found.error().message;
    std::vector<std::string> sentences;
    for (const Deviation& each : found.value_or(std::vector<Deviation>{{"Verify failed", ""}}))
      sentences.push_back(each.what);
    return sentences;
  }

  const Netns pod_ = MakeScratch();
  Kernel pods_;
  const std::string file_ = ::testing::TempDir() + "railcni-rails-" + std::to_string(::getpid());
};

struct Shape {
  bool v4, v6;
  int rails;
  bool (*routes_fabric)(int rail);
  bool eth0_first;
};

class RailsOfAShape : public Rails, public ::testing::WithParamInterface<Shape> {};

TEST_P(RailsOfAShape, EachRoutesTheFabricBesideTheOthersAndEth0) {
  const Shape& shape = GetParam();
  MakeLinks(shape.rails);
  if (shape.eth0_first) ConfigureEth0();
  const std::string routes_of_eth0 = "(ip route show dev eth0; ip -6 route show dev eth0)";
  Must(Shell(pod_, "before=\"$" + routes_of_eth0 + "\"; printf '%s' \"$before\" > " + file_));
  std::vector<Plan> plans;
  for (int rail = 0; rail < shape.rails; ++rail)
    plans.push_back(PlanOf(rail, shape.v4, shape.v6, shape.routes_fabric(rail)));
  for (const Plan& plan : plans) Must(pods_.Configure(pod_, plan));
  if (shape.eth0_first) {
    Must(Shell(pod_, "test \"$" + routes_of_eth0 + "\" = \"$(cat " + file_ + ")\""));
  } else {
    ConfigureEth0();
  }
  for (const Plan& plan : plans) {
    Must(pods_.Configure(pod_, plan));
    EXPECT_THAT(Deviations(plan), IsEmpty());
  }
  std::string lines;
  int ways = 0;
  for (int rail = 0; rail < shape.rails; ++rail) {
    if (shape.v4)
      lines += fmt::format("route get 10.99.0.1 oif net{}\nroute get 10.99.0.1 from {}\n", rail, Four(rail));
    if (shape.v6)
      lines += fmt::format("route get fd00:99::1 oif net{}\nroute get fd00:99::1 from {}\n", rail, Six(rail));
    ways += shape.v4 && shape.v6 ? 4 : 2;
  }
  // By "dev net3 table 524103".
  Batch(lines, fmt::format("grep -c 'dev net\\([0-7]\\) table 52410\\1 ' | grep -qx {}", ways));
  Batch("route get 10.99.0.1\nroute get fd00:99::1\nroute get 198.51.100.9\n",
        "grep -c 'dev eth0' | grep -qx 3");
  for (const Plan& plan : plans) Must(pods_.Deconfigure(pod_, plan));
  Must(Shell(pod_, "test -z \"$(ip rule show | grep 5241; ip -6 rule show | grep 5241)\""));
}

std::vector<Shape> Shapes() {
  const auto one = [](int rail) { return rail == 1; };
  const auto some = [](int rail) { return rail != 1; };
  const auto all = [](int) { return true; };
  std::vector<Shape> shapes;
  for (const bool first : {true, false}) {
    for (const auto& [v4, v6] : {std::pair(true, false), std::pair(false, true), std::pair(true, true)}) {
      shapes.push_back({v4, v6, 2, all, first});
      shapes.push_back({v4, v6, 3, some, first});
      shapes.push_back({v4, v6, 4, one, first});
    }
    shapes.push_back({true, true, 8, all, first});
  }
  return shapes;
}

INSTANTIATE_TEST_SUITE_P(, RailsOfAShape, ::testing::ValuesIn(Shapes()), [](const auto& param) {
  const Shape& shape = param.param;
  return fmt::format("{}{}Rails{}Eth0{}", shape.v4 ? shape.v6 ? "Dual" : "Four" : "Six", shape.rails,
                     param.index, shape.eth0_first ? "First" : "Last");
});

TEST_F(Rails, TheFirstOneGoesFirstForWhatIsBoundToNothing) {
  MakeLinks(2);
  for (const int rail : {1, 0}) Must(pods_.Configure(pod_, PlanOf(rail, true, true, true)));
  Must(Shell(pod_,
             "ip route get 10.99.0.1 | grep -q 'dev net0 .*src 10.0.9.201' && "
             "ip route get fd00:99::1 | grep -q 'dev net0 .*src fd00::c9'"));
}

TEST_F(Rails, ACommandBringsARouteBackWhoseGatewayEth0Covers) {
  MakeLinks(1);
  ConfigureEth0();
  const Plan plan = PlanOf(0, true, true, true);
  Must(pods_.Configure(pod_, plan));
  Must(Shell(pod_,
             "ip -6 rule del pref 800 && ip -6 route flush table 524100 && ip route flush table 524100 && "
             "ip -6 route del fd00::/8 dev net0 && ip route del 10.0.0.0/8 dev net0"));
  const auto found = pods_.Verify(pod_, plan);
  ASSERT_TRUE(found) << found.error().message;
  std::string all = "true";
  for (const Deviation& each : *found) all += " && " + each.command;
  Must(Shell(pod_, all));
  EXPECT_THAT(Deviations(plan), IsEmpty()) << all;
}

// Istio's ambient mode, in each pod of a mesh: what has its mark is the pod's own.
TEST_F(Rails, LeaveTheTablesOfOthersAlone) {
  MakeLinks(1);
  const std::string ambient =
      "ip rule add fwmark 0x539 lookup 100 pref 32764 && ip route add local 0.0.0.0/0 dev lo table 100";
  Must(Shell(pod_, ambient));
  Plan plan = PlanOf(0, true, true, true);
  plan.table = 100;
  const Status refused = pods_.Configure(pod_, plan);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kExists);
  for (const char* word :
       {"configure net0 in the pod", "table 100", "local 0.0.0.0/0", "interface lo", "pods.first_table"})
    EXPECT_THAT(refused.error().message, HasSubstr(word));
  Must(Shell(
      pod_,
      "test -z \"$(ip address show dev net0 | grep inet\\ )\" && test -z \"$(ip route show dev net0)\" && "
      "! ip rule show | grep -q 'pref\\|^[78]00:'"));
  plan.table = 524100;
  Must(pods_.Configure(pod_, plan));
  Must(
      Shell(pod_, "ip rule del fwmark 0x539 && ip route del local 0.0.0.0/0 dev lo table 100 && " + ambient));
  EXPECT_THAT(Deviations(plan), IsEmpty());
}

// A storage network whose chain ends with containernetworking's own "sbr", which takes the first free table from 100 on.
TEST_F(Rails, CoexistWithThePluginSbrInEitherOrder) {
  for (const bool sbr_first : {true, false}) {
    SCOPED_TRACE(sbr_first);
    const Netns host = MakeScratch();
    const Netns pod = MakeScratch();
    Must(
        Shell(pod,
              "ip link set lo up && for i in storage net0 net1; do ip link add $i type veth peer name p$i && "
              "ip link set $i up && ip link set p$i up; done && ip address add 192.168.5.5/24 dev storage"));
    const auto sbr = [&] {
      Must(Shell(
          host,
          fmt::format(
              R"(echo '{{"cniVersion": "1.0.0", "name": "storage", "type": "sbr", "prevResult": )"
              R"({{"cniVersion": "1.0.0", "interfaces": [{{"name": "storage", "sandbox": "x"}}], "ips": )"
              R"([{{"address": "192.168.5.5/24", "gateway": "192.168.5.1", "interface": 0}}]}}}}' | )"
              "CNI_COMMAND=ADD CNI_CONTAINERID=c1 CNI_IFNAME=storage CNI_NETNS=/proc/{}/fd/{} "
              "CNI_PATH=/usr/lib/cni /usr/lib/cni/sbr >/dev/null 2>&1",
              ::getpid(), pod.fd())));
    };
    const std::vector<Plan> plans = {PlanOf(0, true, true, true), PlanOf(1, true, true, true)};
    if (sbr_first) sbr();
    for (const Plan& plan : plans) Must(pods_.Configure(pod, plan));
    if (!sbr_first) sbr();
    for (const Plan& plan : plans) {
      const auto found = pods_.Verify(pod, plan);
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_THAT(*found, IsEmpty());
    }
    Must(Shell(pod,
               "ip route get 198.51.100.9 from 192.168.5.5 | grep -q 'dev storage table 100' && "
               "ip route get 198.51.100.9 from 10.0.9.201 | grep -q 'dev net0 table 524100' && "
               "ip route get 198.51.100.9 from 10.1.9.201 | grep -q 'dev net1 table 524101'"));
  }
}

}  // namespace
}  // namespace rail::podnet
