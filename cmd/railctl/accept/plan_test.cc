// Rounds, Search and the budget, on simulated fabrics.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cmd/railctl/accept/plan.h"
#include "cmd/railctl/accept/rounds.h"
#include "cmd/railctl/accept/search.h"
#include "cmd/railctl/accept/suspects.h"
#include "cmd/railctl/accept/testing/fabric.h"

namespace rail::accept::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Rounds, HaveEveryPairOnceInPerfectMatchingsOfBalancedDirection) {
  for (size_t count = 2; count <= 65; ++count) {
    const auto rounds = Rounds(count);
    EXPECT_EQ(rounds.size(), count % 2 == 0 ? count - 1 : count);
    std::set<std::pair<size_t, size_t>> pairs;
    std::vector<int> balance(count, 0);
    for (const auto& round : rounds) {
      EXPECT_EQ(round.size(), count / 2);
      std::set<size_t> seen;
      for (const Pair& pair : round) {
        ASSERT_LT(std::max(pair.a, pair.b), count);
        EXPECT_TRUE(seen.insert(pair.a).second && seen.insert(pair.b).second) << count;
        EXPECT_TRUE(pairs.insert(std::minmax(pair.a, pair.b)).second) << count;
        ++balance[pair.a];
        --balance[pair.b];
      }
    }
    EXPECT_EQ(pairs.size(), count * (count - 1) / 2);
    for (const int more : balance) EXPECT_LE(std::abs(more), 1) << count;
  }
}

TEST(Rounds, AreNoneForOneOrNobody) {
  EXPECT_THAT(Rounds(0), IsEmpty());
  EXPECT_THAT(Rounds(1), IsEmpty());
}

struct Searched {
  std::vector<Fault> found;
  size_t rounds = 0;
  std::map<std::pair<size_t, size_t>, size_t> asked;
};

// `glitch`: the pair that is bad the first time, whatever the faults; by its place in the order of questions.
Searched RunSearch(const Shape& shape, const std::vector<Fault>& faults,
                   size_t glitch = static_cast<size_t>(-1)) {
  const std::vector<Seat> seats = SeatsOf(shape);
  Search search(seats);
  Searched result;
  size_t questions = 0;
  for (auto round = search.NextRound(); !round.empty(); round = search.NextRound()) {
    ++result.rounds;
    std::set<size_t> busy;
    std::vector<Measured> measured = Measure(seats, faults, round);
    for (Measured& pair : measured) {
      EXPECT_TRUE(busy.insert(pair.a).second && busy.insert(pair.b).second) << "a seat twice in a round";
      EXPECT_EQ(seats[pair.a].rail, seats[pair.b].rail);
      ++result.asked[std::minmax(pair.a, pair.b)];
      if (questions++ == glitch) pair.bad = true;
    }
    search.Add(measured);
    if (result.rounds > 100) break;
  }
  result.found = FaultsOf(search.Suspects());
  return result;
}

Shape ShapeOf(size_t nodes) {
  return {.nodes = nodes, .rails = 8, .leaves = nodes < 16 ? 2U : std::min<size_t>(nodes / 4, 8)};
}

Fault RandomFault(const Shape& shape, Suspect::Kind kind, std::mt19937& random) {
  const auto below = [&random](size_t limit) { return random() % limit; };
  const std::string rail = std::to_string(below(shape.rails));
  const size_t node = below(shape.nodes);
  const size_t leaf = below(shape.leaves);
  const auto name_of = [&rail](size_t number) { return "n" + std::to_string(number) + "/rail" + rail; };
  const auto leaf_of = [&rail](size_t number) { return "r" + rail + "l" + std::to_string(number); };
  std::vector<std::string> names;
  switch (kind) {
    case Suspect::kPair:
      names = {name_of(node), name_of((node + 1 + below(shape.nodes - 1)) % shape.nodes)};
      break;
    case Suspect::kNic: names = {name_of(node)}; break;
    case Suspect::kNode: names = {"n" + std::to_string(node)}; break;
    case Suspect::kBoundary:
      names = {leaf_of(leaf), leaf_of((leaf + 1 + below(shape.leaves - 1)) % shape.leaves)};
      break;
    case Suspect::kUplinks:
    case Suspect::kLeaf: names = {leaf_of(leaf)}; break;
    case Suspect::kRail: names = {"rail" + rail}; break;
  }
  std::ranges::sort(names);
  return {kind, names};
}

