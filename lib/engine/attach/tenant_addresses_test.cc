// Mode `vrf`: two tenants with the same addresses on one node and one rail, and a mode that cannot change while pods run.
#include "lib/engine/attach/tenant_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lib/engine/attach/tenant_move.h"
#include "lib/engine/attach/verb_context.h"
#include "lib/engine/testing/repair_fixture.h"

namespace rail::engine {
namespace {

using ovs::CookieKind;
using state::ClaimKind;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::PodSpec;
using ::testing::SizeIs;

class VlanTenants : public testing::RepairTest {
 protected:
  VlanTenants() {
    world.config.tenancy.mode = config::TenancyMode::kVrf;
    world.config.tenancy.tenants = {{"red", {"ns-a"}}, {"blue", {"ns-b"}}};
    world.config.tenancy.vlans.of_tenant = {{"red", 101}, {"blue", 102}};
  }
  std::vector<ovs::Rule> ControlIn(const std::string& part) {
    std::vector<ovs::Rule> found = world.Bridge().rules();
    std::erase_if(found, [&](const ovs::Rule& rule) { return rule.match.find(part) == std::string::npos; });
    return found;
  }
  Status UndoAll(const PodSpec& spec) {
    RAIL_ASSIGN(const auto context, VerbContext::Open(world.deps()));
    return UndoAttachment(*context, world.Attachment(spec).key, "");
  }
  std::optional<int64_t> OwnerOf(const std::string& claim) {
    return world.record.OwnerOf(ClaimKind::kAddress, claim).value();
  }

  const PodSpec red = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec blue = world.MakePod("p2", "ns-b", "vf1");
};

TEST_F(VlanTenants, HaveTheSameAddressOnOneRail) {
  Attach(red, "10.0.3.1");
  Attach(blue, "10.0.3.1");
  EXPECT_EQ(OwnerOf("red/10.0.3.1"), world.Attachment(red).id);
  EXPECT_EQ(OwnerOf("blue/10.0.3.1"), world.Attachment(blue).id);
  for (const auto& [spec, vlan] : {std::pair{red, "101"}, {blue, "102"}}) {
    const auto rules = world.RulesOf(spec);
    const uint16_t port = world.Attachment(spec).ofport;
    EXPECT_THAT(rules,
                Contains(Field(&ovs::Rule::match, AllOf(HasSubstr(",dl_vlan=" + std::string(vlan) + ","),
                                                        HasSubstr("nw_dst=10.0.3.1")))));
    EXPECT_THAT(rules,
                Contains(AllOf(Field(&ovs::Rule::table, pipeline::kForwardTable),
                               Field(&ovs::Rule::actions, HasSubstr("output:" + std::to_string(port))))));
  }
  // raild makes the same rules of the record, and leaves those of the plugins as they are.
  const auto made = world.Bridge().rules();
  raild = world.StartRaild(std::chrono::hours(1));
  raild->Audit();
  const auto kept = world.Bridge().rules();
  for (const ovs::Rule& rule : made) EXPECT_THAT(kept, Contains(rule));
  EXPECT_THAT(kept, SizeIs(made.size()))
      << "and no rule to a leaf: nothing says yet which MAC it has in a VLAN";
  EXPECT_THAT(kept, Not(Contains(AllOf(
                        Field(&ovs::Rule::table, pipeline::kAdmitTable),
                        Field(&ovs::Rule::match, AllOf(HasSubstr("vlan_tci=0x0000"), HasSubstr("nw_dst")))))))
      << "nothing without a tag comes to a pod";
}

// Between the claim and the tenant in the record an ADD may die; IPAM gives the address to the tenant's next pod then.
TEST_F(VlanTenants, AnAddressOfAnAddThatDiedIsFreeWhenItIsUndone) {
  Attach(red, "10.0.3.1");
  ASSERT_TRUE(world.record.SetTenant(world.Attachment(red).id, "", {}));
  world.faults.down = {testing::Dependency::kOvsdb};
  ASSERT_TRUE(UndoAll(red));
  world.faults.down.clear();
  ASSERT_TRUE(world.FindAttachment(red)) << "something is left to undo";
  EXPECT_EQ(OwnerOf("red/10.0.3.1"), std::nullopt);
  Attach(world.MakePod("p3", "ns-a", "vf2"), "10.0.3.1");
}

// An ADD may die there, while raild is down.
TEST_F(VlanTenants, ThePortOfAVlanThatHasNoRulesGetsThemFromTheNextAdd) {
  Attach(red, "10.0.3.1");
  const auto whole = world.RulesOf(CookieKind::kPipeline);
  ASSERT_TRUE(Commit({.remove_by_cookie = {ovs::CookieMatch::Exact(CookieKind::kPipeline, 101)}}));
  ASSERT_LT(world.RulesOf(CookieKind::kPipeline).size(), whole.size());
  Attach(world.MakePod("p3", "ns-a", "vf2"), "10.0.3.2");
  EXPECT_THAT(world.RulesOf(CookieKind::kPipeline), ::testing::UnorderedElementsAreArray(whole));
}

TEST_F(VlanTenants, RefuseASecondPodOfATenantWithAnAddressOfTheFirst) {
  Attach(red, "10.0.3.1");
  const PodSpec other = world.MakePod("p3", "ns-a", "vf2");
  const auto second = testing::Attach(world, other, "10.0.3.1");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kBusy);
  EXPECT_THAT(second.error().message, AllOf(HasSubstr("red/10.0.3.1"), HasSubstr("c-p1")));
  EXPECT_TRUE(world.Attachment(other).tenant_id.is_none()) << "no rule can follow from the record";
}

TEST_F(VlanTenants, LoseNothingWhenTheOthersPodWithTheirAddressGoes) {
  Attach(red, "10.0.3.1");
  Attach(blue, "10.0.3.1");
  const auto of_blue = world.RulesOf(blue);
  ASSERT_TRUE(UndoAll(red));
  EXPECT_EQ(OwnerOf("red/10.0.3.1"), std::nullopt);
  EXPECT_EQ(OwnerOf("blue/10.0.3.1"), world.Attachment(blue).id);
  EXPECT_EQ(world.RulesOf(blue), of_blue);
  EXPECT_THAT(ControlIn("dl_vlan=101,dl_dst="), IsEmpty())
      << "what the node and the leaf say of it goes later";
  const PodSpec next = world.MakePod("p3", "ns-a", "vf2");
  Attach(next, "10.0.3.1");
}

TEST_F(VlanTenants, AreCutOffWhereNodeJsonGivesThemNoVlan) {
  Attach(red, "10.0.3.1");
  world.config.tenancy.vlans.of_tenant.erase("red");
  raild = world.StartRaild(std::chrono::hours(1));
  raild->Audit();
  EXPECT_THAT(ControlIn("nw_dst=10.0.3.1"), IsEmpty());
  EXPECT_THAT(world.RulesOf(CookieKind::kTenant), IsEmpty());
}

// The leaf may still know the new VLAN as another tenant's.
TEST_F(VlanTenants, AreCutOffWhereNodeJsonGivesThemAnotherVlan) {
  Attach(red, "10.0.3.1");
  Attach(blue, "10.0.3.2");
  const auto of_blue = world.RulesOf(blue);
  world.config.tenancy.vlans.of_tenant["red"] = 103;
  raild = world.StartRaild(std::chrono::hours(1));
  raild->Audit();
  EXPECT_THAT(ControlIn("nw_dst=10.0.3.1"), IsEmpty());
  EXPECT_THAT(ControlIn("dl_vlan=103"), IsEmpty());
  EXPECT_EQ(world.RulesOf(blue), of_blue) << "the damage ends at the tenant";
  world.config.tenancy.vlans.of_tenant["red"] = 101;
  raild = world.StartRaild(std::chrono::hours(1));
  raild->Audit();
  EXPECT_THAT(ControlIn("nw_dst=10.0.3.1"), Not(IsEmpty())) << "set back, it works again";
}

TEST_F(VlanTenants, KeepTheNameOfTheirCluster) {
  Attach(red, "10.0.3.1");
  const auto keeps = [&] {
    return KeepsVlan(world.config, world.Attachment(red),
                     world.record.Steps(world.Attachment(red).id).value());
  };
  EXPECT_TRUE(keeps());
  world.config.cluster = {"east", {world.config.cluster.name}};
  const Status refused = keeps();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("cluster in node.json is \"east\""), HasSubstr("ns-a/p1"), HasSubstr("drain")));
}

