// A pod's interface and its GIDs, read from a sysfs that is a folder.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "lib/inspect/hardware.h"

namespace rail::inspect {
namespace {

namespace fs = std::filesystem;

class PodsPort : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "railcni-gids-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    attachment_.key.ifname = "net1";
    attachment_.addresses = {*IpAddress::Parse("fd00::5"), *IpAddress::Parse("10.0.1.5")};
  }
  void TearDown() override { fs::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  void Entry(int index, const std::string& gid, const std::string& ifname = "net1") const {
    const std::string port = "class/infiniband/mlx5_2/ports/1/", entry = std::to_string(index);
    Write(port + "gids/" + entry, gid);
    Write(port + "gid_attrs/ndevs/" + entry, ifname);
    Write(port + "gid_attrs/types/" + entry, "RoCE v2");
  }
  libs::Port Port() const { return PortOf(sriov::Sysfs(root_), {.name = "rail0"}, attachment_); }

  fs::path root_;
  state::Attachment attachment_;
};

constexpr const char* kOwn4 = "0000:0000:0000:0000:0000:ffff:0a00:0105";
constexpr const char* kOwn6 = "fd00:0000:0000:0000:0000:0000:0000:0005";
constexpr const char* kEmpty = "0000:0000:0000:0000:0000:0000:0000:0000";

TEST_F(PodsPort, HasTheGidsOfItsInterfaceAndKnowsThoseOfItsAddresses) {
  Entry(0, "fe80:0000:0000:0000:0000:0000:0000:0001");
  Entry(2, kOwn4, "net9");
  Entry(10, kOwn4);
  Entry(9, kOwn6);
  const libs::Port port = Port();
  EXPECT_EQ(port.rdma, "mlx5_2");
  EXPECT_EQ(port.address, "10.0.1.5");
  EXPECT_EQ(port.gids.size(), 3U);
  EXPECT_EQ(libs::GidLines({.ports = {port}, .other_links = {}, .gpus = {}}),
            "mlx5_2 1 9 fd00::5\nmlx5_2 1 10 ::ffff:10.0.1.5\n");
}

TEST_F(PodsPort, SeesAGidThatHasMovedAndOneThatIsGone) {
  EXPECT_FALSE(libs::LacksGids({.ports = {Port()}, .other_links = {}, .gpus = {}})) << "no RDMA device";
  Entry(3, kOwn4);
  EXPECT_TRUE(libs::LacksGids({.ports = {Port()}, .other_links = {}, .gpus = {}}))
      << "that of its IPv6 address";
  const std::string lines = libs::GidLines({.ports = {Port()}, .other_links = {}, .gpus = {}});
  Entry(4, kOwn6);
  EXPECT_THAT(libs::MovedGids(lines, Port()), testing::IsEmpty()) << "one more";
  EXPECT_FALSE(libs::LacksGids({.ports = {Port()}, .other_links = {}, .gpus = {}}));
  Entry(3, kEmpty);
  Entry(5, kOwn4);
  EXPECT_THAT(libs::MovedGids(lines, Port()),
              testing::ElementsAre("GID ::ffff:10.0.1.5 of mlx5_2 has index 5 now, it had 3"));
  fs::remove_all(root_ / "class");
  EXPECT_THAT(libs::MovedGids(lines, Port()),
              testing::ElementsAre("GID ::ffff:10.0.1.5 of mlx5_2 is gone, it had index 3"));
}

}  // namespace
}  // namespace rail::inspect
