// The chain as a runtime calls it: whole lives, and whose tenant and device a pod gets. Everything outside is a fake.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plugins/testing/rail_chain.h"

namespace rail {
namespace {

using engine::testing::Answer;
using engine::testing::Dependency;
using engine::testing::PodSpec;
using ovs::CookieKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class ChainTest : public testing::RailChainTest {};

TEST_F(ChainTest, AddMakesAllAndDelLeavesNothing) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  const state::Attachment attachment = world.Attachment(pod);
  EXPECT_EQ(attachment.phase, state::Phase::kReady);
  EXPECT_EQ(world.devices.Where("vf0"), pod.identity);
  EXPECT_EQ(OwnerOfPort("rep0"), std::to_string(attachment.id));
  EXPECT_THAT(world.RulesOf(CookieKind::kPipeline), Not(IsEmpty()));
  EXPECT_THAT(world.RulesOf(CookieKind::kAttachment), Not(IsEmpty()));
  EXPECT_THAT(world.RulesOf(CookieKind::kTenant), SizeIs(2));
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(1));
  EXPECT_THAT(*world.bgp.Announced({}),
              ElementsAre(frr::Announcement{Ip("10.0.3.1"), "rail0", 0, world.Tenant("ns-a")}));
  EXPECT_THAT(world.pods.configured(), SizeIs(1));
  EXPECT_EQ(world.wakeups, 2) << "raild is told when there is a tenant to learn for, and at the end";
  ExpectSoleOwner(pod);
}

TEST_F(ChainTest, AnswersWithAHostRouteOnTheInterfaceInThePod) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  const Answer answer = chain.Add(pod);
  ASSERT_TRUE(answer);
  const auto result = nlohmann::json::parse(answer.result);
  EXPECT_EQ(result["ips"][0]["address"], "10.0.3.1/32");
  EXPECT_EQ(result["ips"][0]["interface"], 1);
  EXPECT_EQ(result["ips"][0]["gateway"], "169.254.1.1");
  EXPECT_EQ(result["interfaces"][0]["name"], "rep0");
  EXPECT_EQ(result["interfaces"][1]["name"], "net1");
  EXPECT_EQ(result["interfaces"][1]["sandbox"], pod.netns);
}

TEST_F(ChainTest, CheckSaysWhatIsMissing) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  ASSERT_TRUE(world.bgp.Withdraw(Ip("10.0.3.1"), {}));
  EXPECT_THAT(chain.Check(pod).text, HasSubstr("does not announce 10.0.3.1/32"));
  world.Bridge().LoseAllRules();
  EXPECT_THAT(chain.Check(pod).text, HasSubstr("lacks the rule table=0"));
  ASSERT_TRUE(world.ovsdb.DeletePort("br-rail0", "rep0", {}, ovs::Ovsdb::Wait::kCommitted, {}));
  EXPECT_THAT(chain.Check(pod).text, HasSubstr("rep0 is not a port of bridge br-rail0"));
  world.pods.RemoveLink(pod.identity, "net1");
  EXPECT_THAT(chain.Check(pod).text, HasSubstr("net1: there is no such interface"));
}

TEST_F(ChainTest, ASecondAddOfAnAttachmentIsRefusedAndHarmsNothing) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  const Answer second = chain.Add(pod);
  EXPECT_EQ(second.code, 102U) << second.text;
  EXPECT_THAT(second.text, HasSubstr("exists already"));
  ExpectDone(chain.Check(pod));
}

// Tenants.

TEST_F(ChainTest, TheCompareRuleGoesWithTheLastPodOfItsTenant) {
  const PodSpec first = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec second = world.MakePod("p2", "ns-a", "vf1");
  const PodSpec other = world.MakePod("p3", "ns-b", "vf2");
  MustAdd(first);
  MustAdd(second);
  MustAdd(other);
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(2));
  ExpectDone(chain.Del(first));
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(2));
  ExpectDone(chain.Check(second));
  ExpectDone(chain.Del(second));
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(1));
  ExpectDone(chain.Check(other));
}

