#include "lib/engine/repair/origin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace rail::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

OriginRecord Full() {
  OriginRecord record;
  record.adopted = {{"br-rail1", R"({"existed":true,"known":true})"}};
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
  Status AddLoopback(const std::string& address) {
    return Origin(path_).LoopbackAdded(*IpPrefix::Parse(address));
  }

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
  for (const char* wrong : {"", "[]", "{}", R"({"version": 1, "bridges": {"b": {"known": 1}}})",
                            R"({"version": 1, "nics": {"e": 1}})", R"({"version": 1, "other": 1})"})
    EXPECT_FALSE(ParseOrigin(wrong)) << wrong;
}

// As an earlier version has written it.
TEST_F(OriginTest, SaysWhichBridgesAnEarlierVersionTookOver) {
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
  std::ofstream(path_) << R"({"version": 1, "bridges": {
      "br-made": {"known": true, "rail": "rail0", "uplink": "ens1", "existed": false, "prefixes": {"0": []}},
      "br-theirs": {"known": true, "rail": "rail1", "uplink": "ens2", "existed": true, "fail_mode": "secure"},
      "br-older": {"known": false, "rail": "rail2", "uplink": "ens3", "existed": true}}})";
  Origin origin(path_);
  EXPECT_FALSE(origin.IsAdopted("br-made"));
  EXPECT_TRUE(origin.IsAdopted("br-theirs"));
  EXPECT_TRUE(origin.IsAdopted("br-older")) << "nobody knows who made it";
  EXPECT_FALSE(origin.IsAdopted("br-new"));
  EXPECT_TRUE(AddLoopback("192.0.2.1/32"));
  std::ifstream in(path_);
  const auto now = nlohmann::json::parse(in);
  EXPECT_THAT(now["bridges"], SizeIs(2));
  EXPECT_EQ(now["bridges"]["br-theirs"]["uplink"], "ens2") << "that version refuses an entry without it";
  EXPECT_EQ(now["bridges"]["br-older"]["rail"], "rail2");
}

// Not a key of origin.json: an earlier version, which reads it after a rollback, refuses keys that it does not know.
TEST_F(OriginTest, RemembersZebrasNextHopsBesideTheFile) {
  EXPECT_FALSE(ReadOrigin(path_)->next_hops);
  EXPECT_TRUE(Origin(path_).NextHops());
  EXPECT_TRUE(ReadOrigin(path_)->next_hops);
  ASSERT_TRUE(WriteOrigin(path_, Full()));
  EXPECT_TRUE(ReadOrigin(path_)->next_hops);
  std::ifstream in(path_);
  EXPECT_FALSE(nlohmann::json::parse(in).contains("next_hops"));
}

TEST_F(OriginTest, TakesABridgeForAnothersWhereItCannotBeRead) {
  std::filesystem::create_directories(path_);
  EXPECT_TRUE(Origin(path_).IsAdopted("br-rail0"));
}

TEST_F(OriginTest, KeepsTheFirstPrioritiesOfAnUplinkUntilTheyAreGivenBack) {
  EXPECT_TRUE(Origin(path_).Qos("ens1", {.pfc = 1, .dscp = {{26, {0}}}}));
  Origin origin(path_);
  EXPECT_TRUE(origin.Qos("ens1", {.pfc = 8, .dscp = {{26, {3}}, {48, {}}}}));
  const qos::Before expected{.pfc = 1, .dscp = {{26, {0}}, {48, {}}}};
  EXPECT_TRUE(origin.Read()->qos.at("ens1") == expected);
  EXPECT_TRUE(origin.ForgetQos("ens1"));
  EXPECT_TRUE(ReadOrigin(path_)->qos.empty());
}

TEST_F(OriginTest, KeepsNothingThatIsNotOnTheDisk) {
  std::filesystem::create_directories(path_);  // so that it cannot be written
  Origin origin(path_);
  EXPECT_FALSE(origin.ForgetQos("ens1"));
  EXPECT_FALSE(origin.Qos("ens1", {.pfc = 1, .dscp = {}}));
  std::filesystem::remove(path_);
  EXPECT_TRUE(origin.Qos("ens1", {.pfc = 8, .dscp = {}}));
  EXPECT_EQ(ReadOrigin(path_)->qos.at("ens1").pfc, 8);
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
