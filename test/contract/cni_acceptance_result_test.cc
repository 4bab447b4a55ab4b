// Lines A07, A12 to A14 and A17 of ACCEPTANCE.md: prevResult, the result, and what others read elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "lib/cni/testing/request.h"
#include "lib/cni/version.h"
#include "test/contract/acceptance_fixture.h"

namespace rail::testing {
namespace {

using engine::testing::Answer;
using engine::testing::PodSpec;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A7: what a plugin was given it passes on whole.
class A07_PrevResult : public Acceptance {
 protected:
  static json Newest() {
    return json::parse(R"({"cniVersion": "1.1.0", "com.example/future": {"deep": [1, {"x": null}]},
      "interfaces": [{"name": "rep0", "mac": "02:00:00:00:00:10", "mtu": 9000, "future": 1},
                     {"name": "net1", "mac": "02:de:f1:00:00:01", "sandbox": "/run/netns/x", "mtu": 4200,
                      "pciID": "0000:03:00.2", "socketPath": "/run/s", "future": "y"}],
      "ips": [{"address": "10.0.3.1/32", "gateway": "169.254.1.1", "interface": 1, "future": true}],
      "routes": [{"dst": "10.0.0.0/8", "gw": "169.254.1.1", "mtu": 4200, "advmss": 1400, "priority": 5, "table": 100,
                  "scope": 0, "future": []}],
      "dns": {"nameservers": ["10.0.0.1"], "search": ["x"], "options": ["y"], "domain": "z", "future": {}}})");
  }
};

TEST_F(A07_PrevResult, IsPassedOnWholeByTheChainedPluginsInTheVersionOfTheConfig) {
  for (const std::string& version : cni::SupportedVersions()) {
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    MustAdd(pod);
    chain.more_config = R"("cniVersion": ")" + version + "\"";
    json wanted = Newest();
    wanted["cniVersion"] = version;
    if (version.starts_with("0.")) wanted["ips"][0]["version"] = "4";
    for (const size_t plugin : {kTenant, kFrr}) {
      const Answer answer = chain.Run(plugin, "ADD", pod, Newest().dump());
      ASSERT_TRUE(answer) << answer.text;
      EXPECT_EQ(json::parse(answer.result), wanted) << chain.NameOf(plugin) << " " << version;
    }
    chain.more_config.clear();
    ExpectDone(chain.Del(pod));
  }
}

TEST_F(A07_PrevResult, IsReadByItsOwnVersion) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  for (const std::string& theirs : cni::SupportedVersions()) {
    json previous = {{"cniVersion", theirs}, {"ips", {{{"address", "10.0.3.1/32"}}}}};
    if (theirs.starts_with("0.")) previous["ips"][0]["version"] = "4";
    const Answer answer = chain.Run(kTenant, "ADD", pod, previous.dump());
    ASSERT_TRUE(answer) << theirs << " " << answer.text;
    EXPECT_EQ(json::parse(answer.result)["cniVersion"], "1.0.0");
    EXPECT_FALSE(json::parse(answer.result)["ips"][0].contains("version"));
  }
  const Answer answer = chain.Run(kTenant, "ADD", pod, R"({"cniVersion": "2.0.0"})");
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text, HasSubstr("prevResult: cniVersion: a result of version \"2.0.0\""));
}

TEST_F(A07_PrevResult, IsRequiredByCheckOfEveryPluginAndByAddOfTheChainedOnes) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  for (const size_t plugin : {kOvs, kTenant, kFrr})
    EXPECT_THAT(chain.Run(plugin, "CHECK", pod, "").text, HasSubstr("Required prevResult missing"));
  for (const size_t plugin : {kTenant, kFrr})
    EXPECT_THAT(chain.Run(plugin, "ADD", pod, "").text, HasSubstr("Required prevResult missing"));
}

// A12: the shape of the result that network-status is made of.
class A12_Result : public Acceptance {
 protected:
  void AddPciDevice() {
    world.devices.Add("rail0", "0000:03:00.2", "rep3");
    world.config.rails[0].devices.push_back({"0000:03:00.2", "rep3"});
  }
};

TEST_F(A12_Result, HoldsRepresentorAndDeviceWithTheSandboxOnTheDeviceAlone) {
  AddPciDevice();
  for (const std::string& version : cni::SupportedVersions()) {
    const PodSpec pod = world.MakePod("p1", "ns-a", "0000:03:00.2");
    chain.more_config = R"("cniVersion": ")" + version + "\"";
    const Answer answer = chain.Add(pod);
    ASSERT_TRUE(answer) << answer.text;
    const json result = json::parse(answer.result);
    ASSERT_EQ(result["interfaces"].size(), 2U);
    EXPECT_EQ(result["interfaces"][0]["name"], "rep3");
    EXPECT_FALSE(result["interfaces"][0].contains("sandbox"));
    EXPECT_TRUE(result["interfaces"][0].contains("mac"));
    EXPECT_EQ(result["interfaces"][1]["name"], "net1");
    EXPECT_EQ(result["interfaces"][1]["sandbox"], pod.netns);
    EXPECT_EQ(result["interfaces"][1]["mac"], world.devices.State("0000:03:00.2")->mac.ToString());
    EXPECT_EQ(result["ips"][0]["interface"], 1);
    const bool newest = version == "1.1.0";
    EXPECT_EQ(result["interfaces"][1].value("pciID", ""), newest ? "0000:03:00.2" : "");
    EXPECT_EQ(result["interfaces"][1].value("mtu", 0), newest ? 4200 : 0);
    chain.more_config.clear();
    ExpectDone(chain.Del(pod));
  }
}

