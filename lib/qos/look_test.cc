#include "lib/qos/look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lib/netlink/testing/dcb.h"

namespace rail::qos {
namespace {

namespace fs = std::filesystem;

class LookAtFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "qos-look-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    root_ = folder;
    links_.links["p0"] = {.pfc = netlink::DcbPfc{.enabled = 8}, .ets = {}, .apps = {}, .peer_pfc = {}};
  }
  void TearDown() override { fs::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  Seen See() {
    netlink::testing::FakeDcb dcb(links_);
    return Look("p0", dcb, sriov::Sysfs(root_.string()));
  }

  fs::path root_;
  netlink::testing::DcbLinks links_;
};

TEST_F(LookAtFiles, ReadsCongestionControlAndTheTypesOfServiceOfTheUplinkAndItsVfs) {
  Write("class/net/p0/ecn/roce_np/enable/3", "1\n");
  Write("class/net/p0/ecn/roce_rp/enable/3", "0\n");
  fs::create_directories(root_ / "class/net/p0/device/infiniband/mlx5_0");
  fs::create_directories(root_ / "class/net/p0/device/virtfn0/infiniband/mlx5_2");
  fs::create_directories(root_ / "class/net/p0/device/virtfn1");  // its device is in a pod
  Write("kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos", "106\n");
  Write("class/infiniband/mlx5_2/tc/1/traffic_class", "Global tclass=96\n");
  const Seen seen = See();
  EXPECT_EQ(seen.dcb->pfc->enabled, 8);
  EXPECT_EQ(seen.ecn.at(3).notifies, true);
  EXPECT_EQ(seen.ecn.at(3).reacts, false);
  EXPECT_FALSE(seen.ecn.at(4).notifies);
  EXPECT_TRUE(seen.has_configfs);
  ASSERT_EQ(seen.tos.size(), 2U);
  EXPECT_EQ(seen.tos[0].device, "mlx5_0");
  EXPECT_EQ(seen.tos[0].cm, 106);
  EXPECT_FALSE(seen.tos[0].all);
  EXPECT_EQ(seen.tos[1].device, "mlx5_2");
  EXPECT_FALSE(seen.tos[1].cm);
  EXPECT_EQ(seen.tos[1].all, 96);
}

TEST_F(LookAtFiles, KnowsNothingWhereNothingIs) {
  links_.plain = {"p0"};
  Write("class/infiniband/mlx5_0/tc/1/traffic_class", "");
  fs::create_directories(root_ / "class/net/p0/device/infiniband/mlx5_0");
  const Seen seen = See();
  EXPECT_EQ(seen.dcb.error().code, Code::kUnsupported);
  EXPECT_FALSE(seen.has_configfs);
  ASSERT_EQ(seen.tos.size(), 1U);
  EXPECT_FALSE(seen.tos[0].all);
}

}  // namespace
}  // namespace rail::qos
