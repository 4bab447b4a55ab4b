// The rules of one bridge: what raild's repair sends to the switch, and what it need not send.
#include "lib/engine/repair/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/ovs/testing/fake_openflow.h"

namespace rail::engine {
namespace {

using ovs::CookieKind;
using ovs::CookieMatch;
using ovs::Rule;
using ::testing::Contains;
using ::testing::Field;
using ::testing::Not;
using ::testing::SizeIs;
using Look = RuleRepair::Look;

constexpr CookieMatch kRemotes = CookieMatch::Kind(CookieKind::kRemote);

IpAddress Number(uint32_t n) {
  const std::string bytes = {'\x0b', static_cast<char>(n >> 16), static_cast<char>(n >> 8),
                             static_cast<char>(n)};
  return *IpAddress::FromBytes(bytes);
}

class RuleRepairTest : public ::testing::Test {
 protected:
  RuleRepairTest() {
    facts.uplink_port = 1;
    facts.bridge_mac = *MacAddress::Parse("02:00:00:00:00:10");
    facts.gateway_mac = *MacAddress::Parse("02:52:41:49:4c:00");
    selection.present = {mine};
  }

  void Learn(const std::vector<IpAddress>& more, uint32_t rail = 0) {
    for (const IpAddress& address : more) remotes.Set({address, rail, false});
    Publish();
  }
  void Forget(const IpAddress& address) {
    remotes.Erase(address);
    Publish();
  }
  void Publish() {
    auto table = std::make_shared<RemoteTable>();
    table->by_tenant[mine] = std::make_shared<const RemoteSet>(remotes);
    selection.learned = table;
  }
  RuleTarget Target() {
    std::vector<Rule> rules = pipeline::ControlRules(facts, config::TenancyMode::kNamespace);
    for (const pipeline::Pod& pod : pods) {
      pipeline::Append(rules, pipeline::AdmitRules(facts, pod));
      pipeline::Append(rules, pipeline::TenantRules(facts, pod, mine));
      rules.push_back(pipeline::CompareRule(mine));
    }
    return {.rules = BridgeRules(facts, BridgeRules::ByPlace(rules), selection),
            .remotes_known = remotes_known,
            .leaves_unknown = leaves_unknown,
            .undecided = undecided,
            .remove_nothing = remove_nothing};
  }
  Status Repair(Look look = Look::kNews) {
    return repair.Repair(*connection,
                         {.target = [this]() -> Result<RuleTarget> {
                            if (target_fails) return Fail(Code::kTransient, "the record cannot be read");
                            return Target();
                          },
                          .close_tenants = [this] { return close_tenants(); },
                          .deadline = [] { return After(std::chrono::seconds(5)); },
                          .remove_foreign = remove_foreign},
                         look);
  }
  void Settle() {
    ASSERT_TRUE(Repair());
    right = bridge.rules();
    dumps = bridge.dumps();
    messages = bridge.messages();
  }
  size_t Said() const { return bridge.messages() - messages; }
  int Dumped() const { return bridge.dumps() - dumps; }
  std::vector<Rule> Remotes() {
    std::vector<Rule> rules = bridge.rules();
    std::erase_if(rules, [](const Rule& rule) { return !kRemotes.Selects(rule.cookie); });
    return rules;
  }
  void CommitAsOther(const ovs::Change& change) { ASSERT_TRUE(bridge.Commit(change, {})); }

  const tenancy::TenantId mine{0x54, 7};
  pipeline::BridgeFacts facts;
  RemoteSet remotes;
  RemoteSelection selection;
  std::vector<pipeline::Pod> pods;
  bool remotes_known = true;
  static constexpr uint64_t kOfLeaf = ovs::Cookie(CookieKind::kLeaf, 0);
  std::set<uint64_t> leaves_unknown;
  bool remove_foreign = false;
  bool remove_nothing = false;
  bool target_fails = false;
  std::set<uint64_t> undecided;
  std::function<Result<ClosedTenants>()> close_tenants = [] { return ClosedTenants(); };

