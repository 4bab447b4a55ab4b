// What the doctor says first, and what it leaves out.
#include <gmock/gmock.h>

#include "lib/inspect/doctor/testing/fixture.h"

namespace rail::inspect {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Doctor, HasNothingToSayOfANodeThatIsWell) {
  const std::vector<Finding> findings = Diagnose(Well());
  EXPECT_THAT(findings, IsEmpty()) << findings.front().id << ": " << findings.front().what;
}

TEST(Doctor, WarnsOfNamespacesThatItCannotSeeWhereItSeesOthers) {
  NodeFacts facts = Well();
  facts.view.attachments.push_back(facts.view.attachments[0]);
  facts.view.attachments[1].namespace_unseen = "mount it";
  const std::vector<Finding> findings = Diagnose(facts);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "namespaces-not-visible");
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  EXPECT_THAT(findings[0].what, HasSubstr("of 1 of 2 attachments"));
}

TEST(Doctor, SaysTheWorstFirst) {
  NodeFacts facts = Well();
  facts.view.rdma = engine::RdmaMode::kNone;
  facts.view.bmp_up = false;
  facts.view.rails[0].seen.set_bgp_state("");
  const std::vector<Finding> findings = Diagnose(facts);
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].id, "bmp-missing") << "bgpd before a rail";
  EXPECT_EQ(findings[1].id, "bgp-session-down");
  EXPECT_EQ(findings[2].id, "rdma-missing");
}

TEST(Doctor, DoesNotAskForATenantWhenTenancyIsOff) {
  NodeFacts facts = Well();
  facts.config.tenancy.mode = config::TenancyMode::kOff;
  facts.view.attachments[0].attachment.tenant_id = {};
  EXPECT_THAT(Diagnose(facts), IsEmpty());
}

}  // namespace
}  // namespace rail::inspect
