#include "lib/pipeline/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "lib/ovs/openflow.h"

namespace rail::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

MacAddress Mac(const char* text) {
  return MacAddress::Parse(text).value();
}
IpAddress Ip(const char* text) {
  return IpAddress::Parse(text).value();
}

const BridgeFacts kBridge{1, Mac("02:00:00:00:00:b0"), Mac("02:52:41:49:4c:00")};
const Pod kPod{
    7, 5, Mac("02:00:00:00:00:07"), {Ip("10.0.1.7"), Ip("2001:db8::7")}, {Ip("169.254.1.1"), Ip("fe80::1")}};

constexpr tenancy::TenantId kTenant{0, 0x2a};

std::vector<ovs::Rule> Everything() {
  std::vector<ovs::Rule> rules = ControlRules(kBridge, config::TenancyMode::kNamespace);
  Append(rules, AdmitRules(kBridge, kPod));
  Append(rules, TenantRules(kPod, kTenant));
  rules.push_back(CompareRule(kTenant));
  Append(rules, RemoteRules(kBridge, Ip("10.0.2.9"), kTenant));
  Append(rules, LeafRules(kBridge, Mac("02:00:00:00:00:1e")));
  return rules;
}

TEST(Pipeline, AsksNoQuestionThatWouldSplitAMegaflow) {
  for (const ovs::Rule& rule : Everything()) {
    for (const char* field :
         {"tp_", "tcp", "udp", "nw_ttl", "nw_tos", "ip_dscp", "ip_ecn", "nw_proto", "icmp"}) {
      EXPECT_THAT(rule.match, Not(HasSubstr(field)));
    }
    for (const char* action :
         {"dec_ttl", "ct(", "group", "NORMAL", "normal", "learn", "controller", "meter"}) {
      EXPECT_THAT(rule.actions, Not(HasSubstr(action)));
    }
  }
}

// What the switch prints back is what raild compares, and nobody brings it to another form first.
TEST(Pipeline, EveryRuleIsWrittenAsTheSwitchPrintsIt) {
  std::vector<ovs::Rule> rules;
  for (const auto mode : {config::TenancyMode::kNamespace, config::TenancyMode::kOff})
    Append(rules, ControlRules(kBridge, mode));
  const std::vector<IpAddress> addresses = {Ip("10.0.1.7"),
                                            Ip("0.0.0.1"),
                                            Ip("255.255.255.254"),
                                            Ip("2001:db8::7"),
                                            Ip("::1:0:0:0:1"),
                                            Ip("fd00:0:0:1::"),
                                            Ip("::10.0.0.1"),
                                            Ip("0:1::"),
                                            Ip("2001:db8:0:1:1:1:1:1"),
                                            Ip("2001:db8:0:0:1:0:0:1")};
  for (const uint16_t port : std::initializer_list<uint16_t>{1, 9, 10, 255, 256, 65279}) {
    const Pod pod{
        7, port, Mac("00:00:00:00:00:0a"), addresses, {Ip("169.254.1.1"), Ip("10.0.0.1"), Ip("fe80::1")}};
    const BridgeFacts bridge{port, Mac("00:0a:00:00:00:b0"), Mac("02:52:41:49:4c:00")};
    Append(rules, ControlRules(bridge, config::TenancyMode::kNamespace));
    Append(rules, AdmitRules(kBridge, pod));
    Append(rules, AdmitRules(bridge, pod));
    Append(rules, LeafRules(bridge, Mac("00:00:00:00:00:1e")));
    Append(rules, TenantRules(pod, kTenant));
    for (const IpAddress& address : addresses) Append(rules, RemoteRules(bridge, address, kTenant));
  }
  // Ids with every part of a register at zero, at its smallest and full.
  constexpr uint64_t kFull = (uint64_t{1} << 56) - 1;
  std::vector<tenancy::TenantId> ids = {{kFull, kFull}, {0, kFull}, {kFull, 0}};
  for (int bit = 0; bit < 56; ++bit) {
    ids.push_back({0, uint64_t{1} << bit});
    ids.push_back({uint64_t{1} << bit, 0});
  }
  for (const tenancy::TenantId id : ids) {
    rules.push_back(CompareRule(id));
    Append(rules, TenantRules(kPod, id));
    for (const IpAddress& address : addresses) Append(rules, RemoteRules(kBridge, address, id));
  }
  for (const ovs::Rule& rule : rules) {
    const auto canonical = ovs::Canonical(rule);
    ASSERT_TRUE(canonical) << canonical.error().message;
    ASSERT_EQ(canonical->match, rule.match);
    ASSERT_EQ(canonical->actions, rule.actions);
  }
}

