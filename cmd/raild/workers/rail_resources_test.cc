#include "cmd/raild/workers/rail_resources.h"

#include <gmock/gmock.h>

#include "lib/pcie/testing/tree.h"

namespace rail::raild {
namespace {

using kubernetes::Attribute;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

// rail0 of a server with 8 NICs.
class RailResourcesTest : public ::testing::Test {
 protected:
  RailResourcesTest() {
    rail.rail.name = "rail0";
    rail.rail.pf = machine.nics[0].netdev;
    rail.rail.mtu = 4096;
  }
  kubernetes::Device Shown(const kubelet::Device& device) {
    const auto shown = ResourceOf(device, rail, "nvidia.com/rail0", "su-3f9a1c2d60", tree.sysfs());
    EXPECT_TRUE(shown) << shown.error().message;
    return shown.value_or(kubernetes::Device{});
  }

  const pcie::testing::Tree tree{pcie::testing::Tree::File("8-gpus-8-nics")};
  const pcie::Machine machine = tree.machine();
  engine::RailView rail;
};

TEST_F(RailResourcesTest, AVfSaysWhereItIsOnPciExpress) {
  const std::string vf = machine.nics[0].vfs.front();
  const kubernetes::Device shown = Shown({.id = vf});
  EXPECT_EQ(shown.attributes.at("resource.kubernetes.io/pciBusID"), Attribute(vf));
  EXPECT_EQ(shown.attributes.at("resource.kubernetes.io/pcieRoot"), Attribute(std::string("pci0000:15")));
  EXPECT_EQ(shown.attributes.at("resource.kubernetes.io/numaNode"), Attribute(int64_t{0}));
  EXPECT_EQ(shown.attributes.at("k8s.cni.cncf.io/deviceID"), Attribute(vf));
  EXPECT_EQ(shown.attributes.at("offload"), Attribute(true));
  EXPECT_THAT(shown.taints, IsEmpty());
}

TEST_F(RailResourcesTest, AVfAndTheGpuBelowItsSwitchHaveOnePcieSwitch) {
  for (const pcie::Gpu& gpu : machine.gpus) {
    const kubernetes::Device shown = Shown({.id = machine.nics[0].vfs.front()});
    const bool is_near = pcie::Relate(gpu.path, *machine.nics[0].path) == pcie::Relation::kSameSwitch;
    EXPECT_EQ(shown.attributes.at("pcieSwitch") == Attribute(gpu.path.bridges.front()), is_near)
        << gpu.path.address;
  }
}

TEST_F(RailResourcesTest, TheOtherOwnersOfARailAreThoseOfItsDevices) {
  v1::Rail seen;
  SetOtherOwners(seen, {"vf0", "vf1"}, {{"a.net", {"vf9"}}, {"b.net", {"vf1", "vf9"}}});
  ASSERT_EQ(seen.other_owners_size(), 1);
  EXPECT_EQ(seen.other_owners(0).driver(), "b.net");
  EXPECT_THAT(seen.other_owners(0).devices(), ElementsAre("vf1"));
  SetOtherOwners(seen, {"vf0", "vf1"}, {});
  EXPECT_EQ(seen.other_owners_size(), 0);
}

TEST_F(RailResourcesTest, ADeviceSaysOfWhichRailAndFabricItIs) {
  rail.rail.index = 5;
  rail.leaf = engine::KnownLeaf{
      .leaf = {.asn = 4200010001, .router_id = *IpAddress::Parse("10.0.0.9"), .name = "leaf9"}};
  const kubernetes::Device before = Shown({.id = "vf0x0"});
  EXPECT_EQ(before.name, "vf0x0");
  EXPECT_EQ(before.attributes.at("rail"), Attribute(std::string("rail0")));
  EXPECT_EQ(before.attributes.at("railNumber"), Attribute(int64_t{5}));
  EXPECT_EQ(before.attributes.at("leaf"), Attribute(std::string("10.0.0.9")));
  EXPECT_EQ(before.attributes.at("su"), Attribute(std::string("su-3f9a1c2d60")));
  EXPECT_THAT(before.attributes, Not(Contains(Key("plane")))) << "node.json names none";
  EXPECT_EQ(before.attributes.at("offload"), Attribute(false)) << "no VF";
  EXPECT_THAT(before.attributes, Not(Contains(Key(StartsWith("resource.kubernetes.io/")))));
  rail.rail.place = {.rail = 3, .plane = 1};
  EXPECT_EQ(Shown({.id = "vf0x0"}).attributes.at("railNumber"), Attribute(int64_t{3}));
  EXPECT_EQ(Shown({.id = "vf0x0"}).attributes.at("plane"), Attribute(int64_t{1}));
}

TEST_F(RailResourcesTest, ADeviceHasTheBandwidthOfItsUplink) {
  EXPECT_THAT(Shown({.id = "vf0x0"}).capacity, IsEmpty()) << "the kernel does not know the uplink's speed";
  tree.Write("sys/class/net/" + rail.rail.pf + "/speed", "400000\n");
  const kubernetes::Device shown = Shown({.id = "vf0x0"});
  EXPECT_EQ(shown.attributes.at("speed"), Attribute(int64_t{400'000}));
  EXPECT_THAT(shown.capacity, ElementsAre(Pair("bandwidth", "400000M")));
  EXPECT_TRUE(kubernetes::CheckPool({.driver = kDriver, .node = "n1", .devices = {shown}}));
}

TEST_F(RailResourcesTest, AnUnhealthyDeviceKeepsNewPodsAwayAndEndsNone) {
  const kubernetes::Device shown = Shown({.id = "vf0x0", .healthy = false, .reason = "no carrier"});
  ASSERT_EQ(shown.taints.size(), 1U);
  EXPECT_EQ(shown.taints[0].key, "rail.railcni.io/unhealthy");
  EXPECT_EQ(shown.taints[0].effect, "NoSchedule");
}

TEST_F(RailResourcesTest, AllThatIsShownIsWhatTheApiServerTakes) {
  std::vector<kubernetes::Device> devices;
  for (const pcie::Nic& nic : machine.nics) {
    for (const std::string& vf : nic.vfs) devices.push_back(Shown({.id = vf}));
  }
  devices.push_back(Shown({.id = "ens1f0v3", .healthy = false}));
  const Status checked = kubernetes::CheckPool({.driver = kDriver, .node = "n1", .devices = devices});
  EXPECT_TRUE(checked) << checked.error().message;
}

TEST(PodsStatus, HasTheInterfaceAndItsAddressesAsHosts) {
  state::Attachment a;
  a.key.ifname = "net1";
  a.rail = "rail0";
  a.addresses = {*IpAddress::Parse("10.0.0.7"), *IpAddress::Parse("fd00::7")};
  a.mac = *MacAddress::Parse("02:00:00:00:00:07");
  const kubernetes::DeviceStatus status = StatusOf(a, "n1", "vf0");
  EXPECT_TRUE(status.ready);
  EXPECT_EQ(status.link, "net1");
  ASSERT_EQ(status.addresses.size(), 2U);
  EXPECT_EQ(status.addresses[0].ToString(), "10.0.0.7/32");
  EXPECT_EQ(status.addresses[1].ToString(), "fd00::7/128");
  EXPECT_EQ(status.mac, a.mac);
}

TEST(WantsLibraries, TheLastThatSaysSoCountsForItsRequests) {
  const auto says = [](const std::string& more) {
    return R"({"apiVersion": "rail.railcni.io/v1alpha1", "kind": "RailConfig")" + more + "}";
  };
  const std::string off = says(R"(, "libraries": false)"), on = says(R"(, "libraries": true)");
  EXPECT_TRUE(*WantsLibraries({}, "rail0"));
  EXPECT_TRUE(*WantsLibraries({{.requests = {}, .parameters = says("")}}, "rail0"));
  EXPECT_FALSE(*WantsLibraries({{.requests = {}, .parameters = off}}, "rail0"));
  EXPECT_TRUE(*WantsLibraries({{.requests = {"rail1"}, .parameters = off}}, "rail0"));
  EXPECT_FALSE(*WantsLibraries({{.requests = {"rail0"}, .parameters = off}}, "rail0/near"))
      << "of a prioritized list";
  EXPECT_TRUE(
      *WantsLibraries({{.requests = {}, .parameters = off}, {.requests = {}, .parameters = on}}, "rail0"));
}

TEST(WantsLibraries, WhatIsNotUnderstoodIsRefusedByItsKey) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"null", "parameters"},
      {R"({"apiVersion": "v2", "kind": "RailConfig"})",
       "parameters.apiVersion: must be rail.railcni.io/v1alpha1"},
      {R"({"apiVersion": "rail.railcni.io/v1alpha1"})", "parameters.kind"},
      {R"({"apiVersion": "rail.railcni.io/v1alpha1", "kind": "RailConfig", "libraries": "no"})",
       "parameters.libraries"},
      {R"({"apiVersion": "rail.railcni.io/v1alpha1", "kind": "RailConfig", "librarys": false})", "librarys"}};
  for (const auto& [parameters, key] : wrong) {
    const auto wants = WantsLibraries({{.requests = {}, .parameters = parameters}}, "rail0");
    ASSERT_FALSE(wants) << parameters;
    EXPECT_EQ(wants.error().code, Code::kInvalid);
    EXPECT_THAT(wants.error().message,
                ::testing::AllOf(::testing::HasSubstr(key), ::testing::HasSubstr("rail.railcni.io")));
  }
}

}  // namespace
}  // namespace rail::raild
