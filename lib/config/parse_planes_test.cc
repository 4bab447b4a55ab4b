// Planes in node.json: what is read, and which contradiction is named by its key.
#include <gmock/gmock.h>

#include "lib/config/node_config.h"

namespace rail::config {
namespace {

using ::testing::HasSubstr;

// Two rails with these keys more.
Result<NodeConfig> With(const std::string& first, const std::string& second) {
  return Parse(R"({"rails": [
    {"name": "rail3p0", "index": 6, "pf": "p0", "bridge": "br0")" +
               first + R"(},
    {"name": "rail3p1", "index": 7, "pf": "p1", "bridge": "br1")" +
               second + R"(}],
    "cluster": "c", "bgp": {"asn": 65000, "router_id": "10.0.0.1", "community_asn": 4200000000}})");
}

std::string Refusal(const std::string& first, const std::string& second) {
  const auto node = With(first, second);
  return node ? "" : node.error().message;
}

TEST(Planes, TwoUplinksAreTwoPlanesOfOneRail) {
  const auto node = With(R"(, "rail": 3, "plane": 0)", R"(, "rail": 3, "plane": 1)");
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->rails[0].number(), 3U);
  EXPECT_EQ(node->rails[1].number(), 3U);
  EXPECT_EQ(node->rails[0].place.plane, 0U);
  EXPECT_EQ(node->rails[1].place.plane, 1U);
  EXPECT_EQ(node->rails[1].GatewayMac().ToString(), "02:52:41:49:4c:07")
      << "tables, gateways and communities go by index";
}

TEST(Planes, WithoutTheKeysARailIsItsIndex) {
  const auto node = With("", "");
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->rails[1].number(), 7U);
  EXPECT_EQ(node->rails[1].place, Place());
}

TEST(Planes, WhatContradictsItselfIsNamed) {
  EXPECT_THAT(Refusal(R"(, "rail": 3, "plane": 1)", R"(, "rail": 3, "plane": 1)"),
              HasSubstr("rails[1].plane: plane 1 of rail 3 is rails[0] already"));
  EXPECT_THAT(Refusal(R"(, "plane": 1)", ""), HasSubstr("rails[0].plane: needs \"rail\""));
  EXPECT_THAT(Refusal(R"(, "rail": 3, "plane": 13)", ""), HasSubstr("rails[0].plane"));
  EXPECT_THAT(Refusal(R"(, "rail": 100)", ""), HasSubstr("rails[0].rail"));
  EXPECT_THAT(Refusal(R"(, "nic_planes": 3)", ""), HasSubstr("rails[0].nic_planes: must be 1, 2 or 4"));
  EXPECT_THAT(Refusal(R"(, "rail": 3, "plane": 0, "nic_planes": 2)", ""), HasSubstr("rails[0].nic_planes"));
  EXPECT_THAT(Refusal(R"(, "rail": 7, "plane": 0)", ""), HasSubstr("rails[1].rail: is missing"))
      << "two would be rail 7";
}

TEST(Planes, TheNicsOwnPlanesAreRead) {
  const auto node = With(R"(, "nic_planes": 4)", "");
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->rails[0].place.nic_planes, 4U);
}

}  // namespace
}  // namespace rail::config