  ovs::testing::FakeOpenFlow bridge;
  std::unique_ptr<ovs::OpenFlow> connection = bridge.Watch();
  RuleRepair repair;
  std::vector<Rule> right;
  int dumps = 0;
  size_t messages = 0;
};

pipeline::Pod PodAt(int64_t id, uint16_t port, const std::string& address) {
  return {.id = id,
          .port = port,
          .mac = *MacAddress::Parse("02:00:00:00:01:0" + std::to_string(port)),
          .addresses = {*IpAddress::Parse(address)}};
}

std::vector<IpAddress> Numbers(uint32_t from, uint32_t count) {
  std::vector<IpAddress> numbers;
  for (uint32_t n = from; n < from + count; ++n) numbers.push_back(Number(n));
  return numbers;
}

// A change costs what changed.

TEST_F(RuleRepairTest, OneNewRemoteAmongManyIsOneMessageAndNothingIsRead) {
  Learn(Numbers(0, 5000));
  Settle();
  EXPECT_THAT(Remotes(), SizeIs(5000));
  Learn({Number(77'777)});
  ASSERT_TRUE(Repair());
  EXPECT_EQ(Said(), 1U);
  EXPECT_EQ(Dumped(), 0);
  EXPECT_THAT(Remotes(), SizeIs(5001));
  Forget(Number(77'777));
  ASSERT_TRUE(Repair());
  EXPECT_EQ(Said(), 2U);
  EXPECT_EQ(Dumped(), 0);
  EXPECT_EQ(bridge.rules(), right);
}

TEST_F(RuleRepairTest, SaysNothingWhenThereIsNoNews) {
  Learn(Numbers(0, 100));
  Settle();
  ASSERT_TRUE(Repair());
  ASSERT_TRUE(Repair());
  EXPECT_EQ(Said(), 0U);
  EXPECT_EQ(Dumped(), 0);
}

TEST_F(RuleRepairTest, WhatAPluginHasMadeIsReadByItsCookiesAlone) {
  Learn(Numbers(0, 1000));
  Settle();
  const pipeline::Pod pod = PodAt(9, 5, "10.0.3.1");
  pods.push_back(pod);
  std::vector<Rule> made = pipeline::AdmitRules(facts, pod);
  pipeline::Append(made, pipeline::TenantRules(facts, pod, mine));
  made.push_back(pipeline::CompareRule(mine));
  CommitAsOther({.remove_by_cookie = {}, .remove = {}, .add = made});
  messages = bridge.messages();
  ASSERT_TRUE(Repair());
  EXPECT_EQ(Said(), 0U) << "all of it was there";
  EXPECT_EQ(Dumped(), 3) << "admit, tenant, compare";
}

TEST_F(RuleRepairTest, ManyRemotesGoInSeveralBundlesAndOnlyOnce) {
  Learn(Numbers(0, 20'000));
  ASSERT_TRUE(Repair());
  EXPECT_GE(bridge.commits(), 5);
  EXPECT_THAT(Remotes(), SizeIs(20'000));
  EXPECT_EQ(repair.counts().wanted, bridge.rules().size());
  EXPECT_EQ(bridge.messages(), bridge.rules().size());
}

// What others change is put right.

TEST_F(RuleRepairTest, PutsBackWhatOthersRemoveEditOrReplace) {
  pods.push_back(PodAt(9, 5, "10.0.3.1"));
  Learn(Numbers(0, 20));
  Settle();
  for (const Rule& rule : right) {
    SCOPED_TRACE(rule.match);
    CommitAsOther({.remove_by_cookie = {}, .remove = {rule}, .add = {}});
    ASSERT_NE(bridge.rules(), right);
    ASSERT_TRUE(Repair());
    ASSERT_EQ(bridge.rules(), right);
    Rule theirs = rule;
    theirs.actions = rule.actions == "drop" ? "NORMAL" : "drop";
    CommitAsOther({.remove_by_cookie = {}, .remove = {}, .add = {theirs}});
    ASSERT_TRUE(Repair());
    ASSERT_EQ(bridge.rules(), right);
    theirs.cookie = 0x1234;
    CommitAsOther({.remove_by_cookie = {}, .remove = {}, .add = {theirs}});
    ASSERT_TRUE(Repair());
    ASSERT_EQ(bridge.rules(), right);
    theirs.cookie =
        ovs::Cookie(CookieKind::kTenant, 4711);  // ours by its cookie, of an attachment that nobody knows
    CommitAsOther({.remove_by_cookie = {}, .remove = {}, .add = {theirs}});
    ASSERT_TRUE(Repair());
    ASSERT_EQ(bridge.rules(), right);
  }
}

TEST_F(RuleRepairTest, OthersRulesBesideOursAreTheirs) {
  Learn(Numbers(0, 20));
  Settle();
  const Rule theirs{0, 7777, 0x1234, "in_port=9", "NORMAL"};
  CommitAsOther({.remove_by_cookie = {}, .remove = {}, .add = {theirs}});
  messages = bridge.messages();
  ASSERT_TRUE(Repair());
  EXPECT_EQ(Said(), 0U);
  EXPECT_EQ(Dumped(), 1) << "theirs alone";
  EXPECT_THAT(bridge.rules(), Contains(Field(&Rule::cookie, 0x1234U)));
}

TEST_F(RuleRepairTest, WhenTheSwitchCannotSayWhatChangedEverythingIsRead) {
  Learn(Numbers(0, 2000));
  Settle();
  bridge.LoseAllRules();
  ASSERT_TRUE(Repair());
  EXPECT_EQ(bridge.rules(), right);
  EXPECT_EQ(Dumped(), 2) << "all of ours, and cookie 0 of others";
}

TEST_F(RuleRepairTest, AFailedCommitIsFollowedByALookAtEverything) {
  Learn(Numbers(0, 20));
  Settle();
  Learn({Number(500)});
  bridge.FailAfter(1, {Code::kTransient, "down", 0});  // Changes succeeds
  ASSERT_FALSE(Repair());
  ASSERT_TRUE(Repair());
  EXPECT_EQ(Dumped(), 2) << "all of ours, and cookie 0 of others";
  EXPECT_THAT(Remotes(), SizeIs(21));
}

// The audit counts rules of remotes and reads a part of them.

TEST_F(RuleRepairTest, AnAuditReadsNoMoreThanAPartOfTheRemotes) {
  Learn(Numbers(0, 6400));
  Settle();
  size_t read = 0;
  for (int audit = 0; audit < 64; ++audit) {
    ASSERT_TRUE(Repair(Look::kAudit));
    const auto part = bridge.Dump(CookieMatch::RemotesPart(static_cast<uint64_t>(audit), 64), {});
    read += part->size();
    EXPECT_LT(part->size(), 6400U / 64 * 2);
  }
  EXPECT_EQ(read, 6400U) << "64 audits have read all";
  EXPECT_EQ(Said(), 0U);
  EXPECT_EQ(Dumped(), 64 * 2 + 64);
}

TEST_F(RuleRepairTest, AnAuditFindsWhatNobodyHasTold) {
  Learn(Numbers(0, 200));
  Settle();
  const std::vector<Rule> before = Remotes();
  connection = bridge.Watch();
  ASSERT_TRUE(connection->Changes());  // forgotten: as if the switch had said nothing
  CommitAsOther({.remove_by_cookie = {}, .remove = {before[0]}, .add = {}});
  ASSERT_TRUE(connection->Changes());
  ASSERT_TRUE(Repair(Look::kAudit));
  EXPECT_EQ(bridge.rules(), right) << "the count was one too small";
  Rule edited = before[3];
  edited.actions = "drop";
  CommitAsOther({.remove_by_cookie = {}, .remove = {}, .add = {edited}});
  ASSERT_TRUE(connection->Changes());
  for (int audit = 0; audit < 64; ++audit) ASSERT_TRUE(Repair(Look::kAudit));
  EXPECT_EQ(bridge.rules(), right) << "its part was read";
}

// What cannot be judged yet stays.

TEST_F(RuleRepairTest, RulesOfRemotesThatAnEarlierRaildKnewStayUntilAllIsLearned) {
  Learn(Numbers(0, 10));
  Settle();
  repair = RuleRepair();
  remotes = {};
  remotes_known = false;
  Learn(Numbers(0, 4));
  ASSERT_TRUE(Repair());
  EXPECT_EQ(bridge.rules(), right);
  EXPECT_EQ(Said(), 0U);
  ASSERT_TRUE(Repair(Look::kAudit));
  EXPECT_EQ(Dumped(), 4) << "the count is as it should be: everything once, then the audit's two";
  // What this raild has known itself goes at once.
  Forget(Number(2));
  ASSERT_TRUE(Repair());
  EXPECT_THAT(Remotes(), SizeIs(9));
  remotes_known = true;
  leaves_unknown = {kOfLeaf};
  ASSERT_TRUE(Repair());
  EXPECT_THAT(Remotes(), SizeIs(3)) << "whatever is not known of the leaf";
}

TEST_F(RuleRepairTest, RulesOfTheLeafThatAnEarlierRaildKnewStayUntilItsMacIsKnown) {
  CommitAsOther({.add = pipeline::LeafRules(facts, *MacAddress::Parse("02:00:00:00:00:99"))});
  leaves_unknown = {kOfLeaf};
  ASSERT_TRUE(Repair());
  EXPECT_EQ(std::ranges::count(bridge.rules(), kOfLeaf, &Rule::cookie), 2);
  leaves_unknown.clear();
  ASSERT_TRUE(Repair());
  EXPECT_EQ(std::ranges::count(bridge.rules(), kOfLeaf, &Rule::cookie), 0) << "at the news";
}

TEST_F(RuleRepairTest, WhatAPluginHasMadeMeanwhileIsNotSentAgain) {
  Settle();
  pods.push_back(PodAt(9, 5, "10.0.3.1"));
  std::vector<Rule> made;
  const RuleTarget target = Target();
  for (const auto& [place, rule] : target.rules.local()) {
    if (std::ranges::find(right, rule) == right.end()) made.push_back(rule);
  }
  CommitAsOther({.add = made});
  ASSERT_TRUE(connection->Changes()) << "the round before took the news";
  messages = bridge.messages();
  ASSERT_TRUE(Repair());
  EXPECT_EQ(Said(), 0U);
}

TEST_F(RuleRepairTest, TheRulesOfAnAttachmentThatIsNotPlacedYetStay) {
  const pipeline::Pod pod = PodAt(9, 5, "10.0.3.1");
  pods.push_back(pod);
  Settle();
  pods.clear();
  undecided = {ovs::Cookie(CookieKind::kAttachment, 9), ovs::Cookie(CookieKind::kTenant, 9),
               ovs::Cookie(CookieKind::kCompare, mine.low)};
  ASSERT_TRUE(Repair(Look::kAudit));
  EXPECT_EQ(bridge.rules(), right);
  undecided.clear();
  ASSERT_TRUE(Repair(Look::kAudit));
  EXPECT_THAT(bridge.rules(), Not(Contains(Field(&Rule::cookie, ovs::Cookie(CookieKind::kAttachment, 9)))));
}

// A tenant's last rule goes while no pod can join.

TEST_F(RuleRepairTest, TheRuleOfATenantThatAPodIsJoiningStays) {
  pods.push_back(PodAt(9, 5, "10.0.3.1"));
  Settle();
  const auto rule = Contains(Field(&Rule::cookie, ovs::Cookie(CookieKind::kCompare, mine.low)));
  pods.clear();
  close_tenants = [&]() -> Result<ClosedTenants> {
    EXPECT_THAT(bridge.rules(), Not(Contains(Field(&Rule::cookie, ovs::Cookie(CookieKind::kTenant, 9)))));
    return ClosedTenants{.lock = {}, .in_use = {ovs::Cookie(CookieKind::kCompare, mine.low)}};
  };
  ASSERT_TRUE(Repair());
  EXPECT_THAT(bridge.rules(), rule) << "the record names a pod that came after raild read it";
  EXPECT_FALSE(repair.tenant_stays()) << "that pod's plugin will tell";
  close_tenants = [] { return Fail(Code::kBusy, "a pod is joining"); };
  ASSERT_TRUE(Repair());
  EXPECT_THAT(bridge.rules(), rule);
  EXPECT_TRUE(repair.tenant_stays());
  close_tenants = [] { return ClosedTenants(); };
  ASSERT_TRUE(Repair());
  EXPECT_THAT(bridge.rules(), Not(rule)) << "the pod did not come";
  EXPECT_FALSE(repair.tenant_stays());
}

TEST_F(RuleRepairTest, NoTenantIsClosedForAChangeThatEndsNone) {
  pods.push_back(PodAt(9, 5, "10.0.3.1"));
  Settle();
  close_tenants = [] {
    ADD_FAILURE() << "a pod that joins would have to wait";
    return ClosedTenants();
  };
  pods.push_back(PodAt(10, 6, "10.0.3.2"));
  ASSERT_TRUE(Repair());
  pods.pop_back();
  ASSERT_TRUE(Repair(Look::kAudit));
}

// Rules of others, and what the log is told.

TEST_F(RuleRepairTest, RulesOfOthersStayAndAreCountedOrGoBeforeAnythingElse) {
  Settle();
  const Rule theirs{0, 60000, 0, "ip,nw_dst=10.0.3.7", "output:5"};
  CommitAsOther({.add = {theirs}});
  ASSERT_TRUE(Repair());
  EXPECT_EQ(repair.foreign().count(), 1U);
  EXPECT_EQ(repair.mended().foreign, 0U);
  EXPECT_THAT(bridge.rules(), Contains(theirs));
  remove_foreign = remove_nothing = true;
  target_fails = true;  // the record cannot be read
  EXPECT_FALSE(Repair());
  EXPECT_EQ(repair.mended().foreign, 1U);
  EXPECT_EQ(bridge.rules(), right) << "what fails elsewhere keeps no isolation open";
  target_fails = false;
  ASSERT_TRUE(Repair());
  EXPECT_EQ(repair.mended().foreign, 0U);
  EXPECT_EQ(repair.foreign().count(), 0U);
}

TEST_F(RuleRepairTest, ARuleOfOthersInThePlaceOfOursIsGoneWhenOursIsBack) {
  pods.push_back(PodAt(9, 5, "10.0.3.1"));
  Settle();
  for (const bool removes : {false, true}) {
    remove_foreign = removes;
    Rule theirs = right.front();
    theirs.cookie = 0x1234;
    theirs.actions = "NORMAL";
    CommitAsOther({.add = {theirs}});
    ASSERT_TRUE(Repair());
    EXPECT_EQ(bridge.rules(), right) << removes;
    EXPECT_EQ(repair.foreign().count(), 0U) << removes;
    EXPECT_EQ(repair.mended().missing, 1U) << removes;
  }
}

TEST_F(RuleRepairTest, AForgedCookieKeepsNoRule) {
  leaves_unknown = {kOfLeaf};
  remotes_known = false;  // all that may stay because too little is known
  Settle();
  const uint64_t cookie = pipeline::RemoteCookie(*IpAddress::Parse("10.0.9.1"));
  CommitAsOther({.add = {{0, 60000, cookie, "ip,nw_dst=10.0.3.7", "output:5"},
                         {2, 100, cookie, "ip,nw_dst=10.0.9.1", "output:5"},
                         {2, 99, cookie, "ip,nw_dst=10.0.9.1", "set_field:0x1->xxreg1,resubmit(,3)"},
                         {2, 100, cookie, "ip,nw_dst=10.0.9.2", "set_field:0x1->xxreg1,resubmit(,4)"},
                         {7, 100, cookie, "ip,nw_src=10.0.9.3", "set_field:0x1->xxreg1,output:5"},
                         {0, 60000, ovs::Cookie(CookieKind::kLeaf, 0), "ip", "output:1"},
                         {0, 61000, ovs::Cookie(CookieKind::kAttachment, 77), "ip", "output:1"}}});
  ASSERT_TRUE(Repair());
  EXPECT_EQ(bridge.rules(), right);
  EXPECT_EQ(repair.mended().unexplained, 7U);
  // What an earlier raild has learned looks like this, and stays.
  const Rule learned = pipeline::RemoteRule(facts, *IpAddress::Parse("10.0.9.1"), mine).value();
  CommitAsOther({.add = {learned}});
  ASSERT_TRUE(Repair());
  EXPECT_THAT(bridge.rules(), Contains(learned));
}
TEST_F(RuleRepairTest, TellsWhatOthersHaveChangedAndNotWhatFollowsFromTheRecord) {
  Learn(Numbers(0, 3));
  pods.push_back(PodAt(9, 5, "10.0.3.1"));
  CommitAsOther({.add = {{0, 999, ovs::Cookie(CookieKind::kAttachment, 77), "in_port=9", "drop"}}});
  ASSERT_TRUE(Repair());
  EXPECT_TRUE(repair.mended().empty()) << "a start installs, and removes what an earlier raild has left";
  Settle();
  pods.push_back(PodAt(10, 6, "10.0.3.2"));
  Learn({Number(7)});
  ASSERT_TRUE(Repair());
  EXPECT_TRUE(repair.mended().empty()) << "a pod and a remote that came";
  pods.pop_back();
  Forget(Number(7));
  ASSERT_TRUE(Repair());
  EXPECT_TRUE(repair.mended().empty()) << "and went";

  Rule edited = Remotes().front();
  edited.actions = "drop";
  CommitAsOther({.remove = {right.front(), Remotes().back()}, .add = {edited}});
  ASSERT_TRUE(Repair());
  EXPECT_EQ(repair.mended().missing, 2U);
  EXPECT_EQ(repair.mended().changed, 1U);
  EXPECT_EQ(repair.mended().unexplained, 0U);
  EXPECT_EQ(repair.mended().cookies,
            (std::set<uint64_t>{right.front().cookie, edited.cookie, Remotes().back().cookie}));
  EXPECT_EQ(bridge.rules(), right);
  bridge.LoseAllRules();
  ASSERT_TRUE(Repair());
  EXPECT_EQ(repair.mended().missing, right.size());
  EXPECT_EQ(bridge.rules(), right);
}

// Moves.

TEST_F(RuleRepairTest, AnAddressThatBecomesAPodHereAndGoesAgain) {
  Learn(Numbers(0, 3));
  Settle();
  const pipeline::Pod pod = PodAt(9, 5, Number(1).ToString());
  pods.push_back(pod);
  selection.here = {Number(1)};
  ASSERT_TRUE(Repair());
  EXPECT_THAT(Remotes(), SizeIs(2));
  EXPECT_THAT(bridge.rules(), Contains(Field(&Rule::cookie, ovs::Cookie(CookieKind::kTenant, 9))).Times(2));
  pods.clear();
  selection.here.clear();
  ASSERT_TRUE(Repair());
  EXPECT_EQ(bridge.rules(), right);
}

TEST_F(RuleRepairTest, AnotherUplinkPortMovesAllRules) {
  Learn(Numbers(0, 30));
  Settle();
  facts.uplink_port = 9;
  ASSERT_TRUE(Repair());
  EXPECT_THAT(Remotes(), SizeIs(30));
  EXPECT_THAT(bridge.rules(), Not(Contains(Field(&Rule::match, ::testing::HasSubstr("in_port=1,")))));
}

TEST_F(RuleRepairTest, WithoutCrossRailOnlyAddressesOfTheRailHaveRules) {
  selection.only_rail = 0;
  Learn(Numbers(0, 10), 0);
  Learn(Numbers(100, 10), 1);
  Settle();
  EXPECT_THAT(Remotes(), SizeIs(10));
  Learn({Number(100)}, 0);
  ASSERT_TRUE(Repair());
  EXPECT_EQ(Said(), 1U);
}

}  // namespace
}  // namespace rail::engine
