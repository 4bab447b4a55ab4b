// Other nodes may call the cluster otherwise, and another cluster may have the same name by mistake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/testing/remotes_fixture.h"

namespace rail::engine {
namespace {

using ::testing::AllOf;
using testing::Communities;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Ip;
using ::testing::IsEmpty;
using testing::kAsn;
using testing::kLeaf0;
using testing::kLeaf1;
using testing::RemotesTest;

constexpr tenancy::ClusterMark kHere = 0x11, kThere = 0x22;

class RemotesOfClusters : public RemotesTest {
 protected:
  static tenancy::TenantId Id(uint64_t tenant) { return {0, tenant}; }
  void AnnounceMarked(const std::string& address, uint64_t tenant, tenancy::ClusterMark mark) {
    auto communities = Communities(kAsn, tenant, 0);
    communities.push_back(tenancy::ClusterCommunity(kAsn, mark));
    AnnounceWith(address, communities);
  }
};

TEST_F(RemotesOfClusters, AnAliasIsTheTenantItself) {
  remotes.SetAliases({{Id(70), Id(7)}});
  Settle();
  Announce(kLeaf0, "10.0.3.1", 70);
  Announce(kLeaf0, "10.0.3.2", 7);
  Announce(kLeaf0, "10.0.3.3", 80);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.1 7", "10.0.3.2 7", "10.0.3.3 80"));
  Withdraw(kLeaf0, "10.0.3.1");
  EXPECT_THAT(Known(), ElementsAre("10.0.3.2 7", "10.0.3.3 80"));
}

// A tenant's first pod comes after its remotes.
TEST_F(RemotesOfClusters, AnAliasThatIsLearnedLaterIsTheTenantFromThenOn) {
  Settle();
  Announce(kLeaf0, "10.0.3.1", 70);
  Announce(kLeaf1, "10.0.3.1", 7);
  EXPECT_EQ(remotes.table().contested, 1U);
  remotes.TakeNews();
  remotes.SetAliases({{Id(70), Id(7)}});
  EXPECT_TRUE(remotes.TakeNews());
  EXPECT_THAT(Known(), ElementsAre("10.0.3.1 7"));
  EXPECT_EQ(remotes.table().contested, 0U);
  EXPECT_FALSE(remotes.table().example);
}

// A node that gives the cluster its new name announces each pod anew: nothing changes for who takes both names.
TEST_F(RemotesOfClusters, ANodeThatChangesTheNameMovesNobody) {
  remotes.SetAliases({{Id(70), Id(7)}});
  Settle();
  Announce(kLeaf0, "10.0.3.1", 70);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.1 7"));
  remotes.TakeNews();
  Announce(kLeaf0, "10.0.3.1", 7);
  EXPECT_FALSE(remotes.TakeNews());
  EXPECT_THAT(*remotes.table().leaving, IsEmpty());
}

TEST_F(RemotesOfClusters, WhatAnotherClusterOfThisNameAnnouncesIsNotBelieved) {
  remotes.SetMark(kHere, now);
  remotes.SetOwn({{Ip("10.0.9.1"), {Id(7), 0}}});
  Settle();
  AnnounceMarked("10.0.3.1", 7, kHere);
  AnnounceMarked("10.0.3.2", 8, kThere);
  EXPECT_EQ(remotes.other_cluster(), "") << "a tenant that this node does not have";
  AnnounceMarked("10.0.3.3", 7, kThere);
  Announce(kLeaf0, "10.0.3.4", 7);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.1 7", "10.0.3.4 7")) << "who says no mark may be of this cluster";
  EXPECT_THAT(remotes.other_cluster(), AllOf(HasSubstr("fe80::1"), HasSubstr("10.0.3.3")));
  AnnounceMarked("10.0.3.3", 7, kHere);
  EXPECT_EQ(remotes.other_cluster(), "");
  AnnounceMarked("10.0.3.3", 7, kThere);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.1 7", "10.0.3.4 7")) << "its place is the other cluster's now";
  Withdraw(kLeaf0, "10.0.3.3");
  EXPECT_EQ(remotes.other_cluster(), "");
}

TEST_F(RemotesOfClusters, WhoDoesNotKnowItsOwnClusterBelievesAllOfItsNameUntilItDoes) {
  remotes.SetOwn({{Ip("10.0.9.1"), {Id(7), 0}}});
  Settle();
  AnnounceMarked("10.0.3.1", 7, kHere);
  AnnounceMarked("10.0.3.2", 7, kThere);
  Announce(kLeaf0, "10.0.3.3", 7);
  EXPECT_THAT(Known(), ElementsAre("10.0.3.1 7", "10.0.3.2 7", "10.0.3.3 7"));
  EXPECT_EQ(remotes.other_cluster(), "");
  remotes.TakeNews();
  remotes.SetMark(kHere, now);
  EXPECT_TRUE(remotes.TakeNews());
  EXPECT_THAT(Known(), ElementsAre("10.0.3.1 7", "10.0.3.3 7"));
  EXPECT_THAT(remotes.other_cluster(), HasSubstr("10.0.3.2"));
  EXPECT_FALSE(remotes.missed()) << "a new connection would make all of it stale for a moment";
}

TEST_F(RemotesOfClusters, AClusterThatWasMadeAnewIsLearnedAnew) {
  remotes.SetMark(kHere, now);
  Settle();
  AnnounceMarked("10.0.3.1", 7, kThere);
  remotes.SetMark(std::nullopt, now);
  EXPECT_FALSE(remotes.missed()) << "the list cannot be read for a moment";
  remotes.SetMark(kThere, now);
  EXPECT_TRUE(remotes.missed()) << "what is of this cluster now was not kept";
}

}  // namespace
}  // namespace rail::engine
