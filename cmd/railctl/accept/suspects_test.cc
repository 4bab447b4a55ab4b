// Blame, on simulated fabrics.
#include "cmd/railctl/accept/suspects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "cmd/railctl/accept/testing/fabric.h"

namespace rail::accept::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

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

// Of each fault's pairs so many are good, by chance.
std::vector<Measured> MeasureThoughSomePass(const Shape& shape, const std::vector<Fault>& faults,
                                            size_t good_percent) {
  std::mt19937 random(1);
  const std::vector<Seat> seats = SeatsOf(shape);
  std::vector<Measured> all = Measure(seats, {}, AllPairs(shape));
  for (const Fault& fault : faults) {
    const std::vector<Measured> of_fault = Measure(seats, {fault}, AllPairs(shape));
    std::vector<size_t> bad;
    for (size_t i = 0; i < of_fault.size(); ++i) {
      if (of_fault[i].bad) bad.push_back(i);
    }
    std::ranges::shuffle(bad, random);
    bad.resize(bad.size() - std::max<size_t>(1, bad.size() * good_percent / 100));
    for (const size_t i : bad) all[i].bad = true;
  }
  return all;
}

std::vector<Fault> FoundThoughSomePass(const Shape& shape, const std::vector<Fault>& faults,
                                       size_t good_percent) {
  return FaultsOf(Blame(SeatsOf(shape), MeasureThoughSomePass(shape, faults, good_percent)));
}

constexpr size_t kOne = 0;  // in place of a percentage

TEST(Blame, NamesWhatIsBadThoughSomeOfItsPairsAreGood) {
  for (const size_t good_percent : {kOne, size_t{2}, size_t{8}}) {
    for (const Fault& fault : kOneOfEach) {
      if (fault.first == Suspect::kPair || fault.first == Suspect::kRail) continue;
      EXPECT_THAT(FoundThoughSomePass({}, {fault}, good_percent), ElementsAre(fault))
          << fault.second[0] << ", " << good_percent << " % good";
    }
  }
}

TEST(Blame, SaysOfHowManyPairsSoManyAreBad) {
  const Fault nic{Suspect::kNic, {"n17/rail3"}};
  const auto suspects = Blame(SeatsOf({}), MeasureThoughSomePass({}, {nic}, kOne));
  ASSERT_EQ(suspects.size(), 1U);
  EXPECT_THAT(suspects[0].sentence,
              HasSubstr("62 of 63 measured pairs of n17 on rail rail3 are bad: its NIC"));
}

TEST(Blame, NamesPairsWhereMoreThanATenthIsGood) {
  const Fault nic{Suspect::kNic, {"n17/rail3"}};
  EXPECT_THAT(FoundThoughSomePass({}, {nic}, 10), ElementsAre(nic)) << "57 of 63";
  const auto found = FoundThoughSomePass({}, {nic}, 12);
  EXPECT_EQ(found.size(), 56U);
  for (const auto& [kind, names] : found) EXPECT_EQ(kind, Suspect::kPair) << names[0];
}

TEST(Blame, NamesPairsWhereTenWereNotMeasured) {
  const Fault nic{Suspect::kNic, {"n3/rail0"}};
  EXPECT_THAT(FoundThoughSomePass({.nodes = 11, .rails = 2, .leaves = 1}, {nic}, kOne), ElementsAre(nic));
  EXPECT_EQ(FoundThoughSomePass({.nodes = 10, .rails = 2, .leaves = 1}, {nic}, kOne).size(), 8U);
}

TEST(Blame, NamesTwoBadNodesAndNoneOfTheirGoodPartners) {
  const std::vector<Fault> faults{{Suspect::kNode, {"n3"}}, {Suspect::kNode, {"n9"}}};
  for (const size_t nodes : {12, 16, 64}) {
    for (const size_t good_percent : {kOne, size_t{5}}) {
      EXPECT_THAT(FoundThoughSomePass({.nodes = nodes, .rails = 4, .leaves = 2}, faults, good_percent),
                  UnorderedElementsAreArray(faults))
          << nodes << " nodes, " << good_percent << " % good";
    }
  }
}

TEST(Blame, NamesTwoFaultsOfAnyKindsThoughSomeOfTheirPairsAreGood) {
  const std::vector<Fault> others{
      {Suspect::kNic, {"n5/rail4"}}, {Suspect::kNode, {"n8"}},   {Suspect::kBoundary, {"r4l0", "r4l3"}},
      {Suspect::kUplinks, {"r4l3"}}, {Suspect::kLeaf, {"r3l3"}}, {Suspect::kRail, {"rail1"}}};
  for (const Fault& one : kOneOfEach) {
    if (one.first == Suspect::kPair) continue;
    for (const Fault& other : others) {
      EXPECT_THAT(FoundThoughSomePass({}, {one, other}, 5), UnorderedElementsAre(one, other))
          << one.second[0] << " and " << other.second[0];
    }
  }
}

TEST(Blame, NamesBadNicsAndNotWhatHasAHealthyOne) {
  std::vector<Fault> faults{{Suspect::kPair, {"n0/rail0", "n1/rail0"}}};
  for (int node = 1; node < 10; ++node)
    faults.push_back({Suspect::kNic, {"n" + std::to_string(node) + "/rail0"}});
  std::vector<Fault> nics(faults.begin() + 1, faults.end());
  const Shape leaf_of_ten{.nodes = 60, .rails = 1, .leaves = 6};
  EXPECT_THAT(Found(leaf_of_ten, faults), UnorderedElementsAreArray(nics)) << "one of them explains the pair";
  faults[0].second = {"n0/rail0", "n30/rail0"};
  nics.push_back(faults[0]);
  EXPECT_THAT(Found(leaf_of_ten, faults), UnorderedElementsAreArray(nics));
}

// So many nodes below r0l5 are bad that nearly all pairs between it and each other leaf are: what is between the leaves is healthy.
TEST(Blame, NamesBadNodesAndNotWhatIsBetweenTheirLeafAndAnother) {
  std::vector<Fault> faults{{Suspect::kPair, {"n0/rail0", "n59/rail0"}}};
  for (int node = 50; node < 59; ++node) faults.push_back({Suspect::kNode, {"n" + std::to_string(node)}});
  EXPECT_THAT(Found({.nodes = 60, .rails = 2, .leaves = 6}, faults), UnorderedElementsAreArray(faults));
}

// All pairs to each other leaf are bad, too, but of one leaf.
TEST(Blame, NamesANicThatIsAloneBelowItsLeaf) {
  std::vector<Seat> seats = SeatsOf({.nodes = 64, .rails = 1, .leaves = 16});
  seats.push_back({"n64", "rail0", "alone"});
  std::vector<Measured> measured;
  for (size_t a = 0; a < seats.size(); ++a) {
    for (size_t b = a + 1; b < seats.size(); ++b) measured.push_back({a, b, b == 64 && a != 7});
  }
  EXPECT_THAT(FaultsOf(Blame(seats, measured)), ElementsAre(Fault{Suspect::kNic, {"n64/rail0"}}));
}

}  // namespace
}  // namespace rail::accept::testing
