// What every OpenFlow does: the fake and a real bridge.
#include <gmock/gmock.h>

#include <chrono>

#include "lib/ovs/db_connection.h"
#include "lib/ovs/mgmt_connection.h"
#include "lib/ovs/testing/fake_openflow.h"
#include "test/contract/ovs_fixture.h"

namespace rail::ovs {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::FakeOpenFlow;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PrivateOvs;

constexpr CookieMatch kAll{0, 0};
constexpr uint64_t kCookie = Cookie(CookieKind::kAttachment, 5);
constexpr uint64_t kOther = Cookie(CookieKind::kAttachment, 6);

enum class Kind { kFake, kReal };

class OpenFlowContract : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (GetParam() == Kind::kReal) {
      auto ovs = PrivateOvs::Start();
      ASSERT_TRUE(ovs) << ovs.error().message;
      ovs_ = std::move(*ovs);
      ASSERT_TRUE(ovs_->AddVeth("up0", "leaf0"));
      auto db = DbConnection::Open(ovs_->db(), After(seconds(10)));
      ASSERT_TRUE(db) << db.error().message;
      BridgeSpec spec;
      spec.name = "br-rail0";
      spec.datapath = "netdev";
      spec.uplink = "up0";
      const auto bridge = (*db)->EnsureBridge(spec, After(seconds(10)));
      ASSERT_TRUE(bridge) << bridge.error().message;
    }
    Connect();
  }

  // A failed call leaves a connection unusable.
  void Connect() {
    if (GetParam() == Kind::kFake) {
      bridge_ = fake_.Connect();
      return;
    }
    auto bridge = MgmtConnection::Open(ovs_->mgmt("br-rail0"), After(seconds(10)));
    ASSERT_TRUE(bridge) << bridge.error().message;
    bridge_ = std::move(*bridge);
  }

  Status Commit(const Change& change) { return bridge_->Commit(change, After(seconds(20))); }
  void MustCommit(const Change& change) {
    const auto status = Commit(change);
    ASSERT_TRUE(status) << status.error().message;
  }
  std::vector<Rule> Dump(CookieMatch which = kAll) {
    const auto stats = bridge_->Dump(which, After(seconds(20)));
    EXPECT_TRUE(stats) << stats.error().message;
    std::vector<Rule> rules;
    for (const auto& s : stats.value_or(std::vector<RuleStats>{})) rules.push_back(s.rule);
    return rules;
  }

  FakeOpenFlow fake_;
  std::unique_ptr<PrivateOvs> ovs_;
  std::unique_ptr<OpenFlow> bridge_;
};

INSTANTIATE_TEST_SUITE_P(OpenFlow, OpenFlowContract, ::testing::Values(Kind::kFake, Kind::kReal),
                         [](const auto& p) { return p.param == Kind::kFake ? "Fake" : "Real"; });

Change Add(std::vector<Rule> rules) {
  return {.remove_by_cookie = {}, .remove = {}, .add = std::move(rules)};
}

// Every shape of rule that the pipeline has (design: five tables).
std::vector<Rule> PipelineRules() {
  const std::string pod = "02:00:00:00:00:01";
  const std::string gateway = "02:52:41:49:4c:00";
  return {
      {0, 100, kCookie, "in_port=5,dl_src=" + pod + ",dl_dst=" + gateway + ",ip,nw_src=10.0.1.1",
       "resubmit(,1)"},
      {0, 100, kCookie, "in_port=5,dl_src=" + pod + ",ipv6,ipv6_src=2001:db8::7", "resubmit(,1)"},
      {0, 100, kCookie, "in_port=1,dl_dst=02:00:00:00:00:10,ip,nw_dst=10.0.1.1", "resubmit(,1)"},
      {0, 100, kCookie, "in_port=5,dl_src=" + pod + ",arp,arp_op=1,arp_spa=10.0.1.1,arp_sha=" + pod,
       "move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:" + gateway +
           "->eth_src,set_field:2->arp_op,move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],set_field:" + gateway +
           "->arp_sha,push:NXM_OF_ARP_TPA[],move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],pop:NXM_OF_ARP_SPA[],in_"
           "port"},
      {0, 200, kCookie, "in_port=1,ipv6,ipv6_dst=fe80::/10", "LOCAL"},
      {0, 200, kCookie, "in_port=1,ipv6,ipv6_dst=ff02::/16", "output:LOCAL"},
      {0, 200, kCookie, "in_port=LOCAL,ipv6,ipv6_src=fe80::/10", "1"},
      {0, 200, kCookie, "in_port=1,dl_type=0x88cc", "LOCAL"},
      {0, 190, kCookie, "in_port=1,icmp6,icmp_type=135,icmp_code=0", "LOCAL"},
      {0, 190, kCookie, "in_port=1,udp,tp_dst=3784", "LOCAL"},
      {0, 10, kCookie, "in_port=5", "drop"},
      {0, 0, kCookie, "", "drop"},
      {1, 100, kCookie, "in_port=5", "set_field:0x2a->xxreg0,resubmit(,2)"},
      {1, 90, kCookie, "in_port=1,ip,nw_src=10.0.2.1",
       "set_field:0x5241494c5241490123456789abcd->xxreg0,resubmit(,2)"},
      {2, 100, kCookie, "ip,nw_dst=10.0.1.1", "set_field:0x2a->xxreg1,resubmit(,3)"},
      {2, 100, kCookie, "ipv6,ipv6_dst=2001:db8::7", "set_field:0x2a->xxreg1,resubmit(,3)"},
      {3, 100, kCookie, "xxreg0=0x2a,xxreg1=0x2a", "resubmit(,4)"},
      {3, 100, kCookie, "xxreg0=0x5241494c5241490123456789abcd,xxreg1=0x5241494c5241490123456789abcd",
       "resubmit(,4)"},
      {4, 100, kCookie, "ip,nw_dst=10.0.1.1",
       "set_field:" + gateway + "->eth_src,set_field:" + pod + "->eth_dst,output:3"},
      {4, 10, kCookie, "ip",
       "set_field:aa:00:00:00:00:01->eth_src,set_field:aa:00:00:00:00:02->eth_dst,output:1"},
      {4, 10, kCookie, "ipv6",
       "set_field:aa:00:00:00:00:01->eth_src,set_field:aa:00:00:00:00:02->eth_dst,output:1"},
  };
}

