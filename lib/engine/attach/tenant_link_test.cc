// What a tenant needs of the kernel, of the bridge and of bgpd on a rail: made once, kept for some time, known by its names.
#include "lib/engine/attach/tenant_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/testing/world.h"

namespace rail::engine {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::World;

config::Rail Rail(uint32_t index) {
  return {.name = "rail" + std::to_string(index), .index = index, .bridge = "br"};
}

TEST(TenantNames, FitTheKernelAndLeadBack) {
  const config::Rail last = Rail(99);
  EXPECT_EQ(VrfName(last, 4094), "railcni-99-4094");
  EXPECT_EQ(VrfName(last, 4094).size(), 15U);
  EXPECT_EQ(VlanOfVrf(last, "railcni-99-4094"), 4094);
  EXPECT_EQ(VlanOfVrf(last, "railcni-9-4094"), std::nullopt) << "another rail's";
  for (const char* name :
       {"railcni-99-0", "railcni-99-4095", "railcni-99-", "railcni-99-12x", "blue", "railcni-99-007"})
    EXPECT_EQ(VlanOfVrf(last, name), std::nullopt) << name;
  EXPECT_EQ(VrfTable(Rail(0), 1), 100001U);
  EXPECT_EQ(VrfTable(last, 4094), 509598U);
  EXPECT_NE(VrfTable(Rail(0), 4094), VrfTable(Rail(1), 1));
}

TEST(TenantNames, AVrfIsKnownByItsNameAndItsTable) {
  const auto is_ours = [](const char* kind, const char* name, uint32_t table) {
    return IsTenantVrf({.name = name, .kind = kind, .table = table});
  };
  EXPECT_TRUE(is_ours("vrf", "railcni-0-101", VrfTable(Rail(0), 101)));
  EXPECT_TRUE(is_ours("vrf", "railcni-99-4094", VrfTable(Rail(99), 4094)));
  EXPECT_FALSE(is_ours("vrf", "railcni-mgmt", VrfTable(Rail(0), 101)));
  EXPECT_FALSE(is_ours("vrf", "railcni-0-101", VrfTable(Rail(0), 102)));
  EXPECT_FALSE(is_ours("vrf", "railcni-0-101", 7));
  EXPECT_FALSE(is_ours("vrf", "railcni-0-0", VrfTable(Rail(0), 0)));
  EXPECT_FALSE(is_ours("vrf", "railcni-0-4095", VrfTable(Rail(0), 4095)));
  EXPECT_FALSE(is_ours("dummy", "railcni-0-101", VrfTable(Rail(0), 101)));
}

TEST(FeedAddresses, LeadToTheirVrf) {
  config::NodeConfig config;
  config.rails = {Rail(0), Rail(7)};
  EXPECT_EQ(FeedAddress(Rail(0), 101).ToString(), "127.1.0.101");
  EXPECT_EQ(FeedAddress(Rail(7), 4094).ToString(), "127.8.15.254");
  EXPECT_EQ(VrfOfFeed(config, FeedAddress(Rail(7), 4094)), "railcni-7-4094");
  EXPECT_EQ(VrfOfFeed(config, *IpAddress::Parse("127.0.0.1")), "");
  for (const char* stranger : {"127.2.0.101", "127.1.0.0", "127.1.15.255", "127.1.16.1", "10.1.0.101"})
    EXPECT_EQ(VrfOfFeed(config, *IpAddress::Parse(stranger)), std::nullopt) << stranger;
}

TEST(Unused, IsDueWhenItHasHadNoPodForLong) {
  Unused unused;
  const Deadline now = Clock::now();
  EXPECT_THAT(unused.Due({101, 102}, {101}, now), IsEmpty());
  EXPECT_EQ(unused.next(), now + kTenantKept);
  // A pod comes and goes: the time begins anew.
  EXPECT_THAT(unused.Due({101, 102}, {101, 102}, now + minutes(3)), IsEmpty());
  EXPECT_EQ(unused.next(), std::nullopt);
  EXPECT_THAT(unused.Due({101, 102}, {101}, now + minutes(4)), IsEmpty());
  EXPECT_THAT(unused.Due({101, 102}, {101}, now + minutes(6)), IsEmpty());
  EXPECT_THAT(unused.Due({101, 102}, {101}, now + minutes(9)), ElementsAre(102));
  EXPECT_EQ(unused.next(), now + minutes(9) + Unused::kAgain) << "its removal may not have worked";
  EXPECT_THAT(unused.Due({101}, {101}, now + minutes(10)), IsEmpty()) << "it is gone";
}

TEST(Unused, IsNotDueAgainAtOnce) {
  Unused unused;
  const Deadline now = Clock::now(), end = now + kTenantKept;
  unused.Due({101}, {}, now);
  unused.NotSeen(end);
  EXPECT_EQ(unused.next(), end + Unused::kAgain);
  EXPECT_THAT(unused.Due({101}, {}, end + Unused::kAgain), ElementsAre(101));
  EXPECT_THAT(unused.Due({101}, {}, end + Unused::kAgain), IsEmpty());
  EXPECT_EQ(unused.next(), end + 2 * Unused::kAgain);
}

class TenantLinkTest : public ::testing::Test {
 protected:
  Connections Open() {
    return Connections(world.deps().openers(world.config), After(std::chrono::seconds(20)));
  }
  const config::Rail& rail() const { return world.config.rails[0]; }
  netlink::Link Get(const std::string& name) { return world.host.GetLink(name).value_or(netlink::Link()); }

