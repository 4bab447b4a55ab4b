// A rail without a carrier.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/testing/repair_fixture.h"

namespace rail::engine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PodSpec;
using testing::RepairTest;
using ::testing::SizeIs;

TEST_F(RepairTest, WithdrawsTheAddressesOfARailWithoutACarrierUntilItIsBack) {
  Settle();
  const PodSpec other = world.MakePod("p2", "ns-a", "vf10", "rail1");
  Attach(other, "10.0.3.2");
  Audit();
  EXPECT_THAT(*world.bgp.Announced({}), SizeIs(2));
  const int uplink = world.host.GetLink("ens0")->index;
  ASSERT_TRUE(world.host.SetDown(uplink));
  Audit();
  EXPECT_THAT(*world.bgp.Announced({}),
              ElementsAre(frr::Announcement{Ip("10.0.3.2"), "rail1", 1, world.Tenant("ns-a")}));
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("the uplink ens0 of rail rail0 has no carrier")));
  EXPECT_FALSE(raild->views.Current()->rails[0].seen.carrier());
  EXPECT_EQ(raild->views.Current()->rails[0].seen.carrier_losses(), 1U);
  EXPECT_TRUE(raild->views.Current()->rails[1].seen.carrier());
  ASSERT_TRUE(world.host.SetUp(uplink));
  Audit();
  EXPECT_THAT(*world.bgp.Announced({}), SizeIs(2));
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_TRUE(raild->views.Current()->rails[0].seen.carrier());
}

TEST_F(RepairTest, ASessionDoesNotOutliveItsCarrier) {
  Settle();
  const int uplink = world.host.GetLink("ens0")->index;
  ASSERT_TRUE(world.host.SetDown(uplink));
  UplinkNews news = raild->uplinks.Look();
  EXPECT_TRUE(news.changed);
  EXPECT_THAT(news.back, IsEmpty());
  ASSERT_TRUE(world.host.SetUp(uplink));
  news = raild->uplinks.Look();
  ASSERT_THAT(news.back, ElementsAre("rail0"));
  EXPECT_TRUE(raild->bgp.CarrierBack(news.back, news.seen));
  EXPECT_THAT(world.bgp.resets(), ElementsAre("br-rail0"));
  EXPECT_TRUE(raild->bgp.Solicit());
  EXPECT_TRUE(raild->bgp.Solicit()) << "until the session is there";
  EXPECT_THAT(world.solicited, ElementsAre("br-rail0", "br-rail0"));
  world.bgp.SetSession("br-rail0", "Established");
  raild->bgp.Poll();
  EXPECT_FALSE(raild->bgp.Solicit());
  EXPECT_THAT(world.solicited, SizeIs(2));
  EXPECT_FALSE(raild->uplinks.Look().changed);
}

TEST_F(RepairTest, ASessionThatIsYoungerThanTheCarrierStays) {
  Settle();
  world.bgp.SetUptime(0);
  raild->bgp.CarrierBack({"rail0"}, Clock::now());
  EXPECT_THAT(world.bgp.resets(), IsEmpty());
  EXPECT_FALSE(raild->bgp.Solicit());
}

TEST_F(RepairTest, AnUplinkThatIsGoneHasNoCarrier) {
  Settle();
  world.host.RemoveLink("ens0");
  Audit();
  EXPECT_THAT(*world.bgp.Announced({}), IsEmpty());
  EXPECT_THAT(Problems(), Contains(HasSubstr("the uplink ens0 of rail rail0: find link ens0")));
}

TEST_F(RepairTest, NobodyIsWithdrawnForAKernelThatDoesNotAnswer) {
  Settle();
  world.host.FailOn("GetLink", {Code::kTransient, "no answer", 0});
  EXPECT_FALSE(raild->uplinks.Look().changed);
  raild->bgp.Audit();
  EXPECT_THAT(*world.bgp.Announced({}), SizeIs(1));
}

TEST_F(RepairTest, SaysWhichLinksAreUplinks) {
  Settle();
  EXPECT_TRUE(raild->uplinks.Concerned({world.host.GetLink("ens0")->index}));
  EXPECT_FALSE(raild->uplinks.Concerned({world.host.GetLink("rep0")->index}));
}

}  // namespace
}  // namespace rail::engine
