// What the doctor says of node.json, of the record and of raild itself, also where raild does not run.
#include <gmock/gmock.h>

#include "lib/inspect/doctor/testing/fixture.h"

namespace rail::inspect {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Doctor, AccusesNothingOfWhatOnlyRaildKnows) {
  NodeFacts facts = Well();
  facts.view.bmp_up = false;
  facts.view.rails[0].seen.set_bgp_state("");
  facts.view.rails[0].seen.clear_leaf_mac();
  facts.view.attachments[0].rules_in_place = false;
  facts.view.health.clear();
  facts.config.tenancy.tenants["green"] = {"n-s"};
  facts.start = StartFacts{.runs = true, .log = "l", .start = "s", .obstacles = {}};
  EXPECT_THAT(Diagnose(facts), IsEmpty());
}

TEST(Doctor, SaysWhatKeepsRaildFromStarting) {
  NodeFacts facts = Well();
  facts.start = StartFacts{.log = "journalctl -u raild",
                           .start = "systemctl start raild",
                           .obstacles = {{"metrics.listen", "another program has it", "end it"}}};
  const std::vector<Finding> findings = Diagnose(facts);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].id, "raild-cannot-start");
  EXPECT_EQ(findings[0].subject, "metrics.listen");
  EXPECT_EQ(findings[0].what, "another program has it");
  EXPECT_EQ(findings[0].fix, "end it");
  facts.start->obstacles.clear();
  const std::vector<Finding> down = Diagnose(facts);
  ASSERT_EQ(down.size(), 1U);
  EXPECT_THAT(down[0].fix, HasSubstr("`systemctl start raild`"));
  EXPECT_THAT(down[0].fix, HasSubstr("`journalctl -u raild`"));
}

TEST(Doctor, SaysWhichChangesOfTheFileTakeARestart) {
  NodeFacts facts = Well();
  facts.config_changes = {{"bgp.asn", config::Takes::kRestart}};
  facts.view.health.push_back({engine::Part::kNodeFile, false, "it waits for a person", 1});
  EXPECT_THAT(Diagnose(facts).at(0).fix, HasSubstr("`systemctl restart raild`"));
  EXPECT_THAT(Diagnose(facts).at(0).why, HasSubstr("it waits for a person"));
  facts.config_changes = {{"metrics.listen", config::Takes::kAtOnce}};
  EXPECT_THAT(Diagnose(facts).at(0).fix, testing::StartsWith("mend what is named there"));
}

TEST(Doctor, SaysHowToGoOnAfterADamagedRecord) {
  NodeFacts facts = Well();
  facts.record_path = "/var/lib/railcni/state.db";
  facts.record_error = Error{Code::kDamaged, "is damaged", 0};
  EXPECT_THAT(
      Diagnose(facts).at(0).fix,
      HasSubstr("`systemctl stop raild; mkdir /var/lib/railcni/damaged && mv /var/lib/railcni/state.db* "));
  facts.record_error = Error{Code::kUnsupported, "has format 9", 0};
  EXPECT_THAT(Diagnose(facts).at(0).fix, Not(HasSubstr("damaged")));
}

}  // namespace
}  // namespace rail::inspect
