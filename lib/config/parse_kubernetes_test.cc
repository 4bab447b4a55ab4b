#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lib/config/node_config.h"

namespace rail::config {
namespace {

using ::testing::HasSubstr;

Result<NodeConfig> With(const std::string& section, const std::string& tenancy = "{}") {
  return Parse(R"({"rails": [{"name": "rail0", "index": 0, "pf": "p0", "bridge": "br-rail0"}],
    "cluster": "c", "bgp": {"asn": 1, "router_id": "10.0.0.1", "community_asn": 1}, "tenancy": )" +
               tenancy + R"(, "kubernetes": )" + section + "}");
}

TEST(Kubernetes, IsNotAskedUnlessTheFileSaysSo) {
  const auto node = With("null");
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_FALSE(node->kubernetes.tenants);
  EXPECT_FALSE(node->kubernetes.report);
}

TEST(Kubernetes, HasItsKeys) {
  auto node = With(R"({"tenants": true, "report": true})");
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_TRUE(node->kubernetes.tenants);
  EXPECT_TRUE(node->kubernetes.report);
  EXPECT_EQ(node->kubernetes.tenant_label, "railcni.io/tenant");
  EXPECT_EQ(node->kubernetes.api, "");
  node = With(R"({"tenant_label": "example.com/Team_1", "api": "https://[fd00::1]:6443"})");
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->kubernetes.tenant_label, "example.com/Team_1");
  EXPECT_EQ(node->kubernetes.api, "https://[fd00::1]:6443");
}

TEST(Kubernetes, RefusesLabelKeysThatKubernetesRefuses) {
  for (const char* key : {"", "/x", "x/", "a/b/c", "-a", "a b", "Example.com/x", "a..b/x"}) {
    const auto node = With(R"({"tenant_label": ")" + std::string(key) + "\"}");
    ASSERT_FALSE(node) << key;
    EXPECT_THAT(node.error().message, HasSubstr("kubernetes.tenant_label")) << key;
  }
}

TEST(Kubernetes, SendsATokenWithoutTlsToTheLoopbackAlone) {
  EXPECT_TRUE(With(R"({"api": "http://127.0.0.1:8001"})"));
  EXPECT_TRUE(With(R"({"api": "https://api.example.com:6443"})"));
  for (const char* api : {"http://10.0.0.1:8001", "https://10.0.0.1", "https://:6443", "ftp://10.0.0.1:1",
                          "https://10.0.0.1:0", "https://a/b:6443", "https://u@h:6443"}) {
    const auto node = With(R"({"api": ")" + std::string(api) + "\"}");
    ASSERT_FALSE(node) << api;
    EXPECT_THAT(node.error().message, HasSubstr("kubernetes.api")) << api;
  }
}

TEST(Kubernetes, RefusesTenantsWithoutTenancyAndUnknownKeys) {
  const auto off = With(R"({"tenants": true})", R"({"mode": "off"})");
  ASSERT_FALSE(off);
  EXPECT_THAT(off.error().message, HasSubstr("kubernetes.tenants: true needs tenancy.mode"));
  const auto unknown = With(R"({"tenant": true})");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("kubernetes.tenant: unknown key"));
}

}  // namespace
}  // namespace rail::config
