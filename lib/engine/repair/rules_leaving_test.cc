// What the switch is told when a remote leaves a tenant: its own two rules and the three that let who leaves meet who stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lib/engine/repair/local_rules.h"
#include "lib/engine/repair/rules.h"
#include "lib/ovs/testing/fake_openflow.h"

namespace rail::engine {
namespace {

using ovs::Rule;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;
using Look = RuleRepair::Look;

constexpr tenancy::TenantId kRed{0, 1};
constexpr tenancy::TenantId kBlue{0, 2};

// A bridge with a tenant and 1,000 remotes of it.
class RulesOfLeaving : public ::testing::Test {
 protected:
  RulesOfLeaving() {
    facts.uplink_port = 1;
    facts.bridge_mac = *MacAddress::Parse("02:00:00:00:00:10");
    facts.gateway_mac = *MacAddress::Parse("02:52:41:49:4c:00");
  }
  static IpAddress Number(int n) {
    return *IpAddress::Parse("10.9." + std::to_string(n / 250) + "." + std::to_string(n % 250));
  }
  RuleTarget Target() {
    RemoteSet set;
    for (int n = 0; n < 1000; ++n) set.Set({Number(n), 0, false});
    auto table = std::make_shared<RemoteTable>();
    table->by_tenant[kBlue] = std::make_shared<const RemoteSet>(set);
    table->leaving = std::make_shared<const LeavingAddresses>(leaving);
    RemoteSelection remotes;
    remotes.learned = std::move(table);
    remotes.present = present;
    const auto rules =
        local.For({.bridge = facts, .leaf_mac = {}, .pods = {}, .vlan_ports = {}, .left = remotes.Left()});
    return {.rules = BridgeRules(facts, rules, remotes), .remotes_known = true};
  }
  Status Repair(Look look = Look::kNews) {
    return repair.Repair(*connection,
                         {.target = [this]() -> Result<RuleTarget> { return Target(); },
                          .close_tenants = []() -> Result<ClosedTenants> {
                            ADD_FAILURE() << "nobody joins who leaves";
                            return ClosedTenants();
                          },
                          .deadline = [] { return After(std::chrono::seconds(5)); }},
                         look);
  }
  std::vector<Rule> RulesOf(int number) {
    return pipeline::RemoteRules(facts, Number(number), leaving.at(Number(number)));
  }

  pipeline::BridgeFacts facts;
  std::set<tenancy::TenantId> present = {kBlue};
  LeavingAddresses leaving;
  LocalRules local{config::TenancyMode::kNamespace};
  ovs::testing::FakeOpenFlow bridge;
  std::unique_ptr<ovs::OpenFlow> connection = bridge.Watch();
  RuleRepair repair;
};

TEST_F(RulesOfLeaving, AreTwoWhereNobodyOfTheOldTenantIs) {
  ASSERT_TRUE(Repair());
  const auto right = bridge.rules();
  const size_t said = bridge.messages();
  const int dumps = bridge.dumps();
  leaving.emplace(Number(7), pipeline::TenantIds(kBlue, kRed));
  ASSERT_TRUE(Repair());
  EXPECT_EQ(bridge.messages() - said, 2U);
  EXPECT_EQ(bridge.dumps(), dumps) << "nothing is read";
  EXPECT_THAT(bridge.rules(), IsSupersetOf(RulesOf(7)));
  EXPECT_THAT(bridge.rules(), SizeIs(right.size()));
  ASSERT_TRUE(Repair(Look::kAudit));
  repair.Forget();
  ASSERT_TRUE(Repair());
  EXPECT_EQ(repair.counts().added + repair.counts().removed, 0U) << "what is read back is what is wanted";
  EXPECT_EQ(repair.mended().ours(), 0U);
  leaving.clear();
  ASSERT_TRUE(Repair());
  EXPECT_EQ(bridge.messages() - said, 4U);
  EXPECT_EQ(bridge.rules(), right);
}

TEST_F(RulesOfLeaving, AreThoseOfTableThreeTooWhereSomebodyOfTheOldTenantIs) {
  for (const std::set<tenancy::TenantId>& here : {std::set{kRed}, {kRed, kBlue}}) {
    present = here;
    ASSERT_TRUE(Repair());
    const auto right = bridge.rules();
    leaving.emplace(Number(7), pipeline::TenantIds(kBlue, kRed));
    ASSERT_TRUE(Repair());
    EXPECT_THAT(bridge.rules(), IsSupersetOf(RulesOf(7)));
    EXPECT_THAT(bridge.rules(), IsSupersetOf(pipeline::LeavingRules(kRed)));
    repair.Forget();
    ASSERT_TRUE(Repair());
    EXPECT_EQ(repair.counts().added + repair.counts().removed, 0U);
    leaving.clear();
    ASSERT_TRUE(Repair());
    EXPECT_TRUE(std::ranges::is_permutation(bridge.rules(), right));
    EXPECT_EQ(repair.mended().ours(), 0U) << "a change of what is wanted is no repair";
  }
}

}  // namespace
}  // namespace rail::engine
