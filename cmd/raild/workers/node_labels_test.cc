// The labels of the node, at the tests' API server.
#include "cmd/raild/workers/node_labels.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/kubernetes/testing/api_server.h"

namespace rail::raild {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;

class NodeLabelsTest : public ::testing::Test {
 protected:
  NodeLabelsTest() : client({.url = server.url(), .token_file = {}, .ca_file = {}}, "test") {}
  ~NodeLabelsTest() override { std::filesystem::remove(file); }

  NodeLabels Make() { return {keys, file, kubernetes::Backoff(1)}; }
  // The node has these labels at the next question.
  void Has(const json& labels) {
    server.Instead("/api/v1/nodes/n1", {.body = json({{"metadata", {{"labels", labels}}}}).dump()});
  }
  // What the last PATCH says; null: there was none since the last call.
  json Patched() {
    json last;
    const auto seen = server.seen();
    for (; read < seen.size(); ++read) {
      if (seen[read].method == "PATCH") last = json::parse(seen[read].body).at("metadata").at("labels");
    }
    return last;
  }
  // Two looks at the same place.
  Status Look(NodeLabels& labels, const kubernetes::Place& at) {
    RAIL_TRY(labels.Look(client, "n1", at, now).value_or(Status()));
    now += std::chrono::seconds(5);
    return labels.Look(client, "n1", at, now).value_or(Status());
  }

  kubernetes::testing::ApiServer server;
  kubernetes::Client client;
  std::optional<config::TopologyLabels> keys{std::in_place};
  const std::string file =
      std::filesystem::temp_directory_path() / ("railcni-node-labels-" + std::to_string(::getpid()));
  const kubernetes::Place place{.unit = "su-7", .leaves = {{"rail0", "10.255.1.1"}}};
  Deadline now{std::chrono::hours(1)};
  size_t read = 0;
};

TEST_F(NodeLabelsTest, WritesThemOnceAndAgainWhenTheNodeMoves) {
  NodeLabels labels = Make();
  ASSERT_EQ(labels.Look(client, "n1", place, now), std::nullopt);
  EXPECT_THAT(server.seen(), IsEmpty()) << "one look is no news";
  Has({{"other", "x"}});
  ASSERT_TRUE(Look(labels, place));
  const json wrote = Patched();
  EXPECT_EQ(wrote.at("railcni.io/su"), "su-7");
  EXPECT_EQ(wrote.size(), 2U);
  EXPECT_THAT(kubernetes::ReadOurLabels(file),
              ElementsAre(Key("railcni.io/leaf-rail0"), Pair("railcni.io/su", ElementsAre("su-7"))));
  ASSERT_TRUE(Look(labels, place));
  EXPECT_TRUE(Patched().is_null()) << "nothing has changed";
  Has(wrote);
  ASSERT_TRUE(Look(labels, {.unit = "su-8", .leaves = place.leaves}));
  EXPECT_EQ(Patched(), json({{"railcni.io/su", "su-8"}}));
  ASSERT_TRUE(Look(labels, {}));
  EXPECT_TRUE(Patched().is_null()) << "a unit that is not known takes no label away";
}

TEST_F(NodeLabelsTest, SetsThemRightAgainWhenSomebodyHasChangedThem) {
  NodeLabels labels = Make();
  Has(json::object());
  ASSERT_TRUE(Look(labels, place));
  const json wrote = Patched();
  now += std::chrono::minutes(7);
  json changed = wrote;
  changed["railcni.io/su"] = "mine";
  Has(changed);
  ASSERT_TRUE(Look(labels, place));
  EXPECT_EQ(Patched(), json({{"railcni.io/su", "su-7"}}));
}

TEST_F(NodeLabelsTest, GoWhenNodeJsonAsksForThemNoMore) {
  NodeLabels before = Make();
  Has(json::object());
  ASSERT_TRUE(Look(before, place));
  const json wrote = Patched();
  keys.reset();
  NodeLabels labels = Make();
  EXPECT_TRUE(labels.wanted());
  Has(wrote);
  ASSERT_TRUE(Look(labels, place));
  EXPECT_EQ(Patched(), json({{"railcni.io/su", nullptr}, {"railcni.io/leaf-rail0", nullptr}}));
  EXPECT_FALSE(labels.wanted());
  EXPECT_FALSE(Make().wanted());
}

TEST_F(NodeLabelsTest, GoWithRailCni) {
  NodeLabels labels = Make();
  Has(json::object());
  ASSERT_TRUE(Look(labels, place));
  const json wrote = Patched();
  Has(wrote);
  ASSERT_TRUE(RemoveLabels(client, "n1", file));
  EXPECT_EQ(Patched().at("railcni.io/su"), nullptr);
  ASSERT_TRUE(RemoveLabels(client, "n1", file));
  EXPECT_TRUE(Patched().is_null());
}

TEST_F(NodeLabelsTest, GoWithRailCniThoughTheLastChangeWasNotAnswered) {
  NodeLabels labels = Make();
  Has(json::object());
  ASSERT_TRUE(Look(labels, place));
  const json wrote = Patched();
  server.Instead("/api/v1/nodes/n1", {.body = json({{"metadata", {{"labels", wrote}}}}).dump()});
  server.Instead("/api/v1/nodes/n1", {.status = 500, .body = "{}"});
  ASSERT_FALSE(Look(labels, {.unit = "su-8", .leaves = place.leaves}));
  (void)Patched();
  Has(wrote);  // as it was
  ASSERT_TRUE(RemoveLabels(client, "n1", file));
  EXPECT_EQ(Patched().at("railcni.io/su"), nullptr);
}

// The server may have done what it has not answered: a tier with either value is still ours.
TEST_F(NodeLabelsTest, KnowsItsOwnAfterAChangeThatWasDoneAndNotAnswered) {
  keys->tier = "t-";
  NodeLabels labels = Make();
  Has(json::object());
  ASSERT_TRUE(Look(labels, place));
  json there = Patched();
  Has(there);
  server.Instead("/api/v1/nodes/n1", {.status = 500, .body = "{}"});
  ASSERT_FALSE(Look(labels, {.unit = "su-8", .leaves = place.leaves}));
  there.update(Patched());
  EXPECT_EQ(there.at("t-1"), "su-8");
  now += std::chrono::minutes(3);
  Has(there);
  ASSERT_TRUE(Look(labels, {.unit = "su-9", .leaves = place.leaves}));
  EXPECT_EQ(Patched(), json({{"railcni.io/su", "su-9"}, {"t-1", "su-9"}}));
}

TEST_F(NodeLabelsTest, SaysWhichRightIsMissingAndTriesAgainLater) {
  NodeLabels labels = Make();
  Has(json::object());
  server.Instead("/api/v1/nodes/n1", {.status = 403, .body = R"({"message":"forbidden"})"});
  const Status refused = Look(labels, place);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("raild's role needs \"patch\" on nodes"));
  EXPECT_THAT(kubernetes::ReadOurLabels(file), ::testing::SizeIs(2)) << "it may have been done";
  (void)Patched();
  EXPECT_EQ(labels.Look(client, "n1", place, now), std::nullopt) << "not at once, and it is no news";
  EXPECT_TRUE(Patched().is_null());
  now += std::chrono::seconds(2);
  Has(json::object());
  ASSERT_TRUE(labels.Look(client, "n1", place, now).value());
  EXPECT_EQ(Patched().at("railcni.io/su"), "su-7");
}

}  // namespace
}  // namespace rail::raild
