// Rounds, Blame, Search and the budget, on simulated fabrics: node n<i> has a seat on each rail, and the seats of a rail are spread
// over its leaves in blocks.

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

namespace rail::accept {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using Fault = std::pair<Suspect::Kind, std::vector<std::string>>;

struct Shape {
  size_t nodes = 64;
  size_t rails = 8;
  size_t leaves = 4;  // of a rail; 0: unknown
};

std::vector<Seat> SeatsOf(const Shape& shape) {
  std::vector<Seat> seats;
  for (size_t rail = 0; rail < shape.rails; ++rail) {
    for (size_t node = 0; node < shape.nodes; ++node) {
      const std::string leaf = shape.leaves == 0 ? ""
                                                 : "r" + std::to_string(rail) + "l" +
                                                       std::to_string(node * shape.leaves / shape.nodes);
      seats.push_back({"n" + std::to_string(node), "rail" + std::to_string(rail), leaf});
    }
  }
  return seats;
}

std::string NameOf(const Seat& seat) {
  return seat.node + "/" + seat.rail;
}

bool Breaks(const Fault& fault, const Seat& a, const Seat& b) {
  const auto& [kind, names] = fault;
  const auto either = [&](const std::string& one, const std::string& other) {
    return one == names[0] || other == names[0];
  };
  const auto both = [&](const std::string& one, const std::string& other) {
    return (one == names[0] && other == names[1]) || (one == names[1] && other == names[0]);
  };
  switch (kind) {
    case Suspect::kPair: return both(NameOf(a), NameOf(b));
    case Suspect::kNic: return either(NameOf(a), NameOf(b));
    case Suspect::kNode: return either(a.node, b.node);
    case Suspect::kBoundary: return both(a.leaf, b.leaf);
    case Suspect::kUplinks: return a.leaf != b.leaf && either(a.leaf, b.leaf);
    case Suspect::kLeaf: return either(a.leaf, b.leaf);
    case Suspect::kRail: return either(a.rail, b.rail);
  }
  return false;
}

std::vector<Measured> Measure(const std::vector<Seat>& seats, const std::vector<Fault>& faults,
                              const std::vector<Pair>& pairs) {
  std::vector<Measured> measured;
  for (const Pair& pair : pairs) {
    measured.push_back({pair.a, pair.b, std::ranges::any_of(faults, [&](const Fault& fault) {
                          return Breaks(fault, seats[pair.a], seats[pair.b]);
                        })});
  }
  return measured;
}

std::vector<Pair> AllPairs(const Shape& shape) {
  std::vector<Pair> pairs;
  for (const auto& round : Rounds(shape.nodes)) {
    for (const Pair& pair : round) {
      for (size_t rail = 0; rail < shape.rails; ++rail) {
        pairs.push_back({rail * shape.nodes + pair.a, rail * shape.nodes + pair.b});
      }
    }
  }
  return pairs;
}

std::vector<Fault> FaultsOf(const std::vector<Suspect>& suspects) {
  std::vector<Fault> faults;
  for (const Suspect& suspect : suspects) {
    EXPECT_FALSE(suspect.sentence.empty());
    std::vector<std::string> names = suspect.names;
    std::ranges::sort(names);
    faults.emplace_back(suspect.kind, std::move(names));
  }
  return faults;
}

std::vector<Suspect> BlameOf(const Shape& shape, const std::vector<Fault>& faults) {
  const std::vector<Seat> seats = SeatsOf(shape);
  return Blame(seats, Measure(seats, faults, AllPairs(shape)));
}

std::vector<Fault> Found(const Shape& shape, const std::vector<Fault>& faults) {
  return FaultsOf(BlameOf(shape, faults));
}

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

TEST(Blame, AccusesNobodyWhenAllIsWell) {
  EXPECT_THAT(Found({}, {}), IsEmpty());
}

const std::vector<Fault> kOneOfEach{
    {Suspect::kPair, {"n17/rail3", "n40/rail3"}},
    {Suspect::kPair, {"n1/rail3", "n2/rail3"}},
    {Suspect::kNic, {"n17/rail3"}},
    {Suspect::kNode, {"n63"}},
    {Suspect::kBoundary, {"r2l0", "r2l3"}},
    {Suspect::kUplinks, {"r7l1"}},
    {Suspect::kLeaf, {"r0l2"}},
    {Suspect::kRail, {"rail5"}},
};

TEST(Blame, FindsOneFaultOfEachKind) {
  for (const Fault& fault : kOneOfEach) {
    EXPECT_THAT(Found({}, {fault}), ElementsAre(fault)) << fault.second[0];
  }
}

TEST(Blame, FindsTwoFaultsOfAnyKindsAtOnce) {
  const std::vector<Fault> others{
      {Suspect::kPair, {"n10/rail3", "n50/rail3"}},
      {Suspect::kNic, {"n5/rail3"}},
      {Suspect::kNode, {"n8"}},
      {Suspect::kBoundary, {"r3l0", "r3l3"}},
      {Suspect::kUplinks, {"r4l3"}},
      {Suspect::kLeaf, {"r3l3"}},
      {Suspect::kRail, {"rail1"}},
  };
  for (const Fault& one : kOneOfEach) {
    for (const Fault& other : others) {
      EXPECT_THAT(Found({}, {one, other}), UnorderedElementsAre(one, other))
          << one.second[0] << " and " << other.second[0];
    }
  }
}

TEST(Blame, TellsNodesAndNicsApartWhenNoLeafIsKnown) {
  const Shape shape{.leaves = 0};
  for (const Fault& fault : kOneOfEach) {
    if (fault.first > Suspect::kNode && fault.first != Suspect::kRail) continue;
    EXPECT_THAT(Found(shape, {fault}), ElementsAre(fault)) << fault.second[0];
  }
}

TEST(Blame, SaysTheNicOfANodeThatHasOneRail) {
  EXPECT_THAT(Found({.rails = 1}, {{Suspect::kNode, {"n3"}}}),
              ElementsAre(Fault{Suspect::kNic, {"n3/rail0"}}));
}

TEST(Blame, AccusesNeitherOfTwoWithoutOthers) {
  EXPECT_THAT(Found({.nodes = 2, .rails = 1, .leaves = 1}, {{Suspect::kNode, {"n1"}}}),
              ElementsAre(Fault{Suspect::kPair, {"n0/rail0", "n1/rail0"}}));
  EXPECT_THAT(Found({.nodes = 2, .rails = 2, .leaves = 1}, {{Suspect::kNode, {"n1"}}}),
              ElementsAre(Fault{Suspect::kRail, {"rail0", "rail1"}}));
}

TEST(Blame, SaysAllRailsWhenEveryPairIsBad) {
  std::vector<Fault> faults;
  for (size_t rail = 0; rail < 8; ++rail) faults.push_back({Suspect::kRail, {"rail" + std::to_string(rail)}});
  const auto suspects = BlameOf({}, faults);
  ASSERT_EQ(suspects.size(), 1U);
  EXPECT_EQ(suspects[0].names.size(), 8U);
  EXPECT_THAT(suspects[0].sentence, HasSubstr("All 16128 measured pairs of all rails are bad"));
}

TEST(Blame, CountsTheLastOfSeveralMeasurementsInEitherDirection) {
  const std::vector<Seat> seats = SeatsOf({.nodes = 4, .rails = 1});
  EXPECT_THAT(Blame(seats, {{0, 1, true}, {1, 0, false}}), IsEmpty());
  EXPECT_EQ(Blame(seats, {{0, 1, false}, {1, 0, true}}).size(), 1U);
}

TEST(Blame, TellsHowToTellTheNicFromItsCable) {
  const auto suspects = BlameOf({}, {{Suspect::kNic, {"n17/rail3"}}});
  ASSERT_EQ(suspects.size(), 1U);
  EXPECT_THAT(
      suspects[0].sentence,
      HasSubstr("All 63 measured pairs of n17 on rail rail3 are bad: its NIC, or its cable to leaf r3l1"));
  EXPECT_THAT(suspects[0].sentence, HasSubstr("Symbol or FEC errors"));
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

class SearchOf : public testing::TestWithParam<size_t> {};

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

INSTANTIATE_TEST_SUITE_P(Nodes, SearchOf, testing::Values(4, 8, 16, 64, 256),
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
        EXPECT_THAT(result.found, testing::UnorderedElementsAreArray(all))
            << kWords.at(one) << " " << faults[0].second[0] << ", " << kWords.at(other) << " "
            << faults[1].second[0];
        most = std::max(most, result.rounds);
      }
    }
  }
  EXPECT_LE(most, MostRounds(shape.nodes));
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
  const Size size{
      .nodes = 64, .pods = 128, .rails = 8, .interfaces = 1024, .scenes = 2048, .largest = 64, .verbs = true};
  std::ostringstream page;
  PrintPlan(size, PlanOf(size, false), page);
  std::cout << page.str();
  EXPECT_THAT(page.str(), testing::HasSubstr("128 pods on 64 nodes with 8 rails"));
  EXPECT_THAT(page.str(), testing::HasSubstr("63 rounds of ib_write_bw"));
  EXPECT_LT(SecondsOf(PlanOf(size, false)), 60 * 60);
  EXPECT_LT(SecondsOf(PlanOf(size, true)), SecondsOf(PlanOf(size, false)) / 1.3);
}

TEST(Plan, CountsNoTimeForProgramsThatPodsCannotRun) {
  const Size with{.nodes = 2, .pods = 2, .rails = 1, .interfaces = 2, .largest = 2, .verbs = true};
  Size without = with;
  without.verbs = false;
  EXPECT_GT(SecondsOf(PlanOf(with, false)), SecondsOf(PlanOf(without, false)) + 10);
}

}  // namespace
}  // namespace rail::accept
