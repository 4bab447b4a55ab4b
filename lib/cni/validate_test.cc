#include "lib/cni/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/cni/testing/request.h"

namespace rail::cni {
namespace {

using ::testing::HasSubstr;

// A link that is renamed to "net%d" becomes net0, and sysctls of "all" and "default" are those of every link.
TEST(InterfaceName, ThatStandsForOtherLinksIsRefused) {
  for (const char* name : {"net%d", "%", "a%b", "%s%s", "all", "default"}) {
    const auto refused = ValidateInterfaceName(name);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, 4U);
    EXPECT_EQ(refused.error().msg, "interface name is a pattern or stands for all interfaces");
    EXPECT_THAT(refused.error().details, HasSubstr("no '%'"));
  }
  for (const char* name : {"net1", "all0", "default.7", "eth-0_x"})
    EXPECT_TRUE(ValidateInterfaceName(name)) << name;
}

// Whatever an ADD refused, or an earlier version took: a pod must not stay for its name.
TEST(InterfaceName, OfADelIsTakenAsItIs) {
  for (const char* name : {"net%d", "all", "a/b", "..", "a name that is too long"}) {
    const Request request = testing::MakeRequest("DEL", R"({"cniVersion": "1.0.0", "name": "rail0"})",
                                                 {{"CNI_IFNAME", name}, {"CNI_NETNS", ""}});
    EXPECT_EQ(request.ifname, name);
  }
}

}  // namespace
}  // namespace rail::cni
