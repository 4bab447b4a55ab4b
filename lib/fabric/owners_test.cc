// Addresses that several have; namespaces and tenants that nodes see differently.
#include <gmock/gmock.h>

#include "lib/fabric/testing/small_fleet.h"

namespace rail::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kNoon;
using testing::SmallFleet;

class Owners : public ::testing::Test {
 protected:
  // Pod n of team n % 2 on each node.
  std::vector<std::string> Told() {
    small_.CountAnew();
    small_.Tell(kNoon);
    return small_.Told();
  }
  void Share(const std::string& node, int pod, const std::string& address) {
    small_.AttachmentOf(node, pod, 0).set_addresses(0, address);
  }
  void Move(const std::string& node, int pod, const std::string& tenant, const std::string& id) {
    for (int rail = 0; rail < 2; ++rail) {
      small_.AttachmentOf(node, pod, rail).mutable_tenant()->set_name(tenant);
      small_.AttachmentOf(node, pod, rail).mutable_tenant()->set_id(id);
    }
  }

  SmallFleet small_{{.units = 1, .nodes = 4, .rails = 2, .pods = 2, .tenants = 2}};
};

TEST_F(Owners, OfOneTenantTheAddressIsGivenTwice) {
  Share("n3", 0, "10.0.0.0");
  ASSERT_THAT(Told(), ElementsAre("address-twice 10.0.0.0"));
  const Cause& cause = small_.Found().front();
  EXPECT_EQ(cause.what,
            "10.0.0.0 is the address of team-0/train-0 on n1 (rail0, tenant team-0) and of team-0/train-4 on "
            "n3 (rail0, tenant team-0)");
  EXPECT_THAT(cause.nodes, ElementsAre("n1", "n3"));
}

TEST_F(Owners, OfTwoTenantsTheAddressReachesNobody) {
  Share("n3", 1, "10.0.0.0");
  EXPECT_THAT(Told(), ElementsAre("address-of-two-tenants 10.0.0.0"));
}

TEST_F(Owners, InVlansOfTheirOwnTwoTenantsMayHaveOneAddress) {
  Share("n3", 1, "10.0.0.0");
  small_.AttachmentOf("n1", 0, 0).set_vlan(101);
  small_.AttachmentOf("n3", 1, 0).set_vlan(102);
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(Owners, OneThatIsLeavingHoldsNoAddress) {
  Share("n3", 0, "10.0.0.0");
  small_.AttachmentOf("n3", 0, 0).set_phase(v1::Attachment::DELETING);
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(Owners, OneOnANodeThatIsAwayIsNotAccused) {
  Share("n3", 0, "10.0.0.0");
  small_.CountAnew();
  small_.Tell(kNoon);
  small_.fleet().SetAway("n3", kNoon, "timed out");
  EXPECT_THAT(small_.Told(), ElementsAre("nodes-away n3"));
}

TEST_F(Owners, ManyAddressesOfTheSameNodesAreOneLine) {
  for (int pod = 0; pod < 2; ++pod) {
    for (int rail = 0; rail < 2; ++rail)
      small_.AttachmentOf("n3", pod, rail)
          .set_addresses(0, small_.AttachmentOf("n2", pod, rail).addresses(0));
  }
  ASSERT_THAT(Told(), ElementsAre("address-twice n2, n3"));
  EXPECT_THAT(small_.Found().front().what, HasSubstr("4 addresses in common"));
}

TEST_F(Owners, OneThatIsAnnouncedOutsideOfTheFleetIsTold) {
  small_.AttachmentOf("n2", 0, 0)
      .add_announced_elsewhere("AS 4200000099 announces 10.0.0.2 for tenant team-0, too");
  ASSERT_THAT(Told(), ElementsAre("address-announced-elsewhere 10.0.0.2"));
  EXPECT_THAT(small_.Found().front().what, HasSubstr("team-0/train-2 on n2"));
}

TEST_F(Owners, OneWhoseOtherOwnerIsKnownIsToldOnce) {
  Share("n3", 0, "10.0.0.0");
  small_.AttachmentOf("n1", 0, 0).add_announced_elsewhere("the AS 4200000003 announces it, too");
  EXPECT_THAT(Told(), ElementsAre("address-twice 10.0.0.0"));
}

TEST_F(Owners, ANamespaceInTwoTenantsNamesTheNodesThatDiffer) {
  Move("n2", 0, "other", "00000000000000000000000000ff");
  ASSERT_THAT(Told(), ElementsAre("namespace-in-two-tenants team-0"));
  EXPECT_THAT(small_.Found().front().nodes, ElementsAre("n2"));
  EXPECT_THAT(small_.Found().front().what, HasSubstr("tenant team-0 by 3 nodes (n1, n3, n4)"));
}

TEST_F(Owners, HalfAgainstHalfNamesAll) {
  for (const char* node : {"n1", "n2"}) Move(node, 0, "other", "00000000000000000000000000ff");
  ASSERT_THAT(Told(), ElementsAre("namespace-in-two-tenants team-0"));
  EXPECT_THAT(small_.Found().front().nodes, ElementsAre("n1", "n2", "n3", "n4"));
}

TEST_F(Owners, ATenantOfTwoIdsNamesTheNodesThatDiffer) {
  Move("n4", 1, "team-1", "00000000000000000000000000ff");
  ASSERT_THAT(Told(), ElementsAre("tenant-of-two-ids team-1"));
  EXPECT_THAT(small_.Found().front().nodes, ElementsAre("n4"));
}

TEST_F(Owners, ANamespaceThatMovesHasItsTime) {
  Move("n2", 0, "other", "00000000000000000000000000ff");
  small_.CountAnew();
  small_.Tell(kNoon);
  const Grid grid(small_.fleet());
  Causes causes;
  EXPECT_FALSE(causes.Update(small_.fleet(), grid, kNoon + 60'000));
  EXPECT_EQ(causes.NextLookMs(), kNoon + 75'000);
  EXPECT_FALSE(causes.Update(small_.fleet(), grid, kNoon + 74'999));
  EXPECT_TRUE(causes.Update(small_.fleet(), grid, kNoon + 75'000));
}

}  // namespace
}  // namespace rail::fabric
