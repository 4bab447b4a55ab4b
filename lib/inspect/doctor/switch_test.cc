// What the doctor says of ports and rules of the switch, where that takes more than a row of doctor_test.cc.
#include <gmock/gmock.h>

#include "lib/inspect/doctor/testing/fixture.h"

namespace rail::inspect {
namespace {

using testing::HasSubstr;

TEST(Doctor, FindsARepresentorThatIsGoneThoughOpenVswitchHasNotSeenIt) {
  NodeFacts facts = Well();
  facts.rails["rail0"].representors["rep0"] = {};
  std::vector<Finding> findings = Diagnose(facts);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "port-not-working");
  EXPECT_THAT(findings[0].what, HasSubstr("no link rep0"));
  facts.links_unknown = Error{Code::kTransient, "connection refused", 0};
  findings = Diagnose(facts);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "links-unknown");
}

// ofproto/ofproto-dpif-upcall.c, should_revalidate.
TEST(Doctor, FindsThatFlowsOfFewPacketsLeaveTheNicWhenALookTakesLong) {
  NodeFacts facts = Well();
  facts.datapaths[0].dump_ms = 1000;
  EXPECT_TRUE(Diagnose(facts).empty()) << "min-revalidate-pps is 0: no flow goes for its packets";
  facts.other_config["min-revalidate-pps"] = "5";
  const auto what = [&]() -> std::string {
    for (const Finding& each : Diagnose(facts)) {
      if (each.id == "max-revalidator-short" && each.severity == Severity::kWarning) return each.what;
    }
    return "";
  };
  EXPECT_THAT(what(), HasSubstr("because one look at its flows takes more than 250 ms"));
  facts.datapaths[0].dump_ms = 250;
  EXPECT_EQ(what(), "") << "the default, and not reached";
  facts.other_config["max-revalidator"] = "200";
  facts.datapaths[0].dump_ms = 7;
  EXPECT_THAT(
      what(),
      HasSubstr(
          "as soon as one look at its flows takes more than 100 ms, half of max-revalidator (now 7 ms)"));
}

TEST(Doctor, SaysHowManyFlowsAreForeignAndHowOneIsDeleted) {
  NodeFacts facts = Well();
  RailFacts& rail = facts.rails["rail0"];
  rail.foreign_flows = 900;
  rail.foreign_examples = {{0, 0, 0, "", "NORMAL"}, {1, 7, 0x12, "ip", "drop"}};
  std::vector<Finding> findings = Diagnose(facts);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].what,
              HasSubstr("900 flows of bridge br-rail0 are not RailCNI's, as table=0,priority=0"));
  EXPECT_THAT(
      findings[0].fix,
      HasSubstr("`ovs-ofctl -O OpenFlow15 --strict del-flows br-rail0 'cookie=0x0/-1,table=0,priority=0'`"));
  // A bridge that is not secure has a rule of Open vSwitch's own, which goes with that.
  rail.bridge->fail_mode = "";
  rail.foreign_flows = 1;
  rail.foreign_examples.pop_back();
  findings = Diagnose(facts);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "fail-mode-not-secure");
}

}  // namespace
}  // namespace rail::inspect
