#include "lib/engine/attach/pipeline.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "lib/ovs/openflow.h"

namespace rail::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
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
const Pod kPod{7, 5, Mac("02:00:00:00:00:07"), {Ip("10.0.1.7"), Ip("2001:db8::7")}};

constexpr tenancy::TenantId kTenant{0, 0x2a};
constexpr tenancy::TenantId kLeft{0x1c, 0x2b};

std::vector<ovs::Rule> Everything() {
  std::vector<ovs::Rule> rules = ControlRules(kBridge, config::TenancyMode::kNamespace);
  Append(rules, AdmitRules(kBridge, kPod));
  Append(rules, TenantRules(kBridge, kPod, kTenant));
  rules.push_back(CompareRule(kTenant));
  Append(rules, LeavingRules(kLeft));
  for (const char* remote : {"10.0.2.9", "2001:db8::9"})
    rules.push_back(RemoteRule(kBridge, Ip(remote), kTenant).value());
  rules.push_back(RemoteRule(kBridge, Ip("10.0.2.10"), {kTenant, kLeft}).value());
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
    const Pod pod{7, port, Mac("00:00:00:00:00:0a"), addresses};
    const BridgeFacts bridge{port, Mac("00:0a:00:00:00:b0"), Mac("02:52:41:49:4c:00")};
    Append(rules, ControlRules(bridge, config::TenancyMode::kNamespace));
    Append(rules, AdmitRules(kBridge, pod));
    Append(rules, AdmitRules(bridge, pod));
    Append(rules, LeafRules(bridge, Mac("00:00:00:00:00:1e")));
    Append(rules, TenantRules(kBridge, pod, kTenant));
    for (const IpAddress& address : addresses) rules.push_back(RemoteRule(bridge, address, kTenant).value());
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
    Append(rules, LeavingRules(id));
    Append(rules, TenantRules(kBridge, kPod, id));
    Append(rules, TenantRules(kBridge, kPod, {id, kLeft}));
    Append(rules, TenantRules(kBridge, kPod, {kTenant, id}));
    rules.push_back(RemoteRule(kBridge, Ip("10.0.2.9"), {kTenant, id}).value());
    for (const IpAddress& address : addresses) rules.push_back(RemoteRule(kBridge, address, id).value());
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
  EXPECT_EQ(TenantRules(kBridge, kPod, tenancy::TenantId{0xfedcba98765432, 0x0123456789abcd}).front().actions,
            "set_field:0xfedcba987654320123456789abcd->xxreg0,resubmit(,2)");
}

// What tables 1 to 3 make of a packet between two pods: whether some rule of table 3 has the ids that their rules write.
bool Meet(const TenantIds& source, const TenantIds& destination, const std::vector<ovs::Rule>& compare) {
  std::map<std::string, uint64_t> registers;
  const auto write = [&](const ovs::Rule& rule) {
    size_t at = 0;
    while ((at = rule.actions.find("set_field:0x", at)) != std::string::npos) {
      const size_t arrow = rule.actions.find("->xxreg", at);
      const std::string digits = rule.actions.substr(at + 12, arrow - at - 12);
      const std::string id = std::string(32 - digits.size(), '0') + digits;
      const int first = (rule.actions[arrow + 7] - '0') * 4;
      for (int word = 0; word < 4; ++word)
        registers["reg" + std::to_string(first + word)] =
            std::stoull(id.substr(static_cast<size_t>(word) * 8, 8), nullptr, 16);
      at = arrow;
    }
  };
  write(TenantRules(kBridge, kPod, source)[0]);
  write(TenantRules(kBridge, kPod, destination)[1]);
  return std::ranges::any_of(compare, [&](const ovs::Rule& rule) {
    std::istringstream parts(rule.match);
    for (std::string part; std::getline(parts, part, ',');) {
      const size_t equals = part.find('=');
      if (registers[part.substr(0, equals)] != std::stoull(part.substr(equals + 1), nullptr, 0)) return false;
    }
    return true;
  });
}

