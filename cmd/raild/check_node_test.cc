#include "cmd/raild/check_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>

#include "lib/base/fd.h"
#include "lib/netlink/testing/fake.h"
#include "lib/sriov/testing/machine.h"

namespace rail::preflight {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

void MakeSocket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const Fd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_TRUE(fd);
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
}

// A node with one NIC of two ports, and the NIC that it is reached by.
class CheckNodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    run_ = std::filesystem::path(machine_.root()) / "run";
    std::filesystem::create_directories(run_);
    MakeSocket(run_ / "db.sock");
    MakeSocket(run_ / "bgpd.vty");
    machine_.AddPf({.address = "0000:3b:00.0", .netdev = "ens1f0np0", .switch_id = "1a"});
    machine_.AddPf({.address = "0000:3b:00.1",
                    .netdev = "ens1f1np1",
                    .switch_id = "1b",
                    .port = 1,
                    .pf_number = 1,
                    .first_function = 10});
    machine_.AddPf({.address = "0000:01:00.0", .netdev = "eno1", .switch_id = "", .vfs = 0});
    for (const char* name : {"ens1f0np0", "ens1f1np1"})
      host_.AddLink({.name = name, .mtu = 1500, .max_mtu = 9978, .altnames = {}});
    const int own = host_.AddLink({.name = "eno1", .altnames = {}});
    ASSERT_TRUE(host_.SetUp(own));
    ASSERT_TRUE(host_.AddRoute(
        {.destination = *IpPrefix::Parse("0.0.0.0/0"), .gateway = {}, .link = own, .source = {}}));
    config_.rails = {{.name = "rail0",
                      .index = 0,
                      .pf = "ens1f0np0",
                      .bridge = "br0",
                      .mtu = 4200,
                      .devices = {},
                      .flow_steering = {},
                      .accept = {}}};
    config_.ovs.db_socket = run_ / "db.sock";
    config_.frr.run_dir = run_;
  }

  std::vector<std::string> Problems() {
    const auto found = CheckNode(config_, host_, machine_.sysfs());
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(std::vector<std::string>{});
  }
  config::Rail& rail() { return config_.rails[0]; }

  sriov::testing::Machine machine_;
  netlink::testing::Fake host_;
  std::filesystem::path run_;
  config::NodeConfig config_;
};

TEST_F(CheckNodeTest, TakesWhatTheNodeHas) {
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(CheckNodeTest, NamesTheNicsThatCouldBeMeant) {
  rail().pf = "ens9";
  EXPECT_THAT(Problems(), ElementsAre(AllOf(
                              StartsWith("pf of rail0: there is no link ens9 on this node"),
                              HasSubstr("could be meant: ens1f0np0 (0000:3b:00.0), ens1f1np1 (0000:3b:00.1)"),
                              Not(HasSubstr("eno1")))));
}

TEST_F(CheckNodeTest, RefusesTheNodesOwnNic) {
  rail().pf = "eno1";
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("the default route of this node leaves by eno1")));
}

TEST_F(CheckNodeTest, RefusesWhatIsNoUplink) {
  host_.AddLink({.name = "br-x", .kind = "bridge", .altnames = {}});
  rail().pf = "br-x";
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("br-x is no NIC but a link of kind bridge")));
  host_.AddLink({.name = "ens1f0np0_0", .altnames = {}});
  rail().pf = "ens1f0np0_0";
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("ens1f0np0_0 is the representor of a function")));
  host_.AddLink({.name = "vf0", .altnames = {}});
  machine_.AddNetdev("vf0", sriov::testing::DevicePath("0000:3b:00.2"));
  rail().pf = "vf0";
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("vf0 is a virtual function")));
}

TEST_F(CheckNodeTest, RefusesAPortOfABondAndTakesOneOfOpenVSwitch) {
  machine_.Link("class/net/ens1f0np0/master", "class/net/bond0");
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("ens1f0np0 is a port of bond0")));
  machine_.Remove("class/net/ens1f0np0/master");
  machine_.Link("class/net/ens1f0np0/master", "class/net/ovs-system");
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(CheckNodeTest, ComparesWithWhatTheNicCan) {
  rail().mtu = 9990;
  rail().manage_sriov = true;
  rail().num_vfs = 16;
  machine_.Write("class/net/ens1f0np0/device/sriov_totalvfs", "8");
  EXPECT_THAT(Problems(),
              ElementsAre(HasSubstr("mtu of rail0: 9990 is more than the driver of ens1f0np0 takes, 9978"),
                          HasSubstr("num_vfs of rail0: 16 is more than ens1f0np0 can make, 8")));
}

TEST_F(CheckNodeTest, LooksForDevicesAndRepresentors) {
  rail().devices = {{"0000:3b:00.2", "ens1f1np1"}, {"0000:77:00.2", "none"}, {"vf-in-a-pod", "ens1f1np1"}};
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("this node has no device 0000:77:00.2"),
                                      HasSubstr("there is no link none, the representor of 0000:77:00.2")));
}

TEST_F(CheckNodeTest, LooksForTheSockets) {
  std::filesystem::remove(run_ / "db.sock");
  std::filesystem::remove(run_ / "bgpd.vty");
  std::ofstream(run_ / "bgpd.vty") << "x";
  EXPECT_THAT(
      Problems(),
      ElementsAre(AllOf(StartsWith("ovs.db: there is no socket"), HasSubstr("is Open vSwitch running")),
                  AllOf(StartsWith("frr.run_dir: "), HasSubstr("bgpd.vty is no socket"))));
}

}  // namespace
}  // namespace rail::preflight
