// Rules of others on a bridge: found, counted and removed, at a cost that does not follow their number.
#include "lib/engine/repair/foreign_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/ovs/testing/fake_openflow.h"

namespace rail::engine {
namespace {

using ovs::CookieKind;
using ovs::CookieMatch;
using ovs::Rule;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using How = ForeignRules::How;

TEST(ForeignParts, AreAllRulesOfOthersAndEachOnce) {
  std::vector<uint64_t> cookies = {
      0, 1, 0x1234, ~0ULL, ovs::kCookieOwner - 1, ovs::kCookieOwner + (1ULL << 32)};
  for (int bit = 0; bit < 64; ++bit) cookies.push_back(ovs::Cookie(CookieKind::kTenant, 5) ^ 1ULL << bit);
  for (const uint64_t cookie : cookies) {
    int parts = 0;
    for (int part = 0; part < CookieMatch::kForeignParts; ++part)
      parts += CookieMatch::ForeignPart(part).Selects(cookie) ? 1 : 0;
    EXPECT_EQ(parts, CookieMatch::Ours().Selects(cookie) ? 0 : 1) << std::hex << cookie;
  }
}

class ForeignRulesTest : public ::testing::Test {
 protected:
  ForeignRulesTest() {
    for (uint16_t n = 1; n <= 20; ++n) Put(Ours(n));
    Look();
  }
  static Rule Ours(uint16_t n) { return {2, n, ovs::Cookie(CookieKind::kRemote, n), "ip", "drop"}; }
  static Rule Theirs(uint64_t cookie, uint16_t priority = 60000) {
    return {0, priority, cookie, "ip,nw_dst=10.0.3.7", "output:5"};
  }
  void Put(const Rule& rule) {
    ASSERT_TRUE(bridge.Commit({.remove_by_cookie = {}, .remove = {}, .add = {rule}}, {}));
  }
  void Drop(const Rule& rule) {
    ASSERT_TRUE(bridge.Commit({.remove_by_cookie = {}, .remove = {rule}, .add = {}}, {}));
  }
  void Look(How how = How::kNews) {
    const auto changes = connection->Changes();
    ASSERT_TRUE(changes);
    foreign.Take(*changes);
    const int before = bridge.dumps();
    const Status looked = foreign.Look(*connection, how, soon);
    EXPECT_TRUE(looked) << looked.error().message;
    dumps = bridge.dumps() - before;
  }

