#include "lib/config/cluster_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace rail::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<std::vector<NodeFacts>> Read(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/cluster_nodes_test.json";
  std::ofstream(path) << text;
  return ReadNodes(path);
}

std::string NodeText(const std::string& name, const std::string& ip) {
  return R"({"kind": "Node", "metadata": {"name": ")" + name +
         R"(", "labels": {"rack": "r1"}}, "status": {"addresses": [
      {"type": "Hostname", "address": "x"}, {"type": "InternalIP", "address": ")" +
         ip + R"("}, {"type": "InternalIP", "address": "fd00::1"}]}})";
}

TEST(ClusterNodes, AreReadFromAListAndFromOneObject) {
  const auto nodes = Read(R"({"kind": "List", "items": [)" + NodeText("a", "10.0.0.1") + "," +
                          NodeText("b", "10.0.0.2") + "]}");
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 2U);
  EXPECT_EQ((*nodes)[1].name, "b");
  EXPECT_EQ((*nodes)[1].ip->ToString(), "10.0.0.2") << "the first InternalIP";
  EXPECT_EQ((*nodes)[1].labels->at("rack"), "r1");
  const auto one = Read(NodeText("c", "10.0.0.3"));
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ((*one)[0].name, "c");
}

TEST(ClusterNodes, SomethingElseIsRefused) {
  for (const char* text :
       {"{}", "7", R"({"kind": "Pod", "metadata": {"name": "p"}})", R"({"kind": "Node", "metadata": {}})"}) {
    const auto nodes = Read(text);
    ASSERT_FALSE(nodes) << text;
    EXPECT_EQ(nodes.error().code, Code::kInvalid);
  }
}

TEST(ClusterNodes, CollisionsAreNamed) {
  const auto resolved = [](uint32_t asn, const char* router_id) {
    Resolved one;
    one.config.bgp.asn = asn;
    one.config.bgp.router_id = *IpAddress::Parse(router_id);
    return one;
  };
  EXPECT_THAT(Collisions({{"a", resolved(1, "10.0.0.1")}, {"b", resolved(2, "10.0.0.2")}}), IsEmpty());
  EXPECT_THAT(Collisions({{"a", resolved(1, "10.0.0.1")}, {"b", resolved(1, "10.0.0.1")}}),
              ElementsAre(HasSubstr("bgp.asn: 1 is that of a and of b"),
                          HasSubstr("bgp.router_id: 10.0.0.1 is that of a and of b")));
}

}  // namespace
}  // namespace rail::config