const std::map<Suspect::Kind, const char*> kWords{
    {Suspect::kPair, "pair"},         {Suspect::kNic, "nic"},         {Suspect::kNode, "node"},
    {Suspect::kBoundary, "boundary"}, {Suspect::kUplinks, "uplinks"}, {Suspect::kLeaf, "leaf"},
    {Suspect::kRail, "rail"}};

class SearchOf : public ::testing::TestWithParam<size_t> {};

TEST_P(SearchOf, AsksLittleWhenAllIsWellAndAccusesNobody) {
  const Searched result = RunSearch(ShapeOf(GetParam()), {});
  EXPECT_THAT(result.found, IsEmpty());
  EXPECT_LE(result.rounds, FirstRounds(GetParam()) * 3 / 2);
}

TEST_P(SearchOf, FindsExactlyTheOneThatIsBroken) {
  std::mt19937 random(20260727);
  const Shape shape = ShapeOf(GetParam());
  for (const auto& [kind, word] : kWords) {
    if (kind == Suspect::kUplinks && shape.leaves == 2) continue;  // that is the boundary
    size_t most = 0;
    size_t found = 0;
    const size_t tries = GetParam() > 64 ? 4 : 20;
    for (size_t i = 0; i < tries; ++i) {
      const Fault fault = RandomFault(shape, kind, random);
      const Searched result = RunSearch(shape, {fault});
      most = std::max(most, result.rounds);
      if (kind == Suspect::kPair && result.found.empty()) continue;  // it was not asked for
      EXPECT_THAT(result.found, ElementsAre(fault)) << word << " " << fault.second[0];
      ++found;
    }
    std::printf(
        "%3zu nodes, %zu leaves a rail, one %-8s: found %2zu of %2zu, %2zu rounds at most (bound %zu)\n",
        shape.nodes, shape.leaves, word, found, tries, most, MostRounds(shape.nodes));
    EXPECT_LE(most, MostRounds(shape.nodes)) << word;
  }
}

TEST_P(SearchOf, FindsAPairThatItAsksFor) {
  const Shape shape = ShapeOf(GetParam());
  const std::vector<Seat> seats = SeatsOf(shape);
  const std::vector<Pair> first = Search(seats).NextRound();
  for (size_t i = 0; i < first.size(); i += first.size() / 8) {
    std::vector<std::string> names{NameOf(seats[first[i].a]), NameOf(seats[first[i].b])};
    std::ranges::sort(names);
    const Fault fault{Suspect::kPair, names};
    EXPECT_THAT(RunSearch(shape, {fault}).found, ElementsAre(fault)) << names[0] << " " << names[1];
  }
}

TEST_P(SearchOf, BlamesNobodyForAPairThatWasBadOnce) {
  const Shape shape = ShapeOf(GetParam());
  const size_t first_round = shape.rails * shape.nodes / 2;
  for (size_t glitch = 0; glitch < 2 * first_round; glitch += first_round / 5) {
    const Searched result = RunSearch(shape, {}, glitch);
    EXPECT_THAT(result.found, IsEmpty()) << glitch;
    EXPECT_TRUE(std::ranges::any_of(result.asked, [](const auto& pair) { return pair.second > 1; }));
  }
}

TEST_P(SearchOf, FindsTheBrokenNicBesideAPairThatWasBadOnce) {
  const Fault fault{Suspect::kNic, {"n1/rail1"}};
  for (size_t glitch = 0; glitch < 12; ++glitch) {
    EXPECT_THAT(RunSearch(ShapeOf(GetParam()), {fault}, glitch).found, ElementsAre(fault)) << glitch;
  }
}

INSTANTIATE_TEST_SUITE_P(Nodes, SearchOf, ::testing::Values(4, 8, 16, 64, 256),
                         [](const auto& of) { return std::to_string(of.param); });

