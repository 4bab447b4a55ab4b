// Two namespaces, joined by a veth: one is the leaf.
#include "lib/frr/echo.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/netlink/testing/scratch.h"

namespace rail::frr {
namespace {

using netns::testing::MakeScratch;
using netns::testing::Shell;

class EchoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Must(Shell(node_,
               "ip link set lo up; ip link add name br0 mtu 4200 type veth peer name leaf mtu 4200; ip link "
               "set br0 up; "
               "ip -6 address add fe80::1/64 dev br0 nodad"));
    Must(Shell(node_, "ip link set leaf netns /proc/" + std::to_string(::getpid()) + "/fd/" +
                          std::to_string(leaf_.fd())));
    Must(Shell(leaf_, "ip link set leaf up; ip -6 address add fe80::7/64 dev leaf nodad"));
  }
  static void Must(const Status& status) { ASSERT_TRUE(status) << status.error().message; }

  // What answers answers within milliseconds, on a busy machine within seconds; what does not is waited for the whole time.
  EchoAnswer Ask(uint32_t size, const std::string& address = "fe80::7",
                 std::chrono::milliseconds time = std::chrono::milliseconds(1500)) {
    EchoAnswer answer;
    Must(node_.Run([&]() -> Status {
      RAIL_ASSIGN(const auto answers, Echo({{"br0", *IpAddress::Parse(address), size}}, After(time)));
      answer = answers.at(0);
      return {};
    }));
    return answer;
  }
  EchoAnswer AskForBoth(uint32_t size) { return Ask(size, "fe80::7", std::chrono::seconds(15)); }

  const netns::Netns node_ = MakeScratch();
  const netns::Netns leaf_ = MakeScratch();
};

TEST_F(EchoTest, ALeafWhosePortTakesLessAnswersTheSmallPacketAlone) {
  EchoAnswer answer = AskForBoth(4200);
  EXPECT_TRUE(answer.small && answer.full);
  Must(Shell(leaf_, "ip link set leaf mtu 1500"));
  answer = Ask(4200);
  EXPECT_TRUE(answer.small);
  EXPECT_FALSE(answer.full);
  EXPECT_TRUE(AskForBoth(1500).full);
}

TEST_F(EchoTest, WhatTheNodesOwnPortDoesNotTakeIsNotSentInPieces) {
  Must(Shell(node_, "ip link set br0 mtu 3000"));
  EXPECT_TRUE(AskForBoth(3000).full);
  const EchoAnswer answer = Ask(4200);
  EXPECT_TRUE(answer.small);
  EXPECT_FALSE(answer.full);
  // The port drops the answer to pieces that the leaf has put together again, so the answer alone does not tell.
  EXPECT_TRUE(Shell(leaf_, "grep -qE '^Ip6ReasmReqds[[:space:]]+0$' /proc/thread-self/net/snmp6"))
      << "the leaf has received pieces";
}

TEST_F(EchoTest, ALeafBehindAnInterfaceThatIsNotThereHoldsUpNobody) {
  EXPECT_TRUE(AskForBoth(4200).full);  // the kernel has the leaf's MAC from here on
  Must(node_.Run([&]() -> Status {
    RAIL_ASSIGN(const auto answers, Echo({{"none", *IpAddress::Parse("fe80::9"), 4200},
                                          {"br0", *IpAddress::Parse("fe80::7"), 4200}},
                                         After(std::chrono::milliseconds(1500))));
    EXPECT_FALSE(answers.at(0).small || answers[0].full);
    EXPECT_TRUE(answers.at(1).small && answers[1].full);
    return {};
  }));
}

TEST_F(EchoTest, NobodyAnswersForALeafThatDoesNot) {
  const EchoAnswer answer = Ask(4200, "fe80::8");
  EXPECT_FALSE(answer.small || answer.full);
}

}  // namespace
}  // namespace rail::frr
