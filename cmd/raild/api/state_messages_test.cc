// What a reader of the whole state is sent.
#include "cmd/raild/api/state_messages.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <iostream>

namespace rail::raild {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Response = v1::WatchStateResponse;

// As long as they get: names of the longest allowed, dual stack, everything said.
engine::NodeView Node(int rails, int attachments_of_a_rail) {
  engine::NodeView view;
  view.version = 1;
  view.hostname = std::string(63, 'h');
  int64_t id = 0;
  for (int i = 0; i < rails; ++i) {
    engine::RailView& rail = view.rails.emplace_back();
    rail.rail.name = "rail" + std::to_string(i);
    rail.rail.index = static_cast<uint32_t>(i);
    rail.rail.pf = "enp137s0f0np" + std::to_string(i);
    rail.rail.bridge = "br-" + rail.rail.name;
    rail.seen.set_bgp_state("Established");
    rail.seen.set_leaf_mac("02:00:00:00:0f:00");
    view.health.push_back({{engine::Part::kRail, rail.rail.name}, true, "", 0});
    for (int j = 0; j < attachments_of_a_rail; ++j) {
      state::Attachment& pod = view.attachments.emplace_back().attachment;
      pod.id = ++id;
      pod.rail = rail.rail.name;
      pod.key = {std::string(20, 'n'), std::string(64, 'c'), "net" + std::to_string(i)};
      pod.pod_namespace = std::string(20, 's');
      pod.pod_name = std::string(40, 'p');
      pod.pod_uid = std::string(36, 'u');
      pod.netns_path = "/var/run/netns/cni-" + std::string(36, 'u');
      pod.tenant = std::string(20, 't');
      pod.tenant_id = {1, 2};
      pod.device = "0000:3b:00." + std::to_string(j);
      pod.representor = "pf0vf" + std::to_string(j);
      pod.addresses = {*IpAddress::Parse("10.0.3.1"), *IpAddress::Parse("fd00:1:2:3:4:5:6:7")};
      pod.created_ms = 1767323045000;
      pod.phase = state::Phase::kReady;
    }
  }
  return view;
}

std::vector<Response::Section> Sections(const std::vector<Response>& responses) {
  std::vector<Response::Section> sections;
  for (const Response& response : responses) sections.push_back(response.section());
  return sections;
}

class StateChangesTest : public ::testing::Test {
 protected:
  std::vector<Response> Next() { return changes_.Next(SnapshotOf(view_, {}, kNow)); }

  static constexpr int64_t kNow = 1767323045000;
  StateChanges changes_;
  engine::NodeView view_ = Node(2, 2);
};

TEST(Sections, HaveTheNamesAndNumbersOfTheFields) {
  const auto* fields = v1::NodeState::descriptor();
  const auto* sections = Response::Section_descriptor();
  EXPECT_EQ(sections->value_count(), fields->field_count() + 1);
  for (int i = 0; i < fields->field_count(); ++i) {
    std::string name = fields->field(i)->name();
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
    const auto* section = sections->FindValueByNumber(fields->field(i)->number());
    ASSERT_NE(section, nullptr) << name;
    EXPECT_EQ(section->name(), name);
  }
}

TEST_F(StateChangesTest, BeginWithEverything) {
  const auto first = Next();
  EXPECT_THAT(Sections(first), ElementsAre(Response::ALL));
  EXPECT_EQ(first[0].number(), 1U);
  EXPECT_EQ(first[0].state().rails_size(), 2);
  EXPECT_EQ(first[0].state().attachments_size(), 4);
  EXPECT_EQ(first[0].state().node().hostname(), view_.hostname);
  EXPECT_THAT(Next(), IsEmpty()) << "nothing has changed";
}

// However many readers there are.
TEST_F(StateChangesTest, AreOfASnapshotThatIsMadeOnceForEachView) {
  StateSnapshots snapshots([] { return kNow; });
  view_.version = 0;
  EXPECT_EQ(snapshots.Of(view_, {}), nullptr) << "raild's first view has not come";
  view_.version = 1;
  const auto first = snapshots.Of(view_, {});
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(snapshots.Of(view_, {}), first);
  EXPECT_NE(snapshots.Of(view_, {.started = true}), first) << "raild's own health is in it";
  view_.version = 2;
  EXPECT_NE(snapshots.Of(view_, {}), first);
}

TEST_F(StateChangesTest, AreWholeSectionsOfWhatHasChanged) {
  Next();
  view_.rails[1].seen.set_bgp_state("Active");
  view_.repairs = 3;
  const auto next = Next();
  EXPECT_THAT(Sections(next), ElementsAre(Response::NODE, Response::RAILS));
  EXPECT_EQ(next[0].number(), 2U);
  EXPECT_EQ(next[1].number(), 3U);
  EXPECT_EQ(next[0].state().node().repairs(), 3U);
  EXPECT_FALSE(next[1].state().has_node());
  ASSERT_EQ(next[1].state().rails_size(), 2) << "the one that has not changed as well";
  EXPECT_EQ(next[1].state().rails(1).bgp_state(), "Active");
  view_.rails.clear();
  const auto empty = Next();
  EXPECT_THAT(Sections(empty), ::testing::Contains(Response::RAILS));
}

TEST_F(StateChangesTest, AreOfAttachmentsThoseThatHaveChanged) {
  Next();
  view_.attachments[2].withdrawn = "its device is lost";
  view_.attachments.erase(view_.attachments.begin());
  view_.attachments.push_back(view_.attachments.back());
  view_.attachments.back().attachment.id = 9;
  const auto next = Next();
  ASSERT_EQ(next.back().section(), Response::ATTACHMENTS);
  std::vector<int64_t> ids;
  for (const v1::Attachment& each : next.back().state().attachments()) ids.push_back(each.id());
  EXPECT_THAT(ids, ElementsAre(3, 9));
  EXPECT_THAT(next.back().gone(), ElementsAre(1));
}

// The fleet's view follows 2,000 nodes.
TEST_F(StateChangesTest, OfAFullNodeAreSmall) {
  view_ = Node(8, 16);
  const auto size = [](const std::vector<Response>& responses) {
    size_t bytes = 0;
    for (const Response& response : responses) bytes += response.ByteSizeLong();
    return bytes;
  };
  const size_t all = size(Next());
  view_.rails[0].seen.set_leaf_mac("02:00:00:00:0f:01");
  const size_t rails = size(Next());
  view_.attachments[0].withdrawn = "its device is lost";
  const size_t attachment = size(Next());
  std::cout << "a node: " << all << " bytes, its rails " << rails << ", an attachment " << attachment << "\n";
  EXPECT_LT(all, size_t{64} << 10);
  EXPECT_LT(rails, size_t{4} << 10);
  EXPECT_LT(attachment, size_t{1} << 10);
}

}  // namespace
}  // namespace rail::raild
