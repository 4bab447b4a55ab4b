// Which addresses a bridge has rules of. In mode `vrf` two tenants have the same addresses, and a bridge keeps them apart by VLAN; in the
// other an address may have two tenants for a moment.
#include "lib/engine/repair/bridge_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace rail::engine {
namespace {

using pipeline::TenantIds;
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
  selection.ForEach([&](const VlanAddress& address, const TenantIds& tenants) {
    all.emplace_back(address, tenants.tenant);
  });
  return all;
}

TEST(RemoteSelectionOfVlans, HasAnAddressOnceForEachTenant) {
  const RemoteSelection both = Both();
  EXPECT_EQ(both.TenantsOf({Ip("10.0.0.1"), kRedVlan}), kRed);
  EXPECT_EQ(both.TenantsOf({Ip("10.0.0.1"), kBlueVlan}), kBlue);
  EXPECT_EQ(both.TenantsOf({Ip("10.0.0.1"), 103}), std::nullopt);
  EXPECT_EQ(both.TenantsOf(Ip("10.0.0.1")), std::nullopt) << "an address without a VLAN is nobody's";
  EXPECT_EQ(Selected(both).size(), 4U);
}

TEST(RemoteSelectionOfVlans, AnAddressHereHidesNoOtherTenants) {
  RemoteSelection both = Both();
  both.here = {{Ip("10.0.0.1"), kRedVlan}};
  both.other_rails = {{{Ip("10.0.0.3"), kBlueVlan}, kBlue}};
  EXPECT_EQ(both.TenantsOf({Ip("10.0.0.1"), kRedVlan}), std::nullopt);
  EXPECT_EQ(both.TenantsOf({Ip("10.0.0.1"), kBlueVlan}), kBlue);
  EXPECT_EQ(both.TenantsOf({Ip("10.0.0.3"), kBlueVlan}), kBlue);
  EXPECT_EQ(both.TenantsOf({Ip("10.0.0.3"), kRedVlan}), std::nullopt);
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
    const auto rule = pipeline::RemoteRule(bridge, {Ip("10.0.0.1"), vlan}, tenant);
    ASSERT_TRUE(rule);
    EXPECT_EQ(want.At(*rule), rule) << rule->match;
  }
  const auto mixed = pipeline::RemoteRule(bridge, {Ip("10.0.0.1"), kRedVlan}, kBlue);
  const auto right = want.At(mixed.value());
  ASSERT_TRUE(right);
  EXPECT_NE(right, mixed) << "the VLAN of one tenant with the id of the other";
  // A rule without a VLAN, as mode `namespace` would have it.
  pipeline::BridgeFacts flat = bridge;
  flat.vlans = {};
  EXPECT_FALSE(want.At(pipeline::RemoteRule(flat, Ip("10.0.0.1"), kRed).value()));
  EXPECT_FALSE(pipeline::RemoteRule(bridge, Ip("10.0.0.1"), kRed));
  EXPECT_FALSE(pipeline::RemoteRule(flat, {Ip("10.0.0.1"), kRedVlan}, kRed));
}

// 10.0.1.1 has moved from red to blue, and 10.0.1.2 has always been blue's.
class LeavingSelection : public ::testing::Test {
 protected:
  LeavingSelection() { Learn({{Ip("10.0.1.1"), TenantIds(kBlue, kRed)}}); }
  void Learn(const LeavingAddresses& leaving, bool contested = false) {
    auto table = std::make_shared<RemoteTable>();
    RemoteSet blue;
    blue.Set({Ip("10.0.1.1"), 3, contested});
    blue.Set({Ip("10.0.1.2"), 3, false});
    table->by_tenant[kBlue] = std::make_shared<const RemoteSet>(blue);
    table->leaving = std::make_shared<const LeavingAddresses>(leaving);
    selection.learned = std::move(table);
  }
  static std::map<VlanAddress, std::pair<TenantId, TenantId>> All(const RemoteSelection& of) {
    std::map<VlanAddress, std::pair<TenantId, TenantId>> all;
    of.ForEach([&](const VlanAddress& address, const TenantIds& tenants) {
      EXPECT_TRUE(all.emplace(address, std::pair(tenants.tenant, tenants.leaving)).second) << "twice";
      EXPECT_EQ(of.TenantsOf(address), tenants);
    });
    return all;
  }
  static std::vector<VlanAddress> Changed(const RemoteSelection& before, const RemoteSelection& now) {
    std::vector<VlanAddress> changed;
    RemoteSelection::Difference(before, now, [&](const VlanAddress& address, auto was, auto is) {
      EXPECT_EQ(was, before.TenantsOf(address));
      EXPECT_EQ(is, now.TenantsOf(address));
      changed.push_back(address);
    });
    return changed;
  }
  const std::pair<TenantId, TenantId> kOne{kBlue, {}}, kTwo{kBlue, kRed};
  RemoteSelection selection;
};