// Of all pairs, with every rule of table 3 that there could be: who shares a tenant, be it one that somebody is leaving.
TEST(Pipeline, APacketPassesIfOneTenantOfItsSourceIsOneOfItsDestination) {
  const std::vector<tenancy::TenantId> all = {{0, 1}, {0, 2}, {1, 0}, {1, 2}};
  std::vector<ovs::Rule> compare;
  for (const tenancy::TenantId id : all) {
    compare.push_back(CompareRule(id));
    Append(compare, LeavingRules(id));
  }
  std::vector<TenantIds> ends;
  for (const tenancy::TenantId now : all) {
    ends.emplace_back(now);
    for (const tenancy::TenantId left : all) {
      if (left != now) ends.push_back({now, left});
    }
  }
  for (const TenantIds& a : ends) {
    for (const TenantIds& b : ends) {
      const auto has = [](const TenantIds& one, tenancy::TenantId id) {
        return !id.is_none() && (one.tenant == id || one.leaving == id);
      };
      EXPECT_EQ(Meet(a, b, compare), has(a, b.tenant) || has(a, b.leaving))
          << a.tenant.ToString() << "/" << a.leaving.ToString() << " to " << b.tenant.ToString() << "/"
          << b.leaving.ToString();
    }
  }
}

// A rule of table 3 of a tenant that somebody leaves gives nothing to those who leave none.
TEST(Pipeline, TheRulesOfLeavingAreForThoseAloneWhoLeave) {
  constexpr tenancy::TenantId kOther{0, 9};
  EXPECT_FALSE(Meet(kLeft, kLeft, LeavingRules(kLeft))) << "its own rule lets its pods talk";
  EXPECT_FALSE(Meet(kTenant, kLeft, LeavingRules(kLeft)));
  EXPECT_FALSE(Meet({kTenant, kLeft}, kOther, LeavingRules(kLeft)));
  EXPECT_FALSE(Meet(kOther, {kTenant, kLeft}, LeavingRules(kLeft)));
  EXPECT_TRUE(Meet({kTenant, kLeft}, kLeft, LeavingRules(kLeft)));
  EXPECT_TRUE(Meet(kLeft, {kTenant, kLeft}, LeavingRules(kLeft)));
  EXPECT_TRUE(Meet({kTenant, kLeft}, {kOther, kLeft}, LeavingRules(kLeft)));
  for (const ovs::Rule& rule : LeavingRules(kLeft)) {
    EXPECT_TRUE(IsOfLeaving(rule));
    EXPECT_EQ(rule.priority, CompareRule(kLeft).priority);
    EXPECT_EQ(rule.cookie, CompareRule(kLeft).cookie);
    EXPECT_EQ(rule.actions, CompareRule(kLeft).actions);
  }
  EXPECT_FALSE(IsOfLeaving(CompareRule(kLeft)));
}

// What they write: registers, which are in no megaflow. Match and next table are those of an address of one tenant.
TEST(Pipeline, AnAddressThatLeavesATenantAsksNothingMore) {
  const ovs::Rule one = RemoteRule(kBridge, Ip("10.0.2.9"), kTenant).value();
  const ovs::Rule two = RemoteRule(kBridge, Ip("10.0.2.9"), {kTenant, kLeft}).value();
  EXPECT_EQ(two.match, one.match);
  EXPECT_EQ(two.cookie, one.cookie);
  EXPECT_TRUE(MayBeRemotes(two));
  EXPECT_EQ(RemoteRuleAt(kBridge, one, [](auto&&) { return TenantIds(kTenant, kLeft); }), two);
  EXPECT_EQ(two.actions, "set_field:0x2a->xxreg1,set_field:0x1c0000000000002b->xxreg2");
  EXPECT_EQ(TenantRules(kBridge, kPod, {kTenant, kLeft})[0].actions,
            "set_field:0x2a->xxreg0,set_field:0x1c0000000000002b->xxreg3,resubmit(,2)");
  EXPECT_EQ(TenantRules(kBridge, kPod, {kTenant, kLeft})[1].actions, two.actions + ",resubmit(,3)");
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
  for (int table = 0; table <= 7; ++table) {
    const char* actions = table == kSenderTable ? "resubmit(,6)" : "drop";  // table 6 drops and counts
    EXPECT_THAT(rules, Contains(AllOf(Field(&ovs::Rule::table, table), Field(&ovs::Rule::priority, 0),
                                      Field(&ovs::Rule::match, ""), Field(&ovs::Rule::actions, actions))));
  }
}

