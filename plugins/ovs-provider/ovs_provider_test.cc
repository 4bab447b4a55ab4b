#include "plugins/ovs-provider/ovs_provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/cni/testing/request.h"
#include "lib/engine/attach/attachment.h"
#include "lib/engine/testing/chain.h"
#include "plugins/ovs-provider/config.h"

namespace rail::ovs_provider {
namespace {

using engine::testing::Answer;
using engine::testing::Chain;
using engine::testing::Dependency;
using engine::testing::PodSpec;
using engine::testing::World;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class OvsProvider : public ::testing::Test {
 protected:
  World world;
  Chain chain = Chain({MakePlugin(world.deps())});
};

TEST_F(OvsProvider, NamesTheKeyThatIsWrong) {
  for (
      const auto& [config, key] : std::map<std::string, std::string>{
          {R"({"cniVersion": "1.0.0", "name": "n", "type": "ovs-provider"})", "rail"},
          {R"({"cniVersion": "1.0.0", "name": "n", "type": "ovs-provider", "rail": 7})", "rail"},
          {R"({"cniVersion": "1.0.0", "name": "n", "type": "ovs-provider", "rail": "rail0", "ipam": {"type": 7}})",
           "ipam.type"}}) {
    const auto parsed = ParseConfig(cni::testing::MakeRequest("CHECK", config));
    ASSERT_FALSE(parsed) << config;
    EXPECT_EQ(parsed.error().code, 7U);
    EXPECT_THAT(parsed.error().msg + parsed.error().details, HasSubstr(key));
  }
}

TEST_F(OvsProvider, LooksAtNoKeyOfOthers) {
  const auto parsed = ParseConfig(cni::testing::MakeRequest(
      "CHECK",
      R"({"cniVersion": "1.0.0", "name": "n", "type": "ovs-provider", "rail": "rail0", "logLevel": 5})"));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->rail, "rail0");
}

TEST_F(OvsProvider, NamesTheRailsOfTheNodeWhenItsOwnIsUnknown) {
  PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  pod.rail = "rail7";
  const Answer answer = chain.Add(pod);
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text, HasSubstr("its rails are: rail0, rail1"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(OvsProvider, RefusesADeviceOfAnotherRail) {
  const Answer answer = chain.Add(world.MakePod("p1", "ns-a", "vf10"));
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text, HasSubstr("vf10"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(OvsProvider, RefusesANameThatIsTakenInThePod) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  world.pods.AddLink(pod.identity, "net1");
  const Answer answer = chain.Add(pod);
  EXPECT_EQ(answer.code, 102U);
  EXPECT_THAT(answer.text, HasSubstr("net1 exists already in the pod"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

PodSpec Second(PodSpec pod, const std::string& device, const std::string& rail = "rail0") {
  pod.ifname = "net2";
  pod.device = device;
  pod.rail = rail;
  return pod;
}

TEST_F(OvsProvider, RefusesASecondInterfaceOfAPodOnOneRailBeforeAnyEffect) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  ASSERT_TRUE(chain.Add(pod));
  const auto held = world.ipam.held();
  int calls = 0;
  world.faults.before = [&](Dependency dependency, std::string_view) {
    if (dependency != Dependency::kState) ++calls;
  };
  const Answer answer = chain.Add(Second(pod, "vf1"));
  world.faults.before = nullptr;
  EXPECT_EQ(answer.code, 7U);
  for (const char* named :
       {"net2 of pod ns-a/p1", "rail rail0", "interface net1", "vf0", "k8s.v1.cni.cncf.io/networks"})
    EXPECT_THAT(answer.text, HasSubstr(named));
  EXPECT_EQ(calls, 0) << "nothing is asked but the record";
  EXPECT_EQ(world.ipam.held(), held);
  EXPECT_FALSE(world.FindAttachment(Second(pod, "vf1")));
  EXPECT_TRUE(chain.Check(pod)) << "the first is as it was";
}

TEST_F(OvsProvider, AttachesAPodToSeveralRailsAndSeveralPodsToOne) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  ASSERT_TRUE(chain.Add(pod));
  const Answer other_rail = chain.Add(Second(pod, "vf10", "rail1"));
  EXPECT_TRUE(other_rail) << other_rail.text;
  const Answer other_pod = chain.Add(world.MakePod("p2", "ns-a", "vf1"));
  EXPECT_TRUE(other_pod) << other_pod.text;
}

TEST_F(OvsProvider, AnInterfaceThatIsOnlyLeftToBeUndoneDoesNotKeepItsPodOffTheRail) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  ASSERT_TRUE(chain.Add(pod));
  world.faults.down = {Dependency::kOpenFlow};
  (void)chain.Del(pod);
  world.faults.down.clear();
  ASSERT_TRUE(world.FindAttachment(pod)) << "its rules are left";
  const Answer answer = chain.Add(Second(pod, "vf1"));
  EXPECT_TRUE(answer) << answer.text;
}

TEST_F(OvsProvider, AContainerThatIsStartedAnewIsNotKeptOffTheRailByItsPast) {
  const PodSpec before = world.MakePod("p1", "ns-a", "vf0");
  ASSERT_TRUE(chain.Add(before));
  PodSpec pod = Second(world.MakePod("p1-again", "ns-a", "vf1"), "vf1");
  pod.container = before.container;
  const Answer answer = chain.Add(pod);
  EXPECT_TRUE(answer) << answer.text;
}

TEST_F(OvsProvider, RefusesAnAddressThatCannotBeAPods) {
  world.ipam = cni::testing::FakeIpam({"224.0.0.1/24"});
  const Answer answer = chain.Add(world.MakePod("p1", "ns-a", "vf0"));
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text, HasSubstr("224.0.0.1"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

cni::AddResult Gives(const std::vector<std::pair<const char*, const char*>>& addresses_and_gateways,
                     const std::vector<const char*>& routes) {
  cni::AddResult result;
  for (const auto& [address, gateway] : addresses_and_gateways)
    result.ips.push_back({.address = *IpPrefix::Parse(address), .gateway = *IpAddress::Parse(gateway)});
  for (const char* route : routes) result.routes.push_back({.destination = *IpPrefix::Parse(route)});
  return result;
}

// whereabouts, dual-stack: one gateway in its configuration, which it gives to both families.
TEST_F(OvsProvider, TakesAGatewayOfTheOtherFamilyForNone) {
  world.ipam.AnswerNext(
      Gives({{"10.0.1.7/24", "10.0.1.1"}, {"fd52:4149:0:1::7/64", "10.0.1.1"}}, {"10.0.0.0/8", "fd52::/16"}));
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  const Answer answer = chain.Add(pod);
  ASSERT_TRUE(answer) << answer.text;
  EXPECT_THAT(world.Attachment(pod).gateways,
              ElementsAre(*IpAddress::Parse("10.0.1.1"), *IpAddress::Parse("fe80::1")));
  const json result = json::parse(answer.result);
  EXPECT_EQ(result["ips"][1]["gateway"], "fe80::1");
  EXPECT_EQ(result["routes"][1]["gw"], "fe80::1");
  const Answer check = chain.Check(pod);
  EXPECT_TRUE(check) << check.text;
  EXPECT_TRUE(chain.Del(pod));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

// host-local with two ranges of one family.
TEST_F(OvsProvider, TakesAllAddressesOfAFamilyAndTheFirstGatewayForRoutesThatNameNone) {
  world.ipam.AnswerNext(Gives({{"10.0.1.7/24", "10.0.1.1"}, {"10.0.2.7/24", "10.0.2.1"}}, {"10.0.0.0/8"}));
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  const Answer answer = chain.Add(pod);
  ASSERT_TRUE(answer) << answer.text;
  const state::Attachment attachment = world.Attachment(pod);
  EXPECT_THAT(attachment.addresses,
              ElementsAre(*IpAddress::Parse("10.0.1.7"), *IpAddress::Parse("10.0.2.7")));
  EXPECT_THAT(attachment.gateways, ElementsAre(*IpAddress::Parse("10.0.1.1"), *IpAddress::Parse("10.0.2.1")));
  for (const char* address : {"10.0.1.7", "10.0.2.7"})
    EXPECT_EQ(*world.record.OwnerOf(state::ClaimKind::kAddress, address), attachment.id);
  EXPECT_EQ(json::parse(answer.result)["routes"][0]["gw"], "10.0.1.1");
  EXPECT_TRUE(chain.Check(pod)) << chain.Check(pod).text;
}

// The published pools of rail-optimised fabrics: each rail its block, all rails the fabric.
TEST_F(OvsProvider, GivesRoutesOfIpamTheMetricOfTheirRail) {
  const PodSpec first = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec second = Second(first, "vf10", "rail1");
  unsigned rail = 0;
  for (const PodSpec& pod : {first, second}) {
    cni::AddResult given =
        Gives({{rail == 0 ? "10.0.9.201/31" : "10.1.9.201/31", rail == 0 ? "10.0.9.200" : "10.1.9.200"}},
              {rail == 0 ? "10.0.0.0/16" : "10.1.0.0/16", "10.0.0.0/8", "192.0.2.0/24"});
    given.routes[2].priority = 7;
    world.ipam.AnswerNext(given);
    const Answer answer = chain.Add(pod);
    ASSERT_TRUE(answer) << answer.text;
    const json routes = json::parse(answer.result)["routes"];
    EXPECT_EQ(routes[1]["dst"], "10.0.0.0/8");
    EXPECT_EQ(routes[1]["priority"], 2000U + rail);
    EXPECT_EQ(routes[2]["priority"], 7) << "IPAM's own";
    const podnet::Plan& plan = world.pods.configured().at({pod.identity.inode, pod.ifname});
    EXPECT_EQ(plan.metric, 2000U + rail);
    EXPECT_TRUE(chain.Check(pod)) << chain.Check(pod).text;
    ++rail;
  }
}

TEST_F(OvsProvider, APodKeepsItsTableAndRulesWhateverNodeJsonSaysByNow) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  ASSERT_TRUE(chain.Add(pod));
  const auto plan = [&](const PodSpec& of) -> const podnet::Plan& {
    return world.pods.configured().at({of.identity.inode, "net1"});
  };
  EXPECT_EQ(plan(pod).table, 524100U);
  EXPECT_EQ(plan(pod).rule, 700U);
  world.config.pods = {.first_table = 9000, .first_rule = 5000};
  const podnet::Plan now = engine::PlanOf(world.config.rails[0], world.Attachment(pod));
  EXPECT_EQ(now.table, 524100U);
  EXPECT_EQ(now.rule, 700U);
  const PodSpec later = world.MakePod("p2", "ns-a", "vf1");
  ASSERT_TRUE(chain.Add(later));
  EXPECT_EQ(plan(later).table, 9000U);
  EXPECT_EQ(plan(later).rule, 5000U);

  state::Attachment of_format_3 = world.Attachment(pod);
  of_format_3.table = of_format_3.rule = 0;
  const podnet::Plan old = engine::PlanOf(world.config.rails[1], of_format_3);
  EXPECT_EQ(old.table, 101U);
  EXPECT_EQ(old.rule, 1001U);
}

TEST_F(OvsProvider, GivesThePodTheMacThatANetworkLetsItChoose) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  const MacAddress own = world.devices.State("vf0")->mac;
  // As Multus passes the annotation's "mac" on, to a network that declares the capability.
  chain.more_args = "MAC=02:00:00:00:00:07";
  chain.more_config = R"("runtimeConfig": {"mac": "02:00:00:00:00:07"})";
  const Answer answer = chain.Add(pod);
  ASSERT_TRUE(answer) << answer.text;
  EXPECT_EQ(json::parse(answer.result)["interfaces"][1]["mac"], "02:00:00:00:00:07");
  EXPECT_EQ(world.Attachment(pod).mac.ToString(), "02:00:00:00:00:07");
  EXPECT_EQ(world.devices.State("vf0")->mac.ToString(), "02:00:00:00:00:07");
  EXPECT_TRUE(chain.Check(pod)) << chain.Check(pod).text;
  ASSERT_TRUE(chain.Del(pod));
  EXPECT_EQ(world.devices.State("vf0")->mac, own);
}

TEST_F(OvsProvider, RefusesAMacThatANetworkDoesNotLetThePodChoose) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  const struct {
    const char* args;
    const char* config;
    const char* key;
  } kCases[] = {
      {"MAC=02:00:00:00:00:07", "\"x\": 1", "CNI_ARGS: MAC: network"},
      {"", R"("args": {"cni": {"mac": "02:00:00:00:00:07"}})", "args.cni.mac: network"},
      {"", R"("args": {"cni": {"MAC": "02:00:00:00:00:07"}})", "args.cni.mac: network"},
      {"MAC=02:00:00:00:00:08", R"("runtimeConfig": {"mac": "02:00:00:00:00:07"})", "CNI_ARGS: MAC: network"},
      {"", R"("runtimeConfig": {"mac": "02:00:00:00:00:07"}, "args": {"cni": {"mac": "02:00:00:00:00:08"}})",
       "args.cni.mac: network"},
      {"", R"("runtimeConfig": {"mac": "01:00:5e:00:00:01"})", "runtimeConfig.mac: must be the MAC address"},
      {"", R"("runtimeConfig": {"mac": "00:00:00:00:00:00"})", "runtimeConfig.mac: must be the MAC address"},
      {"", R"("runtimeConfig": {"mac": "any"})", "runtimeConfig.mac: must be the MAC address"},
      {"", R"("runtimeConfig": {"mac": 7})", "runtimeConfig.mac: must be a string"},
  };
  for (const auto& [args, config, key] : kCases) {
    chain.more_args = args;
    chain.more_config = config;
    const Answer answer = chain.Add(pod);
    EXPECT_EQ(answer.code, 7U) << config;
    EXPECT_THAT(answer.text, HasSubstr(key));
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

TEST_F(OvsProvider, GivesIpamsOwnCodeAndWords) {
  world.ipam.FailNext(cni::CniError(142, "no address is free"));
  const Answer answer = chain.Add(world.MakePod("p1", "ns-a", "vf0"));
  EXPECT_EQ(answer.code, 142U);
  EXPECT_THAT(answer.text, HasSubstr("no address is free"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

// host-local does so with CNI_ARGS without IgnoreUnknown=1.
TEST_F(OvsProvider, AnAddThatIpamRefusesLeavesNothingThoughIpamRefusesItsDelToo) {
  world.ipam.Refuse(cni::CniError(999, "ARGS: unknown args"));
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  EXPECT_THAT(chain.Add(pod).text, HasSubstr("ARGS: unknown args"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
  ASSERT_TRUE(chain.Del(pod));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(OvsProvider, AnAddThatIpamDoesNotAnswerLeavesItsAddressToALaterDel) {
  world.ipam.Refuse(cni::CniError(cni::kFault, "it was killed by signal 9"));
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  EXPECT_FALSE(chain.Add(pod));
  EXPECT_THAT(world.Pending(pod), ElementsAre("ipam")) << "it may have given an address before it died";
}

TEST_F(OvsProvider, AFailedConfigurationOfThePodLeavesNothing) {
  world.pods.FailOn("Configure", {Code::kExists, "another route to 0.0.0.0/0 is in the pod"});
  const Answer answer = chain.Add(world.MakePod("p1", "ns-a", "vf0"));
  EXPECT_EQ(answer.code, 102U);
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(OvsProvider, TakesNoDeviceWhileANicIsBeingPreparedNorIsOnePreparedMeanwhile) {
  using Kind = FileLock::Kind;
  world.config.rails[0].manage_sriov = true;
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  auto preparing = world.LockDevices(Kind::kAlone);
  ASSERT_TRUE(preparing);
  const Answer answer = chain.Add(pod);
  EXPECT_EQ(answer.code, 11U);
  EXPECT_THAT(answer.text, HasSubstr("preparing a NIC"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
  *preparing = {};

  std::map<std::string, bool> could_prepare;
  world.faults.before = [&](Dependency, std::string_view call) {
    could_prepare.emplace(call, world.LockDevices(Kind::kAlone).has_value());
  };
  EXPECT_EQ(chain.Add(pod).code, 0U);
  EXPECT_FALSE(could_prepare.at("Create")) << "it is not claimed yet";
  EXPECT_TRUE(could_prepare.at("Configure")) << "it is";
}

TEST_F(OvsProvider, StatusSaysFiftyWhenTheBridgeIsNotThere) {
  chain.more_config = R"("cniVersion": "1.1.0")";
  EXPECT_TRUE(chain.Run(0, "STATUS", world.MakePod("p1", "ns-a", "vf0"), ""));
  world.faults.down = {Dependency::kOvsdb};
  const Answer answer = chain.Run(0, "STATUS", world.MakePod("p1", "ns-a", "vf0"), "");
  EXPECT_EQ(answer.code, 50U);
  EXPECT_THAT(answer.text, HasSubstr("OVSDB is down"));
}

TEST_F(OvsProvider, GcUndoesWhatTheRuntimeNoLongerNames) {
  const PodSpec kept = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec gone = world.MakePod("p2", "ns-a", "vf1");
  ASSERT_TRUE(chain.Add(kept));
  ASSERT_TRUE(chain.Add(gone));
  chain.more_config =
      R"("cniVersion": "1.1.0", "cni.dev/valid-attachments": [{"containerID": "c-p1", "ifname": "net1"}])";
  ASSERT_TRUE(chain.Run(0, "GC", kept, ""));
  EXPECT_TRUE(world.FindAttachment(kept));
  EXPECT_FALSE(world.FindAttachment(gone));
  EXPECT_EQ(world.devices.Where("vf1"), std::nullopt);
}

// After ovs-cni.
class OvsProviderAfterAnother : public OvsProvider {
 protected:
  void SetUp() override {
    ASSERT_TRUE(world.ovsdb.AddPort(
        {.bridge = "br-rail0",
         .name = "rep0",
         .external_ids = {{"owner", "ovs-cni.network.kubevirt.io"}, {"contIface", "net1"}},
         .mtu = 0,
         .ofport_request = {}},
        {}));
    world.pods.AddLink(pod.identity, "net1");
    previous = {{"cniVersion", "1.0.0"},
                {"interfaces",
                 {{{"name", "rep0"}, {"mac", "02:00:00:00:00:10"}, {"ovsBridge", "br-rail0"}},
                  {{"name", "net1"}, {"mac", "02:de:f1:00:00:01"}, {"sandbox", pod.netns}, {"whim", 7}}}},
                {"ips", {{{"address", "10.0.8.8/24"}, {"gateway", "10.0.8.1"}, {"interface", 1}}}},
                {"x-other", {{"kept", true}}}};
    chain.previous = previous.dump();
  }
  ovs::ExternalIds Ids() { return (*world.ovsdb.FindPort("rep0", {}))->external_ids; }

  PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  json previous;
};

TEST_F(OvsProviderAfterAnother, TakesItsPortAndItsAddresses) {
  const Answer answer = chain.Add(pod);
  ASSERT_TRUE(answer) << answer.text;
  const state::Attachment attachment = world.Attachment(pod);
  EXPECT_TRUE(attachment.adopted);
  EXPECT_EQ(attachment.representor, "rep0");
  EXPECT_EQ(attachment.mac.ToString(), "02:de:f1:00:00:01");
  EXPECT_THAT(attachment.addresses, ElementsAre(*IpAddress::Parse("10.0.8.8")));
  EXPECT_THAT(attachment.gateways, ElementsAre(*IpAddress::Parse("10.0.8.1")));
  EXPECT_EQ(Ids().at(engine::kOwnerKey), std::to_string(attachment.id));
  EXPECT_EQ(Ids().at("contIface"), "net1");
  EXPECT_THAT(world.RulesOf(ovs::CookieKind::kAttachment), Not(IsEmpty()));
  EXPECT_THAT(world.ipam.held(), IsEmpty()) << "the addresses are another's";
  EXPECT_TRUE(chain.Check(pod)) << chain.Check(pod).text;
  EXPECT_EQ(world.guard.guards().at("rep0").allowed, engine::AllowedOf(world.config.rails[0], attachment));
}

TEST_F(OvsProviderAfterAnother, PassesTheWholeResultOn) {
  const Answer answer = chain.Add(pod);
  ASSERT_TRUE(answer) << answer.text;
  EXPECT_EQ(json::parse(answer.result), previous);
}

TEST_F(OvsProviderAfterAnother, DelRemovesItsMarkAndItsRulesAndNothingElse) {
  ASSERT_TRUE(chain.Add(pod));
  ASSERT_TRUE(chain.Del(pod));
  EXPECT_FALSE(world.FindAttachment(pod));
  EXPECT_EQ(Ids(), (ovs::ExternalIds{{"owner", "ovs-cni.network.kubevirt.io"}, {"contIface", "net1"}}));
  EXPECT_THAT(world.RulesOf(ovs::CookieKind::kAttachment), IsEmpty());
  EXPECT_EQ(*world.record.OwnerOf(state::ClaimKind::kAddress, "10.0.8.8"), std::nullopt);
  EXPECT_EQ(*world.record.OwnerOf(state::ClaimKind::kPort, "rep0"), std::nullopt);
  EXPECT_TRUE(world.guard.guards().at("rep0").open);
}

TEST_F(OvsProviderAfterAnother, DelLeavesTheGuardOfANewOwnerOfThePort) {
  ASSERT_TRUE(chain.Add(pod));
  state::Attachment next = world.Attachment(pod);
  ASSERT_TRUE(world.record.Release(next.id, state::ClaimKind::kPort, "rep0"));
  next.key.container_id = "c-next";
  next.device.clear();
  next.addresses.clear();
  const int64_t id = world.record.Create(next).value().id;
  ASSERT_TRUE(world.record.Claim(id, state::ClaimKind::kPort, "rep0"));
  ASSERT_TRUE(chain.Del(pod));
  EXPECT_FALSE(world.guard.guards().at("rep0").open);
}

TEST_F(OvsProviderAfterAnother, DelLeavesTheMarkOfANewOwnerOfThePort) {
  ASSERT_TRUE(chain.Add(pod));
  ASSERT_TRUE(world.ovsdb.SetExternalIds("rep0", {{engine::kOwnerKey, "77"}}, {}));
  ASSERT_TRUE(chain.Del(pod));
  EXPECT_EQ(Ids().at(engine::kOwnerKey), "77");
}

TEST_F(OvsProviderAfterAnother, AFailedAddLeavesThePortAsItWas) {
  world.faults.down = {Dependency::kOpenFlow};
  const Answer answer = chain.Add(pod);
  EXPECT_EQ(answer.code, 11U);
  world.faults.down.clear();
  ASSERT_TRUE(chain.Del(pod));
  EXPECT_FALSE(world.FindAttachment(pod));
  EXPECT_EQ(Ids().count(engine::kOwnerKey), 0U);
}

// The plugin before ours has asked IPAM, so its answer may be what the pod asked for.
TEST_F(OvsProviderAfterAnother, RefusesWhatThePodMayHaveAskedTheOtherFor) {
  for (const auto& [args, key] :
       std::map<std::string, std::string>{{"IP=10.0.8.8/24", "CNI_ARGS: IP"},
                                          {"GATEWAY=10.0.8.1", "CNI_ARGS: GATEWAY"},
                                          {"MAC=02:de:f1:00:00:01", "CNI_ARGS: MAC"}}) {
    chain.more_args = args;
    const Answer answer = chain.Add(pod);
    EXPECT_EQ(answer.code, 7U);
    EXPECT_THAT(answer.text, HasSubstr(key));
  }
  chain.more_args.clear();
  for (const char* key :
       {"ips", "mac", "poolNames", "poolType", "allocateDefaultGateway", "allocateIPWithIndex"}) {
    chain.more_config = json{{"args", {{"cni", {{key, "x"}}}}}}.dump();
    chain.more_config = chain.more_config.substr(1, chain.more_config.size() - 2);
    const Answer answer = chain.Add(pod);
    EXPECT_EQ(answer.code, 7U);
    EXPECT_THAT(answer.text, HasSubstr(std::string("args.cni.") + key));
  }
  EXPECT_FALSE(world.FindAttachment(pod));
  chain.more_config = R"("runtimeConfig": {"mac": "02:de:f1:00:00:01"})";
  EXPECT_THAT(chain.Add(pod).text, HasSubstr("runtimeConfig.mac: the interface of network"));
  chain.more_args = "IP=10.0.8.8/24";
  chain.more_config = R"("runtimeConfig": {"ips": ["10.0.8.8/24"]})";
  const Answer chosen = chain.Add(pod);
  EXPECT_TRUE(chosen) << chosen.text;
}

TEST_F(OvsProviderAfterAnother, RefusesAPortOfAnotherRailsBridge) {
  pod.rail = "rail1";
  const Answer answer = chain.Add(pod);
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text, HasSubstr("rep0 is a port of bridge br-rail0, but rail rail1 is bridge br-rail1"));
}

TEST_F(OvsProviderAfterAnother, RefusesADeviceOfAnotherRailAsWithoutTheOther) {
  world.devices.Add("rail1", "0000:3b:01.2", "rep19");
  pod.device = "0000:3b:01.2";
  const Answer after = chain.Add(pod);
  EXPECT_FALSE(world.FindAttachment(pod));
  chain.previous.clear();
  const PodSpec alone = world.MakePod("p2", "ns-a", pod.device);
  const Answer answer = chain.Add(alone);
  EXPECT_EQ(after.code, 7U);
  EXPECT_EQ(after.code, answer.code);
  EXPECT_EQ(after.text, answer.text);
}

TEST_F(OvsProviderAfterAnother, RefusesAResultWithoutAPortOfOpenVSwitch) {
  previous["interfaces"][0]["name"] = "veth1";
  chain.previous = previous.dump();
  EXPECT_THAT(chain.Add(pod).text, HasSubstr("none of the host's interfaces is a port of Open vSwitch"));
}

}  // namespace
}  // namespace rail::ovs_provider
