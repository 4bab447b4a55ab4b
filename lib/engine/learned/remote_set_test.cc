#include "lib/engine/learned/remote_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace rail::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

IpAddress Number(uint32_t n) {
  const std::string bytes = {'\x0a', static_cast<char>(n >> 16), static_cast<char>(n >> 8),
                             static_cast<char>(n)};
  return *IpAddress::FromBytes(bytes);
}

std::vector<IpAddress> Differing(const RemoteSet& before, const RemoteSet& after) {
  std::vector<IpAddress> addresses;
  RemoteSet::Difference(before, after, [&](const IpAddress& address) { addresses.push_back(address); });
  return addresses;
}

TEST(RemoteSet, IsWhatAMapWouldBe) {
  std::mt19937 generator(7);
  const auto random = [&] { return static_cast<uint32_t>(generator()); };
  RemoteSet set;
  std::map<IpAddress, RemoteEntry> expected;
  std::vector<std::pair<RemoteSet, std::map<IpAddress, RemoteEntry>>> copies;
  for (int i = 0; i < 60'000; ++i) {
    const IpAddress address = Number(random() % 8000);
    const RemoteEntry entry{address, random() % 4, random() % 9 == 0};
    if (random() % 5 < (i < 30'000 ? 4 : 1)) {
      set.Set(entry);
      expected[address] = entry;
    } else {
      set.Erase(address);
      expected.erase(address);
    }
    if (i % 5000 == 0) copies.emplace_back(set, expected);
  }
  copies.emplace_back(set, expected);
  for (const auto& [copy, was] : copies) {
    ASSERT_EQ(copy.size(), was.size());
    auto next = was.begin();
    copy.ForEach([&](const RemoteEntry& entry) {
      ASSERT_EQ(entry, next->second);
      ++next;
    });
    for (uint32_t n = 0; n < 8000; n += 7) {
      const RemoteEntry* found = copy.Find(Number(n));
      ASSERT_EQ(found != nullptr, was.contains(Number(n)));
      if (found != nullptr) {
        ASSERT_EQ(*found, was.at(Number(n)));
      }
    }
  }
  for (const auto& [before, was] : copies) {
    for (const auto& [after, is] : copies) {
      std::vector<IpAddress> differing;
      for (const auto& [address, entry] : was) {
        if (!is.contains(address) || is.at(address) != entry) differing.push_back(address);
      }
      for (const auto& [address, entry] : is) {
        if (!was.contains(address)) differing.push_back(address);
      }
      std::ranges::sort(differing);
      ASSERT_EQ(Differing(before, after), differing);
    }
  }
}

TEST(RemoteSet, ACopyNeverChanges) {
  RemoteSet set;
  set.Set({Number(1), 1, false});
  const RemoteSet copy = set;
  set.Set({Number(1), 2, false});
  set.Set({Number(2), 2, false});
  EXPECT_EQ(copy.Find(Number(1))->rail, 1U);
  EXPECT_EQ(copy.size(), 1U);
  set.Erase(Number(1));
  EXPECT_NE(copy.Find(Number(1)), nullptr);
  EXPECT_EQ(set.Find(Number(1)), nullptr);
}

TEST(RemoteSet, OfTheEmptySetNothingDiffersFromItself) {
  RemoteSet one;
  one.Set({Number(1), 0, false});
  EXPECT_THAT(Differing({}, {}), IsEmpty());
  EXPECT_THAT(Differing({}, one), ElementsAre(Number(1)));
  EXPECT_THAT(Differing(one, {}), ElementsAre(Number(1)));
  one.Erase(Number(1));
  EXPECT_TRUE(one.empty());
  one.Erase(Number(1));
  EXPECT_THAT(Differing({}, one), IsEmpty());
}

// This makes a change among 100,000 entries cost as little as one among 1,000.
TEST(RemoteSet, LooksOnlyAtPiecesThatTwoSetsDoNotShare) {
  RemoteSet set;
  for (uint32_t n = 0; n < 100'000; ++n) set.Set({Number(2 * n), 0, false});
  const RemoteSet before = set;
  set.Set({Number(100'001), 0, false});
  set.Erase(Number(4));
  EXPECT_THAT(Differing(before, set), ElementsAre(Number(4), Number(100'001)));
  EXPECT_LT(RemoteSet::Unshared(before, set), 2'500U);
}

}  // namespace
}  // namespace rail::engine
