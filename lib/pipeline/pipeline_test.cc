#include "lib/pipeline/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace rail::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
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

std::vector<ovs::Rule> Everything() {
  std::vector<ovs::Rule> rules = ControlRules(kBridge, config::TenancyMode::kNamespace);
  Append(rules, AdmitRules(kBridge, kPod));
  Append(rules, TenantRules(kPod, {0x2a}));
  rules.push_back(CompareRule({0x2a}));
  Append(rules, RemoteRules(kBridge, Ip("10.0.2.9"), {0x2a}));
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
    if (rule.table == kAdmitTable && rule.actions == "resubmit(,1)" && rule.match.starts_with("in_port=5")) {
      admitted.push_back(rule.match);
    }
  }
  EXPECT_THAT(
      admitted,
      ::testing::UnorderedElementsAre(
          "in_port=5,vlan_tci=0x0000,dl_src=02:00:00:00:00:07,dl_dst=02:52:41:49:4c:00,ip,nw_src=10.0.1.7",
          "in_port=5,vlan_tci=0x0000,dl_src=02:00:00:00:00:07,dl_dst=02:52:41:49:4c:00,ipv6,ipv6_src=2001:"
          "db8::7"));
}

// An exact "no 802.1Q header" is the one VLAN match that tc takes without a VLAN id.
TEST(Pipeline, WhatTheSwitchAdmitsIsUntagged) {
  for (const auto& rule : AdmitRules(kBridge, kPod)) {
    if (rule.table != kAdmitTable || rule.actions == "drop") continue;
    EXPECT_THAT(rule.match, HasSubstr(",vlan_tci=0x0000,"));
  }
}

TEST(Pipeline, ArpIsAnsweredForTheGatewayAndTheTrueSenderOnly) {
  std::vector<std::string> arp;
  for (const auto& rule : AdmitRules(kBridge, kPod)) {
    if (rule.match.find("arp") != std::string::npos) arp.push_back(rule.match);
  }
  EXPECT_THAT(arp, ::testing::ElementsAre(
                       "in_port=5,vlan_tci=0x0000,dl_src=02:00:00:00:00:07,arp,arp_op=1,arp_spa=10.0.1.7,"
                       "arp_sha=02:00:00:00:00:07,arp_tpa=169.254.1.1"));
}

TEST(Pipeline, ARemoteIsASourceOnTheUplinkOnly) {
  const auto rules = RemoteRules(kBridge, Ip("10.0.2.9"), {0x2a});
  EXPECT_EQ(rules[0].match, "in_port=1,ip,nw_src=10.0.2.9");
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
