#include "lib/fabric/fleet.h"

#include <gmock/gmock.h>

#include "lib/fabric/testing/small_fleet.h"

namespace rail::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using testing::kNoon;
using ::testing::Pair;
using testing::SectionOf;
using testing::SmallFleet;
using testing::Whole;

constexpr auto kAttachments = v1::WatchStateResponse::ATTACHMENTS;

v1::NodeState OfPods(std::initializer_list<std::pair<int64_t, const char*>> pods) {
  v1::NodeState state;
  for (const auto& [id, address] : pods) {
    v1::Attachment& a = *state.add_attachments();
    a.set_id(id);
    a.mutable_pod()->set_namespace_("ns");
    a.mutable_pod()->set_name("p" + std::to_string(id));
    a.add_addresses(address);
  }
  return state;
}

std::vector<std::string> Pods(const Fleet& fleet) {
  std::vector<std::string> pods;
  for (const auto& [key, placed] : fleet.attachments())
    pods.push_back(std::string(key.pod) + "@" + placed.node->name + " " + placed.attachment->addresses(0));
  return pods;
}

TEST(Fleet, NeedsAWholeDocumentFirst) {
  Fleet fleet;
  const Status status = fleet.Apply("n1", SectionOf(v1::WatchStateResponse::RAILS, {}), kNoon);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kInvalid);
  EXPECT_THAT(status.error().message, HasSubstr("n1"));
  EXPECT_FALSE(fleet.Find("n1")->heard);
}

TEST(Fleet, AWholeDocumentReplacesAll) {
  Fleet fleet;
  v1::NodeState first = OfPods({{1, "10.0.0.1"}, {2, "10.0.0.2"}});
  first.add_rails()->set_name("rail0");
  ASSERT_TRUE(fleet.Apply("n1", Whole(first), kNoon));
  v1::NodeState second = OfPods({{3, "10.0.0.3"}});
  second.mutable_node()->set_version("2");
  ASSERT_TRUE(fleet.Apply("n1", Whole(second), kNoon));
  EXPECT_THAT(Pods(fleet), ElementsAre("p3@n1 10.0.0.3"));
  EXPECT_EQ(fleet.Find("n1")->state.rails_size(), 0);
  EXPECT_EQ(fleet.Find("n1")->state.node().version(), "2");
  EXPECT_THAT(fleet.OfAddress("10.0.0.1"), IsEmpty());
}

TEST(Fleet, ASectionReplacesTheSectionAlone) {
  Fleet fleet;
  v1::NodeState first = OfPods({{1, "10.0.0.1"}});
  first.add_rails()->set_name("rail0");
  first.add_rails()->set_name("rail1");
  first.mutable_node()->set_version("1");
  ASSERT_TRUE(fleet.Apply("n1", Whole(first), kNoon));
  v1::NodeState rails;
  rails.add_rails()->set_name("rail2");
  ASSERT_TRUE(fleet.Apply("n1", SectionOf(v1::WatchStateResponse::RAILS, rails), kNoon));
  const Node& node = *fleet.Find("n1");
  ASSERT_EQ(node.state.rails_size(), 1);
  EXPECT_EQ(node.state.rails(0).name(), "rail2");
  EXPECT_EQ(node.state.node().version(), "1");
  EXPECT_EQ(Pods(fleet).size(), 1U);
}

TEST(Fleet, AnEmptySectionEmptiesIt) {
  Fleet fleet;
  v1::NodeState first;
  first.mutable_tenant_list()->set_known(true);
  ASSERT_TRUE(fleet.Apply("n1", Whole(first), kNoon));
  ASSERT_TRUE(fleet.Apply("n1", SectionOf(v1::WatchStateResponse::TENANT_LIST, {}), kNoon));
  EXPECT_FALSE(fleet.Find("n1")->state.has_tenant_list());
}

TEST(Fleet, ASectionOfANewerRaildIsLeftOut) {
  Fleet fleet;
  ASSERT_TRUE(fleet.Apply("n1", Whole(OfPods({{1, "10.0.0.1"}})), kNoon));
  const uint64_t before = fleet.Number();
  EXPECT_TRUE(fleet.Apply("n1", SectionOf(static_cast<v1::WatchStateResponse::Section>(99), {}), kNoon));
  EXPECT_EQ(fleet.Number(), before);
  EXPECT_EQ(Pods(fleet).size(), 1U);
}

TEST(Fleet, AttachmentsMergeAndGo) {
  Fleet fleet;
  ASSERT_TRUE(fleet.Apply("n1", Whole(OfPods({{1, "10.0.0.1"}, {2, "10.0.0.2"}})), kNoon));
  v1::WatchStateResponse change = SectionOf(kAttachments, OfPods({{2, "10.0.0.22"}, {3, "10.0.0.3"}}));
  change.add_gone(1);
  change.add_gone(77);
  ASSERT_TRUE(fleet.Apply("n1", change, kNoon));
  EXPECT_THAT(Pods(fleet), ElementsAre("p2@n1 10.0.0.22", "p3@n1 10.0.0.3"));
  EXPECT_THAT(fleet.OfAddress("10.0.0.2"), IsEmpty());
  ASSERT_EQ(fleet.OfAddress("10.0.0.22").size(), 1U);
  EXPECT_EQ(fleet.OfAddress("10.0.0.22")[0].attachment->id(), 2);
}

TEST(Fleet, AnAttachmentThatGetsAnotherPodIsNotAtItsOldPlace) {
  Fleet fleet;
  ASSERT_TRUE(fleet.Apply("n1", Whole(OfPods({{1, "10.0.0.1"}})), kNoon));
  v1::NodeState renamed = OfPods({{1, "10.0.0.1"}});
  renamed.mutable_attachments(0)->mutable_pod()->set_name("other");
  ASSERT_TRUE(fleet.Apply("n1", SectionOf(kAttachments, renamed), kNoon));
  EXPECT_THAT(Pods(fleet), ElementsAre("other@n1 10.0.0.1"));
}

