#include "cmd/raild/workers/rail_devices.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"

namespace rail::raild {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// A sysfs with a NIC of two VFs, the second with an RDMA device, and a link that is no PCI device.
class RailDevicesTest : public ::testing::Test {
 protected:
  RailDevicesTest() {
    std::string pattern = ::testing::TempDir() + "/sysXXXXXX";
    root = ::mkdtemp(pattern.data());
    const std::string nic = root + "/devices/pci0000:3a/0000:3b:00.0";
    fs::create_directories(nic + "/net/p0");
    fs::create_directories(root + "/bus/pci/devices");
    fs::create_directories(root + "/class/net");
    fs::create_directories(root + "/class/misc/rdma_cm");
    for (const char* address : {"0000:3b:00.2", "0000:3b:00.3"}) {
      const std::string vf = root + "/devices/pci0000:3a/" + address;
      fs::create_directories(vf);
      fs::create_symlink("../0000:3b:00.0", vf + "/physfn");
      fs::create_symlink("../../../devices/pci0000:3a/" + std::string(address),
                         root + "/bus/pci/devices/" + address);
      fs::create_symlink("../" + std::string(address),
                         nic + "/virtfn" + (std::string(address).ends_with('2') ? "0" : "1"));
      std::ofstream(vf + "/numa_node") << (std::string(address).ends_with('2') ? "1\n" : "-1\n");
    }
    fs::create_symlink("../../../devices/pci0000:3a/0000:3b:00.0", root + "/bus/pci/devices/0000:3b:00.0");
    fs::create_symlink("../../devices/pci0000:3a/0000:3b:00.0/net/p0", root + "/class/net/p0");
    fs::create_symlink("../..", nic + "/net/p0/device");
    fs::create_directories(root + "/devices/pci0000:3a/0000:3b:00.3/infiniband_verbs/uverbs7");
    rail.name = "rail0";
    rail.pf = "p0";
  }
  ~RailDevicesTest() override { fs::remove_all(root); }

  engine::AttachmentView& Holds(const std::string& device) {
    engine::AttachmentView& holder = view.attachments.emplace_back();
    holder.attachment.device = device;
    holder.attachment.pod_namespace = "ml";
    holder.attachment.pod_name = "train-0";
    return holder;
  }
  kubelet::Seen SeeOne(const std::string& id) {
    const DeviceFacts facts{
        .problem = problem, .view = view, .given = given, .can_attach = [&](const std::string&) {
          return attach_problem.empty() ? Status() : Status(Fail(Code::kInvalid, attach_problem));
        }};
    return SeeDevices({id}, facts, sriov::Sysfs(root)).front();
  }

