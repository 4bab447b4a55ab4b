#include "lib/cni/device_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/cni/testing/request.h"

namespace rail::cni {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::MakeRequest;

Request With(const json& path) {
  return MakeRequest(
      "CHECK",
      json{{"cniVersion", "1.0.0"}, {"name", "n"}, {"runtimeConfig", {{"CNIDeviceInfoFile", path}}}}.dump());
}

TEST(DeviceInfoFile, IsOnlyOneThatMultusGives) {
  const std::string good = "/var/run/k8s.cni.cncf.io/devinfo/cni/default-rail0-c1_net1";
  EXPECT_EQ(*DeviceInfoFile(With(good)), good);
  EXPECT_EQ(*DeviceInfoFile(With(nullptr)), "");
  EXPECT_EQ(*DeviceInfoFile(With("")), "");
  EXPECT_EQ(*DeviceInfoFile(MakeRequest("CHECK", R"({"cniVersion": "1.0.0", "name": "n"})")), "");
  for (const json& bad :
       {json("/etc/passwd"), json("/var/run/k8s.cni.cncf.io/devinfo/cni/"),
        json("/var/run/k8s.cni.cncf.io/devinfo/cni/../../../etc/passwd"),
        json("/x/../etc/k8s.cni.cncf.io/devinfo/cni/a"), json("/k8s.cni.cncf.io/devinfo/cni/.."),
        json("k8s.cni.cncf.io/devinfo/cni/a"), json(7), json::array(),
        json("/k8s.cni.cncf.io/devinfo/cni/" + std::string(1000000, 'a')),
        json(std::string("/k8s.cni.cncf.io/devinfo/cni/a\0b", 32))}) {
    const auto file = DeviceInfoFile(With(bad));
    ASSERT_FALSE(file) << bad.dump().substr(0, 80);
    EXPECT_EQ(file.error().code, 7U);
    EXPECT_THAT(file.error().msg, HasSubstr("runtimeConfig.CNIDeviceInfoFile"));
    EXPECT_LT(file.error().details.size(), 300U);
  }
}

class WriteDeviceInfoTest : public ::testing::Test {
 protected:
  WriteDeviceInfoTest() {
    char name[] = "/tmp/railcni-devinfo-XXXXXX";
    folder_ = ::mkdtemp(name);
    path_ = folder_ + "/default-rail0-c1_net1";
  }
  ~WriteDeviceInfoTest() override { std::filesystem::remove_all(folder_); }
  json Read() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return json::parse(text.str());
  }
  std::string folder_;
  std::string path_;
  const PciDevice device_{.address = "0000:03:00.2", .pf = "0000:03:00.0", .rdma = "", .representor = "eth3"};
};

TEST_F(WriteDeviceInfoTest, MakesTheFile) {
  ASSERT_TRUE(WriteDeviceInfo(path_, device_));
  EXPECT_EQ(Read(), json::parse(R"({"type": "pci", "version": "1.1.0", "pci": {"pci-address": "0000:03:00.2",
                                    "pf-pci-address": "0000:03:00.0", "representor-device": "eth3"}})"));
}

TEST_F(WriteDeviceInfoTest, KeepsWhatTheDevicePluginKnowsAndReplacesTheFileInOneStep) {
  std::ofstream(path_)
      << R"({"type": "pci", "version": "1.0.0", "pci": {"pci-address": "0000:03:00.2", "rdma-device": "mlx5_2"}})";
  ::chmod(path_.c_str(), 0444);
  // Somebody reads the old file while it is replaced.
  std::ifstream old(path_);
  struct stat before{};
  ::stat(path_.c_str(), &before);
  ASSERT_TRUE(WriteDeviceInfo(path_, device_));
  std::ostringstream seen;
  seen << old.rdbuf();
  EXPECT_THAT(seen.str(), HasSubstr("\"version\": \"1.0.0\"")) << "the old one is whole for who has it open";
  struct stat after{};
  ::stat(path_.c_str(), &after);
  EXPECT_NE(before.st_ino, after.st_ino);
  EXPECT_EQ(after.st_mode & 07777, 0444U);
  EXPECT_EQ(Read()["pci"]["rdma-device"], "mlx5_2");
  EXPECT_EQ(Read()["pci"]["representor-device"], "eth3");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(WriteDeviceInfoTest, TakesNothingFromAFileOfAnotherDeviceOrOfNoDevice) {
  for (const char* text :
       {R"({"type": "pci", "pci": {"pci-address": "0000:99:00.1", "rdma-device": "mlx5_9"}})", "[]", "{",
        R"({"pci": [1]})", ""}) {
    std::ofstream(path_) << text;
    ASSERT_TRUE(WriteDeviceInfo(path_, device_)) << text;
    EXPECT_FALSE(Read()["pci"].contains("rdma-device"));
  }
}

TEST_F(WriteDeviceInfoTest, SaysWhichFileCannotBeWritten) {
  const Status status = WriteDeviceInfo(folder_ + "/missing/x", device_);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr(folder_ + "/missing/x"));
}

}  // namespace
}  // namespace rail::cni
