// A link of the front end that the host's default route does not use: whose fault it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/inspect/doctor/testing/fixture.h"

namespace rail::inspect {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Two links with Established sessions. The finding of the second.
std::string Said(const std::function<void(v1::FrontendLink&)>& wrong) {
  NodeFacts facts = Well();
  facts.config.frontend.links = {"mgmt1", "mgmt2"};
  for (const std::string& name : facts.config.frontend.links) {
    v1::FrontendLink& link = *facts.frontend.add_frontend_links();
    link.set_name(name);
    link.set_connected(true);
  }
  wrong(*facts.frontend.mutable_frontend_links(1));
  const std::vector<Finding> findings = Diagnose(facts);
  EXPECT_EQ(findings.size(), 1U);
  if (findings.empty()) return "";
  EXPECT_EQ(findings[0].id, "frontend-default-route");
  EXPECT_EQ(findings[0].subject, "mgmt2");
  return findings[0].what + ": " + findings[0].fix;
}

TEST(FrontendLink, WithoutAPathIsTheLeafs) {
  EXPECT_THAT(Said([](v1::FrontendLink& link) { link.add_missing_default_routes("ipv4"); }),
              AllOf(HasSubstr("does the leaf announce it"), Not(HasSubstr("clear bgp"))));
}

TEST(FrontendLink, WhosePathTheKernelLacksIsZebras) {
  EXPECT_THAT(Said([](v1::FrontendLink& link) {
                link.add_missing_default_routes("ipv4");
                link.add_unused_default_paths("ipv4");
              }),
              AllOf(HasSubstr("bgpd uses the default route (ipv4) of this link"),
                    HasSubstr("`vtysh -c 'clear bgp mgmt2'`")));
}

}  // namespace
}  // namespace rail::inspect
