#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "lib/inspect/doctor/subjects.h"
#include "lib/inspect/doctor/testing/fixture.h"

namespace rail::inspect {

void Cable(NodeFacts& facts, const std::vector<uint32_t>& leaves,
           const std::map<uint32_t, std::vector<uint32_t>>& others) {
  facts.view.asn = 1;
  const engine::RailView shown = facts.view.rails[0];
  const RailFacts seen = facts.rails["rail0"];
  for (uint32_t i = 0; i < leaves.size(); ++i) {
    const std::string number = std::to_string(i);
    if (i > 0) {
      facts.view.rails.push_back(shown);
      engine::RailView& added = facts.view.rails.back();
      added.rail.name = "rail" + number;
      added.rail.index = i;
      added.rail.bridge = "br-rail" + number;
      added.rail.pf = "pf" + number;
      facts.config.rails.push_back(added.rail);
      RailFacts& beside = facts.rails[added.rail.name] = seen;
      beside.bridge->name = added.rail.bridge;
      beside.bridge->ports[0].name = added.rail.bridge;
      beside.bridge->ports[1].name = added.rail.pf;
      beside.bridge->ports.resize(2);
      beside.representors.clear();
    }
    // Each leaf is another one, though two may have one AS.
    facts.view.rails[i].leaf = {
        {leaves[i], *IpAddress::Parse("10.0.0." + std::to_string(i + 1)), "leaf" + std::to_string(leaves[i])},
        true};
  }
  engine::Seats seats;
  for (const auto& [node, behind] : others) {
    for (uint32_t rail = 0; rail < behind.size(); ++rail) seats.push_back({node, rail, behind[rail]});
  }
  facts.view.seats = std::make_shared<const engine::Seats>(std::move(seats));
}

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Ids(const NodeFacts& facts) {
  std::vector<Finding> found;
  ExamineCabling(facts, found);
  std::vector<std::string> ids;
  for (const Finding& each : found) ids.push_back(each.id + " " + each.subject);
  return ids;
}

TEST(DoctorOfCables, HasNothingToSayOfRailsThatAreAlike) {
  NodeFacts facts = Well();
  Cable(facts, {10, 11, 12, 13}, {{2, {10, 11, 12, 13}}, {3, {20, 21, 22, 23}}});
  for (auto& [name, rail] : facts.rails) rail.speed_mbit = 400000;
  EXPECT_THAT(Ids(facts), IsEmpty());
}

TEST(DoctorOfCables, NamesTheRailThatIsUnlikeMost) {
  NodeFacts facts = Well();
  Cable(facts, {10, 11, 12, 12}, {});
  facts.config.rails[2].mtu = 1500;
  facts.rails["rail3"].speed_mbit = 100000;
  for (const char* rail : {"rail0", "rail1"}) facts.rails[rail].speed_mbit = 400000;
  EXPECT_THAT(Ids(facts),
              ElementsAre("leaf-as-unlike-siblings rail2", "leaf-as-unlike-siblings rail3",
                          "rail-mtu-unlike-siblings rail2", "uplink-speed-unlike-siblings rail3"));
}

TEST(DoctorOfCables, HalfAgainstHalfIsNoFinding) {
  NodeFacts facts = Well();
  Cable(facts, {10, 10, 12, 12}, {});
  facts.config.rails[2].mtu = facts.config.rails[3].mtu = 1500;
  EXPECT_THAT(Ids(facts), IsEmpty());
}

TEST(DoctorOfCables, ReadsTheSpeedsThatTheKernelKnows) {
  NodeFacts facts = Well();
  Cable(facts, {10, 11}, {});
  const std::string sysfs = testing::TempDir() + "/speeds";
  for (const auto& [link, speed] : {std::pair("pf0", "400000"), std::pair("pf1", "-1")}) {
    std::filesystem::create_directories(sysfs + "/class/net/" + link);
    std::ofstream(sysfs + "/class/net/" + link + "/speed") << speed << '\n';
  }
  LookAtSpeeds(facts, sysfs);
  EXPECT_EQ(facts.rails["rail0"].speed_mbit, 400000U);
  EXPECT_EQ(facts.rails["rail1"].speed_mbit, 0U);
  std::filesystem::remove_all(sysfs);
}

}  // namespace
}  // namespace rail::inspect