// Part by part: a rule of half an id would let in who shares that half.
TEST(Pipeline, ATenantIsComparedInAllItsBits) {
  const ovs::Rule rule = CompareRule({0xfedcba98765432, 0x0123456789abcd});
  EXPECT_EQ(rule.match,
            "reg0=0xfedc,reg1=0xba987654,reg2=0x32012345,reg3=0x6789abcd,"
            "reg4=0xfedc,reg5=0xba987654,reg6=0x32012345,reg7=0x6789abcd");
  EXPECT_EQ(TenantRules(kPod, {0xfedcba98765432, 0x0123456789abcd}).front().actions,
            "set_field:0xfedcba987654320123456789abcd->xxreg0,resubmit(,2)");
}

TEST(Pipeline, EveryRuleCarriesOurCookie) {
  for (const ovs::Rule& rule : Everything())
    EXPECT_TRUE(ovs::CookieMatch::Ours().Selects(rule.cookie)) << rule.match;
}

TEST(Pipeline, NoTwoRulesHaveOneMatch) {
  std::set<std::tuple<int, int, std::string>> seen;
  for (const ovs::Rule& rule : Everything()) {
    EXPECT_TRUE(seen.emplace(rule.table, rule.priority, rule.match).second) << rule.match;
  }
}

TEST(Pipeline, EveryTableDropsWhatItDoesNotKnow) {
  const auto rules = ControlRules(kBridge, config::TenancyMode::kNamespace);
  for (int table = 0; table <= 4; ++table) {
    EXPECT_THAT(rules, Contains(AllOf(Field(&ovs::Rule::table, table), Field(&ovs::Rule::priority, 0),
                                      Field(&ovs::Rule::match, ""), Field(&ovs::Rule::actions, "drop"))));
  }
}

TEST(Pipeline, ModeOffPassesTheTenantTablesOnly) {
  std::vector<std::string> misses(5);
  for (const auto& rule : ControlRules(kBridge, config::TenancyMode::kOff)) {
    if (rule.priority == 0) misses[rule.table] = rule.actions;
  }
  EXPECT_THAT(misses, ::testing::ElementsAre("drop", "resubmit(,2)", "resubmit(,3)", "resubmit(,4)", "drop"));
}

TEST(Pipeline, APodEntersOnlyWithItsOwnMacAndAddressTowardsTheGateway) {
  std::vector<std::string> admitted;
  for (const auto& rule : AdmitRules(kBridge, kPod)) {
    if (rule.table == kAdmitTable && rule.actions == "resubmit(,1)" &&
        rule.match.find("in_port=5,") != std::string::npos) {
      admitted.push_back(rule.match);
    }
  }
  EXPECT_THAT(admitted,
              ::testing::UnorderedElementsAre(
                  "ip,in_port=5,vlan_tci=0x0000/"
                  "0x1fff,dl_src=02:00:00:00:00:07,dl_dst=02:52:41:49:4c:00,nw_src=10.0.1.7",
                  "ipv6,in_port=5,vlan_tci=0x0000/0x1fff,dl_src=02:00:00:00:00:07,dl_dst=02:52:41:49:4c:00,"
                  "ipv6_src=2001:db8::7"));
}

// An exact "no 802.1Q header" is the one VLAN match that tc takes without a VLAN id.
TEST(Pipeline, WhatTheSwitchAdmitsIsUntagged) {
  for (const auto& rule : AdmitRules(kBridge, kPod)) {
    if (rule.table != kAdmitTable || rule.actions == "drop") continue;
    EXPECT_THAT(rule.match, HasSubstr(",vlan_tci=0x0000/0x1fff,"));
  }
}

TEST(Pipeline, ArpIsAnsweredForTheGatewayAndTheTrueSenderOnly) {
  std::vector<std::string> arp;
  for (const auto& rule : AdmitRules(kBridge, kPod)) {
    if (rule.match.find("arp") != std::string::npos) arp.push_back(rule.match);
  }
  EXPECT_THAT(arp, ::testing::ElementsAre(
                       "arp,in_port=5,vlan_tci=0x0000/0x1fff,dl_src=02:00:00:00:00:07,arp_spa=10.0.1.7,"
                       "arp_tpa=169.254.1.1,arp_op=1,arp_sha=02:00:00:00:00:07"));
}

TEST(Pipeline, ARemoteIsASourceOnTheUplinkOnly) {
  const auto rules = RemoteRules(kBridge, Ip("10.0.2.9"), kTenant);
  EXPECT_EQ(rules[0].match, "ip,in_port=1,nw_src=10.0.2.9");
  EXPECT_EQ(rules[1].match, "ip,nw_dst=10.0.2.9");
}

TEST(Pipeline, TheAttachmentsCookieSelectsItsRulesAlone) {
  for (const auto& rule : AdmitRules(kBridge, kPod)) {
    EXPECT_TRUE(ovs::CookieMatch::Exact(ovs::CookieKind::kAttachment, 7).Selects(rule.cookie));
    EXPECT_FALSE(ovs::CookieMatch::Exact(ovs::CookieKind::kAttachment, 8).Selects(rule.cookie));
    EXPECT_FALSE(ovs::CookieMatch::Exact(ovs::CookieKind::kTenant, 7).Selects(rule.cookie));
  }
}

}  // namespace
}  // namespace rail::pipeline
