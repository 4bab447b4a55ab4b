#include "cmd/railctl/accept/casting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cmd/railctl/accept/objects.h"

namespace rail::accept {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

json Definition(const std::string& space, const std::string& name, const std::string& config,
                const std::string& resource) {
  json definition = {{"metadata", {{"namespace", space}, {"name", name}}}, {"spec", {{"config", config}}}};
  if (!resource.empty())
    definition["metadata"]["annotations"] = {{"k8s.v1.cni.cncf.io/resourceName", resource}};
  return definition;
}

std::string Chain(const std::string& rail) {
  return R"({"plugins": [{"type": "ovs"}, {"type": "ovs-provider", "rail": ")" + rail + R"("}]})";
}

struct NodeOf {
  std::string name;
  std::string unit;
  int devices = 8;
  bool ready = true;
  bool cordoned = false;
};

json Node(const NodeOf& of) {
  json node = {
      {"metadata", {{"name", of.name}, {"labels", json::object()}}},
      {"spec", json::object()},
      {"status",
       {{"allocatable", {{"x/rail0", std::to_string(of.devices)}}},
        {"conditions", std::vector<json>{{{"type", "DiskPressure"}, {"status", "False"}},
                                         {{"type", "Ready"}, {"status", of.ready ? "True" : "Unknown"}}}}}}};
  if (!of.unit.empty()) node["metadata"]["labels"]["railcni.io/su"] = of.unit;
  if (of.cordoned) node["spec"]["unschedulable"] = true;
  return node;
}

std::vector<json> Nodes(const std::vector<NodeOf>& all) {
  std::vector<json> nodes;
  for (const NodeOf& each : all) nodes.push_back(Node(each));
  return nodes;
}

const std::vector<Network> kRail0 = {{"rail0", "default/rail0", "x/rail0"}};

TEST(Casting, TakesOneNetworkForEachRailAndThoseInDefaultFirst) {
  const std::vector<json> all = {
      Definition("ml", "fast", Chain("rail0"), "x/a"),
      Definition("default", "storage", R"({"type": "ipvlan"})", "x/s"),
      Definition("default", "none", "", ""),
      Definition("default", "rail1", R"({"type": "ovs-provider", "rail": "rail1"})", "x/b"),
      Definition("default", "rail0", Chain("rail0"), "x/c"),
      Definition("a", "rail1", Chain("rail1"), "x/d")};
  EXPECT_THAT(*ChooseNetworks(all, {}), ElementsAre(Network{"rail0", "default/rail0", "x/c"},
                                                    Network{"rail1", "default/rail1", "x/b"}));
  EXPECT_THAT(*ChooseNetworks(all, {"ml/fast"}), ElementsAre(Network{"rail0", "ml/fast", "x/a"}));
}

TEST(Casting, SaysWhichNetworksItCannotTake) {
  const std::vector<json> all = {Definition("ml", "fast", Chain("rail0"), "x/a"),
                                 Definition("default", "rail0", Chain("rail0"), ""),
                                 Definition("default", "storage", R"({"type": "ipvlan"})", "x/s")};
  EXPECT_THAT(ChooseNetworks(all, {"default/storage", "x/y"}).error().message,
              HasSubstr("default/storage, x/y"));
  EXPECT_THAT(ChooseNetworks(all, {"ml/fast", "default/rail0"}).error().message,
              AllOf(HasSubstr("ml/fast"), HasSubstr("default/rail0"), HasSubstr("both of rail0")));
  const auto without = ChooseNetworks(all, {});
  EXPECT_EQ(without.error().code, Code::kUnsupported);
  EXPECT_THAT(without.error().message, AllOf(HasSubstr("default/rail0"), HasSubstr("resourceName")));
  EXPECT_THAT(ChooseNetworks({}, {}).error().message, HasSubstr("has no NetworkAttachmentDefinition"));
}

TEST(Casting, TakesTwoNodesOfEachUnitThatCanTakeAPodOfEachTenant) {
  const std::vector<json> nodes = Nodes({{"a4", "a"},
                                         {"a3", "a"},
                                         {"a2", "a", 1},
                                         {"a1", "a", 8, false},
                                         {"a5", "a"},
                                         {"b1", "b", 8, true, true},
                                         {"b2", "b"},
                                         {"lone", ""}});
  EXPECT_THAT(*ChooseNodes(nodes, kRail0, {}), ElementsAre("lone", "a3", "a4", "b2"));
  EXPECT_THAT(*ChooseNodes(nodes, kRail0, {"a5"}), ElementsAre("a5"));
}

TEST(Casting, CountsTheDevicesOfRailsThatShareAResource) {
  const std::vector<Network> both = {{"rail0", "default/rail0", "x/rail0"},
                                     {"rail1", "default/rail1", "x/rail0"}};
  EXPECT_THAT(ChooseNodes(Nodes({{"a", "", 3}}), both, {}).error().message, HasSubstr("3 of x/rail0, and 4"));
  EXPECT_THAT(*ChooseNodes(Nodes({{"a", "", 4}}), both, {}), ElementsAre("a"));
}

TEST(Casting, SaysWhyEachNodeThatIsNamedCannotTakePart) {
  const json nodes =
      Nodes({{"cold", "", 8, false}, {"shut", "", 8, true, true}, {"poor", "", 1}, {"good", ""}});
  EXPECT_THAT(ChooseNodes(nodes, kRail0, {"cold", "shut", "poor", "good", "gone"}).error().message,
              AllOf(HasSubstr("node cold: it is not Ready"), HasSubstr("node shut: it is cordoned"),
                    HasSubstr("node poor: it has 1 of x/rail0, and 2 are needed"),
                    HasSubstr("there is no node gone"), testing::Not(HasSubstr("good"))));
}

TEST(Casting, GuessesNoUnitsAmongManyNodesWithoutTheLabel) {
  std::vector<NodeOf> nodes;
  for (int i = 0; i < 16; ++i) nodes.push_back({"n" + std::to_string(i), ""});
  EXPECT_EQ(ChooseNodes(Nodes(nodes), kRail0, {})->size(), 16U);
  nodes.push_back({"n16", ""});
  EXPECT_THAT(ChooseNodes(Nodes(nodes), kRail0, {}).error().message,
              AllOf(HasSubstr("17 nodes have no label railcni.io/su"), HasSubstr("--nodes")));
}

TEST(PodObjects, AskForTheNetworksAndTheirDevicesOnTheNodeAlone) {
  const std::vector<Network> networks = {{"rail0", "default/rail0", "x/gpu"}, {"rail1", "ml/rail1", "x/gpu"}};
  const json pod = PodObject({"1234-5"}, {"railcni:1", "Always"}, "gpu-1.site", networks);
  EXPECT_EQ(pod["metadata"]["name"], "gpu-1.site");
  EXPECT_EQ(pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"], "default/rail0,ml/rail1");
  EXPECT_EQ(pod["metadata"]["ownerReferences"][0]["uid"], "1234-5");
  const json& container = pod["spec"]["containers"][0];
  EXPECT_EQ(container["image"], "railcni:1");
  EXPECT_EQ(container["imagePullPolicy"], "Always");
  EXPECT_EQ(container["resources"]["limits"], json({{"x/gpu", "2"}}));
  EXPECT_EQ(container["resources"]["requests"]["x/gpu"], "2");
  EXPECT_EQ(container["securityContext"]["capabilities"]["add"], json({"NET_RAW", "IPC_LOCK"}));
  EXPECT_EQ(container["env"][0]["name"], "POD_IP");
  const json& terms = pod["spec"]["affinity"]["nodeAffinity"]
                         ["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
  ASSERT_TRUE(terms.is_array());
  EXPECT_EQ(terms[0]["matchFields"][0]["values"], json::array({"gpu-1.site"}));
  EXPECT_TRUE(pod["spec"]["tolerations"][0].is_object());
  EXPECT_EQ(pod["spec"]["volumes"][0]["secret"]["secretName"], "certificates-1234");
}

TEST(PodObjects, OfChurnDoNothing) {
  const json pod =
      ChurnPodObject({"1234-5"}, {"railcni:1", ""}, "gpu-1", {{"rail0", "default/rail0", "x/gpu"}});
  EXPECT_EQ(pod["metadata"]["name"], "churn-gpu-1");
  EXPECT_EQ(pod["metadata"]["labels"]["railcni.io/accept"], "churn") << "it is no agent";
  EXPECT_EQ(pod["metadata"]["ownerReferences"][0]["uid"], "1234-5");
  EXPECT_EQ(pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"], "default/rail0");
  EXPECT_EQ(pod["spec"]["terminationGracePeriodSeconds"], 1);
  const json& container = pod["spec"]["containers"][0];
  EXPECT_EQ(container["resources"]["limits"], json({{"x/gpu", "1"}}));
  EXPECT_EQ(container["securityContext"]["runAsUser"], 65534);
  EXPECT_FALSE(pod["spec"].contains("volumes"));
}

TEST(PodObjects, OwnerGoesByItself) {
  const json job = JobObject({"railcni:1", ""}, std::chrono::seconds(180));
  EXPECT_EQ(job["spec"]["template"]["metadata"]["labels"], json({{"railcni.io/accept", "run"}}));
  EXPECT_EQ(job["spec"]["activeDeadlineSeconds"], 180);
  EXPECT_EQ(job["spec"]["ttlSecondsAfterFinished"], 0);
  EXPECT_FALSE(job["spec"]["template"]["spec"]["containers"][0].contains("imagePullPolicy"));
}

TEST(PodObjects, SayWhatAPodWaitsFor) {
  const auto pod = [](const char* text) { return json::parse(text); };
  EXPECT_EQ(Missing(pod(R"({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})")), "");
  EXPECT_THAT(
      Missing(
          pod(R"({"status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
              "reason": "Unschedulable", "message": "Insufficient x/rail0"}]}})")),
      HasSubstr("Unschedulable: Insufficient x/rail0"));
  EXPECT_EQ(
      Missing(
          pod(R"({"status": {"conditions": [{"type": "PodScheduled", "status": "True"}], "containerStatuses":
            [{"state": {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}}]}})")),
      "ErrImagePull: no such image");
  const json ended = pod(R"({"status": {"phase": "Failed", "containerStatuses": [{"state": {"terminated":
                         {"reason": "Error"}}}]}})");
  EXPECT_TRUE(HasFailed(ended));
  EXPECT_EQ(Missing(ended), "its agent ended: Error");
  EXPECT_EQ(AgentOf(pod(R"({"status": {"podIP": "10.1.2.3"}})")), "10.1.2.3:9500");
  EXPECT_EQ(AgentOf(pod(R"({"status": {"podIP": "fd00::7"}})")), "[fd00::7]:9500");
}

}  // namespace
}  // namespace rail::accept