// Another pod of the tenant joins at one call of the last pod's DEL, whichever it is. From then on that pod can talk: while the DEL
// removes the rule, the other waits (here it is refused at once).
TEST_F(ChainTest, TheCompareRuleStaysWhenAnotherPodJoinsMeanwhile) {
  int waited = 0;
  for (int at = 1;; ++at) {
    SCOPED_TRACE(fmt::format("it joins at call {}", at));
    const PodSpec last = world.MakePod("p1", "ns-a", "vf0");
    const PodSpec joining = world.MakePod("p2", "ns-a", "vf1");
    MustAdd(last);
    std::optional<Answer> joined;
    int calls = 0;
    world.faults.before = [&](Dependency, std::string_view) {
      if (joined && *joined) {
        EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(1)) << "at every call after it";
      }
      if (++calls == at) joined = chain.Add(joining);
    };
    ExpectDone(chain.Del(last));
    world.faults.before = nullptr;
    if (!joined) break;
    if (!*joined) {
      ++waited;
      EXPECT_THAT(joined->text, HasSubstr("the tenants of rail rail0 are being changed"));
      ExpectDone(chain.Del(joining));
      MustAdd(joining);
    }
    EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(1));
    ExpectSoleOwner(joining);
  }
  EXPECT_GE(waited, 1);
}

TEST_F(ChainTest, TheCompareRuleThatStayedForAPodThatWasJoiningGoesSoonAfterwards) {
  const PodSpec last = world.MakePod("p1", "ns-a", "vf0");
  const auto raild = world.StartRaild(std::chrono::hours(1));
  MustAdd(last);
  raild->Audit();
  auto joining = world.LockTenants("rail0", FileLock::Kind::kShared);
  ASSERT_TRUE(joining);
  ExpectDone(chain.Del(last));
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(1));
  raild->RecordChanged();
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(1));
  *joining = FileLock();
  // Nobody changes anything any more.
  ASSERT_TRUE(raild->the_switch.next_retry());
  EXPECT_LT(*raild->the_switch.next_retry(), world.deps().now() + std::chrono::seconds(1));
  world.passed += std::chrono::seconds(1);
  raild->the_switch.Retry();
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), IsEmpty());
  EXPECT_FALSE(raild->the_switch.next_retry());
}

// raild has read the record when a pod of a tenant that had left comes back.
TEST_F(ChainTest, RaildTakesNoCompareRuleFromAPodThatJoinedMeanwhile) {
  for (int at = 1;; ++at) {
    SCOPED_TRACE(fmt::format("it joins at call {}", at));
    const PodSpec last = world.MakePod("p1", "ns-a", "vf0");
    const PodSpec joining = world.MakePod("p2", "ns-a", "vf1");
    const auto raild = world.StartRaild(std::chrono::hours(1));
    MustAdd(last);
    raild->Audit();
    {
      const auto held = world.LockTenants("rail0", FileLock::Kind::kShared);
      ExpectDone(chain.Del(last));
    }
    std::optional<Answer> joined;
    int calls = 0;
    world.faults.before = [&](Dependency, std::string_view) {
      if (joined && *joined) {
        EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(1)) << "at every call after it";
      }
      if (++calls == at) joined = chain.Add(joining);
    };
    raild->RecordChanged();
    world.faults.before = nullptr;
    if (!joined) break;
    if (!*joined) {
      ExpectDone(chain.Del(joining));
      MustAdd(joining);
    }
    raild->RecordChanged();
    EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(1));
    ExpectSoleOwner(joining);
  }
}

// At whatever call of raild's round an ADD comes, raild takes none of its rules away, not even for a moment.
TEST_F(ChainTest, AnAddInTheMiddleOfRaildsRoundLosesNoRule) {
  const auto raild = world.StartRaild(std::chrono::hours(1));
  raild->Audit();
  int at = 1;
  for (bool added = true; added; ++at) {
    SCOPED_TRACE(fmt::format("ADD at call {}", at));
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    size_t rules = 0;
    int calls = 0;
    world.faults.before = [&](Dependency, std::string_view) {
      if (rules != 0) {
        EXPECT_THAT(world.RulesOf(pod), SizeIs(rules));
      }
      if (++calls != at) return;
      MustAdd(pod);
      rules = world.RulesOf(pod).size();
    };
    raild->the_switch.Audit();
    world.faults.before = nullptr;
    added = rules != 0;
    EXPECT_EQ(raild->views.Current()->repairs, 0U) << "an ADD is no repair, nor was the DEL before";
    if (added) ExpectDone(chain.Check(pod));
    ExpectDone(chain.Del(pod));
  }
  EXPECT_GT(at, 10) << "raild's round has that many calls";
}