std::vector<Rule> CanonicalOf(const std::vector<Rule>& rules) {
  std::vector<Rule> canonical;
  for (const Rule& rule : rules) {
    auto one = Canonical(rule);
    EXPECT_TRUE(one) << one.error().message;
    if (one) canonical.push_back(*one);
  }
  return canonical;
}

TEST_P(OpenFlowContract, CountsWhatACookieSelects) {
  MustCommit(
      Add({{0, 5, kCookie, "ip", "drop"}, {1, 5, kCookie, "ip", "drop"}, {0, 6, kOther, "ip", "drop"}}));
  EXPECT_EQ(bridge_->Count({kCookie, ~0ULL}, After(seconds(20))).value_or(99), 2U);
  EXPECT_EQ(bridge_->Count(CookieMatch::Ours(), After(seconds(20))).value_or(99), 3U);
  EXPECT_EQ(bridge_->Count({kCookie + 7, ~0ULL}, After(seconds(20))).value_or(99), 0U);
}

TEST_P(OpenFlowContract, GivesBackWhatCanonicalSaysWhenThePipelineIsDumped) {
  MustCommit(Add(PipelineRules()));
  EXPECT_THAT(Dump(), ::testing::UnorderedElementsAreArray(CanonicalOf(PipelineRules())));
}

TEST_P(OpenFlowContract, HasNothingToDoWhenThePipelineIsThere) {
  MustCommit(Add(PipelineRules()));
  const Change change = Difference(Dump(CookieMatch::Ours()), CanonicalOf(PipelineRules()));
  EXPECT_TRUE(change.empty());
}

TEST_P(OpenFlowContract, ComesToWhatIsWantedWhenTheDifferenceIsCommitted) {
  std::vector<Rule> have = PipelineRules();
  MustCommit(Add(have));
  std::vector<Rule> want(have.begin() + 3, have.end());
  want[0].actions = "drop";
  want[1].cookie = kOther;
  want.push_back({1, 5, kCookie, "arp", "drop"});
  want = CanonicalOf(want);
  MustCommit(Difference(Dump(), want));
  EXPECT_THAT(Dump(), ::testing::UnorderedElementsAreArray(want));
  EXPECT_TRUE(Difference(Dump(), want).empty());
}

TEST_P(OpenFlowContract, ListsByTableThenPriorityThenMatch) {
  MustCommit(Add({{1, 5, kCookie, "ip", "drop"},
                  {0, 5, kCookie, "ip", "drop"},
                  {0, 7, kCookie, "ip", "drop"},
                  {0, 5, kCookie, "arp", "drop"}}));
  EXPECT_THAT(Dump(), ElementsAre(Rule{0, 7, kCookie, "ip", "drop"}, Rule{0, 5, kCookie, "arp", "drop"},
                                  Rule{0, 5, kCookie, "ip", "drop"}, Rule{1, 5, kCookie, "ip", "drop"}));
}

TEST_P(OpenFlowContract, SelectsByCookie) {
  const Rule foreign{0, 1, 0x77, "ip", "drop"};
  const Rule ours{0, 2, kCookie, "ip", "drop"};
  const Rule other{0, 3, kOther, "ip", "drop"};
  const Rule pipeline{0, 4, Cookie(CookieKind::kPipeline, 0), "ip", "drop"};
  MustCommit(Add({foreign, ours, other, pipeline}));
  EXPECT_THAT(Dump(), ElementsAre(pipeline, other, ours, foreign));
  EXPECT_THAT(Dump(CookieMatch::Ours()), ElementsAre(pipeline, other, ours));
  EXPECT_THAT(Dump(CookieMatch::Kind(CookieKind::kAttachment)), ElementsAre(other, ours));
  EXPECT_THAT(Dump(CookieMatch::Exact(CookieKind::kAttachment, 5)), ElementsAre(ours));
}

