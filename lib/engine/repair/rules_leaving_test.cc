// What the switch is told when a remote leaves a tenant: its own rule and the three that let who leaves meet who stays. And when what
// an earlier raild has said of remotes gives way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lib/engine/repair/local_rules.h"
#include "lib/engine/repair/rules.h"
#include "lib/ovs/testing/fake_openflow.h"

namespace rail::engine {
namespace {

using ovs::Rule;
using ::testing::Contains;
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
    for (int n = 0; n < remotes; ++n) set.Set({Number(n), 0, false});
    auto table = std::make_shared<RemoteTable>();
    table->by_tenant[kBlue] = std::make_shared<const RemoteSet>(set);
    table->leaving = std::make_shared<const LeavingAddresses>(leaving);
    RemoteSelection selection;
    selection.learned = std::move(table);
    selection.present = present;
    const auto rules =
        local.For({.bridge = facts, .leaf_mac = {}, .pods = {}, .vlan_ports = {}, .left = selection.Left()});
    return {.rules = BridgeRules(facts, rules, selection), .remotes_known = remotes_known};
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
  Rule RuleOf(int number) {
    return pipeline::RemoteRule(facts, Number(number), leaving.at(Number(number))).value();
  }

  int remotes = 1000;
  bool remotes_known = true;
  pipeline::BridgeFacts facts;
  std::set<tenancy::TenantId> present = {kBlue};
  LeavingAddresses leaving;
  LocalRules local{config::TenancyMode::kNamespace};
  ovs::testing::FakeOpenFlow bridge;
  std::unique_ptr<ovs::OpenFlow> connection = bridge.Watch();
  RuleRepair repair;
};

TEST_F(RulesOfLeaving, IsOneWhereNobodyOfTheOldTenantIs) {
  ASSERT_TRUE(Repair());
  const auto right = bridge.rules();
  const size_t said = bridge.messages();
  const int dumps = bridge.dumps();
  leaving.emplace(Number(7), pipeline::TenantIds(kBlue, kRed));
  ASSERT_TRUE(Repair());
  EXPECT_EQ(bridge.messages() - said, 1U);
  EXPECT_EQ(bridge.dumps(), dumps) << "nothing is read";
  EXPECT_THAT(bridge.rules(), Contains(RuleOf(7)));
  EXPECT_THAT(bridge.rules(), SizeIs(right.size()));
  ASSERT_TRUE(Repair(Look::kAudit));
  repair.Forget();
  ASSERT_TRUE(Repair());
  EXPECT_EQ(repair.counts().added + repair.counts().removed, 0U) << "what is read back is what is wanted";
  EXPECT_EQ(repair.mended().ours(), 0U);
  leaving.clear();
  ASSERT_TRUE(Repair());
  EXPECT_EQ(bridge.messages() - said, 2U);
  EXPECT_EQ(bridge.rules(), right);
}

TEST_F(RulesOfLeaving, AreThoseOfTableThreeTooWhereSomebodyOfTheOldTenantIs) {
  for (const std::set<tenancy::TenantId>& here : {std::set{kRed}, {kRed, kBlue}}) {
    present = here;
    ASSERT_TRUE(Repair());
    const auto right = bridge.rules();
    leaving.emplace(Number(7), pipeline::TenantIds(kBlue, kRed));
    ASSERT_TRUE(Repair());
    EXPECT_THAT(bridge.rules(), Contains(RuleOf(7)));
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

// Before there was table 7, a remote had a rule in table 1 and one in table 2. They are too many for one bundle; raild may end after
// each of its bundles.
TEST_F(RulesOfLeaving, OfAnEarlierRaildStayUntilThoseOfThisOneAreThere) {
  remotes = 3000;
  ovs::Change old;
  for (int n = 0; n < remotes; ++n) {
    const uint64_t cookie = pipeline::RemoteCookie(Number(n));
    const std::string address = Number(n).ToString();
    old.add.push_back(
        {1, 100, cookie, "ip,in_port=1,nw_src=" + address, "set_field:0x2->xxreg0,resubmit(,2)"});
    old.add.push_back({2, 100, cookie, "ip,nw_dst=" + address, "set_field:0x2->xxreg1,resubmit(,3)"});
  }
  ASSERT_TRUE(bridge.Commit(old, {}));
  const auto count = [&](uint8_t table) {
    return std::ranges::count_if(bridge.rules(), [&](const Rule& rule) {
      return rule.table == table && ovs::CookieMatch::Kind(ovs::CookieKind::kRemote).Selects(rule.cookie);
    });
  };
  remotes = 0;
  remotes_known = false;
  ASSERT_TRUE(Repair());
  EXPECT_EQ(count(1) + count(2), 6000) << "this raild has learned nothing yet";
  remotes = 3000;
  remotes_known = true;
  int ends = 0;
  for (bool repaired = false; !repaired; ++ends) {
    ASSERT_LT(ends, 20);
    bridge.FailAfter(ends, {Code::kTransient, "down", 0});
    repaired = Repair().has_value();
    EXPECT_TRUE(count(7) == 3000 || count(1) + count(2) == 6000) << ends;
  }
  EXPECT_GT(ends, 3);
  EXPECT_EQ(count(7), 3000);
  EXPECT_EQ(count(1) + count(2), 0);
  EXPECT_EQ(repair.counts().installed, bridge.rules().size());
}

}  // namespace
}  // namespace rail::engine
