#include "cmd/railctl/accept/describe.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace rail::accept {
namespace {

namespace fs = std::filesystem;

class RdmaTree : public ::testing::Test {
 protected:
  RdmaTree() : root_(fs::temp_directory_path() / "accept_describe_XXXXXX") { ::mkdtemp(root_.data()); }
  ~RdmaTree() override { fs::remove_all(root_); }

  void Gid(const std::string& device, int place, const std::string& ndev, const std::string& type,
           const std::string& gid) {
    const fs::path port = fs::path(root_) / "class/infiniband" / device / "ports/1";
    for (const auto& [folder, text] :
         {std::pair("gid_attrs/ndevs", ndev), {"gid_attrs/types", type}, {"gids", gid}}) {
      fs::create_directories(port / folder);
      std::ofstream(port / folder / std::to_string(place)) << text << "\n";
    }
  }
  std::string Devices() {
    v1::DescribeAgentResponse::Interface interface;
    interface.set_name("net1");
    interface.add_addresses("10.0.0.7");
    const auto devices = ListRdmaDevices(root_, {interface});
    if (!devices) return devices.error().message;
    std::string text;
    for (const auto& device : *devices)
      text += device.name() + " " + device.interface() + " " + std::to_string(device.gid_index()) + "\n";
    return text;
  }

  std::string root_;
};

constexpr auto* kLinkLocal = "fe80:0000:0000:0000:0000:5eff:fe10:0001";
constexpr auto* kAddress = "0000:0000:0000:0000:0000:ffff:0a00:0007";

TEST_F(RdmaTree, HasTheFirstIndexOfTheRoceV2GidOfTheInterfacesAddress) {
  Gid("mlx5_4", 0, "net1", "IB/RoCE v1", kLinkLocal);
  Gid("mlx5_4", 1, "net1", "RoCE v2", kLinkLocal);
  Gid("mlx5_4", 2, "net1", "IB/RoCE v1", kAddress);
  Gid("mlx5_4", 10, "net1", "RoCE v2", kAddress);
  Gid("mlx5_4", 9, "net1", "RoCE v2", kAddress);
  Gid("mlx5_4", 3, "net1", "RoCE v2", "0000:0000:0000:0000:0000:ffff:0a00:0008");
  EXPECT_EQ(Devices(), "mlx5_4 net1 9\n");
}

TEST_F(RdmaTree, HasNoInterfaceWhereThePodSeesNone) {
  Gid("mlx5_0", 0, "eth9", "RoCE v2", kAddress);
  Gid("mlx5_4", 0, "net1", "RoCE v2", kLinkLocal);
  EXPECT_EQ(Devices(), "mlx5_0  -1\nmlx5_4 net1 -1\n");
}

TEST_F(RdmaTree, IsEmptyOnAMachineWithoutRdma) {
  EXPECT_EQ(Devices(), "");
}

}  // namespace
}  // namespace rail::accept