  const ForeignRules::DeadlineOf soon = [] { return After(std::chrono::seconds(5)); };
  ovs::testing::FakeOpenFlow bridge;
  std::unique_ptr<ovs::OpenFlow> connection = bridge.Watch();
  ForeignRules foreign;
  int dumps = 0;
};

TEST_F(ForeignRulesTest, AreThoseOfEveryCookieThatIsNotOurs) {
  EXPECT_EQ(foreign.count(), 0U);
  Put(Theirs(0));
  Look();
  EXPECT_EQ(foreign.count(), 1U);
  EXPECT_THAT(foreign.examples(), ElementsAre(Theirs(0)));
  EXPECT_EQ(dumps, 1) << "the cookie that the switch has named";
  Put(Theirs(0x5241494D00000000, 7));  // differs from ours in the last bit of the owner
  Look();
  EXPECT_EQ(foreign.count(), 2U);
  Rule edited = Theirs(0);
  edited.actions = "output:6";
  Put(edited);
  Look();
  EXPECT_THAT(foreign.examples(), ElementsAre(edited, Theirs(0x5241494D00000000, 7)));
  Drop(edited);
  Look();
  EXPECT_EQ(foreign.count(), 1U) << "gone without us";
}

TEST_F(ForeignRulesTest, AreNotThoseThatOpenVswitchHides) {
  EXPECT_EQ(bridge.Dump(CookieMatch::Whole(0), soon())->size(), 1U) << "as the contract says";
  foreign.Forget();
  Look();
  EXPECT_EQ(foreign.count(), 0U);
  Put(Theirs(1ULL << 63));
  Put(Theirs(0, 5));
  Look();
  EXPECT_EQ(foreign.count(), 2U) << "each once";
  EXPECT_TRUE(foreign.Remove(*connection, soon));
  EXPECT_THAT(bridge.rules(), SizeIs(20));
}

TEST_F(ForeignRulesTest, CostNothingWhileNobodyChangesThem) {
  Look(How::kCount);
  EXPECT_EQ(dumps, 0);
  Put(Ours(99));
  Look();
  EXPECT_EQ(dumps, 0);
  Put(Theirs(9));
  Look();
  Look(How::kCount);
  EXPECT_EQ(dumps, 0) << "as many as are known";
}

TEST_F(ForeignRulesTest, AreFoundByTheCountWhereNothingWasReported) {
  Put(Theirs(0));
  Put(Theirs(0xffff000000000001, 8));
  (void)connection->Changes();  // lost
  const Status looked = foreign.Look(*connection, How::kCount, soon);
  ASSERT_TRUE(looked);
  EXPECT_EQ(foreign.count(), 2U);
}

TEST_F(ForeignRulesTest, AreReadAgainAfterACallThatFailed) {
  Put(Theirs(0));
  foreign.Take(*connection->Changes());
  bridge.FailNext(1, {Code::kTransient, "hangs"});
  EXPECT_FALSE(foreign.Look(*connection, How::kNews, soon));
  Look();
  EXPECT_EQ(foreign.count(), 1U);
}

TEST_F(ForeignRulesTest, GoAllAtOnceAndOursStay) {
  Put(Theirs(0));
  Put(Theirs(0, 5));
  Put(Theirs(0x1234, 6));
  Look();
  const int commits = bridge.commits();
  ASSERT_TRUE(foreign.Remove(*connection, soon));
  EXPECT_EQ(bridge.commits(), commits + 1);
  EXPECT_EQ(foreign.count(), 0U);
  EXPECT_THAT(bridge.rules(), SizeIs(20));
  Look();
  EXPECT_EQ(dumps, 0) << "our own commit is no news";
}

TEST_F(ForeignRulesTest, OfAFloodAreCountedAndRemovedButNotKept) {
  ovs::Change flood;
  for (uint16_t n = 1; n <= 500; ++n) flood.add.push_back(Theirs(uint64_t{n} << 40, n));
  ASSERT_TRUE(bridge.Commit(flood, {}));
  Look();
  EXPECT_EQ(foreign.count(), 500U);
  EXPECT_THAT(foreign.examples(), SizeIs(8));
  Drop(Theirs(uint64_t{500} << 40, 500));
  Look();
  EXPECT_EQ(foreign.count(), 499U);
  const size_t messages = bridge.messages();
  ASSERT_TRUE(foreign.Remove(*connection, soon));
  EXPECT_EQ(bridge.messages(), messages + CookieMatch::kForeignParts);
  EXPECT_THAT(bridge.rules(), SizeIs(20));
}

TEST(DeletingCommand, NamesTheRuleAndNoOther) {
  EXPECT_EQ(DeletingCommand("br-rail0", {0, 60000, 0, "ip,nw_dst=10.0.3.7", "output:5"}),
            "ovs-ofctl -O OpenFlow15 --strict del-flows br-rail0 "
            "'cookie=0x0/-1,table=0,priority=60000,ip,nw_dst=10.0.3.7'");
  EXPECT_EQ(DeletingCommand("br-rail0", {4, 7, 0x12, "", "NORMAL"}),
            "ovs-ofctl -O OpenFlow15 --strict del-flows br-rail0 'cookie=0x12/-1,table=4,priority=7'");
  EXPECT_EQ(RuleText({4, 7, 0x12, "", "NORMAL"}), "table=4,priority=7,cookie=0x12 actions=NORMAL");
}

}  // namespace
}  // namespace rail::engine
