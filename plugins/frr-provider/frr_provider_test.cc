#include "plugins/frr-provider/frr_provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/cni/testing/request.h"
#include "lib/engine/testing/attach.h"
#include "lib/engine/testing/chain.h"
#include "plugins/frr-provider/config.h"

namespace rail::frr_provider {
namespace {

using engine::testing::Answer;
using engine::testing::Chain;
using engine::testing::Dependency;
using engine::testing::PodSpec;
using engine::testing::World;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kPrevious[] = R"({"cniVersion": "1.0.0", "interfaces": [{"name": "rep0"}], "x-other": 7})";

cni::Outcome<Config> Parse(const std::string& keys) {
  return ParseConfig(cni::testing::MakeRequest(
      "CHECK", R"({"cniVersion": "1.0.0", "name": "n", "type": "frr-provider")" + keys + "}"));
}

TEST(FrrProviderConfig, WaitsForTheSessionAsLongAsTheModeSaysAndFailsWhenItIsNotTold) {
  const auto config = Parse("");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->wait_for, WaitFor::kSession);
  EXPECT_EQ(config->wait, std::nullopt);
  EXPECT_EQ(config->on_timeout, OnTimeout::kFail);
}

TEST(FrrProviderConfig, ReadsItsKeys) {
  EXPECT_EQ(Parse(R"(, "wait_for": "session")")->wait_for, WaitFor::kSession);
  const auto config = Parse(R"(, "wait_for": "adj-rib-out", "wait_ms": 0, "on_timeout": "warn")");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->wait_for, WaitFor::kAdjRibOut);
  EXPECT_EQ(config->wait, std::chrono::milliseconds(0));
  EXPECT_EQ(config->on_timeout, OnTimeout::kWarn);
}

TEST(FrrProviderConfig, NamesTheKeyThatIsWrong) {
  for (const auto& [keys, name] :
       std::map<std::string, std::string>{{R"(, "rail": "")", "rail"},
                                          {R"(, "rail": 0)", "rail"},
                                          {R"(, "wait_ms": 20001)", "wait_ms"},
                                          {R"(, "wait_ms": -1)", "wait_ms"},
                                          {R"(, "wait_ms": "2s")", "wait_ms"},
                                          {R"(, "wait_for": "leaf")", "wait_for"},
                                          {R"(, "wait_for": 50)", "wait_for"},
                                          {R"(, "on_timeout": "retry")", "on_timeout"}}) {
    const auto config = Parse(keys);
    ASSERT_FALSE(config) << keys;
    EXPECT_EQ(config.error().code, 7U);
    EXPECT_THAT(config.error().msg + config.error().details, HasSubstr(name));
  }
}

class FrrProvider : public ::testing::Test {
 protected:
  // Runs what stands before this plugin in the chain.
  void SetUp() override {
    ASSERT_TRUE(engine::testing::Attach(world, pod, "10.0.3.1"));
    ASSERT_TRUE(chain.Run(0, "DEL", pod, ""));
    Set([](state::Attachment& attachment) { attachment.phase = state::Phase::kReady; });
    chain.previous = kPrevious;
  }
  template <class Change>
  void Set(const Change& change) {
    state::Attachment attachment = world.Attachment(pod);
    change(attachment);
    ASSERT_TRUE(world.record.Put(attachment));
  }

  World world;
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  Chain chain = Chain({MakePlugin(world.deps())});
};

TEST_F(FrrProvider, AnnouncesWithTenantAndRailAndPassesTheResultOn) {
  const Answer answer = chain.Add(pod);
  ASSERT_TRUE(answer) << answer.text;
  EXPECT_THAT(answer.result, HasSubstr("x-other"));
  EXPECT_THAT(*world.bgp.Announced({}), ElementsAre(frr::Announcement{*IpAddress::Parse("10.0.3.1"), "rail0",
                                                                      0, world.Tenant("ns-a")}));
  EXPECT_TRUE(world.Attachment(pod).announced);
  EXPECT_TRUE(chain.Check(pod)) << chain.Check(pod).text;
}

TEST_F(FrrProvider, APodWithoutATenantIsRefusedAndBgpdIsNotOpened) {
  Set([](state::Attachment& attachment) { attachment.tenant_id = {}; });
  int calls = 0;
  world.faults.before = [&](Dependency dependency, std::string_view) {
    calls += dependency == Dependency::kBgp ? 1 : 0;
  };
  const Answer answer = chain.Add(pod);
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text, HasSubstr("tenant-isolation must stand before frr-provider"));
  EXPECT_EQ(calls, 0);
}

