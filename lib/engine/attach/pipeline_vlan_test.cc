// Mode `vrf`: the rules of tenants that have the same addresses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "lib/engine/attach/pipeline.h"
#include "lib/ovs/openflow.h"

namespace rail::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

MacAddress Mac(const char* text) {
  return MacAddress::Parse(text).value();
}
IpAddress Ip(const char* text) {
  return IpAddress::Parse(text).value();
}

constexpr tenancy::TenantId kRed{0x123456, 0x2a};
constexpr tenancy::TenantId kBlue{0x654321, 0x2b};
constexpr uint16_t kRedVlan = 101;
constexpr uint16_t kBlueVlan = 4094;

const BridgeFacts kBridge{
    1, Mac("02:00:00:00:00:b0"), Mac("02:52:41:49:4c:00"), {{{"red", kRedVlan}, {"blue", kBlueVlan}}}};
const std::vector<IpAddress> kSame = {Ip("10.0.0.1"), Ip("2001:db8::1")};
const Pod kRedPod{7, 5, Mac("02:00:00:00:00:07"), kSame, kRedVlan};
const Pod kBluePod{8, 6, Mac("02:00:00:00:00:08"), kSame, kBlueVlan};

std::vector<ovs::Rule> Everything() {
  std::vector<ovs::Rule> rules = ControlRules(kBridge, config::TenancyMode::kVrf);
  for (const auto& [pod, tenant] : {std::pair{kRedPod, kRed}, {kBluePod, kBlue}}) {
    Append(rules, AdmitRules(kBridge, pod));
    Append(rules, TenantRules(kBridge, pod, tenant));
    rules.push_back(CompareRule(tenant));
    for (const char* remote : {"10.0.2.9", "2001:db8::9"})
      rules.push_back(RemoteRule(kBridge, {Ip(remote), pod.vlan}, tenant).value());
    Append(rules,
           VlanRules(kBridge, {pod.vlan, static_cast<uint16_t>(pod.port + 10), Mac("02:00:00:00:00:1e")}));
  }
  return rules;
}

std::vector<std::string> Texts(const std::vector<ovs::Rule>& rules) {
  std::vector<std::string> texts;
  for (const ovs::Rule& rule : rules)
    texts.push_back(std::to_string(rule.table) + " " + rule.match + " " + rule.actions);
  return texts;
}

TEST(VlanPipeline, EveryRuleIsWrittenAsTheSwitchPrintsIt) {
  for (const ovs::Rule& rule : Everything()) {
    const auto canonical = ovs::Canonical(rule);
    ASSERT_TRUE(canonical) << canonical.error().message;
    EXPECT_EQ(canonical->match, rule.match);
    EXPECT_EQ(canonical->actions, rule.actions);
  }
}

// The same places would be one rule: one of the tenants would have none, or the other's.
TEST(VlanPipeline, NoTwoRulesHaveOneMatchThoughTheAddressesAreTheSame) {
  std::set<std::tuple<int, int, std::string>> seen;
  for (const ovs::Rule& rule : Everything())
    EXPECT_TRUE(seen.emplace(rule.table, rule.priority, rule.match).second) << rule.match;
}

TEST(VlanPipeline, AsksNoQuestionThatWouldSplitAMegaflow) {
  for (const ovs::Rule& rule : Everything()) {
    for (const char* field :
         {"tp_", "nw_ttl", "nw_tos", "ip_dscp", "ip_ecn", "nw_proto", "dl_vlan_pcp", "vlan_pcp"})
      EXPECT_THAT(rule.match, Not(HasSubstr(field)));
    for (const char* action : {"dec_ttl", "NORMAL", "vlan_pcp", "nw_tos", "ip_dscp"})
      EXPECT_THAT(rule.actions, Not(HasSubstr(action)));
  }
}

TEST(VlanPipeline, AnAddressIsATenantsInItsVlanAlone) {
  EXPECT_THAT(Texts({RemoteRule(kBridge, {Ip("10.0.2.9"), kRedVlan}, tenancy::TenantId{0, 0x2a}).value()}),
              ElementsAre("7 ip,reg8=0x65,nw_src=10.0.2.9 set_field:0x2a->xxreg1"));
  EXPECT_THAT(Texts(ControlRules(kBridge, config::TenancyMode::kVrf)),
              Contains("1 in_port=1 resubmit(,7),move:NXM_NX_XXREG1[]->NXM_NX_XXREG0[],resubmit(,2)"))
      << "reg8 stays, which is a part of xxreg2";
  EXPECT_THAT(Texts(TenantRules(kBridge, {7, 5, kRedPod.mac, {Ip("10.0.0.1")}, kRedVlan},
                                tenancy::TenantId{0, 0x2a})),
              UnorderedElementsAre(
                  "0 ip,in_port=1,dl_vlan=101,dl_dst=02:00:00:00:00:b0,nw_dst=10.0.0.1 "
                  "pop_vlan,set_field:0x65->reg8,resubmit(,1)",
                  "1 in_port=5 set_field:0x2a->xxreg0,set_field:0x65->reg8,resubmit(,2)",
                  "2 ip,reg8=0x65,nw_dst=10.0.0.1 set_field:0x2a->xxreg1,resubmit(,3)",
                  "4 ip,reg8=0x65,nw_dst=10.0.0.1 "
                  "set_field:02:52:41:49:4c:00->eth_src,set_field:02:00:00:00:00:07->eth_dst,output:5"));
}

