// Line A15 of ACCEPTANCE.md: what a pod writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "lib/cni/testing/request.h"
#include "test/contract/acceptance_fixture.h"

namespace rail::testing {
namespace {

using engine::testing::Answer;
using engine::testing::PodSpec;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A15: nothing that a pod writes decides anything.
class A15_Hostile : public Acceptance {
 protected:
  void ExpectItsOwn(const PodSpec& pod) {
    const state::Attachment attachment = world.Attachment(pod);
    EXPECT_EQ(attachment.device, "vf0");
    EXPECT_EQ(attachment.rail, "rail0");
    EXPECT_EQ(attachment.tenant, "ns-a");
    EXPECT_EQ(attachment.mac, world.devices.State("vf0")->mac);
    EXPECT_THAT(attachment.addresses, ElementsAre(*IpAddress::Parse("10.0.3.1")));
  }
  // ADD of ovs-provider alone, with the IPAM plugins of this folder. `more`: members of the configuration. `args`: CNI_ARGS.
  cni::testing::Ran AddWith(const PodSpec& pod, const json& more, const std::string& args = "") {
    json config = {{"cniVersion", "1.0.0"}, {"name", "rail0"}, {"rail", "rail0"}, {"deviceID", "vf0"}};
    config.update(more);
    return cni::testing::RunPlugin(ovs_provider::MakePlugin(DepsWithRealIpam()),
                                   {{"CNI_COMMAND", "ADD"},
                                    {"CNI_CONTAINERID", pod.container},
                                    {"CNI_NETNS", pod.netns},
                                    {"CNI_IFNAME", "net1"},
                                    {"CNI_ARGS", args},
                                    {"CNI_PATH", folder_}},
                                   config.dump());
  }
};

TEST_F(A15_Hostile, ArgsCniAndRuntimeConfigAndCniArgsChangeNothing) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  chain.more_config =
      R"("args": {"cni": {"rail": "rail1", "bridge": "br-rail1", "deviceID": "vf1", "tenant": "ns-b",
                          "ipam": {"type": "evil"}, "K8S_POD_NAMESPACE": "ns-b"}},
         "runtimeConfig": {"rail": "rail1", "bridge": "br-rail1"})";
  chain.more_args = "IgnoreUnknown=true;IgnoreUnknown=1;rail=rail1;bridge=br-rail1;deviceID=vf1";
  MustAdd(pod);
  ExpectItsOwn(pod);
}

