// What raild reports of its own pods' addresses, of strangers, and of a leaf that sends too much.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/testing/repair_fixture.h"

namespace rail::engine {
namespace {

using ovs::CookieKind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RepairTest;
using ::testing::SizeIs;

class Claims : public RepairTest {
 protected:
  void SetUp() override {
    Settle();  // p1 of ns-a has 10.0.3.1
    raild->Poll();
  }
  const std::vector<AddressElsewhere>& Elsewhere() {
    return raild->views.Current()->attachments[0].elsewhere;
  }
  void PassTheGrace() {
    ASSERT_TRUE(raild->bgp.next_poll());
    EXPECT_LE(*raild->bgp.next_poll(), Clock::now() + world.passed + kContestedGrace);
    world.passed += kContestedGrace;
    raild->Poll();
  }
};

TEST_F(Claims, AnAddressOfAPodHereThatAnotherTenantAnnouncesIsReportedAfterTheGraceAndKeepsItsRules) {
  const auto rules = world.RulesOf(pod);
  world.LearnRemote("10.0.3.1", "ns-b");
  raild->Poll();
  EXPECT_THAT(Elsewhere(), IsEmpty()) << "a pod that moves is announced twice for a moment";
  PassTheGrace();
  ASSERT_THAT(Elsewhere(), SizeIs(1));
  EXPECT_TRUE(Elsewhere()[0].other_tenant);
  EXPECT_THAT(Elsewhere()[0].ToText(),
              AllOf(HasSubstr("10.0.3.1 is also announced by"),
                    HasSubstr("tenant " + world.Tenant("ns-b").ToString()),
                    HasSubstr("from the leaf fe80::1 on rail"), HasSubstr("two claim it")));
  EXPECT_EQ(raild->views.Current()->remote_counts.contested, 1U);
  EXPECT_THAT(Problems(),
              ElementsAre(AllOf(HasSubstr("addresses of pods: 10.0.3.1"), HasSubstr("railctl doctor"))));
  EXPECT_EQ(world.RulesOf(pod), rules);
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), IsEmpty());
  world.bgp.Forget(*IpPrefix::Parse("10.0.3.1/32"), "br-rail0");
  raild->Poll();
  EXPECT_THAT(Elsewhere(), IsEmpty());
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(raild->views.Current()->remote_counts.contested, 0U);
}

TEST_F(Claims, AnAddressOfAPodHereThatItsOwnTenantAnnouncesElsewhereIsADuplicate) {
  world.LearnRemote("10.0.3.1", "ns-a");
  raild->Poll();
  PassTheGrace();
  ASSERT_THAT(Elsewhere(), SizeIs(1));
  EXPECT_FALSE(Elsewhere()[0].other_tenant);
  EXPECT_THAT(Elsewhere()[0].ToText(), HasSubstr("two pods have one address"));
  EXPECT_EQ(raild->views.Current()->remote_counts.contested, 0U);
  EXPECT_THAT(Problems(), SizeIs(1));
}

// A BGP session of the host's own, over an interface that is no rail's.
TEST_F(Claims, ANeighborOnAnInterfaceThatIsNoRailsJoinsNoTenant) {
  bmp::Message message;
  message.peer = {0, Ip("fe80::99"), 65001, 9};
  message.kind = bmp::Message::Kind::kPeerUp;
  raild->bgp.Pushed(message);
  message.kind = bmp::Message::Kind::kRoutes;
  const auto [high, low] = tenancy::TenantCommunities(world.config.bgp.community_asn, world.Tenant("ns-a"));
  message.update.announced = {Ip("10.0.9.1")};
  message.update.communities = {high, low, tenancy::RailCommunity(world.config.bgp.community_asn, 0)};
  raild->bgp.Pushed(message);
  raild->bgp.Tell();
  raild->the_switch.Learned();
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), IsEmpty());
  EXPECT_THAT(Problems(), ElementsAre(AllOf(HasSubstr("fe80::99 (AS 65001) announces 10.0.9.1"),
                                            HasSubstr("is not the leaf of a rail"))));
}

TEST_F(Claims, ALeafThatSendsMoreThanExpectedIsReportedAndLearned) {
  world.config.bgp.max_prefixes = 2;
  for (const char* address : {"10.0.9.1", "10.0.9.2"}) world.LearnRemote(address, "ns-a");
  Audit();
  EXPECT_THAT(Problems(), IsEmpty());
  world.LearnRemote("10.0.9.3", "ns-a");
  Audit();
  EXPECT_THAT(Problems(), ElementsAre(AllOf(HasSubstr("the leaf of rail rail0 sends 3 prefixes"),
                                            HasSubstr("bgp.max_prefixes expects 2 at most"))));
  EXPECT_EQ(raild->views.Current()->rails[0].most_prefixes, 3U);
  EXPECT_THAT(world.RulesOf(CookieKind::kRemote), SizeIs(3));
}

}  // namespace
}  // namespace rail::engine
