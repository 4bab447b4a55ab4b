// Mode `vrf`: two tenants have the same addresses, and a bridge keeps them apart by VLAN.
#include "lib/engine/repair/bridge_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rail::engine {
namespace {

using pipeline::VlanAddress;
using tenancy::TenantId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr TenantId kRed{0, 1};
constexpr TenantId kBlue{0, 2};
constexpr uint16_t kRedVlan = 101;
constexpr uint16_t kBlueVlan = 102;

IpAddress Ip(const char* text) {
  return IpAddress::Parse(text).value();
}

// Both tenants have both addresses elsewhere.
RemoteSelection Both() {
  auto table = std::make_shared<RemoteTable>();
  RemoteSet set;
  for (const char* address : {"10.0.0.1", "10.0.0.2"}) set.Set({Ip(address), 0, false});
  for (const TenantId tenant : {kRed, kBlue})
    table->by_tenant[tenant] = std::make_shared<const RemoteSet>(set);
  RemoteSelection selection;
  selection.learned = std::move(table);
  selection.present = {kRed, kBlue};
  selection.vlans = {{kRed, kRedVlan}, {kBlue, kBlueVlan}};
  return selection;
}

std::vector<std::pair<VlanAddress, TenantId>> Selected(const RemoteSelection& selection) {
  std::vector<std::pair<VlanAddress, TenantId>> all;
  selection.ForEach([&](const VlanAddress& address, TenantId tenant) { all.emplace_back(address, tenant); });
  return all;
}

TEST(RemoteSelectionOfVlans, HasAnAddressOnceForEachTenant) {
  const RemoteSelection both = Both();
  EXPECT_EQ(both.TenantOf({Ip("10.0.0.1"), kRedVlan}), kRed);
  EXPECT_EQ(both.TenantOf({Ip("10.0.0.1"), kBlueVlan}), kBlue);
  EXPECT_EQ(both.TenantOf({Ip("10.0.0.1"), 103}), std::nullopt);
  EXPECT_EQ(both.TenantOf(Ip("10.0.0.1")), std::nullopt) << "an address without a VLAN is nobody's";
  EXPECT_EQ(Selected(both).size(), 4U);
}

TEST(RemoteSelectionOfVlans, AnAddressHereHidesNoOtherTenants) {
  RemoteSelection both = Both();
  both.here = {{Ip("10.0.0.1"), kRedVlan}};
  both.other_rails = {{{Ip("10.0.0.3"), kBlueVlan}, kBlue}};
  EXPECT_EQ(both.TenantOf({Ip("10.0.0.1"), kRedVlan}), std::nullopt);
  EXPECT_EQ(both.TenantOf({Ip("10.0.0.1"), kBlueVlan}), kBlue);
  EXPECT_EQ(both.TenantOf({Ip("10.0.0.3"), kBlueVlan}), kBlue);
  EXPECT_EQ(both.TenantOf({Ip("10.0.0.3"), kRedVlan}), std::nullopt);
  EXPECT_THAT(Selected(both), UnorderedElementsAre(std::pair{VlanAddress(Ip("10.0.0.2"), kRedVlan), kRed},
                                                   std::pair{VlanAddress(Ip("10.0.0.1"), kBlueVlan), kBlue},
                                                   std::pair{VlanAddress(Ip("10.0.0.2"), kBlueVlan), kBlue},
                                                   std::pair{VlanAddress(Ip("10.0.0.3"), kBlueVlan), kBlue}));
}

TEST(RemoteSelectionOfVlans, ATenantThatLeavesTakesItsOwnAddressesAlone) {
  const RemoteSelection before = Both();
  RemoteSelection now = before;
  now.present.erase(kRed);
  now.vlans.erase(kRed);
  std::vector<VlanAddress> gone;
  RemoteSelection::Difference(before, now, [&](const VlanAddress& address, auto was, auto is) {
    EXPECT_EQ(was, kRed);
    EXPECT_EQ(is, std::nullopt);
    gone.push_back(address);
  });
  EXPECT_THAT(gone,
              ElementsAre(VlanAddress(Ip("10.0.0.1"), kRedVlan), VlanAddress(Ip("10.0.0.2"), kRedVlan)));
}

TEST(RemoteSelectionOfVlans, APodThatComesChangesItsTenantsAddress) {
  const RemoteSelection before = Both();
  RemoteSelection now = before;
  now.here = {{Ip("10.0.0.2"), kBlueVlan}};
  std::vector<VlanAddress> changed;
  RemoteSelection::Difference(before, now, [&](const VlanAddress& a, auto, auto) { changed.push_back(a); });
  EXPECT_THAT(changed, ElementsAre(VlanAddress(Ip("10.0.0.2"), kBlueVlan)));
}

// What the switch holds is judged by VLAN and address: the other tenant's rule explains nothing.
TEST(BridgeRulesOfVlans, EachRuleOfARemoteIsExplainedByItsTenantAlone) {
  pipeline::BridgeFacts bridge{
      1, MacAddress::Parse("02:00:00:00:00:10").value(), MacAddress::Parse("02:52:41:49:4c:00").value(), {}};
  bridge.vlans.of_tenant = {{"red", kRedVlan}, {"blue", kBlueVlan}};
  const BridgeRules want(bridge, BridgeRules::ByPlace({}), Both());
  for (const auto& [tenant, vlan] : {std::pair{kRed, kRedVlan}, {kBlue, kBlueVlan}}) {
    const auto rules = pipeline::RemoteRules(bridge, {Ip("10.0.0.1"), vlan}, tenant);
    ASSERT_EQ(rules.size(), 2U);
    for (const ovs::Rule& rule : rules) EXPECT_EQ(want.At(rule), rule) << rule.match;
  }
  for (ovs::Rule rule : pipeline::RemoteRules(bridge, {Ip("10.0.0.1"), kRedVlan}, kBlue)) {
    const auto right = want.At(rule);
    ASSERT_TRUE(right);
    EXPECT_NE(*right, rule) << "the VLAN of one tenant with the id of the other";
  }
  // A rule without a VLAN, as mode `namespace` would have it.
  pipeline::BridgeFacts flat = bridge;
  flat.vlans = {};
  for (const ovs::Rule& rule : pipeline::RemoteRules(flat, Ip("10.0.0.1"), kRed)) EXPECT_FALSE(want.At(rule));
  EXPECT_THAT(pipeline::RemoteRules(bridge, Ip("10.0.0.1"), kRed), IsEmpty());
  EXPECT_THAT(pipeline::RemoteRules(flat, {Ip("10.0.0.1"), kRedVlan}, kRed), IsEmpty());
}

}  // namespace
}  // namespace rail::engine
