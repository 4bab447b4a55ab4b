// The rules of the kernel's own nftables, as iptables and nft write them.
#include "lib/netlink/drop_rule.h"

#include <gmock/gmock.h>

#include "lib/netlink/testing/scratch.h"

namespace rail::netlink {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Firewall : public testing::Test {
 protected:
  void Run(const std::string& command) {
    const Status done = netns::testing::Shell(node_, command);
    ASSERT_TRUE(done) << done.error().message;
  }

  std::vector<DropRule> List() {
    std::vector<DropRule> rules;
    const Status listed = node_.Run([&]() -> Status {
      RAIL_ASSIGN(rules, ListDropRules());
      return {};
    });
    EXPECT_TRUE(listed) << listed.error().message;
    return rules;
  }

  netns::Netns node_ = netns::testing::MakeScratch();
};

TEST_F(Firewall, IsEmptyWhereNobodyHasMadeARule) {
  EXPECT_THAT(List(), IsEmpty());
}

TEST_F(Firewall, SaysWhichRulesDropAndWhichOfThemNameBgp) {
  Run("ip6tables -w -A INPUT -i br-rail0 -p tcp --dport 179 -j DROP");
  Run("ip6tables -w -A INPUT -p tcp --sport 179 -j REJECT");
  Run("ip6tables -w -A INPUT -p tcp --dport 179 -j ACCEPT");
  Run("ip6tables -w -A OUTPUT -p tcp --dport 180 -j DROP");
  Run("iptables -w -A FORWARD -j DROP");
  std::vector<std::string> texts, bgp;
  for (const DropRule& rule : List()) {
    EXPECT_GT(rule.handle, 0U);
    EXPECT_EQ(rule.packets, 0U);
    texts.push_back(rule.family + " " + rule.table + " " + rule.chain);
    if (!rule.names_bgp) continue;
    bgp.push_back(texts.back());
    if (bgp.size() == 1) {
      EXPECT_THAT(rule.links, ElementsAre("br-rail0"));
    } else {
      EXPECT_THAT(rule.links, IsEmpty());
    }
  }
  EXPECT_THAT(texts, testing::UnorderedElementsAre("ip6 filter INPUT", "ip6 filter INPUT",
                                                   "ip6 filter OUTPUT", "ip filter FORWARD"));
  EXPECT_THAT(bgp, ElementsAre("ip6 filter INPUT", "ip6 filter INPUT"));
}

TEST_F(Firewall, CountsWhatARuleHasDropped) {
  Run("ip link set lo up");
  Run("iptables -w -A OUTPUT -p icmp -j DROP");
  Run("ping -q -c 3 -i 0.01 -W 1 127.0.0.1 >/dev/null 2>&1 || true");
  const std::vector<DropRule> rules = List();
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0].packets, 3U);
  EXPECT_FALSE(rules[0].names_bgp);
  EXPECT_EQ(rules[0].ToText(),
            "rule " + std::to_string(rules[0].handle) + " of chain OUTPUT of table ip filter (3 packets)");
}

TEST(FirewallText, OfARuleWithoutACounter) {
  EXPECT_EQ((DropRule{.family = "inet", .table = "t", .chain = "c", .handle = 9, .packets = {}}).ToText(),
            "rule 9 of chain c of table inet t");
}

TEST(DecodeDropRule, TakesNothingElseForARule) {
  EXPECT_FALSE(DecodeDropRule(""));
  EXPECT_FALSE(DecodeDropRule(std::string(64, '\0')));
}

}  // namespace
}  // namespace rail::netlink
