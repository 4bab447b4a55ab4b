// What the published view says while raild cannot look, and of what is withdrawn.
#include "lib/engine/repair/node_status.h"

#include <google/protobuf/util/time_util.h>

#include "lib/engine/testing/repair_fixture.h"

namespace rail::engine {
namespace {

using google::protobuf::util::TimeUtil;
using ::testing::Contains;
using testing::Dependency;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RepairTest;

// Rules that nobody can look for are not missing: what was seen last stands, with the time since when it is not known.
TEST_F(RepairTest, WhileNobodyCanLookWhatWasSeenLastStands) {
  Settle();
  for (const Dependency dependency : {Dependency::kOpenFlow, Dependency::kOvsdb, Dependency::kNetlink}) {
    SCOPED_TRACE(testing::Name(dependency));
    const int64_t before = UnixMs();
    world.faults.down = {dependency};
    Audit();
    auto view = raild->views.Current();
    EXPECT_TRUE(view->attachments.at(0).rules_in_place);
    EXPECT_TRUE(view->rails.at(0).seen.bridge_present());
    EXPECT_EQ(view->rails.at(0).seen.rules_installed(), view->rails.at(0).seen.rules_wanted());
    EXPECT_THAT(view->rails.at(0).seen.unseen(),
                HasSubstr(std::string(testing::Name(dependency)) + " is down"));
    const int64_t since = view->attachments.at(0).rules_unknown_since_ms;
    EXPECT_EQ(since, TimeUtil::TimestampToMilliseconds(view->rails.at(0).seen.unseen_since()));
    EXPECT_GE(since, before);
    Audit();
    EXPECT_EQ(raild->views.Current()->attachments.at(0).rules_unknown_since_ms, since)
        << "the first round that could not look";
    world.faults.down.clear();
    Audit();
    view = raild->views.Current();
    EXPECT_EQ(view->attachments.at(0).rules_unknown_since_ms, 0);
    EXPECT_EQ(view->rails.at(0).seen.unseen(), "");
    EXPECT_TRUE(view->attachments.at(0).rules_in_place);
  }
}

// Views, metrics and reports are made of what is published: it must not stand still as "all is right".
TEST_F(RepairTest, ARecordThatNobodyCanReadIsSaidBesideWhatItHeldLast) {
  Settle();
  const uint64_t before = raild->views.Current()->version;
  world.faults.down = {Dependency::kState};
  raild->node_status.SetUplink("rail0", false);
  raild->node_status.Publish(raild->record);
  const auto view = raild->views.Current();
  EXPECT_GT(view->version, before);
  EXPECT_THAT(Problems(), Contains(HasSubstr("state: state.db is down")));
  ASSERT_EQ(view->attachments.size(), 1U);
  EXPECT_EQ(view->attachments.at(0).withdrawn, "the uplink ens0 of its rail has no carrier");
  world.faults.down.clear();
  raild->node_status.SetUplink("rail0", true);
  Audit();
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(RepairTest, ARecordThatCouldNeverBeReadIsSaidToo) {
  raild = world.StartRaild(std::chrono::hours(1));
  world.faults.before = [&](Dependency dependency, std::string_view call) {
    if (dependency == Dependency::kState && call == "Version")
      world.faults.FailCall(Dependency::kState, 1, {Code::kTransient, "I/O error", 0});
  };
  raild->node_status.Publish(raild->record);
  world.faults.before = nullptr;
  EXPECT_THAT(Problems(), ElementsAre("state: I/O error"));
}

TEST_F(RepairTest, ABridgeThatIsNotThereHasBeenLookedFor) {
  Settle();
  world.ovsdb.RemoveBridge("br-rail0");
  Audit();
  const auto view = raild->views.Current();
  EXPECT_FALSE(view->rails.at(0).seen.bridge_present());
  EXPECT_EQ(view->rails.at(0).seen.unseen(), "");
  EXPECT_FALSE(view->attachments.at(0).rules_in_place);
  EXPECT_EQ(view->attachments.at(0).rules_unknown_since_ms, 0);
}

TEST_F(RepairTest, RulesThatTheSwitchRefusesAreMissing) {
  Settle();
  const auto rules = world.RulesOf(ovs::CookieKind::kTenant);
  ASSERT_TRUE(Commit({.remove = rules}));
  world.faults.before = [&](Dependency dependency, std::string_view call) {
    if (dependency == Dependency::kOpenFlow && call == "Commit")
      world.faults.FailCall(Dependency::kOpenFlow, 1, {Code::kInvalid, "the switch refused the bundle", 0});
  };
  Audit();
  world.faults.before = nullptr;
  const auto view = raild->views.Current();
  EXPECT_FALSE(view->attachments.at(0).rules_in_place);
  EXPECT_EQ(view->attachments.at(0).rules_unknown_since_ms, 0);
}

TEST_F(RepairTest, AnAttachmentIsWithdrawnWhileItsRailHasNoCarrier) {
  Settle();
  const auto withdrawn = [&] {
    raild->node_status.Publish(raild->record);
    return raild->views.Current()->attachments.at(0).withdrawn;
  };
  EXPECT_EQ(withdrawn(), "");
  raild->node_status.SetUplink("rail1", false);
  EXPECT_EQ(withdrawn(), "") << "another rail's";
  raild->node_status.SetUplink("rail0", false);
  EXPECT_EQ(withdrawn(), "the uplink ens0 of its rail has no carrier");
  raild->node_status.SetUplink("rail0", true);
  EXPECT_EQ(withdrawn(), "");
}

}  // namespace
}  // namespace rail::engine
