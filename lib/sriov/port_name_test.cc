#include "lib/sriov/port_name.h"

#include <gtest/gtest.h>

namespace rail::sriov {
namespace {

TEST(PortName, OfAVirtualFunction) {
  EXPECT_EQ(ParseVfPortName("pf0vf1"), (VfPort{0, 0, 1}));
  EXPECT_EQ(ParseVfPortName("pf12vf126"), (VfPort{0, 12, 126}));
  EXPECT_EQ(ParseVfPortName("c0pf0vf1"), (VfPort{0, 0, 1}));
  EXPECT_EQ(ParseVfPortName("c1pf0vf1"), (VfPort{1, 0, 1}));
}

TEST(PortName, OfNoVirtualFunction) {
  for (const char* name : {"", "p0", "pf0", "pf0sf1", "c1pf0", "pfvf", "pf0vf", "pf0vf1x", "xpf0vf1", "vf1",
                           "pf0vf99999999999999999999", "pf-1vf0", "eth0"}) {
    EXPECT_FALSE(ParseVfPortName(name)) << name;
  }
}

TEST(PortName, OfAnUplink) {
  EXPECT_EQ(ParseUplinkPortName("p0"), 0U);
  EXPECT_EQ(ParseUplinkPortName("p1s2"), 1U);
  EXPECT_EQ(ParseUplinkPortName("l3p1"), 1U);
  for (const char* name : {"", "pf0", "pf0vf1", "p", "p0x", "vf0"}) {
    EXPECT_FALSE(ParseUplinkPortName(name)) << name;
  }
}

TEST(PortName, OfAnyFunction) {
  for (const char* name : {"pf0", "pf0vf1", "pf1sf88", "c1pf0", "c1pf0vf3"}) {
    EXPECT_TRUE(IsFunctionPortName(name)) << name;
  }
  for (const char* name : {"", "p0", "p1s2", "eth0"}) EXPECT_FALSE(IsFunctionPortName(name)) << name;
}

}  // namespace
}  // namespace rail::sriov
