#include "lib/qos/manage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/netlink/testing/dcb.h"

namespace rail::qos {
namespace {

using netlink::DcbApp;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

DcbApp Dscp(uint16_t dscp, uint8_t priority) {
  return {.selector = DcbApp::kDscp, .priority = priority, .protocol = dscp};
}
constexpr DcbApp kFcoe{.selector = 1, .priority = 3, .protocol = 0x8906};

struct Uplink {
  Uplink() {
    links.links["p0"] = {.pfc = netlink::DcbPfc{.enabled = 1},
                         .ets = {},
                         .apps = {kFcoe, Dscp(10, 1), Dscp(26, 0)},
                         .peer_pfc = {}};
  }
  netlink::DcbState Now() { return dcb.Get("p0").value(); }
  netlink::testing::DcbLinks links;
  netlink::testing::FakeDcb dcb{links};
};

const config::Lossless kWanted{
    .trust = config::Trust::kDscp, .pfc = std::set<uint8_t>{3}, .dscp_to_priority = {{26, 3}, {48, 6}}};

TEST(Manage, SetsWhatDiffersInAnOrderThatNeverSortsToAQueueThatDrops) {
  Uplink up;
  const auto done = Apply(PlanFor(kWanted, up.Now()), "p0", up.dcb);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(up.links.changes, ElementsAre("p0 pfc 8", "p0 add 26:3", "p0 add 48:6", "p0 delete 26:0"));
  EXPECT_EQ(done->size(), 4U);
  EXPECT_TRUE(PlanFor(kWanted, up.Now()).empty());
  EXPECT_THAT(up.Now().apps, UnorderedElementsAre(kFcoe, Dscp(10, 1), Dscp(26, 3), Dscp(48, 6)));
}

TEST(Manage, GivesBackWhatItHasChangedAndNothingElse) {
  Uplink up;
  const netlink::DcbState was = up.Now();
  const Plan plan = PlanFor(kWanted, was);
  const Before before = BeforeOf(plan, was);
  ASSERT_TRUE(Apply(plan, "p0", up.dcb));
  ASSERT_TRUE(up.dcb.AddApp("p0", Dscp(12, 2)));  // somebody else, since
  ASSERT_TRUE(Apply(PlanBack(before, up.Now()), "p0", up.dcb));
  EXPECT_EQ(up.Now().pfc->enabled, 1);
  EXPECT_THAT(up.Now().apps, UnorderedElementsAre(kFcoe, Dscp(10, 1), Dscp(12, 2), Dscp(26, 0)));
  EXPECT_TRUE(PlanBack(before, up.Now()).empty());
}

TEST(Manage, AfterACrashTheFirstRecordHolds) {
  Uplink up;
  Before record = BeforeOf(PlanFor(kWanted, up.Now()), up.Now());
  ASSERT_TRUE(up.dcb.SetPfc("p0", 8));  // and then raild died
  Merge(record, BeforeOf(PlanFor(kWanted, up.Now()), up.Now()));
  EXPECT_EQ(record.pfc, 1);
  EXPECT_THAT(record.dscp.at(26), ElementsAre(0));
  EXPECT_THAT(record.dscp.at(48), IsEmpty());
}

TEST(Manage, TakesEveryDscpAwayWhereThePriorityCodePointIsTrusted) {
  Uplink up;
  const config::Lossless pcp{.trust = config::Trust::kPcp};
  const Plan plan = PlanFor(pcp, up.Now());
  const Before before = BeforeOf(plan, up.Now());
  ASSERT_TRUE(Apply(plan, "p0", up.dcb));
  EXPECT_THAT(up.Now().apps, UnorderedElementsAre(kFcoe));
  EXPECT_EQ(up.Now().pfc->enabled, 1);
  ASSERT_TRUE(Apply(PlanBack(before, up.Now()), "p0", up.dcb));
  EXPECT_THAT(up.Now().apps, UnorderedElementsAre(kFcoe, Dscp(10, 1), Dscp(26, 0)));
}

}  // namespace
}  // namespace rail::qos