TEST_F(VlanTenants, StayWhereTheyAreUntilAttachedAnew) {
  Attach(red, "10.0.3.1");
  world.config.tenancy.tenants = {{"red", {"ns-c"}}, {"blue", {"ns-a", "ns-b"}}};
  EXPECT_FALSE(MovesTo(world.Attachment(red), {}, world.config, [&] { return world.tenants; }));
}

TEST_F(VlanTenants, ModeDoesNotChangeWhilePodsRun) {
  const auto change = [&](config::TenancyMode mode) {
    world.config.tenancy.mode = mode;
    return KeepsMode(world.config, world.record.List().value(), world.record);
  };
  Attach(red, "10.0.3.1");
  EXPECT_TRUE(change(config::TenancyMode::kVrf));
  for (const auto mode : {config::TenancyMode::kNamespace, config::TenancyMode::kOff}) {
    const Status refused = change(mode);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message,
                AllOf(HasSubstr("not \"vrf\""), HasSubstr("ns-a/p1"), HasSubstr("drain")));
  }
  world.config.tenancy.mode = config::TenancyMode::kVrf;
  ASSERT_TRUE(UndoAll(red));
  world.config.tenancy = {};
  EXPECT_TRUE(change(config::TenancyMode::kNamespace));
  Attach(world.MakePod("p3", "ns-a", "vf0"), "10.0.3.1");
  EXPECT_TRUE(change(config::TenancyMode::kNamespace));
  EXPECT_THAT(change(config::TenancyMode::kVrf).error().message, HasSubstr("were attached without it"));
}

TEST_F(VlanTenants, VlanOfATenantDoesNotChangeWhileItsPodsRun) {
  const config::NodeConfig runs = world.config;
  const auto keeps = [&] {
    return KeepsVlans(world.config, runs, world.record.List().value(), world.record);
  };
  Attach(red, "10.0.3.1");
  Attach(blue, "10.0.3.1");
  auto& vlans = world.config.tenancy.vlans.of_tenant;
  vlans["green"] = 103;
  EXPECT_TRUE(keeps()) << "a tenant that is new";
  vlans["blue"] = 104;
  EXPECT_THAT(keeps().error().message, AllOf(HasSubstr("tenant blue VLAN 104"), HasSubstr("in VLAN 102"),
                                             HasSubstr("ns-b/p2"), HasSubstr("delete these pods")));
  vlans.erase("blue");
  EXPECT_THAT(keeps().error().message, HasSubstr("tenant blue no VLAN"));
  EXPECT_TRUE(KeepsMode(world.config, world.record.List().value(), world.record)) << "so raild starts";
  vlans["yellow"] = 105;
  EXPECT_TRUE(KeepsVlans(world.config, world.config, world.record.List().value(), world.record))
      << "a raild that has started so takes other changes";
  ASSERT_TRUE(UndoAll(blue));
  EXPECT_TRUE(keeps()) << "none of its pods is left";
}

}  // namespace
}  // namespace rail::engine
