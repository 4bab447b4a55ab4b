#include "lib/engine/learned/leaves.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace rail::engine {
namespace {

using testing::IsEmpty;

class LeavesTest : public testing::Test {
 protected:
  LeavesTest() {
    config.rails = {{.name = "rail0", .index = 0, .bridge = "br-rail0"},
                    {.name = "rail1", .index = 1, .bridge = "br-rail1"}};
  }
  static frr::Leaf Leaf(uint32_t number) {
    return {4200010000U + number, *IpAddress::Parse("10.255.1." + std::to_string(number)),
            "leaf" + std::to_string(number)};
  }
  // 0: silent.
  static std::map<std::string, frr::Session> Sessions(uint32_t first, uint32_t second) {
    std::map<std::string, frr::Session> sessions;
    for (const auto& [bridge, number] : {std::pair("br-rail0", first), std::pair("br-rail1", second)}) {
      sessions[bridge] = {.interface = bridge, .state = number == 0 ? "Active" : "Established"};
      if (number != 0) sessions[bridge].leaf = Leaf(number);
    }
    return sessions;
  }
  std::string UnitOf(uint32_t first, uint32_t second) {
    Leaves leaves(config, {});
    leaves.Look(Sessions(first, second));
    return leaves.unit();
  }
  config::NodeConfig config;
};

TEST_F(LeavesTest, TheNameIsOfTheSetOfLeaves) {
  EXPECT_EQ(UnitOf(1, 2), UnitOf(2, 1));
  EXPECT_NE(UnitOf(1, 2), UnitOf(1, 3));
  EXPECT_EQ(UnitOf(1, 2).substr(0, 3), "su-");
  EXPECT_EQ(UnitOf(1, 2).size(), 13U);
  EXPECT_EQ(UnitName({}), "");
}

TEST_F(LeavesTest, ThereIsNoNameBeforeEveryLeafWasHeard) {
  Leaves leaves(config, {});
  leaves.Look(Sessions(1, 0));
  EXPECT_EQ(leaves.unit(), "");
  leaves.Look(Sessions(0, 2));
  EXPECT_EQ(leaves.unit(), UnitOf(1, 2));
}

TEST_F(LeavesTest, TheNameSurvivesALeafThatIsLost) {
  Leaves leaves(config, {});
  leaves.Look(Sessions(1, 2));
  for (const auto& lost : {Sessions(0, 2), Sessions(1, 0), Sessions(0, 0)}) {
    leaves.Look(lost);
    EXPECT_EQ(leaves.unit(), UnitOf(1, 2));
  }
  EXPECT_EQ(leaves.of("rail1"), (KnownLeaf{Leaf(2), false}));
}

TEST_F(LeavesTest, TheNameSurvivesARestartWhileALeafIsLost) {
  const std::string path = testing::TempDir() + "/leaves-test.json";
  Leaves before(config, {});
  before.Look(Sessions(1, 2));
  EXPECT_TRUE(before.TakeChanged());
  EXPECT_FALSE(before.TakeChanged());
  ASSERT_TRUE(WriteLeaves(path, before.to_keep()));
  Leaves after(config, ReadLeaves(path));
  EXPECT_EQ(after.unit(), before.unit());
  after.Look(Sessions(1, 0));
  EXPECT_EQ(after.unit(), before.unit());
  EXPECT_FALSE(after.TakeChanged());
  std::filesystem::remove(path);
}

TEST_F(LeavesTest, ANodeThatMovesHasTheNewNameOnceAllAreThere) {
  Leaves leaves(config, {});
  leaves.Look(Sessions(1, 2));
  leaves.Look(Sessions(3, 0));
  EXPECT_EQ(leaves.unit(), UnitOf(1, 2));
  EXPECT_EQ(leaves.of("rail0"), (KnownLeaf{Leaf(3), true}));
  EXPECT_EQ(leaves.of("rail1"), std::nullopt) << "its cable may be anywhere by now";
  leaves.Look(Sessions(3, 4));
  EXPECT_EQ(leaves.unit(), UnitOf(3, 4));
}

TEST_F(LeavesTest, NodeJsonGoesFirst) {
  config.topology.unit = "hall-2";
  Leaves leaves(config, {});
  EXPECT_EQ(leaves.unit(), "hall-2");
  leaves.Look(Sessions(1, 2));
  EXPECT_EQ(leaves.unit(), "hall-2");
}

TEST_F(LeavesTest, AFileThatIsNotOursIsNone) {
  const std::string path = testing::TempDir() + "/leaves-bad.json";
  std::ofstream(path)
      << R"({"rail0": {"asn": 0, "router_id": "10.0.0.1"}, "rail1": {"asn": 1, "router_id": "x"}, "rail2": 7})";
  EXPECT_THAT(ReadLeaves(path), IsEmpty());
  std::filesystem::remove(path);
  EXPECT_THAT(ReadLeaves(path), IsEmpty());
}

}  // namespace
}  // namespace rail::engine