  World world;
};

TEST_F(TenantLinkTest, IsMadeOnce) {
  Connections connections = Open();
  const auto made = EnsureTenantLink(connections, rail(), 101);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->changed);
  const netlink::Link vrf = Get("railcni-0-101"), port = Get("rcvlan-0-101");
  EXPECT_EQ(vrf.table, VrfTable(rail(), 101));
  EXPECT_TRUE(vrf.up && port.up);
  EXPECT_EQ(port.master, vrf.index);
  EXPECT_EQ(port.mac, Get("br-rail0").mac) << "the rules ask for the bridge's MAC";
  const auto in_switch = *world.ovsdb.FindPort("rcvlan-0-101", {});
  ASSERT_TRUE(in_switch);
  EXPECT_EQ(VlanOfPort(rail(), *in_switch), 101);
  EXPECT_EQ(in_switch->ofport, made->ofport);
  EXPECT_FALSE(EnsureTenantLink(connections, rail(), 101)->changed);
}

TEST_F(TenantLinkTest, WhatIsWrongIsPutRight) {
  Connections connections = Open();
  ASSERT_TRUE(EnsureTenantLink(connections, rail(), 101));
  ASSERT_TRUE(world.host.SetMaster(Get("rcvlan-0-101").index, 0));
  ASSERT_TRUE(world.host.SetDown(Get("rcvlan-0-101").index));
  EXPECT_TRUE(EnsureTenantLink(connections, rail(), 101)->changed);
  EXPECT_EQ(Get("rcvlan-0-101").master, Get("railcni-0-101").index);
  EXPECT_TRUE(Get("rcvlan-0-101").up);
  world.host.RemoveLink("railcni-0-101");
  EXPECT_TRUE(EnsureTenantLink(connections, rail(), 101)->changed);
  EXPECT_EQ(Get("rcvlan-0-101").master, Get("railcni-0-101").index);
}

TEST_F(TenantLinkTest, WhatIsSomebodyElsesStays) {
  Connections connections = Open();
  ASSERT_TRUE(world.host.AddVrf("railcni-0-101", 7));
  const auto refused = EnsureTenantLink(connections, rail(), 101);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kExists);
  EXPECT_THAT(refused.error().message, HasSubstr("rename it or remove it"));
  ASSERT_TRUE(RemoveTenantLink(connections, rail(), 101));
  EXPECT_EQ(Get("railcni-0-101").table, 7U);
  world.ovsdb.AddDevice("rcvlan-0-102");
  ASSERT_TRUE(world.ovsdb.AddPort({.bridge = "br-rail0", .name = "rcvlan-0-102"}, {}));
  const auto taken = EnsureTenantLink(connections, rail(), 102);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Code::kExists);
  ASSERT_TRUE(RemoveTenantLink(connections, rail(), 102));
  EXPECT_TRUE(world.ovsdb.FindPort("rcvlan-0-102", {})->has_value());
}

TEST_F(TenantLinkTest, AKernelWithoutVrfsIsSaid) {
  world.host.FailOn("AddVrf", {Code::kUnsupported, "make the VRF railcni-0-101: Operation not supported", 0});
  Connections connections = Open();
  const auto refused = EnsureTenantLink(connections, rail(), 101);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("modprobe vrf"));
}

TEST_F(TenantLinkTest, IsRemoved) {
  Connections connections = Open();
  ASSERT_TRUE(EnsureTenantLink(connections, rail(), 101));
  ASSERT_TRUE(RemoveTenantLink(connections, rail(), 101));
  EXPECT_FALSE(world.host.GetLink("railcni-0-101"));
  EXPECT_FALSE(world.host.GetLink("rcvlan-0-101"));
  EXPECT_FALSE(world.ovsdb.FindPort("rcvlan-0-101", {})->has_value());
  EXPECT_TRUE(RemoveTenantLink(connections, rail(), 101));
}

}  // namespace
}  // namespace rail::engine
