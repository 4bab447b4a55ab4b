#include "plugins/tenant-isolation/tenant_isolation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/attach/tenant_rates.h"
#include "lib/engine/testing/attach.h"
#include "lib/engine/testing/chain.h"

namespace rail::tenant_isolation {
namespace {

using engine::testing::Answer;
using engine::testing::Chain;
using engine::testing::Dependency;
using engine::testing::PodSpec;
using engine::testing::World;
using ovs::CookieKind;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kPrevious[] = R"({"cniVersion": "1.0.0", "interfaces": [{"name": "rep0"}], "x-other": 7})";

class TenantIsolation : public ::testing::Test {
 protected:
  // ovs-provider's part of the ADD, and the rest undone.
  void SetUp() override {
    ASSERT_TRUE(engine::testing::Attach(world, pod, "10.0.3.1"));
    ASSERT_TRUE(chain.Run(0, "DEL", pod, ""));
    state::Attachment attachment = world.Attachment(pod);
    attachment.phase = state::Phase::kReady;
    ASSERT_TRUE(world.record.Put(attachment));
    chain.previous = kPrevious;
  }

  World world;
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  Chain chain = Chain({MakePlugin(world.deps())});
};

TEST_F(TenantIsolation, PutsAPodIntoTheTenantOfItsNamespaceAndPassesTheResultOn) {
  const Answer answer = chain.Add(pod);
  ASSERT_TRUE(answer) << answer.text;
  EXPECT_THAT(answer.result, HasSubstr("x-other"));
  EXPECT_EQ(world.Attachment(pod).tenant_id, world.Tenant("ns-a"));
  EXPECT_THAT(world.RulesOf(CookieKind::kTenant), SizeIs(2));
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(1));
  EXPECT_TRUE(chain.Check(pod)) << chain.Check(pod).text;
}

TEST_F(TenantIsolation, PutsNamespacesOfOneTenantTogether) {
  world.config.tenancy.tenants = {{"team", {"ns-a", "ns-a-dev"}}};
  ASSERT_TRUE(chain.Add(pod));
  EXPECT_EQ(world.Attachment(pod).tenant, "team");
  EXPECT_EQ(world.Attachment(pod).tenant_id, world.Tenant("ns-a-dev"));
}

TEST_F(TenantIsolation, PutsAPodIntoTheTenantThatItsNamespacesLabelNames) {
  world.config.kubernetes.tenants = true;
  world.tenants = std::make_shared<const tenancy::TenantMap>(tenancy::TenantMap{
      .label_key = "l", .resource_version = {}, .namespaces = {{"ns-a", {.label = "team"}}}});
  ASSERT_TRUE(chain.Add(pod));
  EXPECT_EQ(world.Attachment(pod).tenant, "team");
  EXPECT_EQ(world.Attachment(pod).tenant_id, tenancy::NamedTenant(world.config, "team").id);
}

// The runtime calls again; by then raild has heard of the namespace.
TEST_F(TenantIsolation, RefusesForNowAPodWhoseTenantNobodyKnows) {
  world.config.kubernetes.tenants = true;
  Answer answer = chain.Add(pod);
  EXPECT_EQ(answer.code, 11U);
  EXPECT_THAT(answer.text, HasSubstr("no list of the cluster's namespaces"));
  world.tenants = std::make_shared<const tenancy::TenantMap>();
  answer = chain.Add(pod);
  EXPECT_EQ(answer.code, 11U);
  EXPECT_THAT(answer.text, HasSubstr("has not heard of the namespace"));
  EXPECT_THAT(world.RulesOf(CookieKind::kTenant), IsEmpty());
  EXPECT_TRUE(world.Attachment(pod).tenant_id.is_none());
}

TEST_F(TenantIsolation, APodWithoutANamespaceIsRefusedAndNothingIsOpenedForIt) {
  PodSpec nameless = pod;
  nameless.pod_namespace = "";
  int calls = 0;
  world.faults.before = [&](Dependency dependency, std::string_view) {
    calls += dependency == Dependency::kState ? 0 : 1;
  };
  const Answer answer = chain.Add(nameless);
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text, HasSubstr("K8S_POD_NAMESPACE"));
  EXPECT_EQ(calls, 0);
  EXPECT_THAT(world.RulesOf(CookieKind::kTenant), IsEmpty());
  EXPECT_TRUE(world.Attachment(pod).tenant_id.is_none());
}

TEST_F(TenantIsolation, AddNeedsThePluginBefore) {
  chain.previous.clear();
  EXPECT_THAT(chain.Add(pod).text, HasSubstr("Required prevResult missing"));
  chain.previous = kPrevious;
  EXPECT_THAT(chain.Add(world.MakePod("p2", "ns-a", "vf1")).text,
              HasSubstr("ovs-provider must stand earlier"));
}

TEST_F(TenantIsolation, AFailedAddLeavesNoTenantInTheRecord) {
  world.faults.down = {Dependency::kOpenFlow};
  EXPECT_EQ(chain.Add(pod).code, 11U);
  world.faults.down.clear();
  ASSERT_TRUE(chain.Run(0, "DEL", pod, ""));
  EXPECT_TRUE(world.Attachment(pod).tenant_id.is_none());
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), IsEmpty());
}

TEST_F(TenantIsolation, CheckSaysWhenTheNamespaceHasAnotherTenantByNow) {
  ASSERT_TRUE(chain.Add(pod));
  world.config.tenancy.tenants = {{"team", {"ns-a"}}};
  const Answer answer = chain.Check(pod);
  EXPECT_FALSE(answer);
  EXPECT_THAT(answer.text, HasSubstr("the pod is in tenant ns-a"));
}

TEST_F(TenantIsolation, CheckSaysWhichRuleIsMissing) {
  ASSERT_TRUE(chain.Add(pod));
  world.Bridge().LoseAllRules();
  EXPECT_THAT(chain.Check(pod).text, HasSubstr("lacks the rule table=3"));
}

TEST_F(TenantIsolation, CheckSaysWhenAnotherRateHoldsForThePod) {
  ASSERT_TRUE(chain.Add(pod));
  world.config.rates.emplace().usual.max_mbit = 100;
  const netlink::DevlinkHandle nic{"pci", "0000:3b:00.0"};
  const std::string node = engine::RateNodeOf(world.Tenant("ns-a"));
  world.nics.ports["rep0"] = {nic, 1};
  netlink::RateTree& tree = world.nics.trees[nic.ToString()];
  tree.leaves.push_back({1, {}, ""});
  EXPECT_THAT(chain.Check(pod).text, HasSubstr("is under no rate node, not under the rate node " + node));
  tree.leaves[0].parent = node;
  tree.nodes.push_back({node, engine::RateOf({.share = 1, .max_mbit = 90}), ""});
  EXPECT_THAT(chain.Check(pod).text, HasSubstr("at most 90 Mbit/s, and node.json says share 1, at most 100"));
  tree.nodes[0].rate = engine::RateOf({.share = 1, .max_mbit = 100});
  EXPECT_TRUE(chain.Check(pod)) << chain.Check(pod).text;
}

TEST_F(TenantIsolation, DoesNothingWhenTenancyIsOff) {
  world.config.tenancy.mode = config::TenancyMode::kOff;
  ASSERT_TRUE(chain.Add(pod));
  EXPECT_THAT(world.RulesOf(CookieKind::kTenant), IsEmpty());
  EXPECT_TRUE(chain.Check(pod));
}

}  // namespace
}  // namespace rail::tenant_isolation