TEST_P(OpenFlowContract, ReplacesARuleWhenOneOfTheSameMatchIsThere) {
  MustCommit(Add({{0, 5, kCookie, "ip", "drop"}}));
  MustCommit(Add({{0, 5, kOther, "ip", "LOCAL"}}));
  EXPECT_THAT(Dump(), ElementsAre(Rule{0, 5, kOther, "ip", "LOCAL"}));
}

TEST_P(OpenFlowContract, RemovesStrictly) {
  const Rule rule{0, 5, kCookie, "ip,nw_dst=10.0.0.1", "drop"};
  MustCommit(Add({rule}));
  Rule wrong = rule;
  wrong.cookie = kOther;
  Rule wider = rule;
  wider.match = "ip";
  Rule lower = rule;
  lower.priority = 4;
  MustCommit({.remove_by_cookie = {}, .remove = {wrong, wider, lower}, .add = {}});
  EXPECT_THAT(Dump(), ElementsAre(rule));
  MustCommit({.remove_by_cookie = {}, .remove = {rule}, .add = {}});
  EXPECT_THAT(Dump(), IsEmpty());
}

TEST_P(OpenFlowContract, RemovesTwiceWithoutAnError) {
  const Change change{
      .remove_by_cookie = {CookieMatch::Ours()}, .remove = {{0, 5, kCookie, "ip", "drop"}}, .add = {}};
  MustCommit(change);
  MustCommit(change);
}

TEST_P(OpenFlowContract, RemovesByCookieInEveryTableAndNothingElse) {
  const Rule foreign{0, 1, 0x77, "ip", "drop"};
  const Rule other{1, 1, kOther, "ip", "drop"};
  MustCommit(Add({foreign, other, {0, 2, kCookie, "ip", "drop"}, {4, 2, kCookie, "arp", "drop"}}));
  MustCommit({.remove_by_cookie = {CookieMatch::Exact(CookieKind::kAttachment, 5)}, .remove = {}, .add = {}});
  EXPECT_THAT(Dump(), ElementsAre(foreign, other));
}

// Why ForeignRules never asks for it.
TEST_P(OpenFlowContract, HasHiddenRulesOfTheWholeCookieZero) {
  MustCommit(Add({{0, 5, 0, "arp", "drop"}}));
  const CookieMatch whole = CookieMatch::Whole(0);
  const CookieMatch nearly{0, ~(1ULL << 63)};
  EXPECT_GT(Dump(whole).size(), 1U);
  EXPECT_THAT(Dump(nearly), ElementsAre(Rule{0, 5, 0, "arp", "drop"}));
  MustCommit({.remove_by_cookie = {nearly}, .remove = {}, .add = {}});
  EXPECT_THAT(Dump(), IsEmpty());
}

TEST_P(OpenFlowContract, RemovesBeforeItAddsWhenOneCommitDoesBoth) {
  const Rule rule{0, 2, kCookie, "ip", "drop"};
  MustCommit({.remove_by_cookie = {CookieMatch::Ours()}, .remove = {rule}, .add = {rule}});
  EXPECT_THAT(Dump(), ElementsAre(rule));
}

TEST_P(OpenFlowContract, ChangesNothingWhenOneRuleIsWrong) {
  const Rule kept{0, 5, kCookie, "ip", "drop"};
  MustCommit(Add({kept}));
  const auto status =
      Commit({.remove_by_cookie = {CookieMatch::Ours()},
              .remove = {},
              .add = {{0, 6, kCookie, "ip", "drop"}, {1, 7, kCookie, "ip,nw_dst=nowhere", "drop"}}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kInvalid);
  EXPECT_THAT(status.error().message,
              HasSubstr("table=1,priority=7,cookie=0x5241494c02000005,ip,nw_dst=nowhere"));
  Connect();
  EXPECT_THAT(Dump(), ElementsAre(kept));
}

TEST_P(OpenFlowContract, DoesNothingWhenTheChangeIsEmpty) {
  MustCommit({});
  EXPECT_THAT(Dump(), IsEmpty());
}

TEST_P(OpenFlowContract, TakesManyRulesAtOnce) {
  std::vector<Rule> rules;
  for (int i = 0; i < 5000; ++i) {
    rules.push_back({2, 100, kCookie,
                     "ip,nw_dst=10.0." + std::to_string(i / 256) + "." + std::to_string(i % 256),
                     "set_field:0x2a->xxreg1,resubmit(,3)"});
  }
  MustCommit(Add(rules));
  EXPECT_EQ(Dump().size(), 5000U);
  MustCommit({.remove_by_cookie = {}, .remove = rules, .add = {}});
  EXPECT_THAT(Dump(), IsEmpty());
}

}  // namespace
}  // namespace rail::ovs
