#include "lib/engine/repair/origin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace rail::engine {
namespace {

using ::testing::HasSubstr;

OriginRecord Full() {
  OriginRecord record;
  BridgeOrigin& bridge = record.bridges["br-rail0"];
  bridge.rail = "rail0";
  bridge.before = {.name = "br-rail0",
                   .uplink = "ens1",
                   .existed = true,
                   .datapath = "netdev",
                   .fail_mode = "secure",
                   .hwaddr = "02:00:00:00:00:01",
                   .disable_in_band = "false",
                   .prefixes = {{0, {"ip_dst"}}, {3, {}}},
                   .local_port = ovs::PortBefore{.mtu_request = 9000, .ofport_request = {}},
                   .uplink_port = std::nullopt};
  bridge.uplink = {.up = true,
                   .mtu = 1500,
                   .addresses = {*IpPrefix::Parse("2001:db8::1/64")},
                   .sysctls = {{"net/ipv6/conf/ens1/disable_ipv6", "0"}}};
  bridge.local = LinkOrigin{.up = false, .mtu = 9000, .addresses = {}, .sysctls = {}};
  BridgeOrigin& unknown = record.bridges["br-rail1"];
  unknown.known = false;
  unknown.rail = "rail1";
  unknown.before = {.name = "br-rail1", .uplink = "ens2"};
  record.nics["ens1"] = {{.address = "0000:3b:00.0",
                          .vfs = 4,
                          .mode = netlink::EswitchMode::kLegacy,
                          .steering = "dmfs",
                          .autoprobe = "1"},
                         {.address = "0000:3b:00.1", .vfs = 0, .mode = {}, .steering = "", .autoprobe = ""}};
  record.qos["ens1"] = {.pfc = 8, .dscp = {{26, {0, 3}}, {48, {}}}};
  record.qos["ens2"] = {.pfc = {}, .dscp = {}};
  record.bgp = frr::BaseBefore{.known = true,
                               .asn = 4200000001,
                               .interfaces = {"br-rail0"},
                               .lines = {"bgp router-id 10.0.0.1"},
                               .ipv4 = {"table-map x"},
                               .ipv6 = {}};
  record.left_pods = {{"ns/p", "/run/netns/cni-1", {4, 4026532000, "of-a-boot"}}};
  return record;
}

class OriginTest : public ::testing::Test {
 protected:
  OriginTest() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/lib/origin.json";
  }
  ~OriginTest() override { std::filesystem::remove_all(folder_); }
  static Result<BridgeOrigin> Seen(const std::string& fail_mode, bool existed = true) {
    BridgeOrigin seen;
    seen.before = {
        .name = "br-rail0", .uplink = "ens1", .existed = existed, .datapath = {}, .fail_mode = fail_mode};
    return seen;
  }
  std::string FailMode() { return ReadOrigin(path_)->bridges.at("br-rail0").before.fail_mode; }

  std::string folder_ = (std::filesystem::temp_directory_path() / "rail-origin-XXXXXX").string();
  std::string path_;
};

TEST_F(OriginTest, IsReadAsItWasWritten) {
  ASSERT_TRUE(WriteOrigin(path_, Full()));
  const auto read = ReadOrigin(path_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(*read == Full());
  EXPECT_EQ(read->left_pods.front().identity.boot, "of-a-boot");
  EXPECT_TRUE(*ReadOrigin(folder_ + "/none") == OriginRecord());
}

TEST_F(OriginTest, ThatANewerVersionHasWrittenIsRefusedInWords) {
  const auto read = ParseOrigin(R"({"version": 2, "news": {}})");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kUnsupported);
  EXPECT_THAT(read.error().message, HasSubstr("a newer version of RailCNI has written it"));
  for (const char* wrong : {"", "[]", "{}", R"({"version": 1, "bridges": {"b": {"prefixes": {"x": []}}}})",
                            R"({"version": 1, "nics": {"e": 1}})", R"({"version": 1, "other": 1})"})
    EXPECT_FALSE(ParseOrigin(wrong)) << wrong;
}

