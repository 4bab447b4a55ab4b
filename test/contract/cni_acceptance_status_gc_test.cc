// Lines A10 and A11 of ACCEPTANCE.md: STATUS and GC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test/contract/acceptance_fixture.h"

namespace rail::testing {
namespace {

using engine::testing::Answer;
using engine::testing::Chain;
using engine::testing::Dependency;
using engine::testing::PodSpec;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A10: STATUS.
class A10_Status : public Acceptance {
 protected:
  A10_Status() { chain.more_config = R"("cniVersion": "1.1.0")"; }
  Answer Status(size_t plugin) { return chain.Run(plugin, "STATUS", pod, ""); }
  PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
};

TEST_F(A10_Status, IsQuietWhenAllIsReady) {
  for (const size_t plugin : {kOvs, kTenant, kFrr}) {
    const Answer answer = Status(plugin);
    EXPECT_TRUE(answer) << answer.text;
    EXPECT_EQ(answer.result, "");
  }
}

TEST_F(A10_Status, Is50WithoutAttachmentsAnd51WithSome) {
  const std::vector<std::pair<size_t, std::set<Dependency>>> cases = {
      {kOvs, {Dependency::kOvsdb}}, {kOvs, {Dependency::kOpenFlow}}, {kFrr, {Dependency::kBgp}}};
  for (const auto& [plugin, down] : cases) {
    world.faults.down = down;
    EXPECT_EQ(Status(plugin).code, 50U);
    EXPECT_THAT(Status(plugin).text, HasSubstr(" is down"));
    world.faults.down.clear();
    MustAdd(pod);
    world.faults.down = down;
    EXPECT_EQ(Status(plugin).code, 51U);
    EXPECT_THAT(Status(plugin).text, HasSubstr("1 attachment of network rail0 may be hit too"));
    world.faults.down.clear();
    ExpectDone(chain.Del(pod));
  }
}

TEST_F(A10_Status, Is50WhenTheRecordCannotBeRead) {
  world.faults.down = {Dependency::kState};
  for (const size_t plugin : {kOvs, kTenant, kFrr}) EXPECT_EQ(Status(plugin).code, 50U);
}

TEST_F(A10_Status, Is50WhenTheNicHasNoRepresentors) {
  engine::Deps deps = world.deps();
  sriov::NicState nic{.address = "0000:3b:00.0", .vfs = 8, .mode = netlink::EswitchMode::kLegacy};
  deps.openers = [&nic, openers = deps.openers](const config::NodeConfig& config) {
    engine::Openers all = openers(config);
    all.look_at_nic = [&nic](const config::Rail&) { return std::vector{nic}; };
    return all;
  };
  deps.load_config = [config = world.config]() mutable -> Result<config::NodeConfig> {
    for (config::Rail& rail : config.rails)
      rail.devices.clear();  // who names representors needs none of the NIC
    return config;
  };
  Chain on_it({ovs_provider::MakePlugin(deps)});
  on_it.more_config = chain.more_config;
  EXPECT_EQ(on_it.Run(0, "STATUS", pod, "").code, 50U);
  EXPECT_THAT(on_it.Run(0, "STATUS", pod, "").text,
              HasSubstr("0000:3b:00.0) has 8 VFs without representors"));
  nic.mode = netlink::EswitchMode::kSwitchdev;
  EXPECT_TRUE(on_it.Run(0, "STATUS", pod, ""));
}

TEST_F(A10_Status, Is50WhenNoLeafAnswers) {
  for (const config::Rail& rail : world.config.rails) world.bgp.SetSession(rail.bridge, "Active");
  EXPECT_EQ(Status(kFrr).code, 50U);
  chain.more_config += R"(, "wait_ms": 0)";
  EXPECT_TRUE(Status(kFrr)) << "an ADD that does not wait succeeds";
}

TEST_F(A10_Status, IsForwardedToAnIpamThatSpeaks110AndItsAnswerIsOurs) {
  Install("x", R"(case $CNI_COMMAND in
    VERSION) echo '{"cniVersion": "1.1.0", "supportedVersions": ["1.0.0", "1.1.0"]}';;
    *) echo '{"code": 50, "msg": "the daemon is away", "details": "soon"}'; exit 1;; esac)");
  const auto ran = WithRealIpam("STATUS", json::object());
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(
      json::parse(ran.out),
      json::parse(
          R"({"cniVersion": "1.1.0", "code": 50, "msg": "ipam x: the daemon is away", "details": "soon"})"));
  EXPECT_EQ(Read("calls"), "VERSION\nSTATUS\n");
}

TEST_F(A10_Status, IsNotForwardedToAnIpamThatDoesNot) {
  Install(
      "x",
      R"([ $CNI_COMMAND = VERSION ] && echo '{"cniVersion": "1.0.0", "supportedVersions": ["0.4.0", "1.0.0"]}')");
  EXPECT_EQ(WithRealIpam("STATUS", json::object()).status, 0);
  EXPECT_EQ(Read("calls"), "VERSION\n");
}