// Without tenants nothing else keeps a pod from the leaf's BGP.
TEST(Pipeline, NoPodReachesTheFabricsOwnAddressesInAnyMode) {
  for (const auto mode :
       {config::TenancyMode::kOff, config::TenancyMode::kNamespace, config::TenancyMode::kVrf}) {
    const auto rules = ControlRules(kBridge, mode);
    const ovs::Rule to_leaf = LeafRules(kBridge, Mac("02:00:00:00:00:1e")).front();
    for (const char* match : {"ip,nw_dst=169.254.0.0/16", "ip,nw_dst=224.0.0.0/4", "ipv6,ipv6_dst=fe80::/10",
                              "ipv6,ipv6_dst=ff00::/8"}) {
      EXPECT_THAT(rules,
                  Contains(AllOf(Field(&ovs::Rule::table, kForwardTable),
                                 Field(&ovs::Rule::priority, ::testing::Gt(to_leaf.priority)),
                                 Field(&ovs::Rule::match, match), Field(&ovs::Rule::actions, "drop"))));
    }
  }
}

TEST(Pipeline, ModeOffPassesTheTenantTablesOnly) {
  std::vector<std::string> misses(8);
  for (const auto& rule : ControlRules(kBridge, config::TenancyMode::kOff)) {
    if (rule.priority == 0) misses[rule.table] = rule.actions;
  }
  EXPECT_THAT(misses, ::testing::ElementsAre("drop", "resubmit(,2)", "resubmit(,3)", "resubmit(,4)", "drop",
                                             "resubmit(,6)", "drop", "drop"));
}