TEST_F(A15_Hostile, AMacThatTheNetworkLetsNoPodChooseIsRefusedByTheNameOfTheKey) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  chain.more_args = "IgnoreUnknown=true;MAC=02:00:00:00:00:99";
  EXPECT_THAT(chain.Add(pod).text,
              HasSubstr("CNI_ARGS: MAC: network rail0 lets no pod choose its MAC address"));
  chain.more_args.clear();
  chain.more_config = R"("args": {"cni": {"mac": "02:00:00:00:00:99"}})";
  EXPECT_THAT(chain.Add(pod).text,
              HasSubstr("args.cni.mac: network rail0 lets no pod choose its MAC address"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(A15_Hostile, RepeatedCniArgsCountOnceAndContradictionsAreRefused) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  // As thin Multus sends them: its own, and the runtime's again.
  chain.more_args =
      "IgnoreUnknown=true;K8S_POD_NAMESPACE=ns-a;K8S_POD_NAME=p1;K8S_POD_UID=uid-p1;;IgnoreUnknown=1";
  MustAdd(pod);
  ExpectItsOwn(pod);
  ExpectDone(chain.Del(pod));
  for (const char* injected :
       {"K8S_POD_NAMESPACE=ns-b", "K8S_POD_NAME=p9", "K8S_POD_UID=another", "MAC=x;K8S_POD_NAMESPACE="}) {
    chain.more_args = injected;
    const Answer answer = chain.Add(pod);
    EXPECT_EQ(answer.code, 4U) << injected;
    EXPECT_THAT(answer.text, HasSubstr("K8S_POD_"));
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

TEST_F(A15_Hostile, ADeviceInRuntimeConfigAloneIsRefusedOnAddAndCheckAndHarmlessOnDel) {
  PodSpec pod = world.MakePod("p1", "ns-a", "");
  chain.more_config = R"("runtimeConfig": {"deviceID": "vf1"})";
  EXPECT_EQ(chain.Add(pod).code, 7U);
  ExpectDone(chain.Del(pod));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(A15_Hostile, StaticIpamGivesAPodNoAddressThatTheNetworkDoesNotList) {
  // As the real one: what the pod asks for wins over the configuration.
  Install(
      "static",
      R"([ $CNI_COMMAND = ADD ] && echo '{"cniVersion": "1.0.0", "ips": [{"address": "10.9.9.9/32"}]}'; true)");
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  const auto add = [&](const json& ipam, const json& runtime) {
    return AddWith(
        pod, {{"ipam", ipam}, {"runtimeConfig", runtime}, {"args", {{"cni", {{"ips", {"10.9.9.9/32"}}}}}}});
  };
  const json chosen = {{"ips", {"10.9.9.9/32"}}};
  const json listed = {{"type", "static"}, {"addresses", {{{"address", "10.0.3.1/24"}}}}};
  for (const json& ipam : {listed, json{{"type", "static"}}}) {
    EXPECT_THAT(add(ipam, json::object()).out, HasSubstr("args.cni.ips: network rail0 lets no pod choose"));
  }
  EXPECT_EQ(Read("calls"), "") << "IPAM is not asked";
  const auto ran = add(listed, chosen);
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out, HasSubstr("IPAM static gave 10.9.9.9, which the pod asked for"));
  EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
  EXPECT_EQ(Read("calls"), "ADD\nDEL\n") << "and gets it back";
  EXPECT_EQ(add({{"type", "static"}}, chosen).status, 0)
      << "the network's author lets pods choose: the capability \"ips\"";
}

// What asks IPAM for an address, in the ways that whereabouts, nv-ipam and static take, and in the spellings that Go's JSON takes.
TEST_F(A15_Hostile, APodChoosesNoAddressUnlessTheNetworkLetsPodsChoose) {
  // As the real one: addresses in CNI_ARGS win, and no range is looked at.
  Install("whereabouts", R"([ $CNI_COMMAND = ADD ] || exit 0
address=10.0.3.1/24
case $CNI_ARGS in *IP=*) address=${CNI_ARGS##*IP=};; esac
echo '{"cniVersion": "1.0.0", "ips": [{"address": "'$address'"}]}')");
  const json ipam = {{"type", "whereabouts"}, {"range", "10.0.3.0/24"}};
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  const std::string asks = "IgnoreUnknown=true;IP=10.9.9.9/24";
  for (const auto& [args, key] : std::vector<std::pair<std::string, std::string>>{
           {asks, "CNI_ARGS: IP"}, {"IP=", "CNI_ARGS: IP"}, {"GATEWAY=10.9.9.1", "CNI_ARGS: GATEWAY"}}) {
    const auto ran = AddWith(pod, {{"ipam", ipam}}, args);
    EXPECT_EQ(ran.status, 1) << args;
    EXPECT_THAT(ran.out,
                AllOf(HasSubstr("\"code\":7"), HasSubstr(key + ": network rail0 lets no pod choose")));
  }
  for (const char* key : {"ips", "IPs", "ip\u017f"}) {
    const auto ran = AddWith(pod, {{"ipam", ipam}, {"args", {{"cni", {{key, {"10.9.9.9/24"}}}}}}});
    EXPECT_EQ(ran.status, 1) << key;
    EXPECT_THAT(ran.out, HasSubstr("args.cni.ips: network rail0 lets no pod choose"));
  }
  EXPECT_EQ(Read("calls"), "") << "IPAM is not asked";
  EXPECT_THAT(world.Leftovers(), IsEmpty());
  EXPECT_EQ(AddWith(pod, {{"ipam", ipam}, {"runtimeConfig", {{"ips", {"10.9.9.9/24"}}}}}, asks).status, 0);
  EXPECT_THAT(world.Attachment(pod).addresses, ElementsAre(*IpAddress::Parse("10.9.9.9")))
      << "the network's author lets pods choose: the capability \"ips\"";
}

TEST_F(A15_Hostile, APodChoosesNoPoolOfNvIpam) {
  Install("nv-ipam", R"(echo '{"cniVersion": "1.0.0", "ips": [{"address": "10.9.9.9/32"}]}')");
  for (const char* key :
       {"poolNames", "poolType", "allocateDefaultGateway", "allocateIPWithIndex", "POOLNAMES"}) {
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    const auto ran = AddWith(
        pod, {{"ipam", {{"type", "nv-ipam"}, {"poolName", "rail0"}}}, {"args", {{"cni", {{key, true}}}}}});
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.out,
                AllOf(HasSubstr("\"code\":7"), HasSubstr("is for its NetworkAttachmentDefinition to say")));
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
  EXPECT_EQ(Read("calls"), "") << "IPAM is not asked";
}

}  // namespace
}  // namespace rail::testing
