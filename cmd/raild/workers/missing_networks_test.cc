#include "cmd/raild/workers/missing_networks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rail::raild {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

inspect::Request Of(const std::string& pod, size_t interfaces) {
  return {.pod_namespace = "ml",
          .pod = pod,
          .rail = "rail0",
          .resource = "nvidia.com/rail0",
          .devices = {"0000:18:00.2"},
          .interfaces = interfaces};
}

TEST(MissingNetworks, AreToldWhenTwoLooksAgree) {
  std::vector<inspect::Request> requests;
  MissingNetworks missing([&] { return requests; });
  Deadline now{};
  const auto look = [&](std::vector<inspect::Request> as) {
    requests = std::move(as);
    return missing.Look("n1", now += std::chrono::seconds(30));
  };
  EXPECT_THAT(look({Of("forgot", 0), Of("starts", 0), Of("well", 1)}), IsEmpty());
  const auto events = look({Of("forgot", 0), Of("starts", 1), Of("well", 1)});
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].kind, "Pod");
  EXPECT_EQ(events[0].object_namespace, "ml");
  EXPECT_EQ(events[0].object, "forgot");
  EXPECT_EQ(events[0].reason, "RailWithoutNetwork");
  EXPECT_EQ(events[0].host, "n1");
  EXPECT_TRUE(events[0].warning);
  EXPECT_THAT(events[0].message,
              HasSubstr("the kubelet has given it nvidia.com/rail0 (0000:18:00.2), and it has no "
                        "interface on rail0: name the network of rail0 in the pod's annotation"));
  EXPECT_THAT(look({}), IsEmpty()) << "it is gone";
  EXPECT_THAT(look({Of("forgot", 0)}), IsEmpty()) << "another of its name";
}

TEST(MissingNetworks, AreLookedForNowAndThen) {
  size_t asked = 0;
  MissingNetworks missing([&] {
    ++asked;
    return std::vector{Of("forgot", 0)};
  });
  const Deadline now = Clock::now();
  EXPECT_THAT(missing.Look("n1", now), IsEmpty());
  EXPECT_THAT(missing.Look("n1", now + std::chrono::seconds(29)), IsEmpty());
  EXPECT_EQ(asked, 1U);
  EXPECT_THAT(missing.Look("n1", now + std::chrono::seconds(30)), SizeIs(1));
}

}  // namespace
}  // namespace rail::raild
