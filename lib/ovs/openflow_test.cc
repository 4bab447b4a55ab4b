#include <gmock/gmock.h>

#include "lib/ovs/openflow.h"

namespace rail::ovs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Rule Make(uint8_t table, uint16_t priority, uint64_t cookie, std::string match, std::string actions) {
  return {table, priority, cookie, std::move(match), std::move(actions)};
}

TEST(Canonical, SortsAndCompletesTheMatchWhenItIsWrittenAnotherWay) {
  const auto rule =
      Canonical(Make(0, 100, 7, "nw_src=10.0.1.1,ip,dl_dst=02:52:41:49:4C:00,in_port=5", "resubmit(,1)"));
  ASSERT_TRUE(rule) << rule.error().message;
  EXPECT_EQ(rule->match, "ip,in_port=5,dl_dst=02:52:41:49:4c:00,nw_src=10.0.1.1");
  EXPECT_EQ(rule->actions, "resubmit(,1)");
  EXPECT_EQ(rule->cookie, 7U);
}

TEST(Canonical, IsAFixedPointWhenAppliedTwice) {
  const auto once = Canonical(
      Make(3, 100, 7, "xxreg0=0x52414952414952,xxreg1=0x2a", "set_field:0x2a->xxreg1,resubmit(,4)"));
  ASSERT_TRUE(once) << once.error().message;
  const auto twice = Canonical(*once);
  ASSERT_TRUE(twice) << twice.error().message;
  EXPECT_EQ(*once, *twice);
}

TEST(Canonical, QuotesTheRuleWhenItDoesNotParse) {
  const auto rule = Canonical(Make(2, 9, 0, "ip,nw_dst=10.0.0.0/40", "drop"));
  ASSERT_FALSE(rule);
  EXPECT_EQ(rule.error().code, Code::kInvalid);
  EXPECT_THAT(rule.error().message, HasSubstr("table=2,priority=9,cookie=0x0,ip,nw_dst=10.0.0.0/40"));
}

TEST(Canonical, RefusesWhatWouldReachBeyondTheMatch) {
  for (const char* match : {"table=4", "idle_timeout=5", "hard_timeout=5", "importance=1", "send_flow_rem",
                            "cookie=1/1", "ip,actions=LOCAL", "priority"}) {
    EXPECT_FALSE(Canonical(Make(0, 1, 0, match, "drop"))) << match;
  }
}

TEST(Canonical, RefusesActionsThatTheMatchDoesNotAllow) {
  EXPECT_FALSE(Canonical(Make(0, 1, 0, "ipv6", "set_field:10.0.0.1->ip_dst,LOCAL")));
  EXPECT_FALSE(Canonical(Make(0, 1, 0, "", "no_such_action")));
}

TEST(Difference, IsEmptyWhenAllIsRight) {
  const std::vector<Rule> rules = {Make(0, 1, 1, "ip", "drop"), Make(0, 1, 1, "arp", "LOCAL")};
  EXPECT_TRUE(Difference(rules, rules).empty());
}

TEST(Difference, TouchesOnlyWhatDiffers) {
  const Rule right = Make(0, 100, 1, "in_port=1", "drop");
  const Rule unwanted = Make(1, 100, 1, "in_port=2", "drop");
  const Rule other_actions = Make(2, 100, 1, "in_port=3", "drop");
  const Rule other_cookie = Make(3, 100, 1, "in_port=4", "drop");
  const Rule missing = Make(4, 100, 1, "in_port=5", "drop");
  Rule new_actions = other_actions;
  new_actions.actions = "LOCAL";
  Rule new_cookie = other_cookie;
  new_cookie.cookie = 2;

  const Change change = Difference(std::vector{right, unwanted, other_actions, other_cookie},
                                   std::vector{missing, new_cookie, right, new_actions});
  EXPECT_THAT(change.remove_by_cookie, IsEmpty());
  EXPECT_THAT(change.remove, ElementsAre(unwanted));
  EXPECT_THAT(change.add, ElementsAre(missing, new_cookie, new_actions));
}

TEST(Difference, KeepsRulesApartWhenOnlyTableOrPriorityDiffers) {
  const Rule a = Make(0, 1, 1, "ip", "drop");
  const Rule b = Make(0, 2, 1, "ip", "drop");
  const Rule c = Make(1, 1, 1, "ip", "drop");
  const Change change = Difference(std::vector{a}, std::vector{b, c});
  EXPECT_THAT(change.remove, ElementsAre(a));
  EXPECT_THAT(change.add, ElementsAre(b, c));
}

}  // namespace
}  // namespace rail::ovs
