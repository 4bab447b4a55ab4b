#include "cmd/railfabric/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rail::railfabric {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTls = R"({"ca_file": "/ca", "cert_file": "/cert", "key_file": "/key"})";

std::string Why(const std::string& text) {
  const auto settings = ParseSettings(text);
  return settings ? "" : settings.error().message;
}

std::string With(const std::string& nodes, const std::string& more = "") {
  return R"({"listen": ["unix:/run/fabric.sock"], "nodes": [)" + nodes + "]" + more + "}";
}

TEST(Settings, TakesSocketsAndAddresses) {
  const auto settings =
      ParseSettings(std::string(R"({"listen": ["unix:/run/fabric.sock", "[::1]:9444"], "tls": )") + kTls +
                    R"(, "nodes": [{"name": "n1", "raild": "unix:/run/raild.sock"},
                                      {"name": "n2.example", "raild": "n2.example:9443"},
                                      {"name": "n3", "raild": "10.0.0.3:9443"}, {"name": "n4", "raild": "[fd00::4]:9443"}],
                                      "raild_tls": )" +
                    kTls + "}");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->socket, "/run/fabric.sock");
  EXPECT_EQ(settings->listen, "[::1]:9444");
  EXPECT_EQ(settings->tls.cert_file, "/cert");
  EXPECT_EQ(settings->raild_tls.key_file, "/key");
  ASSERT_EQ(settings->nodes.size(), 4U);
  EXPECT_EQ(settings->nodes[1].name, "n2.example");
  EXPECT_EQ(settings->nodes[1].raild, "n2.example:9443");
}

TEST(Settings, NamesEveryKeyThatIsWrong) {
  const std::string why =
      Why(R"({"listen": ["/run/fabric.sock"], "nodes": [{"name": "N_1", "raild": "10.0.0.1"},
      {"name": "n2", "raild": "unix:raild.sock", "port": 1}, {"raild": "unix:/r"}], "node": []})");
  for (const char* each :
       {R"(listen[0]: "/run/fabric.sock" is neither)", R"(nodes[0].name: "N_1" is no name of a node)",
        R"(nodes[0].raild: "10.0.0.1" is neither)", R"(nodes[1].raild: "unix:raild.sock" is neither)",
        "nodes[1].port: ", "nodes[2].name: ", "; node: "}) {
    EXPECT_THAT(why, HasSubstr(each));
  }
}

TEST(Settings, WantsEachNodeOnce) {
  EXPECT_EQ(Why(With(R"({"name": "n1", "raild": "unix:/a"})")), "");
  EXPECT_THAT(Why(With(R"({"name": "n1", "raild": "unix:/a"}, {"name": "n1", "raild": "unix:/b"})")),
              HasSubstr("nodes[1].name: n1 is there already"));
  EXPECT_THAT(Why(With("")), HasSubstr("nodes: must name at least one node"));
}

TEST(Settings, WantsTlsForEachWayOverTcpAndForNoOther) {
  const std::string node = R"({"name": "n1", "raild": "10.0.0.1:9443"})";
  EXPECT_THAT(Why(With(node)), HasSubstr("raild_tls: is missing"));
  EXPECT_EQ(Why(With(node, std::string(R"(, "raild_tls": )") + kTls)), "");
  EXPECT_THAT(Why(R"({"listen": ["10.0.0.1:9444"], "nodes": [{"name": "n1", "raild": "unix:/a"}]})"),
              HasSubstr("tls: is missing: 10.0.0.1:9444 is served with mutual TLS alone"));
  EXPECT_THAT(Why(With(R"({"name": "n1", "raild": "unix:/a"})", std::string(R"(, "tls": )") + kTls)),
              HasSubstr("tls: serves nothing"));
  EXPECT_THAT(Why(With(node, R"(, "raild_tls": {"ca_file": "/ca"})")), HasSubstr("raild_tls.cert_file"));
}

TEST(Settings, WantsOneOfEachWay) {
  EXPECT_THAT(Why(R"({"listen": ["unix:/a", "unix:/b"], "nodes": [{"name": "n1", "raild": "unix:/a"}]})"),
              HasSubstr("listen[1]: is a second socket"));
  EXPECT_THAT(Why(R"({"nodes": [{"name": "n1", "raild": "unix:/a"}]})"),
              HasSubstr("listen: must name at least one"));
}

TEST(Settings, SaysWhichFileCannotBeRead) {
  const auto settings = ReadSettings("/nowhere/railfabric.json");
  ASSERT_FALSE(settings);
  EXPECT_EQ(settings.error().code, Code::kNotFound);
  EXPECT_THAT(settings.error().message, HasSubstr("/nowhere/railfabric.json"));
}

}  // namespace
}  // namespace rail::railfabric
