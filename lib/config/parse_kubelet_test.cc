#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lib/config/node_config.h"

namespace rail::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Result<NodeConfig> With(const std::string& section) {
  return Parse(R"({"rails": [{"name": "rail0", "index": 0, "pf": "p0", "bridge": "br-rail0"},
                             {"name": "west", "index": 7, "pf": "p1", "bridge": "br-west"}],
    "cluster": "c", "bgp": {"asn": 1, "router_id": "10.0.0.1", "community_asn": 1}, "kubelet": )" +
               section + "}");
}

std::string ResourcesOf(const NodeConfig& node) {
  return node.kubelet.ResourceOf(node.rails[0]) + " " + node.kubelet.ResourceOf(node.rails[1]);
}

TEST(KubeletKeys, AreOffUnlessTheFileSaysSo) {
  const auto node = With("{}");
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_FALSE(node->kubelet.device_plugin);
  EXPECT_FALSE(node->kubelet.dra);
  EXPECT_EQ(node->kubelet.grace_s, 15U);
  EXPECT_EQ(node->kubelet.folder, "/var/lib/kubelet/device-plugins");
  EXPECT_TRUE(node->kubelet.libraries);
  EXPECT_FALSE(With(R"({"libraries": false})")->kubelet.libraries);
  EXPECT_EQ(ResourcesOf(*node), "nvidia.com/rail0 nvidia.com/rail7");
}

TEST(KubeletKeys, AResourceHasTheRailsIndexAndNameAsOftenAsItSays) {
  const auto node = With(R"({"device_plugin": true, "resource": "example.com/{rail}.{index}-{rail}"})");
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(ResourcesOf(*node), "example.com/rail0.0-rail0 example.com/west.7-west");
}

TEST(KubeletKeys, TakesTheNamesThatTheKubeletTakes) {
  const std::string label(63, 'a'), longest = label + "." + label + "." + label + "." + std::string(52, 'a');
  ASSERT_EQ(longest.size(), 244U);
  for (const std::string& name : {std::string("a/b{index}"), std::string("x-y.io/B_c.{rail}"),
                                  longest + "/{index}", "nvidia.com/" + std::string(61, 'n') + "{index}"})
    EXPECT_TRUE(With(R"({"device_plugin": true, "resource": ")" + name + "\"}")) << name;
}

TEST(KubeletKeys, RefusesNamesThatTheKubeletRefuses) {
  for (const std::string name :
       {"", "rail{index}", "/rail{index}", "nvidia.com/", "nvidia.com/a/{index}", "Nvidia.com/{index}",
        "nvidia..com/{index}", "nvidia.com/-{index}", "nvidia.com/{index}-", "nvidia.com/a b{index}",
        "kubernetes.io/{index}", "node.kubernetes.io/{index}", "requests.nvidia.com/{index}", "x.io/{other}",
        "nvidia.com/nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn{index}"}) {
    const auto node = With(R"({"device_plugin": true, "resource": ")" + name + "\"}");
    ASSERT_FALSE(node) << name;
    EXPECT_THAT(node.error().message, HasSubstr("kubelet.resource")) << name;
  }
}

TEST(KubeletKeys, RefusesOneNameForTwoRails) {
  const auto same = With(R"({"device_plugin": true, "resource": "nvidia.com/rail"})");
  ASSERT_FALSE(same);
  EXPECT_THAT(same.error().message, AllOf(HasSubstr("kubelet.resource: gives rail0 and west one name"),
                                          HasSubstr("\"{index}\" or \"{rail}\"")));
  EXPECT_FALSE(With(R"({"dra": true, "resource": "nvidia.com/rail"})"));
  EXPECT_TRUE(With(R"({"resource": "nvidia.com/rail"})")) << "nobody offers it";
}

TEST(KubeletKeys, RefusesToOfferDevicesInTwoWays) {
  EXPECT_TRUE(With(R"({"dra": true})"));
  const auto both = With(R"({"device_plugin": true, "dra": true})");
  ASSERT_FALSE(both);
  EXPECT_THAT(both.error().message, HasSubstr("kubelet.dra: cannot be true beside kubelet.device_plugin"));
}

TEST(KubeletKeys, RefusesAFolderThatIsTooLongForASocketInIt) {
  EXPECT_TRUE(With(R"({"folder": "/)" + std::string(69, 'f') + "\"}"));
  const auto longer = With(R"({"folder": "/)" + std::string(70, 'f') + "\"}");
  ASSERT_FALSE(longer);
  EXPECT_THAT(longer.error().message, HasSubstr("kubelet.folder"));
}

}  // namespace
}  // namespace rail::config