TEST(Fleet, KnowsAddressesThatSeveralHave) {
  Fleet fleet;
  ASSERT_TRUE(fleet.Apply("n1", Whole(OfPods({{1, "10.0.0.1"}, {2, "10.0.0.2"}})), kNoon));
  EXPECT_THAT(fleet.shared_addresses(), IsEmpty());
  ASSERT_TRUE(fleet.Apply("n2", Whole(OfPods({{1, "10.0.0.1"}})), kNoon));
  ASSERT_TRUE(fleet.Apply("n10", Whole(OfPods({{1, "10.0.0.1"}})), kNoon));
  EXPECT_THAT(fleet.shared_addresses(), ElementsAre(Pair("10.0.0.1", 3U)));
  const auto holders = fleet.OfAddress("10.0.0.1");
  ASSERT_EQ(holders.size(), 3U);
  EXPECT_EQ(holders[1].node->name, "n2");
  EXPECT_EQ(holders[2].node->name, "n10");
  fleet.Remove("n2");
  EXPECT_THAT(fleet.shared_addresses(), ElementsAre(Pair("10.0.0.1", 2U)));
  v1::WatchStateResponse change = SectionOf(kAttachments, {});
  change.add_gone(1);
  ASSERT_TRUE(fleet.Apply("n10", change, kNoon));
  EXPECT_THAT(fleet.shared_addresses(), IsEmpty());
}

TEST(Fleet, ANodeThatIsAwayKeepsItsDocumentAndItsTime) {
  Fleet fleet;
  ASSERT_TRUE(fleet.Apply("n1", Whole(OfPods({{1, "10.0.0.1"}})), kNoon));
  EXPECT_TRUE(fleet.Find("n1")->IsSeen());
  fleet.SetAway("n1", kNoon + 1, "timed out");
  fleet.SetAway("n1", kNoon + 9, "refused");
  EXPECT_FALSE(fleet.Find("n1")->IsSeen());
  EXPECT_EQ(fleet.Find("n1")->away_ms, kNoon + 1);
  EXPECT_EQ(fleet.Find("n1")->away_why, "refused");
  EXPECT_EQ(Pods(fleet).size(), 1U);
  ASSERT_TRUE(fleet.Apply("n1", Whole(OfPods({})), kNoon + 20));
  EXPECT_TRUE(fleet.Find("n1")->IsSeen());
  EXPECT_THAT(Pods(fleet), IsEmpty());
}

TEST(Fleet, ANodeThatIsExpectedIsNotHeard) {
  Fleet fleet;
  fleet.Expect("n1");
  const uint64_t before = fleet.Number();
  fleet.Expect("n1");
  EXPECT_EQ(fleet.Number(), before);
  EXPECT_THAT(fleet.nodes(), ElementsAre(Key("n1")));
  EXPECT_FALSE(fleet.Find("n1")->IsSeen());
  fleet.Remove("n1");
  EXPECT_THAT(fleet.nodes(), IsEmpty());
}

TEST(Fleet, KnowsSinceWhenARailIsNotReady) {
  SmallFleet small({.units = 1, .nodes = 1, .rails = 2});
  small.RailOf("n1", 0).set_state(v1::Rail::NO_CARRIER);
  small.Tell(kNoon);
  const auto since = [&](const char* rail) { return small.fleet().Find("n1")->since_ms.find(rail)->second; };
  EXPECT_EQ(since("rail0"), 0);  // it was so when the node was first heard
  small.RailOf("n1", 1).set_state(v1::Rail::NO_SESSION);
  small.Tell(kNoon + 1);
  EXPECT_EQ(since("rail1"), kNoon + 1);
  small.RailOf("n1", 1).set_state(v1::Rail::NO_CARRIER);
  small.RailOf("n1", 0).set_state(v1::Rail::READY);
  small.Tell(kNoon + 2);
  EXPECT_EQ(since("rail1"), kNoon + 1);  // as before: it is not Ready
  EXPECT_EQ(since("rail0"), kNoon + 2);
}

TEST(Fleet, CountsTheChangesOfEachPart) {
  SmallFleet small({.units = 1, .nodes = 1, .rails = 1});
  small.Tell(kNoon);
  Fleet& fleet = small.fleet();
  const auto changes = [&](v1::WatchStateResponse::Section section) {
    const uint64_t before = fleet.Number();
    EXPECT_TRUE(fleet.Apply("n1", SectionOf(section, {}), kNoon));
    std::vector<v1::FleetPart> parts;
    for (const auto part : {v1::FLEET_NODES, v1::FLEET_RAILS, v1::FLEET_ATTACHMENTS, v1::FLEET_CAUSES}) {
      if (fleet.Number(part) > before) parts.push_back(part);
    }
    return parts;
  };
  EXPECT_THAT(changes(v1::WatchStateResponse::REPAIRS), IsEmpty());
  EXPECT_THAT(changes(v1::WatchStateResponse::LEARNED), ElementsAre(v1::FLEET_NODES, v1::FLEET_CAUSES));
  EXPECT_THAT(changes(v1::WatchStateResponse::RAILS),
              ElementsAre(v1::FLEET_NODES, v1::FLEET_RAILS, v1::FLEET_CAUSES));
  EXPECT_THAT(changes(kAttachments),
              ElementsAre(v1::FLEET_NODES, v1::FLEET_RAILS, v1::FLEET_ATTACHMENTS, v1::FLEET_CAUSES));
}

}  // namespace
}  // namespace rail::fabric
