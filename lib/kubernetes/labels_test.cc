#include "lib/kubernetes/labels.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace rail::kubernetes {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Pair;

const Place kPlace{.unit = "su-7", .leaves = {{"rail0", "10.255.1.1"}, {"rail1", "10.255.1.2"}}};

json Sent(const LabelChange& change) {
  return change.request ? json::parse(change.request->body).at("metadata").at("labels") : json();
}

TEST(LabelsOf, SayUnitAndLeaves) {
  const Labels labels = LabelsOf({}, kPlace);
  EXPECT_THAT(labels, ElementsAre(Pair("railcni.io/leaf-rail0", MatchesRegex("l-[0-9a-f]{10}")),
                                  Pair("railcni.io/leaf-rail1", MatchesRegex("l-[0-9a-f]{10}")),
                                  Pair("railcni.io/su", "su-7")));
  EXPECT_NE(labels.at("railcni.io/leaf-rail0"), labels.at("railcni.io/leaf-rail1"));
  EXPECT_EQ(LabelsOf({}, kPlace), labels) << "the same leaf has the same value everywhere";
}

TEST(LabelsOf, SayNothingOfWhatIsNotKnown) {
  EXPECT_THAT(LabelsOf({.tier = "t-"}, {}), IsEmpty());
  EXPECT_THAT(LabelsOf({.tier = "t-"}, {.unit = "", .leaves = {{"rail0", "10.255.1.1"}}}),
              ElementsAre(Pair("railcni.io/leaf-rail0", testing::_)));
}

TEST(LabelsOf, HaveTiersWhereTheyAreAskedFor) {
  const Labels labels = LabelsOf({.unit = "u", .leaf = "l-", .tier = "fabric.topograph.run/tier-"}, kPlace);
  EXPECT_EQ(labels.at("fabric.topograph.run/tier-0"), labels.at("l-rail0"));
  EXPECT_EQ(labels.at("fabric.topograph.run/tier-1"), "su-7");
  EXPECT_EQ(labels.at("u"), "su-7");
}

TEST(ChangeLabels, SendsWhatDiffers) {
  const LabelChange change =
      ChangeLabels("n1", {}, {{"a", "1"}, {"b", "2"}}, {{"b", "2"}, {"other", "x"}}, "");
  ASSERT_TRUE(change.request);
  EXPECT_EQ(change.request->method, "PATCH");
  EXPECT_EQ(change.request->path, "/api/v1/nodes/n1");
  EXPECT_EQ(change.request->content_type, "application/merge-patch+json");
  EXPECT_EQ(Sent(change), json({{"a", "1"}}));
  EXPECT_EQ(change.ours, (OurLabels{{"a", {"1"}}, {"b", {"2"}}}));
  EXPECT_FALSE(ChangeLabels("n1", change.ours, {{"a", "1"}}, {{"a", "1"}}, "").request);
}

TEST(ChangeLabels, RemovesItsOwnAndNobodyElses) {
  const OurLabels ours = {{"a", {"1"}}, {"b", {"2"}}, {"c", {"3"}}};
  const LabelChange change = ChangeLabels("n1", ours, {}, {{"a", "1"}, {"b", "theirs"}}, "");
  EXPECT_EQ(Sent(change), json({{"a", nullptr}})) << "b is another's by now, c is gone";
  EXPECT_THAT(change.ours, IsEmpty());
}

TEST(ChangeLabels, KnowsTheOldValueAndTheNewOneUntilItIsAnswered) {
  const LabelChange moves =
      ChangeLabels("n1", {{"su", {"su-7"}}, {"gone", {"1"}}}, {{"su", "su-8"}}, {{"su", "su-7"}}, "");
  EXPECT_EQ(moves.before, (OurLabels{{"su", {"su-7", "su-8"}}, {"gone", {"1"}}}));
  EXPECT_EQ(moves.ours, (OurLabels{{"su", {"su-8"}}}));
  for (const char* there : {"su-7", "su-8"}) {
    EXPECT_EQ(Sent(ChangeLabels("n1", moves.before, {}, {{"su", there}}, "")), json({{"su", nullptr}}))
        << there;
    EXPECT_EQ(Sent(ChangeLabels("n1", moves.before, {{"su", "su-9"}}, {{"su", there}}, "s")),
              json({{"su", "su-9"}}))
        << "a tier, too, is ours by either value";
  }
}

TEST(ChangeLabels, LeavesTheTiersOfOthers) {
  const Labels wanted = {{"t-0", "l-1"}, {"su", "su-7"}};
  const LabelChange theirs = ChangeLabels("n1", {}, wanted, {{"t-0", "switch-9"}}, "t-");
  EXPECT_EQ(Sent(theirs), json({{"su", "su-7"}}));
  EXPECT_EQ(theirs.ours, (OurLabels{{"su", {"su-7"}}}));
  const LabelChange mine = ChangeLabels("n1", {{"t-0", {"l-0"}}}, wanted, {{"t-0", "l-0"}}, "t-");
  EXPECT_EQ(Sent(mine), json({{"su", "su-7"}, {"t-0", "l-1"}}));
  EXPECT_EQ(Sent(ChangeLabels("n1", {}, {{"su", "su-7"}}, {{"su", "old"}}, "t-")), json({{"su", "su-7"}}))
      << "a key of our own is set right";
}

TEST(ReadLabels, TakesWhatANodeHas) {
  EXPECT_THAT(*ReadLabels(R"({"metadata":{"name":"n1","labels":{"a":"1"}}})"), ElementsAre(Pair("a", "1")));
  EXPECT_THAT(*ReadLabels(R"({"metadata":{"name":"n1"}})"), IsEmpty());
  for (const char* bad :
       {"", "[]", "{}", R"({"metadata":{"labels":{"a":1}}})", R"({"metadata":{"labels":7}})"})
    EXPECT_EQ(ReadLabels(bad).error().code, Code::kInvalid) << bad;
}

TEST(OurLabels, AreKept) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("railcni-labels-" + std::to_string(::getpid()));
  EXPECT_THAT(ReadOurLabels(path), IsEmpty());
  const OurLabels ours = {{"a", {"1"}}, {"b", {"1", "2"}}};
  ASSERT_TRUE(WriteOurLabels(path, ours));
  EXPECT_EQ(ReadOurLabels(path), ours);
  for (const char* bad : {R"({"a": 7})", R"({"a": ["1", {}]})", R"(["a"])"}) {
    std::ofstream(path) << bad;
    EXPECT_THAT(ReadOurLabels(path), IsEmpty()) << bad;
  }
  std::ofstream(path) << "not json";
  EXPECT_THAT(ReadOurLabels(path), IsEmpty());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace rail::kubernetes
