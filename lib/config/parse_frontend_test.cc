#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lib/config/node_config.h"

namespace rail::config {
namespace {

using ::testing::HasSubstr;

Result<NodeConfig> With(const std::string& section, const std::string& manage = "true") {
  return Parse(
      R"({"rails": [{"name": "rail0", "index": 0, "pf": "p0", "bridge": "br-rail0", "accept": ["10.0.0.0/16"]}],
    "cluster": "c", "bgp": {"manage": )" +
      manage + R"(, "asn": 1, "router_id": "10.0.0.1", "community_asn": 1}, "frontend": )" + section + "}");
}

std::string Section(const std::string& links, const std::string& addresses, const std::string& rest = "") {
  return R"({"links": )" + links + R"(, "addresses": )" + addresses + rest + "}";
}

const char* const kLinks = R"(["mgmt1", "mgmt2"])";
const char* const kAddresses = R"(["192.0.2.11/32", "2001:db8::11/128"])";

TEST(Frontend, IsOffWhenAbsent) {
  const auto node = With("null");
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_FALSE(node->frontend.on());
}

TEST(Frontend, HasItsKeys) {
  auto node = With(Section(kLinks, kAddresses));
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->frontend.links, (std::vector<std::string>{"mgmt1", "mgmt2"}));
  EXPECT_EQ(node->frontend.addresses,
            (std::vector{*IpAddress::Parse("192.0.2.11"), *IpAddress::Parse("2001:db8::11")}));
  EXPECT_EQ(node->frontend.accept, (std::vector{*IpPrefix::Parse("0.0.0.0/0"), *IpPrefix::Parse("::/0")}));
  EXPECT_FALSE(node->frontend.bfd);
  node = With(Section(kLinks, kAddresses, R"(, "accept": ["192.0.2.0/24"], "bfd": true)"));
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->frontend.accept, std::vector{*IpPrefix::Parse("192.0.2.0/24")});
  EXPECT_TRUE(node->frontend.bfd);
}

struct Bad {
  std::string section;
  const char* words;
};

TEST(Frontend, RefusesWhatCannotBe) {
  const std::vector<Bad> bad = {
      {Section(R"(["mgmt1"])", kAddresses), "frontend.links: must list 2 to 8, and lists 1"},
      {Section(R"(["mgmt1", "mgmt1"])", kAddresses), "frontend.links[1]: \"mgmt1\" is there twice"},
      {Section(R"(["mgmt1", "p0"])", kAddresses), "frontend.links[1]: \"p0\" belongs to rail rail0"},
      {Section(R"(["br-rail0", "mgmt2"])", kAddresses),
       "frontend.links[0]: \"br-rail0\" belongs to rail rail0"},
      {Section(R"(["mgmt1", "a b"])", kAddresses), "frontend.links[1]: \"a b\" must be a link's name"},
      {Section(kLinks, "[]"), "frontend.addresses: must list 1 to 16"},
      {Section(kLinks, R"(["192.0.2.0/24"])"), "frontend.addresses[0]: \"192.0.2.0/24\" must be an address"},
      {Section(kLinks, R"(["127.0.0.1/32"])"), "frontend.addresses[0]"},
      {Section(kLinks, R"(["fe80::1/128"])"), "frontend.addresses[0]"},
      {Section(kLinks, R"(["192.0.2.1/32", "192.0.2.1/32"])"), "frontend.addresses[1]"},
      {Section(kLinks, R"(["10.0.3.1/32"])"), "overlaps with 10.0.0.0/16 of rails[rail0].accept"},
      {Section(kLinks, kAddresses, R"(, "accept": [])"), "frontend.accept: must list 1"},
      {Section(kLinks, kAddresses, R"(, "accept": ["10.0.0.1/16"])"), "frontend.accept[0]"},
      {Section(kLinks, kAddresses, R"(, "accept": ["10.0.0.0/8"])"), "overlaps with 10.0.0.0/16"},
      {Section(kLinks, kAddresses, R"(, "bdf": true)"), "frontend.bdf"},
      {Section(kLinks, kAddresses, R"(, "bfd": 1)"), "frontend.bfd"},
      {R"({"addresses": ["192.0.2.11/32"]})", "frontend.links"},
  };
  for (const Bad& each : bad) {
    const auto node = With(each.section);
    ASSERT_FALSE(node) << each.section;
    EXPECT_THAT(node.error().message, HasSubstr(each.words)) << each.section;
  }
  const auto unmanaged = With(Section(kLinks, kAddresses), "false");
  ASSERT_FALSE(unmanaged);
  EXPECT_THAT(unmanaged.error().message, HasSubstr("frontend: needs bgp.manage true"));
}

}  // namespace
}  // namespace rail::config