  std::string root;
  config::Rail rail;
  engine::NodeView view;
  std::string problem, attach_problem;
  std::optional<std::map<std::string, PodName>> given;
};

TEST_F(RailDevicesTest, ARailHasTheVfsOfItsNicAndWhatNodeJsonLists) {
  EXPECT_THAT(DevicesOf(rail, sriov::Sysfs(root)), ElementsAre("0000:3b:00.2", "0000:3b:00.3"));
  rail.devices = {{"sf0", "rep0"}, {"0000:3b:00.3", "rep1"}};
  EXPECT_THAT(DevicesOf(rail, sriov::Sysfs(root)), ElementsAre("sf0", "0000:3b:00.3", "0000:3b:00.2"));
  rail.pf = "veth0";
  EXPECT_THAT(DevicesOf(rail, sriov::Sysfs(root)), ElementsAre("sf0", "0000:3b:00.3")) << "no PCI device";
}

TEST_F(RailDevicesTest, AFreeDeviceIsWellWhereAnAddWouldTakeIt) {
  EXPECT_EQ(SeeOne("0000:3b:00.2").fault, "");
  attach_problem = "it is bound to vfio-pci";
  EXPECT_EQ(SeeOne("0000:3b:00.2").fault, "it is bound to vfio-pci");
  EXPECT_FALSE(SeeOne("0000:3b:00.2").at_once);
}

TEST_F(RailDevicesTest, ADeviceSharesTheFaultOfItsRail) {
  problem = "p0 has no carrier";
  EXPECT_EQ(SeeOne("0000:3b:00.2").fault, "p0 has no carrier");
  Holds("0000:3b:00.2");
  EXPECT_EQ(SeeOne("0000:3b:00.2").fault, "p0 has no carrier");
}

TEST_F(RailDevicesTest, ADeviceThatAPodHasIsNotAskedFor) {
  Holds("0000:3b:00.2");
  attach_problem = "it is not on the host";
  EXPECT_EQ(SeeOne("0000:3b:00.2").fault, "");
  EXPECT_NE(SeeOne("0000:3b:00.3").fault, "");
}

TEST_F(RailDevicesTest, ADeviceThatItsPodHasLostIsNoFlap) {
  Holds("0000:3b:00.2").device_lost = true;
  const kubelet::Seen lost = SeeOne("0000:3b:00.2");
  EXPECT_THAT(lost.fault, HasSubstr("pod ml/train-0 has lost it"));
  EXPECT_TRUE(lost.at_once);
}

TEST_F(RailDevicesTest, ADeviceThatTheKubeletTakesForFreeIsNotOfferedWhileAPodHasIt) {
  Holds("0000:3b:00.2");
  given.emplace();
  EXPECT_THAT(SeeOne("0000:3b:00.2").fault, HasSubstr("pod ml/train-0 has it still"));
  (*given)["0000:3b:00.2"] = {"ml", "train-1"};
  EXPECT_THAT(SeeOne("0000:3b:00.2").fault, HasSubstr("pod ml/train-0 has it still")) << "it is another's";
  (*given)["0000:3b:00.2"] = {"ml", "train-0"};
  EXPECT_EQ(SeeOne("0000:3b:00.2").fault, "");
  given.reset();
  EXPECT_EQ(SeeOne("0000:3b:00.2").fault, "") << "the kubelet does not say";
}

TEST_F(RailDevicesTest, TheKubeletIsToldOfTheNumaNode) {
  EXPECT_EQ(SeeOne("0000:3b:00.2").numa, 1);
  EXPECT_EQ(SeeOne("0000:3b:00.3").numa, std::nullopt) << "-1: the machine has none";
  EXPECT_EQ(SeeOne("sf0").numa, std::nullopt);
}

TEST_F(RailDevicesTest, DevicesThatNoPodHasAreTakenFirst) {
  Holds("a");
  EXPECT_THAT(PreferFree(view, {"a", "b", "c"}, {}, 1), ElementsAre("b"));
  EXPECT_THAT(PreferFree(view, {"a", "b", "c"}, {}, 3), ElementsAre("b", "c", "a"));
  EXPECT_THAT(PreferFree(view, {"a", "b", "c"}, {"c"}, 2), ElementsAre("c", "b"));
  EXPECT_THAT(PreferFree(view, {"a", "b"}, {"a"}, 1), ElementsAre("a"));
}

TEST_F(RailDevicesTest, AContainerGetsTheFilesOfItsRdmaDevices) {
  const auto both = AllocationOf("nvidia.com/rail-0", {"0000:3b:00.2", "0000:3b:00.3"}, sriov::Sysfs(root));
  EXPECT_THAT(both.envs,
              UnorderedElementsAre(Pair("PCIDEVICE_NVIDIA_COM_RAIL_0", "0000:3b:00.2,0000:3b:00.3")));
  std::vector<std::string> files;
  for (const kubelet::DeviceNode& node : both.nodes) {
    EXPECT_EQ(node.container_path, node.host_path);
    files.push_back(node.host_path);
  }
  EXPECT_THAT(files, ElementsAre("/dev/infiniband/uverbs7", "/dev/infiniband/rdma_cm"));
  const auto without = AllocationOf("nvidia.com/rail0", {"0000:3b:00.2"}, sriov::Sysfs(root));
  EXPECT_THAT(without.nodes, IsEmpty()) << "it has no RDMA device, and needs no rdma_cm";
}

TEST_F(RailDevicesTest, MultusReadsOfADeviceAndItsRdmaDevice) {
  fs::create_directories(root + "/devices/pci0000:3a/0000:3b:00.3/infiniband/mlx5_7");
  for (int i = 0; i < 2; ++i) {
    const Status told = WriteDeviceInfos(root + "/dp", "nvidia.com/rail0", {"0000:3b:00.2", "0000:3b:00.3"},
                                         sriov::Sysfs(root));
    ASSERT_TRUE(told) << told.error().message;
  }
  const auto info = [&](const std::string& id) {
    const auto read = ReadJsonFile(root + "/dp/nvidia.com-rail0-" + id + "-device.json");
    return read ? *read : nlohmann::json(read.error().message);
  };
  using nlohmann::json;
  EXPECT_EQ(info("0000:3b:00.2"),
            json({{"type", "pci"}, {"version", "1.1.0"}, {"pci", {{"pci-address", "0000:3b:00.2"}}}}));
  EXPECT_EQ(info("0000:3b:00.3"),
            json({{"type", "pci"},
                  {"version", "1.1.0"},
                  {"pci", {{"pci-address", "0000:3b:00.3"}, {"rdma-device", "mlx5_7"}}}}));
}

}  // namespace
}  // namespace rail::raild