TEST_F(OriginTest, KeepsTheFirstValueAlsoAfterAStart) {
  EXPECT_TRUE(Origin(path_).Bridge("br-rail0", false, [] { return Seen("standalone"); }));
  Origin again(path_);
  EXPECT_TRUE(again.Bridge("br-rail0", false, [] { return Seen("secure"); }));
  EXPECT_TRUE(again.Bridge("br-rail0", true, [] { return Seen("secure"); }))
      << "it was somebody else's before";
  EXPECT_EQ(FailMode(), "standalone");
}

TEST_F(OriginTest, ForgetsABridgeThatIsNoLongerTheOneThatRailcniMade) {
  Origin origin(path_);
  EXPECT_TRUE(origin.Bridge("br-rail0", false, [] { return Seen("", false); }));
  EXPECT_TRUE(origin.Bridge("br-rail0", true, [] { return Seen("secure"); }));
  EXPECT_EQ(FailMode(), "secure");
}

TEST_F(OriginTest, SaysThatRailcniMadeABridgeOnlyIfItKnows) {
  Origin origin(path_);
  EXPECT_FALSE(origin.MadeBridge("br-rail0")) << "nothing is recorded";
  EXPECT_TRUE(origin.Bridge("br-rail0", false, [] { return Seen("", false); }));
  EXPECT_TRUE(origin.MadeBridge("br-rail0"));
  EXPECT_TRUE(Origin(path_).MadeBridge("br-rail0")) << "after a start";
  EXPECT_TRUE(origin.Bridge("br-rail0", true, [] { return Seen("secure"); }));
  EXPECT_FALSE(origin.MadeBridge("br-rail0")) << "somebody else has made it since";
  EXPECT_TRUE(origin.Bridge("br-rail1", false, []() -> Result<BridgeOrigin> {
    BridgeOrigin older;
    older.known = false;
    return older;
  }));
  EXPECT_FALSE(origin.MadeBridge("br-rail1")) << "of a version that kept no record";
}

TEST_F(OriginTest, KeepsTheFirstPrioritiesOfAnUplinkUntilTheyAreGivenBack) {
  EXPECT_TRUE(Origin(path_).Qos("ens1", {.pfc = 1, .dscp = {{26, {0}}}}));
  Origin origin(path_);
  EXPECT_TRUE(origin.Qos("ens1", {.pfc = 8, .dscp = {{26, {3}}, {48, {}}}}));
  const qos::Before expected{.pfc = 1, .dscp = {{26, {0}}, {48, {}}}};
  EXPECT_TRUE(origin.QosRecord()->at("ens1") == expected);
  EXPECT_TRUE(origin.ForgetQos("ens1"));
  EXPECT_TRUE(ReadOrigin(path_)->qos.empty());
}

TEST_F(OriginTest, KeepsNothingThatIsNotOnTheDisk) {
  std::filesystem::create_directories(path_);  // so that it cannot be written
  Origin origin(path_);
  EXPECT_FALSE(origin.Bridge("br-rail0", false, [] { return Seen("standalone"); }));
  std::filesystem::remove(path_);
  EXPECT_TRUE(origin.Bridge("br-rail0", false, [] { return Seen("standalone"); }));
  EXPECT_EQ(FailMode(), "standalone");
}

TEST_F(OriginTest, LooksAtBgpOnceForEachNeighbor) {
  Origin origin(path_);
  int looks = 0;
  const auto look = [&looks](const std::vector<std::string>& interfaces) {
    return [&looks, interfaces]() -> Result<frr::BaseBefore> {
      ++looks;
      return frr::BaseBefore{.asn = looks, .interfaces = interfaces};
    };
  };
  EXPECT_TRUE(origin.Bgp({"br-rail0"}, look({"br-rail0"})));
  EXPECT_TRUE(origin.Bgp({"br-rail0"}, look({"br-rail0"})));
  EXPECT_EQ(looks, 1);
  EXPECT_TRUE(origin.Bgp({"br-rail0", "br-rail1"}, look({"br-rail0", "br-rail1"})));
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(ReadOrigin(path_)->bgp->asn, 1U);
}

}  // namespace
}  // namespace rail::engine