TEST(Search, FindsTwoThatAreBroken) {
  std::mt19937 random(7);
  const Shape shape;
  const std::vector<Suspect::Kind> kinds{Suspect::kNic, Suspect::kNode, Suspect::kBoundary, Suspect::kLeaf};
  size_t most = 0;
  for (const Suspect::Kind one : kinds) {
    for (const Suspect::Kind other : kinds) {
      for (int i = 0; i < 3; ++i) {
        const std::vector<Fault> faults{RandomFault(shape, one, random), RandomFault(shape, other, random)};
        const std::vector<Fault> all = Found(shape, faults);  // what the measurement of all pairs would say
        const Searched result = RunSearch(shape, faults);
        EXPECT_THAT(result.found, ::testing::UnorderedElementsAreArray(all))
            << kWords.at(one) << " " << faults[0].second[0] << ", " << kWords.at(other) << " "
            << faults[1].second[0];
        most = std::max(most, result.rounds);
      }
    }
  }
  EXPECT_LE(most, MostRounds(shape.nodes));
}

TEST(Search, NamesANodeThoughThePairThatIsAskedFirstIsGood) {
  for (const size_t nodes : {size_t{16}, size_t{64}}) {
    const Shape shape = ShapeOf(nodes);
    const std::vector<Seat> seats = SeatsOf(shape);
    const Fault fault{Suspect::kNode, {"n5"}};
    Search search(seats);
    size_t good = seats.size();
    for (auto round = search.NextRound(); !round.empty(); round = search.NextRound()) {
      std::vector<Measured> measured = Measure(seats, {fault}, round);
      for (Measured& pair : measured) {
        const size_t number = std::min(pair.a, pair.b) * seats.size() + std::max(pair.a, pair.b);
        if (pair.bad && good == seats.size()) good = number;
        if (number == good) pair.bad = false;
      }
      search.Add(measured);
    }
    EXPECT_THAT(FaultsOf(search.Suspects()), ElementsAre(fault)) << nodes << " nodes";
  }
}

// Most pairs of leaves meet once at most in the first rounds: a bad pair has to be told apart from all that it passes.
TEST(Search, FindsTheOneThatIsBrokenAmongManySmallLeaves) {
  std::mt19937 random(11);
  for (const Shape& shape : {Shape{64, 2, 16}, Shape{16, 1, 8}}) {
    for (const auto& [kind, word] : kWords) {
      if (kind == Suspect::kPair || (kind == Suspect::kNode && shape.rails == 1)) continue;
      for (int i = 0; i < 20; ++i) {
        const Fault fault = RandomFault(shape, kind, random);
        const Searched result = RunSearch(shape, {fault});
        EXPECT_THAT(result.found, ElementsAre(fault)) << shape.nodes << " " << word << " " << fault.second[0];
        EXPECT_LE(result.rounds, MostRounds(shape.nodes));
      }
    }
  }
}

// What only pairs of other suspects could test is not tested.
TEST(Search, EndsEarlyWhenSeveralSuspectsExplainAll) {
  const Shape shape{.nodes = 33, .rails = 1, .leaves = 3};
  const Searched result = RunSearch(shape, {{Suspect::kUplinks, {"r0l0"}}, {Suspect::kUplinks, {"r0l1"}}});
  EXPECT_EQ(result.found.size(), 2U);
  EXPECT_LE(result.rounds, FirstRounds(33) + 3);
}

TEST(Search, EndsWithinTheBoundWhenAnswersAreNoise) {
  const std::vector<Seat> seats = SeatsOf({.nodes = 32, .rails = 2, .leaves = 8});
  size_t most = 0;
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    Search search(seats);
    size_t rounds = 0;
    for (auto round = search.NextRound(); !round.empty() && rounds < 100; round = search.NextRound()) {
      ++rounds;
      std::vector<Measured> measured;
      for (const Pair& pair : round) measured.push_back({pair.a, pair.b, random() % 10 < 8});
      search.Add(measured);
    }
    most = std::max(most, rounds);
  }
  EXPECT_EQ(most, MostRounds(32));
}

