// What counts as a repair: what stood as it should and was found otherwise, and nothing that follows news.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "lib/engine/testing/repair_fixture.h"

namespace rail::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::RepairTest;

class Repairs : public RepairTest {
 protected:
  using Counts = std::map<std::string, uint64_t>;
  Counts Counted() { return raild->views.Current()->repairs_by_cause; }
};

TEST_F(Repairs, AreNotWhatFollowsNews) {
  raild = world.StartRaild(std::chrono::hours(1));
  Audit();
  EXPECT_THAT(Counted(), IsEmpty()) << "a node's first installation";
  pod = world.MakePod("p1", "ns-a", "vf0");
  Attach(pod, "10.0.3.1");
  raild->RecordChanged();
  Audit();
  EXPECT_THAT(Counted(), IsEmpty()) << "an ADD";
  world.LearnRemote("10.0.9.1", "ns-a");
  raild->Poll();
  EXPECT_EQ(world.RulesOf(ovs::CookieKind::kRemote).size(), 1U);
  world.bgp.Forget(*IpPrefix::Parse("10.0.9.1/32"), "br-rail0");
  raild->Poll();
  EXPECT_EQ(world.RulesOf(ovs::CookieKind::kRemote).size(), 0U);
  EXPECT_THAT(Counted(), IsEmpty()) << "remotes come and go";
  world.SetLeafMac("br-rail0", "02:00:00:00:0f:77");
  raild->the_switch.Learned();
  EXPECT_THAT(Counted(), IsEmpty()) << "the leaf's address";
  for (const bool carrier : {false, true}) {
    raild->node_status.SetUplink("rail0", carrier);
    raild->bgp.Audit();
    EXPECT_EQ(world.bgp.Announced({})->size(), carrier ? 1U : 0U);
    EXPECT_THAT(Counted(), IsEmpty()) << "a carrier";
  }
  raild = world.StartRaild(std::chrono::hours(1));
  world.Bridge().LoseAllRules();
  world.bgp.Restart();
  Audit();
  EXPECT_FALSE(world.Bridge().rules().empty());
  EXPECT_THAT(Counted(), IsEmpty()) << "what raild's start finds";
}

TEST_F(Repairs, AreWhatStoodAndIsFoundOtherwise) {
  Settle();
  const ovs::Rule rule = world.RulesOf(pod).front();
  ASSERT_TRUE(Commit({.remove_by_cookie = {}, .remove = {rule}, .add = {}}));
  Audit();
  EXPECT_THAT(Counted(), ElementsAre(Pair("rules", 1U)));
  const auto rules = world.Bridge().rules().size();
  world.Bridge().LoseAllRules();
  Audit();
  EXPECT_THAT(Counted(), ElementsAre(Pair("rules", 1U + rules))) << "a switch that has begun anew";
  ASSERT_TRUE(world.ovsdb.DeletePort("br-rail0", "rep0", {}, ovs::Ovsdb::Wait::kCommitted, {}));
  world.bgp.Restart();
  Audit();
  EXPECT_EQ(Counted().at("port"), 1U);
  EXPECT_EQ(Counted().at("announcement"), 1U);
  EXPECT_EQ(Counted().contains("bgp configuration"), world.config.bgp.manage);
  const Counts before = Counted();
  Audit();
  EXPECT_EQ(Counted(), before);
  for (const auto& [cause, count] : before) {
    EXPECT_NE(std::ranges::find(kRepairCauses, cause), kRepairCauses.end()) << cause;
  }
}

// Not after a boot, when no pod is there any more, and not when its DEL has left work.
TEST_F(Repairs, OfAPodThatIsGoneAreThoseOfWhichNoDelHasCome) {
  Settle();
  const int64_t made = world.Attachment(pod).created_ms;
  world.EndNamespace(pod);
  raild = world.StartRaild(std::chrono::hours(0));
  Audit();
  EXPECT_FALSE(world.FindAttachment(pod));
  EXPECT_THAT(Counted(), ElementsAre(Pair("attachment", 1U)));
  for (const bool boot : {false, true}) {
    pod = world.MakePod("p2", "ns-a", boot ? "vf2" : "vf1");
    Attach(pod, boot ? "10.0.3.3" : "10.0.3.2");
    if (!boot) {
      ASSERT_TRUE(world.record.SetPhase(world.Attachment(pod).id, state::Phase::kDeleting));
    }
    world.EndNamespace(pod);
    raild = world.StartRaild(std::chrono::hours(0), boot ? world.Attachment(pod).created_ms + 1 : made);
    Audit();
    EXPECT_FALSE(world.FindAttachment(pod));
    EXPECT_THAT(Counted(), IsEmpty()) << boot;
  }
}

}  // namespace
}  // namespace rail::engine