TEST_F(LeavingSelection, HasBothTenantsWhereEitherIsPresent) {
  using Map = std::map<VlanAddress, std::pair<TenantId, TenantId>>;
  selection.present = {kBlue};
  EXPECT_EQ(All(selection), (Map{{Ip("10.0.1.1"), kTwo}, {Ip("10.0.1.2"), kOne}}));
  EXPECT_THAT(selection.Left(), IsEmpty()) << "nobody of red is here to meet";
  selection.present = {kRed};
  EXPECT_EQ(All(selection), (Map{{Ip("10.0.1.1"), kTwo}}));
  EXPECT_THAT(selection.Left(), ElementsAre(kRed));
  selection.present = {kRed, kBlue};
  EXPECT_EQ(All(selection), (Map{{Ip("10.0.1.1"), kTwo}, {Ip("10.0.1.2"), kOne}}));
  selection.present = {{0, 3}};
  EXPECT_EQ(All(selection), Map());
  EXPECT_EQ(selection.TenantsOf(Ip("10.0.1.1")), std::nullopt);
  EXPECT_THAT(selection.Left(), IsEmpty());
}

TEST_F(LeavingSelection, IsNobodysWhereItIsContestedOrOfAnotherRailOrHere) {
  for (const TenantId present : {kRed, kBlue}) {
    selection.present = {present};
    RemoteSelection here = selection;
    here.here = {Ip("10.0.1.1")};
    EXPECT_EQ(here.TenantsOf(Ip("10.0.1.1")), std::nullopt);
    EXPECT_FALSE(All(here).contains(Ip("10.0.1.1")));
    RemoteSelection rail = selection;
    rail.only_rail = 0;
    EXPECT_TRUE(All(rail).empty());
    rail.only_rail = 3;
    EXPECT_TRUE(All(rail).contains(Ip("10.0.1.1")));
    Learn({{Ip("10.0.1.1"), TenantIds(kBlue, kRed)}}, true);
    RemoteSelection contested = selection;
    contested.present = {present};
    EXPECT_FALSE(All(contested).contains(Ip("10.0.1.1")));
    Learn({{Ip("10.0.1.1"), TenantIds(kBlue, kRed)}});
  }
}

TEST_F(LeavingSelection, TellsWhatChangesAtItsBeginningAndItsEnd) {
  for (const std::set<TenantId>& present : {std::set{kBlue}, {kRed}, {kRed, kBlue}}) {
    selection.present = present;
    const RemoteSelection during = selection;
    EXPECT_THAT(Changed(during, during), IsEmpty());
    Learn({});
    EXPECT_THAT(Changed(during, selection), ElementsAre(Ip("10.0.1.1")));
    EXPECT_THAT(Changed(selection, during), ElementsAre(Ip("10.0.1.1")));
    Learn({{Ip("10.0.1.1"), TenantIds(kBlue, kRed)}});
  }
}

TEST_F(LeavingSelection, APodOfAnotherRailOfTheNodeHasBothToo) {
  selection.learned = nullptr;
  selection.other_rails.insert_or_assign(Ip("10.0.2.1"), TenantIds(kBlue, kRed));
  for (const TenantId present : {kRed, kBlue}) {
    selection.present = {present};
    EXPECT_EQ(selection.TenantsOf(Ip("10.0.2.1")), TenantIds(kBlue, kRed));
    EXPECT_EQ(All(selection).size(), 1U);
  }
  selection.present = {kRed};
  EXPECT_THAT(selection.Left(), ElementsAre(kRed));
  RemoteSelection left = selection;
  left.other_rails.insert_or_assign(Ip("10.0.2.1"), TenantIds(kBlue));
  EXPECT_THAT(Changed(selection, left), ElementsAre(Ip("10.0.2.1")));
  EXPECT_EQ(left.TenantsOf(Ip("10.0.2.1")), std::nullopt);
}

}  // namespace
}  // namespace rail::engine