// At whatever call of raild's round a DEL comes, raild leaves nothing of the pod: it looks at the record again after its commit.
TEST_F(ChainTest, ADelInTheMiddleOfRaildsRoundLeavesNothing) {
  int at = 1;
  for (bool deleted = true; deleted; ++at) {
    SCOPED_TRACE(fmt::format("DEL at call {}", at));
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    MustAdd(pod);
    const auto raild = world.StartRaild(std::chrono::hours(1));
    world.Bridge().LoseAllRules();
    int calls = 0;
    deleted = false;
    world.faults.before = [&](Dependency, std::string_view) {
      if (++calls != at) return;
      deleted = true;
      ExpectDone(chain.Del(pod));
    };
    raild->the_switch.Audit();
    world.faults.before = nullptr;
    if (!deleted) ExpectDone(chain.Del(pod));
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
  EXPECT_GT(at, 10) << "raild's round has that many calls";
}

TEST_F(ChainTest, WithoutTenantsNothingIsComparedAndNoTenantIsAnnounced) {
  world.config.tenancy.mode = config::TenancyMode::kOff;
  const PodSpec pod = world.MakePod("p1", "", "vf0");
  MustAdd(pod);
  EXPECT_THAT(world.RulesOf(CookieKind::kTenant), IsEmpty());
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), IsEmpty());
  EXPECT_THAT(*world.bgp.Announced({}), ElementsAre(frr::Announcement{Ip("10.0.3.1"), "rail0", 0, {0}}));
  ExpectSoleOwner(pod);
}

TEST_F(ChainTest, NothingThatAPodWritesChangesItsTenantOrItsDevice) {
  chain.more_config =
      R"("args": {"cni": {"deviceID": "vf1", "K8S_POD_NAMESPACE": "ns-b", "tenant": "ns-b", "rail": "rail1"}},
                         "runtimeConfig": {"tenant": "ns-b"})";
  chain.more_args = "IgnoreUnknown=1;deviceID=vf1;tenant=ns-b";
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  const state::Attachment attachment = world.Attachment(pod);
  EXPECT_EQ(attachment.device, "vf0");
  EXPECT_EQ(attachment.rail, "rail0");
  EXPECT_EQ(attachment.pod_namespace, "ns-a");
  EXPECT_EQ(attachment.tenant_id, world.Tenant("ns-a"));
  EXPECT_EQ(attachment.mac, world.devices.State("vf0")->mac);
  EXPECT_THAT(attachment.addresses, ElementsAre(Ip("10.0.3.1")));
  EXPECT_EQ(world.devices.Where("vf1"), std::nullopt);
}

// The fake gives what it is asked for, as whereabouts does: with the address of a pod of another tenant the pod would be that pod.
TEST_F(ChainTest, APodThatAsksForAnAddressIsRefusedAndTheOtherPodKeepsIt) {
  const PodSpec other = world.MakePod("p2", "ns-b", "vf1");
  MustAdd(other);
  chain.more_args = "IgnoreUnknown=true;IP=10.0.3.1/24";
  const Answer answer = chain.Add(world.MakePod("p1", "ns-a", "vf0"));
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text, HasSubstr("CNI_ARGS: IP: network rail0 lets no pod choose its address"));
  chain.more_args.clear();
  ExpectSoleOwner(other);
}

TEST_F(ChainTest, APodThatAsksForAnotherDeviceThanItsOwnIsRefused) {
  chain.more_config = R"("runtimeConfig": {"deviceID": "vf1"})";
  const Answer answer = chain.Add(world.MakePod("p1", "ns-a", "vf0"));
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text, HasSubstr("not allocated to it"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(ChainTest, APodWithTwoNamespacesInItsArgumentsIsRefused) {
  chain.more_args = "K8S_POD_NAMESPACE=ns-b";
  const Answer answer = chain.Add(world.MakePod("p1", "ns-a", "vf0"));
  EXPECT_EQ(answer.code, 4U);
  EXPECT_THAT(answer.text, HasSubstr("two namespaces"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(ChainTest, WithoutATopLevelDeviceAPodGetsNoneWhateverItWrites) {
  chain.more_config = R"("args": {"cni": {"deviceID": "vf1"}}, "runtimeConfig": {"deviceID": "vf1"})";
  chain.more_args = "deviceID=vf1";
  PodSpec pod = world.MakePod("p1", "ns-a", "");
  const Answer answer = chain.Add(pod);
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text, HasSubstr("deviceID"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}
}  // namespace
}  // namespace rail