TEST_F(A12_Result, GivesEveryDefaultRouteAGateway) {
  Install(
      "x",
      R"([ $CNI_COMMAND = ADD ] && echo '{"cniVersion": "1.0.0", "ips": [{"address": "10.0.3.9/24"}], "routes": [{"dst": "0.0.0.0/0"}]}'; true)");
  engine::Deps deps = DepsWithRealIpam();
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  const auto ran = cni::testing::RunPlugin(
      ovs_provider::MakePlugin(deps),
      {{"CNI_COMMAND", "ADD"},
       {"CNI_CONTAINERID", pod.container},
       {"CNI_NETNS", pod.netns},
       {"CNI_IFNAME", "net1"},
       {"CNI_PATH", folder_}},
      R"({"cniVersion": "1.0.0", "name": "rail0", "rail": "rail0", "deviceID": "vf0", "ipam": {"type": "x"}})");
  ASSERT_EQ(ran.status, 0) << ran.out;
  EXPECT_EQ(json::parse(ran.out)["routes"],
            json::parse(R"([{"dst": "0.0.0.0/0", "gw": "169.254.1.1", "priority": 2000}])"));
  EXPECT_EQ(json::parse(ran.out)["ips"],
            json::parse(R"([{"address": "10.0.3.9/32", "gateway": "169.254.1.1", "interface": 1}])"));
}

// A13: DeviceInfo.
class A13_DeviceInfo : public A12_Result {};

TEST_F(A13_DeviceInfo, TheFileIsReplacedWhole) {
  AddPciDevice();
  const std::string folder = folder_ + "/k8s.cni.cncf.io/devinfo/cni";
  std::filesystem::create_directories(folder);
  const std::string file = folder + "/default-rail0-c-p1_net1";
  std::ofstream(file)
      << R"({"type": "pci", "version": "1.0.0", "pci": {"pci-address": "0000:03:00.2", "rdma-device": "mlx5_2"}})";
  ::chmod(file.c_str(), 0444);
  chain.more_config = R"("runtimeConfig": {"CNIDeviceInfoFile": ")" + file + "\"}";
  MustAdd(world.MakePod("p1", "ns-a", "0000:03:00.2"));
  EXPECT_EQ(
      json::parse(Read("k8s.cni.cncf.io/devinfo/cni/default-rail0-c-p1_net1")),
      json::parse(
          R"({"type": "pci", "version": "1.1.0", "pci": {"pci-address": "0000:03:00.2", "rdma-device": "mlx5_2",
                            "representor-device": "rep3"}})"));
}

TEST_F(A13_DeviceInfo, IsWrittenNowhereElseAndNoAddFailsForAFullDisk) {
  AddPciDevice();
  const PodSpec pod = world.MakePod("p1", "ns-a", "0000:03:00.2");
  chain.more_config = R"("runtimeConfig": {"CNIDeviceInfoFile": "/etc/railcni-escape"})";
  const Answer refused = chain.Add(pod);
  EXPECT_EQ(refused.code, 7U);
  EXPECT_THAT(refused.text, HasSubstr("runtimeConfig.CNIDeviceInfoFile"));
  EXPECT_FALSE(std::filesystem::exists("/etc/railcni-escape"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
  chain.more_config =
      R"("runtimeConfig": {"CNIDeviceInfoFile": "/nonexistent/k8s.cni.cncf.io/devinfo/cni/x"})";
  MustAdd(pod);
}

// A14: what others look for in Open vSwitch.
class A14_ExternalIds : public Acceptance {};

TEST_F(A14_ExternalIds, NameThePodTheNamespaceTheInterfaceAndUs) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  EXPECT_EQ((*world.ovsdb.FindPort("rep0", {}))->external_ids,
            (ovs::ExternalIds{{"contPodUid", "uid-p1"},
                              {"contNetns", pod.netns},
                              {"contIface", "net1"},
                              {"railcni-device", "vf0"},
                              {"railcni", std::to_string(world.Attachment(pod).id)}}));
}

// A17: versions.
class A17_Versions : public Acceptance {};

TEST_F(A17_Versions, AConfigOfEachGetsAResultOfIt) {
  EXPECT_THAT(cni::SupportedVersions(), ElementsAre("0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"));
  for (const std::string& version : cni::SupportedVersions()) {
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    chain.more_config = R"("cniVersion": ")" + version + "\"";
    const Answer answer = chain.Add(pod);
    ASSERT_TRUE(answer) << answer.text;
    const json result = json::parse(answer.result);
    EXPECT_EQ(result["cniVersion"], version);
    const bool old = version.starts_with("0.");
    EXPECT_EQ(result["ips"][0].value("version", ""), old ? "4" : "");
    EXPECT_EQ(result.contains("dns"), old);
    if (cni::AtLeast(version, "0.4.0")) ExpectDone(chain.Check(pod));
    ExpectDone(chain.Del(pod));
  }
}

}  // namespace
}  // namespace rail::testing