TEST(Search, LetsAllLeavesMeetThatMayBeMany) {
  for (size_t nodes = 4; nodes <= 128; nodes += nodes < 20 ? 1 : 9) {
    for (size_t leaves = 2; leaves * (leaves - 1) / 2 < nodes / 4 * FirstRounds(nodes); ++leaves) {
      const Shape shape{.nodes = nodes, .rails = 1, .leaves = leaves};
      const std::vector<Seat> seats = SeatsOf(shape);
      std::set<std::pair<std::string, std::string>> met;
      for (const auto& [pair, times] : RunSearch(shape, {}).asked) {
        if (seats[pair.first].leaf == seats[pair.second].leaf) continue;
        met.insert(std::minmax(seats[pair.first].leaf, seats[pair.second].leaf));
      }
      EXPECT_EQ(met.size(), leaves * (leaves - 1) / 2) << nodes << " " << leaves;
    }
  }
}

TEST(Search, FindsNicAndNodeWhenNoLeafIsKnownAndCountsAreOdd) {
  const Shape shape{.nodes = 27, .rails = 4, .leaves = 0};
  for (const Fault& fault : {Fault{Suspect::kNic, {"n26/rail3"}}, Fault{Suspect::kNode, {"n0"}},
                             Fault{Suspect::kRail, {"rail2"}}}) {
    EXPECT_THAT(RunSearch(shape, {fault}).found, ElementsAre(fault)) << fault.second[0];
  }
}

TEST(Search, EndsWhenNothingCanBeMeasured) {
  Search search(SeatsOf({.nodes = 8}));
  size_t rounds = 0;
  while (!search.NextRound().empty() && rounds < 100) ++rounds;
  EXPECT_LE(rounds, MostRounds(8));
  EXPECT_THAT(search.Suspects(), IsEmpty());
  EXPECT_THAT(Search({}).NextRound(), IsEmpty());
}

TEST(Search, SendsAboutAsOftenAsItReceives) {
  Search search(SeatsOf({}));
  std::map<size_t, int> balance;
  for (auto round = search.NextRound(); !round.empty(); round = search.NextRound()) {
    search.Add(Measure(SeatsOf({}), {}, round));
    for (const Pair& pair : round) {
      ++balance[pair.a];
      --balance[pair.b];
    }
  }
  for (const auto& [seat, more] : balance) EXPECT_LE(std::abs(more), 4) << seat;
}

TEST(Plan, SaysHowLongSixtyFourNodesWithEightRailsTake) {
  // Two tenants with a pod on each node: 1,024 interfaces, each of them against two pods of the other tenant.
  const Size size{.nodes = 64,
                  .pods = 128,
                  .rails = 8,
                  .interfaces = 1024,
                  .scenes = 2048,
                  .largest = 64,
                  .noisy = 4,
                  .verbs = true};
  std::ostringstream page;
  PrintPlan(size, PlanOf(size, false), page);
  std::cout << page.str();
  EXPECT_THAT(page.str(), ::testing::HasSubstr("128 pods on 64 nodes with 8 rails"));
  EXPECT_THAT(page.str(), ::testing::HasSubstr("63 rounds of ib_write_bw"));
  EXPECT_LT(SecondsOf(PlanOf(size, false)), 60 * 60);
  EXPECT_LT(SecondsOf(PlanOf(size, true)), SecondsOf(PlanOf(size, false)) - 10 * 60);
}

TEST(Plan, CountsNoTimeForProgramsThatPodsCannotRun) {
  const Size with{.nodes = 2, .pods = 2, .rails = 1, .interfaces = 2, .largest = 2, .verbs = true};
  Size without = with;
  without.verbs = false;
  EXPECT_GT(SecondsOf(PlanOf(with, false)), SecondsOf(PlanOf(without, false)) + 10);
}

TEST(Plan, CountsTheTimeOfWhatIsAskedFor) {
  const Size size{.nodes = 2, .pods = 2, .rails = 1, .interfaces = 2, .largest = 2, .verbs = true};
  const double without = SecondsOf(PlanOf(size, true));
  EXPECT_DOUBLE_EQ(SecondsOf(PlanOf(size, true, {.restarts = 10, .failure = 200, .churn = 3000})),
                   without + 3210);
  EXPECT_DOUBLE_EQ(SecondsOf(PlanOf(size, true, {.pods = 3})), without + 15);
}

}  // namespace
}  // namespace rail::accept::testing
