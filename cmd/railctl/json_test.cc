#include "cmd/railctl/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "rail/v1/node.pb.h"

namespace rail::railctl {
namespace {

TEST(ToJson, WritesNumbersAsNumbersAtEveryDepthAndKeepsTheirOrder) {
  v1::ListFlowsResponse response;
  v1::AttachmentFlows& each = *response.add_attachments();
  each.mutable_attachment()->set_id(INT64_MAX);
  each.mutable_attachment()->mutable_created()->set_seconds(1);
  each.mutable_attachment()->add_addresses("10.0.0.1");
  each.add_rules()->set_packets(UINT64_MAX);
  each.add_rules()->set_kind("12");
  const auto json = ToJson(response);
  ASSERT_TRUE(json) << json.error().message;
  const Json& attachment = json->at("attachments").at(0).at("attachment");
  EXPECT_EQ(attachment.at("id"), INT64_MAX);
  EXPECT_EQ(attachment.at("created"), "1970-01-01T00:00:01Z");
  EXPECT_EQ(attachment.at("addresses"), Json::array({"10.0.0.1"}));
  EXPECT_EQ(attachment.begin().key(), "ifname") << "as in node.proto";
  const Json& rules = json->at("attachments").at(0).at("rules");
  EXPECT_EQ(rules.at(0).at("packets"), UINT64_MAX);
  EXPECT_EQ(rules.at(1).at("packets"), 0);
  EXPECT_EQ(rules.at(1).at("kind"), "12") << "a text stays a text";
}

TEST(Text, IsOneLineOrIndentedByOne) {
  const Json json = {{"rails", Json::array({1})}};
  EXPECT_EQ(Text(json, Layout::kLine), R"({"rails":[1]})");
  EXPECT_EQ(Text(json, Layout::kIndented), "{\n \"rails\": [\n  1\n ]\n}");
}

}  // namespace
}  // namespace rail::railctl