// A11: GC.
class A11_Gc : public Acceptance {
 protected:
  A11_Gc() { chain.more_config = R"("wait_ms": 0)"; }
  void AddBoth() {
    MustAdd(kept);
    MustAdd(dropped);
  }
  void CollectAll(const std::string& key_and_list) {
    chain.more_config = R"("cniVersion": "1.1.0")" + (key_and_list.empty() ? "" : ", " + key_and_list);
    for (const size_t plugin : {kOvs, kTenant, kFrr}) {
      const Answer answer = chain.Run(plugin, "GC", kept, "");
      EXPECT_TRUE(answer) << answer.text;
      EXPECT_EQ(answer.result, "");
    }
    chain.more_config.clear();
  }
  PodSpec kept = world.MakePod("p1", "ns-a", "vf0");
  PodSpec dropped = world.MakePod("p2", "ns-b", "vf1");
};

constexpr const char* kOne = R"([{"containerID": "c-p1", "ifname": "net1"}])";

TEST_F(A11_Gc, TakesTheListUnderEitherKey) {
  for (const char* key : {"cni.dev/valid-attachments", "cni.dev/attachments"}) {
    AddBoth();
    CollectAll("\"" + std::string(key) + "\": " + kOne);
    ExpectDone(chain.Check(kept));
    EXPECT_FALSE(world.FindAttachment(dropped)) << key;
    ExpectDone(chain.Del(kept));
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

TEST_F(A11_Gc, PrefersTheKeyOfTheSpecificationsText) {
  AddBoth();
  CollectAll(R"("cni.dev/attachments": [], "cni.dev/valid-attachments": )" + std::string(kOne));
  ExpectDone(chain.Check(kept));
}

TEST_F(A11_Gc, AnEmptyListCleansAllOfTheNetworkAndNothingOfAnother) {
  const PodSpec other = world.MakePod("p3", "ns-a", "vf10", "rail1");
  AddBoth();
  MustAdd(other);
  CollectAll(R"("cni.dev/valid-attachments": [])");
  EXPECT_FALSE(world.FindAttachment(kept));
  EXPECT_FALSE(world.FindAttachment(dropped));
  ExpectDone(chain.Check(other));
}

TEST_F(A11_Gc, AnAbsentListCleansOnlyWhatIsProvablyDead) {
  AddBoth();
  CollectAll("");
  ExpectDone(chain.Check(kept));
  ExpectDone(chain.Check(dropped));
  world.EndNamespace(dropped);
  CollectAll("");
  ExpectDone(chain.Check(kept));
  EXPECT_FALSE(world.FindAttachment(dropped));
}

TEST_F(A11_Gc, SaysWhatItHadToLeaveAndGoesOnAllTheSame) {
  AddBoth();
  chain.more_config = R"("cniVersion": "1.1.0", "cni.dev/valid-attachments": [])";
  world.faults.down = {Dependency::kOvsdb};
  const Answer answer = chain.Run(kOvs, "GC", kept, "");
  EXPECT_EQ(answer.code, 11U);
  EXPECT_THAT(answer.text,
              AllOf(HasSubstr("left to raild"), HasSubstr("c-p1"), HasSubstr("c-p2"), HasSubstr("is down")));
  EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
  EXPECT_EQ(world.devices.Where("vf1"), std::nullopt);
  EXPECT_THAT(world.Pending(kept), ElementsAre("port"));
  EXPECT_THAT(world.Pending(dropped), ElementsAre("port"));
  world.faults.down.clear();
  EXPECT_TRUE(chain.Run(kOvs, "GC", kept, ""));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(A11_Gc, AListOfTheWrongShapeCleansNothing) {
  for (const char* bad :
       {"{}", "[1]", R"([{"containerID": 1, "ifname": "net1"}])", R"([{"containerID": "c"}])", "\"x\""}) {
    AddBoth();
    chain.more_config = R"("cniVersion": "1.1.0", "cni.dev/valid-attachments": )" + std::string(bad);
    const Answer answer = chain.Run(kOvs, "GC", kept, "");
    EXPECT_EQ(answer.code, 7U) << bad;
    EXPECT_THAT(answer.text, HasSubstr("cni.dev/valid-attachments"));
    chain.more_config.clear();
    ExpectDone(chain.Check(kept));
    ExpectDone(chain.Check(dropped));
    ExpectDone(chain.Del(kept));
    ExpectDone(chain.Del(dropped));
  }
}

TEST_F(A11_Gc, IsForwardedToIpamEvenWhenOursFails) {
  Install(
      "x",
      R"([ $CNI_COMMAND = VERSION ] && echo '{"cniVersion": "1.1.0", "supportedVersions": ["1.1.0"]}'; true)");
  const json list = {{"cni.dev/valid-attachments", json::parse(kOne)}};
  EXPECT_EQ(WithRealIpam("GC", list).status, 0);
  EXPECT_EQ(json::parse(Read("in.GC"))["cni.dev/valid-attachments"], json::parse(kOne));
  world.faults.down = {Dependency::kState};
  const auto failed = WithRealIpam("GC", list);
  EXPECT_EQ(failed.status, 1);
  EXPECT_EQ(json::parse(failed.out)["code"], 11);
  EXPECT_EQ(Read("calls"), "VERSION\nGC\nVERSION\nGC\n");
}

}  // namespace
}  // namespace rail::testing