// Closed where something is not known: no rule, rather than one without a VLAN.
TEST(VlanPipeline, WithoutAVlanThereIsNoRule) {
  EXPECT_THAT(TenantRules(kBridge, {7, 5, kRedPod.mac, kSame}, kRed), IsEmpty());
  EXPECT_FALSE(RemoteRule(kBridge, Ip("10.0.2.9"), kRed));
  EXPECT_THAT(LeafRules(kBridge, Mac("02:00:00:00:00:1e")), IsEmpty());
  EXPECT_THAT(VlanRules(kBridge, {0, 15, Mac("02:00:00:00:00:1e")}), IsEmpty());
  EXPECT_THAT(VlanRules(kBridge, {kRedVlan, 0, Mac("02:00:00:00:00:1e")}), IsEmpty());
  for (const ovs::Rule& rule : VlanRules(kBridge, {kRedVlan, 15, {}})) EXPECT_EQ(rule.table, kAdmitTable);
}

TEST(VlanPipeline, NothingThatDependsOnTheTenantIsAdmittedBeforeItIsKnown) {
  for (const ovs::Rule& rule : AdmitRules(kBridge, kRedPod)) {
    EXPECT_THAT(rule.match, Not(HasSubstr("in_port=1,"))) << "from the uplink";
    EXPECT_NE(rule.table, kForwardTable);
  }
}

TEST(VlanPipeline, APodSendsNoTagAndTheUplinkTakesControlTrafficOfEachVlanApart) {
  std::set<std::string> from_uplink;
  for (const ovs::Rule& rule : Everything()) {
    if (rule.table != kAdmitTable || rule.match.find("in_port=1,") == std::string::npos) continue;
    EXPECT_THAT(rule.match, ::testing::AnyOf(HasSubstr("vlan_tci=0x0000/0x1fff"), HasSubstr("dl_vlan="),
                                             HasSubstr("dl_type=0x88cc")));
    from_uplink.insert(rule.match);
  }
  EXPECT_THAT(Everything(), Contains(AllOf(Field(&ovs::Rule::match, "in_port=5,vlan_tci=0x1000/0x1000"),
                                           Field(&ovs::Rule::actions, "resubmit(,6)"))));
  EXPECT_THAT(from_uplink, Contains("ipv6,in_port=1,dl_vlan=4094,ipv6_dst=fe80::/10"));
}

TEST(VlanPipeline, WhatATenantSendsToTheUplinkHasTheTagOfItsVlan) {
  int tagged = 0;
  for (const ovs::Rule& rule : Everything()) {
    const bool nodes_own = rule.match.find("in_port=LOCAL") != std::string::npos;  // link-local and LLDP
    const bool to_uplink = rule.actions.ends_with("output:1") && !nodes_own;
    EXPECT_EQ(rule.actions.find("push_vlan") != std::string::npos, to_uplink) << rule.actions;
    if (!to_uplink) continue;
    ++tagged;
    const bool is_red = rule.match.find("in_port=15") != std::string::npos ||
                        rule.match.find("reg8=0x65") != std::string::npos;
    EXPECT_THAT(rule.actions, ::testing::EndsWith(std::string("push_vlan:0x8100,set_field:") +
                                                  (is_red ? "4197" : "8190") + "->vlan_vid,output:1"))
        << rule.match;
  }
  EXPECT_EQ(tagged, 8)
      << "of each tenant: two of the port over which it speaks with the leaf, two of its pods";
}

TEST(VlanPipeline, ARemotesRuleIsFoundAgainByItsVlanAndAddress) {
  const auto tenant_of = [](const VlanAddress& remote) -> std::optional<tenancy::TenantId> {
    if (remote == VlanAddress(Ip("10.0.2.9"), kRedVlan)) return kRed;
    if (remote == VlanAddress(Ip("10.0.2.9"), kBlueVlan)) return kBlue;
    return std::nullopt;
  };
  for (const auto& [vlan, tenant] : {std::pair{kRedVlan, kRed}, {kBlueVlan, kBlue}}) {
    const ovs::Rule rule = RemoteRule(kBridge, {Ip("10.0.2.9"), vlan}, tenant).value();
    EXPECT_EQ(RemoteRuleAt(kBridge, rule, tenant_of), rule);
    ovs::Rule wider = rule;  // it matches more than the address in its VLAN
    wider.match.erase(wider.match.find(",reg8="), wider.match.find(',', 4) - wider.match.find(",reg8="));
    EXPECT_FALSE(RemoteRuleAt(kBridge, wider, tenant_of)) << wider.match;
  }
}

// What mode `namespace` makes is what it made before there was a mode `vrf`.
TEST(VlanPipeline, WithoutVlansNoRuleSpeaksOfThem) {
  BridgeFacts flat = kBridge;
  flat.vlans = {};
  std::vector<ovs::Rule> rules = ControlRules(flat, config::TenancyMode::kNamespace);
  Append(rules, AdmitRules(flat, kRedPod));
  Append(rules, TenantRules(flat, kRedPod, kRed));
  rules.push_back(RemoteRule(flat, Ip("10.0.2.9"), kRed).value());
  for (const ovs::Rule& rule : rules) {
    for (const char* part : {"reg8", "dl_vlan", "push_vlan", "pop_vlan"}) {
      EXPECT_THAT(rule.match, Not(HasSubstr(part)));
      EXPECT_THAT(rule.actions, Not(HasSubstr(part)));
    }
  }
  EXPECT_THAT(Texts(ControlRules(flat, config::TenancyMode::kNamespace)),
              Contains("0 ipv6,in_port=1,ipv6_dst=fe80::/10 LOCAL"));
}

}  // namespace
}  // namespace rail::pipeline
