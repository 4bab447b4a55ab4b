#include "lib/tenancy/tenant_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace rail::tenancy {
namespace {

using ::testing::HasSubstr;

constexpr char kKey[] = "railcni.io/tenant";

TenantMap Map() {
  TenantMap map{.label_key = kKey, .resource_version = "4711", .namespaces = {}};
  map.namespaces["ns-a"] = {.label = "team-a", .created_ms = 1'700'000'000'000, .uid = "u-1"};
  map.namespaces["ns-b"] = {};
  map.namespaces["ns-c"] = {.label = "", .created_ms = 7};
  return map;
}

class File : public ::testing::Test {
 protected:
  File() {
    char name[] = "/tmp/railcni-tenants-XXXXXX";
    folder = ::mkdtemp(name);
    path = folder + "/tenants.json";
  }
  ~File() override { std::filesystem::remove_all(folder); }
  std::string folder, path;
};

TEST(TenantName, IsALabelOfRfc1123) {
  for (const char* good : {"a", "0", "team-a", "a--b"}) EXPECT_TRUE(IsTenantName(good)) << good;
  EXPECT_TRUE(IsTenantName(std::string(63, 'x')));
  for (const char* bad : {"", "-a", "a-", "A", "a_b", "a.b", "a b", "\xc3\xa4"})
    EXPECT_FALSE(IsTenantName(bad)) << bad;
  EXPECT_FALSE(IsTenantName(std::string(64, 'x')));
}

TEST_F(File, GivesBackWhatWasSaved) {
  ASSERT_TRUE(SaveTenantMap(path, Map()));
  const auto map = LoadTenantMap(path, kKey);
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(*map, Map());
}

TEST_F(File, IsReplacedAsAWhole) {
  ASSERT_TRUE(SaveTenantMap(path, Map()));
  std::ifstream reader(path);  // it has opened the old file, and reads it to its end
  TenantMap other = Map();
  other.namespaces.clear();
  ASSERT_TRUE(SaveTenantMap(path, other));
  std::stringstream old;
  old << reader.rdbuf();
  EXPECT_EQ(ParseTenantMap(old.str(), kKey).value(), Map());
  EXPECT_EQ(LoadTenantMap(path, kKey).value(), other);
}

TEST_F(File, OfAnotherLabelSaysNothing) {
  ASSERT_TRUE(SaveTenantMap(path, Map()));
  const auto map = LoadTenantMap(path, "example.com/team");
  ASSERT_FALSE(map);
  EXPECT_EQ(map.error().code, Code::kNotFound);
  EXPECT_THAT(map.error().message,
              HasSubstr("of label railcni.io/tenant, and node.json names example.com/team"));
}

TEST_F(File, IsReadStrictly) {
  EXPECT_EQ(LoadTenantMap(path, kKey).error().code, Code::kNotFound);
  for (const char* text :
       {"", "{}", "[]", R"({"format": 2, "label": "railcni.io/tenant", "namespaces": {}})",
        R"({"format": 1, "label": "railcni.io/tenant"})",
        R"({"format": 1, "label": "railcni.io/tenant", "namespaces": {"a": "b"}})",
        R"({"format": 1, "label": "railcni.io/tenant", "namespaces": {"a": {"tenant": "b"}}})",
        R"({"format": 1, "label": "railcni.io/tenant", "namespaces": {"a": {}, "a": {"label": "b"}}})",
        R"({"format": 1, "label": "railcni.io/tenant", "namespaces": {"a": {"label": null}}})",
        R"({"format": 1, "label": "railcni.io/tenant", "namespaces": {"a": {"label": {"label": {}}}}})",
        R"({"format": 1, "label": "railcni.io/tenant", "other": {"a": {}}, "namespaces": {}})",
        R"({"format": 1, "label": "railcni.io/tenant", "namespaces": []})",
        R"({"format": 1, "label": "railcni.io/tenant", "namespaces": {}} x)",
        R"({"format": 1, "label": "railcni.io/tenant", "namespaces": {"a": {"created_ms": -1}}})",
        R"({"format": 1, "label": "railcni.io/tenant", "namespaces": {"a": {"label": "b")"}) {
    std::ofstream(path) << text;
    const auto map = LoadTenantMap(path, kKey);
    ASSERT_FALSE(map) << text;
    EXPECT_THAT(map.error().message, HasSubstr(path)) << text;
  }
}

}  // namespace
}  // namespace rail::tenancy
