// Where other nodes are in the fabric, from the AS paths of their addresses, and the way to each remote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/testing/remotes_fixture.h"

namespace rail::engine {
namespace {

using ::testing::ElementsAre;
using testing::Ip;
using ::testing::IsEmpty;
using testing::kLeaf0;
using testing::kLeaf1;
using testing::RemotesTest;
using testing::seconds;

constexpr uint32_t kLeafAs0 = 4200010001, kLeafAs1 = 4200010002, kSpine = 4200020001, kFarLeaf = 4200010003;

class SeatsTest : public RemotesTest {
 protected:
  SeatsTest() { Settle(); }
  std::vector<uint32_t> WayTo(const std::string& address) {
    for (const auto& [tenant, set] : remotes.table().by_tenant) {
      if (const RemoteEntry* entry = set->Find(Ip(address)))
        return remotes.table().as_paths.Numbers(entry->as_path);
    }
    return {};
  }
};

TEST_F(SeatsTest, APathSaysWhichLeafTheNodesRailIsBehind) {
  Announce(kLeaf0, "10.0.3.7", 7, 0, {kLeafAs0, 3});
  Announce(kLeaf1, "10.1.3.7", 7, 1, {kLeafAs1, 3});
  Announce(kLeaf0, "10.0.4.7", 7, 0, {kLeafAs0, kSpine, kFarLeaf, 4});
  EXPECT_THAT(*remotes.table().seats,
              ElementsAre(Seat{3, 0, kLeafAs0}, Seat{3, 1, kLeafAs1}, Seat{4, 0, kFarLeaf}));
}

TEST_F(SeatsTest, ASeatStaysWhileAnyPathShowsIt) {
  Announce(kLeaf0, "10.0.3.7", 7, 0, {kLeafAs0, 3});
  Announce(kLeaf0, "10.0.3.8", 7, 0, {kLeafAs0, 3});
  Announce(kLeaf1, "10.0.3.8", 7, 0, {kLeafAs1, kSpine, kLeafAs0, 3});
  const auto before = remotes.table().seats;
  Withdraw(kLeaf0, "10.0.3.7");
  Withdraw(kLeaf0, "10.0.3.8");
  EXPECT_EQ(remotes.table().seats, before) << "and it is not made anew";
  Withdraw(kLeaf1, "10.0.3.8");
  EXPECT_THAT(*remotes.table().seats, IsEmpty());
}

TEST_F(SeatsTest, ANodeThatIsCabledAnewHasItsNewSeat) {
  Announce(kLeaf0, "10.0.3.7", 7, 0, {kLeafAs0, 3});
  Announce(kLeaf0, "10.0.3.7", 7, 0, {kLeafAs0, kSpine, kFarLeaf, 3});
  EXPECT_THAT(*remotes.table().seats, ElementsAre(Seat{3, 0, kFarLeaf}));
}

TEST_F(SeatsTest, AStalePathShowsNothingThoughTheRemoteStays) {
  Announce(kLeaf0, "10.0.3.7", 7, 0, {kLeafAs0, 3});
  Down(kLeaf0);
  EXPECT_THAT(*remotes.table().seats, IsEmpty());
  EXPECT_THAT(WayTo("10.0.3.7"), ElementsAre(kLeafAs0, 3));
  Up(kLeaf0);
  Announce(kLeaf0, "10.0.3.7", 7, 0, {kLeafAs0, 3});
  EXPECT_THAT(*remotes.table().seats, ElementsAre(Seat{3, 0, kLeafAs0}));
}

TEST_F(SeatsTest, ANodeSaysWhichPlaneItsRailIs) {
  const auto announce = [&](std::vector<tenancy::LargeCommunity> communities) {
    testing::Message message = RoutesOf(kLeaf0);
    message.update.announced = {Ip("10.0.3.7")};
    message.update.as_path = {kLeafAs0, 3};
    message.update.communities = std::move(communities);
    Take(message);
  };
  auto communities = testing::Communities(testing::kAsn, 7, 1);
  communities.push_back(tenancy::PlaneCommunity(testing::kAsn, {0, 1}));
  announce(communities);
  EXPECT_THAT(*remotes.table().seats, ElementsAre(Seat{3, 1, kLeafAs0, tenancy::Plane{0, 1}}));
  communities.back() = tenancy::PlaneCommunity(testing::kAsn, {1, 0});
  announce(communities);
  EXPECT_THAT(*remotes.table().seats, ElementsAre(Seat{3, 1, kLeafAs0, tenancy::Plane{1, 0}}));
  communities.back() = {testing::kAsn, 0x50000000, 0xffffff};
  announce(communities);
  EXPECT_THAT(*remotes.table().seats, ElementsAre(Seat{3, 1, kLeafAs0})) << "there is no such plane";
}

TEST_F(SeatsTest, TheWayIsTheOneOverTheAddressesOwnRail) {
  Announce(kLeaf0, "10.1.4.7", 7, 1, {kLeafAs0, kSpine, kFarLeaf, 4});
  EXPECT_THAT(WayTo("10.1.4.7"), ElementsAre(kLeafAs0, kSpine, kFarLeaf, 4));
  Announce(kLeaf1, "10.1.4.7", 7, 1, {kLeafAs1, kSpine, kFarLeaf, 4});
  EXPECT_THAT(WayTo("10.1.4.7"), ElementsAre(kLeafAs1, kSpine, kFarLeaf, 4));
  Announce(kLeaf0, "10.1.4.7", 7, 1, {kLeafAs0, kFarLeaf, 4});
  EXPECT_THAT(WayTo("10.1.4.7"), ElementsAre(kLeafAs1, kSpine, kFarLeaf, 4))
      << "shorter, and of another rail";
}

TEST_F(SeatsTest, AnotherWayIsNoOtherRule) {
  Announce(kLeaf0, "10.0.4.7", 7, 0, {kLeafAs0, kSpine, kFarLeaf, 4});
  const RemoteSet before = *remotes.table().by_tenant.begin()->second;
  Announce(kLeaf0, "10.0.4.7", 7, 0, {kLeafAs0, kSpine + 1, kFarLeaf, 4});
  EXPECT_THAT(WayTo("10.0.4.7"), ElementsAre(kLeafAs0, kSpine + 1, kFarLeaf, 4));
  RemoteSet::Difference(before, *remotes.table().by_tenant.begin()->second,
                        [](const IpAddress& address) { ADD_FAILURE() << address.ToString(); });
}

}  // namespace
}  // namespace rail::engine