TEST(Pipeline, APodEntersOnlyWithItsOwnMacAndAddressTowardsTheGateway) {
  std::vector<std::string> admitted;
  for (const auto& rule : AdmitRules(kBridge, kPod)) {
    if (rule.table == kSenderTable && rule.actions != "resubmit(,6)") {
      EXPECT_EQ(rule.actions, "resubmit(,1)");
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

// One bit and the type say that a frame has no business here: 4,094 tags make one megaflow, and so does each Ethernet type.
TEST(Pipeline, AtItsPortAFrameOfAPodIsAskedForItsTagAndItsTypeAlone) {
  std::vector<std::string> rules;
  for (const auto& rule : AdmitRules(kBridge, kPod)) {
    if (rule.table == kAdmitTable && rule.match.find("in_port=5") != std::string::npos)
      rules.push_back(std::to_string(rule.priority) + " " + rule.match + " " + rule.actions);
  }
  EXPECT_THAT(rules, ::testing::UnorderedElementsAre(
                         "200 in_port=5,vlan_tci=0x1000/0x1000 resubmit(,6)", "100 ip,in_port=5 resubmit(,5)",
                         "100 ipv6,in_port=5 resubmit(,5)", "1 in_port=5 resubmit(,6)"));
}

TEST(Pipeline, APodWithoutAnAddressOfAFamilySendsNoneOfIt) {
  for (const auto& rule : AdmitRules(kBridge, {7, 5, kPod.mac, {Ip("10.0.1.7")}}))
    EXPECT_THAT(rule.match, Not(HasSubstr("ipv6")));
}

// An exact "no 802.1Q header" is the one VLAN match that tc takes without a VLAN id.
TEST(Pipeline, WhatTheSwitchAdmitsIsUntagged) {
  for (const auto& rule : AdmitRules(kBridge, kPod)) {
    if (rule.actions == "resubmit(,1)") {
      EXPECT_THAT(rule.match, HasSubstr(",vlan_tci=0x0000/0x1fff,"));
    }
  }
}

TEST(Pipeline, WhatAPodMayNotSendIsCountedByOneRule) {
  std::vector<std::string> drops;
  for (const auto& rule : AdmitRules(kBridge, kPod)) {
    if (rule.actions == "drop") drops.push_back(std::to_string(rule.table) + " " + rule.match);
  }
  EXPECT_THAT(drops, ::testing::ElementsAre("6 in_port=5"));
}

// Table 0 asks for the address of what comes from the uplink alone. Table 7 asks for a source: of what comes from the uplink it is the
// packet's own, of a pod's packet all its bits are in the megaflow anyhow.
TEST(Pipeline, OnlyTablesThatTheUplinkAsksTrackPrefixes) {
  const auto prefixes = TrackedPrefixes();
  for (const ovs::Rule& rule : Everything()) {
    for (const auto& [match, field] : {std::pair{"nw_src=", "ip_src"},
                                       {"nw_dst=", "ip_dst"},
                                       {"ipv6_src=2", "ipv6_src"},
                                       {"ipv6_dst=2", "ipv6_dst"}}) {
      if (rule.match.find(match) == std::string::npos) continue;
      ASSERT_TRUE(prefixes.contains(rule.table)) << rule.table;
      const bool of_uplink = rule.table == kRemoteTable || rule.match.find("in_port=1,") != std::string::npos;
      EXPECT_THAT(prefixes.at(rule.table), Contains(of_uplink ? field : "none")) << rule.match;
    }
  }
  for (const auto& [table, fields] : prefixes) {
    EXPECT_LE(fields.size(), 3U) << "Open vSwitch takes three";
    EXPECT_TRUE(std::ranges::is_sorted(fields));
  }
}

std::vector<std::string> OfTable(uint8_t table, uint16_t over) {
  std::vector<std::string> texts;
  for (const ovs::Rule& rule : ControlRules(kBridge, config::TenancyMode::kNamespace)) {
    if (rule.table == table && rule.priority > over)
      texts.push_back(fmt::format("{} {} {}", rule.priority, rule.match, rule.actions));
  }
  return texts;
}

// From the uplink a source is asked for, else a destination; nothing passes from the uplink to a remote.
TEST(Pipeline, ARemoteIsASourceOnTheUplinkAndADestinationElsewhere) {
  EXPECT_EQ(RemoteRule(kBridge, Ip("10.0.2.9"), kTenant)->match, "ip,nw_src=10.0.2.9");
  EXPECT_THAT(OfTable(kSourceTable, 0),
              ElementsAre("10 in_port=1 resubmit(,7),move:NXM_NX_XXREG1[]->NXM_NX_XXREG0[],"
                          "move:NXM_NX_XXREG2[]->NXM_NX_XXREG3[],set_field:0->xxreg2,resubmit(,2)"));
  EXPECT_THAT(
      OfTable(kDestinationTable, 0),
      ElementsAre("20 in_port=1 drop",
                  "10 ip push:NXM_OF_IP_SRC[],move:NXM_OF_IP_DST[]->NXM_OF_IP_SRC[],resubmit(,7),"
                  "pop:NXM_OF_IP_SRC[],resubmit(,3)",
                  "10 ipv6 push:NXM_NX_IPV6_SRC[],move:NXM_NX_IPV6_DST[]->NXM_NX_IPV6_SRC[],resubmit(,7),"
                  "pop:NXM_NX_IPV6_SRC[],resubmit(,3)"));
}

// What no rule says is dropped, and the drop counts where it was asked. The miss of table 7 comes back, so it is no drop.
TEST(Pipeline, AnEndThatIsNobodysIsDroppedAndCounted) {
  EXPECT_THAT(OfTable(kCompareTable, 0),
              ElementsAre("200 reg0=0,reg1=0,reg2=0,reg3=0 drop", "200 reg4=0,reg5=0,reg6=0,reg7=0 drop"));
  std::multiset<uint8_t> drops;
  for (const ovs::Rule& rule : ControlRules(kBridge, config::TenancyMode::kNamespace)) {
    if (const auto table = DropsOf(rule)) drops.insert(*table);
  }
  EXPECT_THAT(drops, ::testing::ElementsAre(kAdmitTable, kSourceTable, kSourceTable, kDestinationTable,
                                            kDestinationTable, kDestinationTable, kCompareTable,
                                            kForwardTable, kForwardTable, kForwardTable, kForwardTable,
                                            kForwardTable, kRefuseTable));
}

TEST(Pipeline, WhatAnEarlierRaildPutIntoTables1And2MayBeARemotes) {
  const auto may = [](uint8_t table, const char* actions) {
    return MayBeRemotes({table, 100, 0, "ip,nw_dst=10.0.2.9", actions});
  };
  EXPECT_TRUE(may(1, "set_field:0x2a->xxreg0,resubmit(,2)"));
  EXPECT_TRUE(may(2, "set_field:0x2a->xxreg1,set_field:0x2b->xxreg2,resubmit(,3)"));
  EXPECT_TRUE(may(7, "set_field:0x2a->xxreg1"));
  EXPECT_FALSE(may(1, "set_field:0x2a->xxreg0,resubmit(,3)"));
  EXPECT_FALSE(may(2, "set_field:0x2a->xxreg1,output:5,resubmit(,3)"));
  EXPECT_FALSE(may(2, "resubmit(,3)"));
  EXPECT_FALSE(may(7, "set_field:0x2a->xxreg1,resubmit(,4)"));
  EXPECT_FALSE(may(7, "output:5"));
  EXPECT_FALSE(may(4, "set_field:0x2a->xxreg1"));
  EXPECT_FALSE(MayBeRemotes({7, 99, 0, "ip,nw_src=10.0.2.9", "set_field:0x2a->xxreg1"}));
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
