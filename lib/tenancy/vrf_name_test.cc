#include "lib/tenancy/vrf_name.h"

#include <gtest/gtest.h>

namespace rail::tenancy {
namespace {

TEST(VrfName, IsALinksNameWithEveryIndexAndVlan) {
  EXPECT_EQ(VrfName({0, 101}), "railcni-0-101");
  EXPECT_EQ(VlanPortName({0, 101}), "rcvlan-0-101");
  EXPECT_EQ(VrfName({99, 4094}).size(), 15U);
  EXPECT_LE(VlanPortName({99, 4094}).size(), 15U);
}

TEST(VrfName, IsReadInThatFormAlone) {
  for (const RailVlan place : {RailVlan{0, 1}, RailVlan{0, 101}, RailVlan{99, 4094}}) {
    EXPECT_EQ(PlaceOfVrf(VrfName(place)), place);
    EXPECT_EQ(PlaceOfVlanPort(VlanPortName(place)), place);
    EXPECT_EQ(PlaceOfVrf(VlanPortName(place)), std::nullopt);
  }
  for (const char* others :
       {"", "admins", "railcni-", "railcni-mgmt", "railcni-0", "railcni-0-", "railcni--1", "railcni-0-0",
        "railcni-0-4095", "railcni-0-65637", "railcni-100-1", "railcni-00-1", "railcni-0-01", "railcni-0-1x",
        "railcni-0-1-1", "railcni-0x1"})
    EXPECT_EQ(PlaceOfVrf(others), std::nullopt) << others;
}

}  // namespace
}  // namespace rail::tenancy
