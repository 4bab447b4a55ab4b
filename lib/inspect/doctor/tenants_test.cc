// Whose pods meet, and why: clusters of one name, labels that nobody follows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/inspect/doctor/testing/fixture.h"

namespace rail::inspect {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(DoctorOfTenants, NamesAnotherClusterOfTheSameName) {
  NodeFacts facts = Well();
  facts.view.health.push_back({engine::Part::kCluster, true, "", 0});
  EXPECT_THAT(Diagnose(facts), IsEmpty());
  facts.view.health.back() = {engine::Part::kCluster, false, "the leaf fe80::1 is of another cluster", 1};
  const std::vector<Finding> findings = Diagnose(facts);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "cluster-name-taken");
  EXPECT_EQ(findings[0].severity, Severity::kCritical);
  EXPECT_EQ(findings[0].subject, "node.json");
  EXPECT_EQ(findings[0].what, "the leaf fe80::1 is of another cluster");
  EXPECT_THAT(findings[0].fix, HasSubstr("another name"));
}

TEST(DoctorOfTenants, SaysWhereLabelsAreNotFollowedAlthoughRaildTalksToTheApiServer) {
  NodeFacts facts = Well();
  const auto said = [&] {
    std::vector<Finding> findings = Diagnose(facts);
    std::erase_if(findings, [](const Finding& each) { return each.id != "labels-not-followed"; });
    return findings;
  };
  facts.config.tenancy.tenants.clear();
  EXPECT_THAT(said(), IsEmpty()) << "no API server: no raild could follow a label";
  facts.config.kubernetes.report = true;
  ASSERT_EQ(said().size(), 1U);
  EXPECT_EQ(said()[0].severity, Severity::kInfo);
  EXPECT_THAT(said()[0].why, HasSubstr("the label railcni.io/tenant of a namespace changes nothing"));
  facts.config.tenancy.tenants = {{"red", {"ns"}}};
  EXPECT_THAT(said(), IsEmpty()) << "node.json says who shares a tenant";
  facts.config.tenancy.tenants.clear();
  facts.config.tenancy.mode = config::TenancyMode::kOff;
  EXPECT_THAT(said(), IsEmpty());
}

}  // namespace

std::vector<std::string> FindingsOfTenants() {
  return {"cluster-name-taken", "labels-not-followed"};
}

}  // namespace rail::inspect
