#include <gmock/gmock.h>

#include "lib/config/changes.h"
#include "lib/config/node_config.h"

namespace rail::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string Node(const std::string& lossless, const std::string& rail = "") {
  return R"({"rails": [{"name": "rail0", "index": 0, "pf": "p0", "bridge": "br0")" +
         (rail.empty() ? "" : R"(, "lossless": )" + rail) +
         R"(}], "cluster": "c", "bgp": {"asn": 1, "router_id": "10.0.0.1", "community_asn": 1})" +
         (lossless.empty() ? "" : R"(, "lossless": )" + lossless) + "}";
}

std::string ErrorOf(const std::string& lossless, const std::string& rail = "") {
  const auto parsed = Parse(Node(lossless, rail));
  return parsed ? "" : parsed.error().message;
}

constexpr char kUsual[] =
    R"({"trust": "dscp", "pfc": [3], "ecn": [3], "dscp_to_priority": {"26": 3, "48": 6}, "tos": 106})";

TEST(ParseLossless, TakesTheNodesSectionForEveryRail) {
  const auto parsed = Parse(Node(kUsual));
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Lossless& wanted = parsed->rails[0].lossless.value();
  EXPECT_EQ(wanted.trust, Trust::kDscp);
  EXPECT_THAT(wanted.pfc.value(), ElementsAre(3));
  EXPECT_THAT(wanted.ecn, ElementsAre(3));
  EXPECT_THAT(wanted.dscp_to_priority, ElementsAre(Pair(26, 3), Pair(48, 6)));
  EXPECT_EQ(wanted.tos, 106);
  EXPECT_FALSE(wanted.manage_qos);
}

TEST(ParseLossless, WantsNothingWithoutTheSection) {
  EXPECT_FALSE(Parse(Node(""))->rails[0].lossless);
}

TEST(ParseLossless, ARailOverridesKeyByKey) {
  const auto parsed = Parse(Node(kUsual, R"({"pfc": [3, 4], "tos": null})"));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_THAT(parsed->rails[0].lossless->pfc.value(), ElementsAre(3, 4));
  EXPECT_EQ(parsed->rails[0].lossless->tos, 106);
  EXPECT_THAT(Parse(Node("", R"({"pfc": []})"))->rails[0].lossless->pfc.value(), ElementsAre());
}

TEST(ParseLossless, NamesTheKeyThatIsWrong) {
  EXPECT_THAT(ErrorOf(R"({"trust": "tos"})"),
              HasSubstr("lossless.trust: \"tos\" must be \"dscp\" or \"pcp\""));
  EXPECT_THAT(ErrorOf(R"({"pfc": [8]})"), HasSubstr("lossless.pfc[0]: 8 must be a priority"));
  EXPECT_THAT(ErrorOf(R"({"pfc": [3, 3]})"), HasSubstr("lossless.pfc[1]: 3 is in this list already"));
  EXPECT_THAT(ErrorOf(R"({"ecn": ["3"]})"), HasSubstr("lossless.ecn[0]"));
  EXPECT_THAT(ErrorOf(R"({"dscp_to_priority": {"64": 3}})"),
              HasSubstr("lossless.dscp_to_priority.64: is no DSCP"));
  EXPECT_THAT(ErrorOf(R"({"dscp_to_priority": {"026": 3}})"), HasSubstr("is no DSCP"));
  EXPECT_THAT(ErrorOf(R"({"dscp_to_priority": {"26": 8}})"), HasSubstr("lossless.dscp_to_priority.26"));
  EXPECT_THAT(ErrorOf(R"({"tos": 256})"), HasSubstr("lossless.tos"));
  EXPECT_THAT(ErrorOf(R"({"pfs": [3]})"), HasSubstr("lossless.pfs: unknown key"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("lossless"));
  EXPECT_THAT(ErrorOf(kUsual, R"({"pfc": [9]})"), HasSubstr("rails[0].lossless.pfc[0]"));
}

TEST(ParseLossless, RefusesWhatContradictsItself) {
  EXPECT_THAT(ErrorOf(R"({"trust": "pcp", "dscp_to_priority": {"26": 3}})"), HasSubstr("has no effect with"));
  EXPECT_THAT(ErrorOf(R"({"trust": "dscp", "manage_qos": true})"), HasSubstr("needs dscp_to_priority"));
  EXPECT_THAT(ErrorOf(R"({"pfc": [3], "ecn": [4]})"), HasSubstr("priority 4, which is not in pfc"));
  EXPECT_THAT(ErrorOf(R"({"pfc": [3], "dscp_to_priority": {"26": 5}, "tos": 106})"),
              HasSubstr("lossless.tos: 106 is DSCP 26"));
  EXPECT_EQ(ErrorOf(R"({"pfc": [3], "tos": 106})"), "");
}

TEST(ParseLossless, IsTakenByARaildThatRuns) {
  const auto changes = Changes(*Parse(Node("")), *Parse(Node(kUsual)));
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].key, "rails[rail0].lossless");
  EXPECT_EQ(changes[0].takes, Takes::kAtOnce);
}

}  // namespace
}  // namespace rail::config