TEST_F(FrrProvider, AnnouncesWithoutATenantWhenTenancyIsOff) {
  world.config.tenancy.mode = config::TenancyMode::kOff;
  Set([](state::Attachment& attachment) { attachment.tenant_id = {}; });
  ASSERT_TRUE(chain.Add(pod));
  EXPECT_THAT(*world.bgp.Announced({}),
              ElementsAre(frr::Announcement{*IpAddress::Parse("10.0.3.1"), "rail0", 0, {0}}));
}

// The session is Established, but its outbound route-map keeps everything back.
void KeepBack(World& world) {
  world.bgp.RemoveNeighbor("br-rail0");
  world.bgp.SetSession("br-rail0", "Established");
}

TEST_F(FrrProvider, DoesNotWaitForTheAdjRibOutOfASessionThatIsEstablished) {
  KeepBack(world);
  std::vector<std::string> calls;
  world.faults.before = [&](Dependency dependency, std::string_view call) {
    if (dependency == Dependency::kBgp) calls.emplace_back(call);
  };
  const Answer answer = chain.Add(pod);
  ASSERT_TRUE(answer) << answer.text;
  EXPECT_THAT(calls, ElementsAre("AnnouncedElsewhere", "AnnounceAll", "SessionState"));
}

TEST_F(FrrProvider, WaitsForASessionThatComesUp) {
  world.bgp.SetSession("br-rail0", "Active");
  int asked = 0;
  world.faults.before = [&](Dependency, std::string_view call) {
    if (call == "SessionState" && ++asked == 3) world.bgp.SetSession("br-rail0", "Established");
  };
  const Answer answer = chain.Add(pod);
  ASSERT_TRUE(answer) << answer.text;
  EXPECT_EQ(asked, 3);
}

TEST_F(FrrProvider, FailsWhenTheSessionIsNotEstablishedInTimeAndWithdraws) {
  world.bgp.SetSession("br-rail0", "Active");
  chain.more_config = R"("wait_ms": 20)";
  const Answer answer = chain.Add(pod);
  EXPECT_EQ(answer.code, 11U);
  EXPECT_THAT(answer.text, HasSubstr("BGP session on br-rail0 is Active, not Established"));
  EXPECT_THAT(*world.bgp.Announced({}), IsEmpty());
  EXPECT_FALSE(world.Attachment(pod).announced);
}

TEST_F(FrrProvider, FailsWhenItIsToldToWaitForTheAdjRibOutAndWithdraws) {
  KeepBack(world);
  chain.more_config = R"("wait_for": "adj-rib-out", "wait_ms": 20)";
  const Answer answer = chain.Add(pod);
  EXPECT_EQ(answer.code, 11U);
  EXPECT_THAT(answer.text, HasSubstr("10.0.3.1"));
  EXPECT_THAT(*world.bgp.Announced({}), IsEmpty());
  EXPECT_FALSE(world.Attachment(pod).announced);
}

TEST_F(FrrProvider, WarnsOnlyWhenItIsToldTo) {
  world.bgp.SetSession("br-rail0", "Active");
  chain.more_config = R"("wait_ms": 20, "on_timeout": "warn")";
  EXPECT_TRUE(chain.Add(pod));
  EXPECT_EQ(world.bgp.Announced({})->size(), 1U);
}

TEST_F(FrrProvider, DoesNotWaitWhenItIsToldNotTo) {
  world.bgp.SetSession("br-rail0", "Active");
  chain.more_config = R"("wait_ms": 0)";
  EXPECT_TRUE(chain.Add(pod));
}

TEST_F(FrrProvider, LeavesANetworkStatementOfAnotherAlone) {
  world.bgp.AddForeignNetwork(*IpAddress::Parse("10.0.3.1"));
  EXPECT_EQ(chain.Add(pod).code, 102U);
  EXPECT_THAT(world.bgp.foreign_networks(), ElementsAre(*IpAddress::Parse("10.0.3.1")));
}

TEST_F(FrrProvider, CheckTellsAWrongTenant) {
  ASSERT_TRUE(chain.Add(pod));
  ASSERT_TRUE(world.bgp.Announce({*IpAddress::Parse("10.0.3.1"), "rail0", 0, world.Tenant("ns-b")}, {}));
  EXPECT_THAT(chain.Check(pod).text,
              HasSubstr("for rail rail0 and tenant " + world.Tenant("ns-b").ToString()));
}

TEST_F(FrrProvider, AddNeedsThePluginBefore) {
  chain.previous.clear();
  EXPECT_THAT(chain.Add(pod).text, HasSubstr("Required prevResult missing"));
}

}  // namespace
}  // namespace rail::frr_provider
