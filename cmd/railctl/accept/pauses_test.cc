// What the counters of two uplinks under load come to.
#include "cmd/railctl/accept/pauses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rail::accept {
namespace {

using ::testing::HasSubstr;

// An uplink that pauses for priority 3 and counts congestion.
v1::PortCounters Uplink() {
  v1::PortCounters port;
  v1::PfcCounters& pfc = *port.add_pfc();
  pfc.set_priority(3);
  pfc.set_enabled(true);
  pfc.set_sent(1000);
  pfc.set_received(50);
  v1::NamedCounter& congestion = *port.add_rdma();
  congestion.set_name("np_cnp_sent");
  congestion.set_value(7);
  return port;
}

class Pauses : public ::testing::Test {
 protected:
  Attempt Judge(bool by_verbs = true) const { return JudgePauses(ends_, by_verbs); }

  std::vector<UplinkLoad> ends_{{"n1", Uplink(), Uplink()}, {"n2", Uplink(), Uplink()}};
};

TEST_F(Pauses, PassWhereThoseOfTheLosslessPriorityMoveAndTellHowOften) {
  ends_[0].after.mutable_pfc(0)->set_sent(1012);
  ends_[1].after.mutable_rdma(0)->set_value(9);
  const Attempt attempt = Judge();
  EXPECT_EQ(attempt.verdict(), kPass);
  EXPECT_THAT(attempt.seen(), HasSubstr("priority 3 of n1: 12 pauses sent, 0 received"));
  EXPECT_THAT(attempt.seen(), HasSubstr("np_cnp_sent of n2: +2"));
}

TEST_F(Pauses, FailWhereAnotherPriorityPauses) {
  v1::PfcCounters& other = *ends_[1].after.add_pfc();
  other.set_priority(5);
  other.set_received(4);
  const Attempt attempt = Judge();
  EXPECT_EQ(attempt.verdict(), kFail);
  EXPECT_THAT(attempt.seen(),
              HasSubstr("priority 5 of n2: 0 pauses sent, 4 received, and PFC is on for 3 alone"));
}

TEST_F(Pauses, FailWhereTheEndsPauseForOtherPriorities) {
  ends_[1].after.mutable_pfc(0)->set_priority(4);
  EXPECT_EQ(Judge().verdict(), kFail);
  EXPECT_THAT(Judge().seen(), HasSubstr("n1 pauses for 3, n2 for 4"));
}

TEST_F(Pauses, FailWhereRoceIsDiscarded) {
  ends_[0].after.mutable_received()->set_dropped(500);
  EXPECT_EQ(Judge(true).verdict(), kFail);
  EXPECT_THAT(Judge(true).seen(), HasSubstr("n1 discards 500 packets while RoCE is sent"));
  EXPECT_EQ(Judge(false).verdict(), kPass) << "datagrams may be discarded";
  ends_[0].after.mutable_received()->set_dropped(3);
  EXPECT_EQ(Judge(true).verdict(), kPass) << "frames that nobody wants";
}

TEST_F(Pauses, CannotBeMeasuredWhereAnEndCountsNone) {
  for (UplinkLoad& end : ends_) end.after.clear_pfc();
  EXPECT_EQ(Judge().verdict(), kCouldNotMeasure);
  EXPECT_THAT(Judge().seen(), HasSubstr("n1 counts no pauses"));
  EXPECT_THAT(Judge().seen(), HasSubstr("n2 counts no pauses"));
}

TEST_F(Pauses, CannotBeMeasuredWhereAnEndCountsNoCongestion) {
  ends_[1].after.mutable_rdma(0)->set_name("out_of_sequence");
  EXPECT_EQ(Judge().verdict(), kCouldNotMeasure);
  EXPECT_THAT(Judge().seen(), HasSubstr("n2 counts no congestion"));
}

TEST_F(Pauses, OfCountersThatBeganAnewHaveNotMoved) {
  ends_[0].after.mutable_pfc(0)->set_enabled(false);
  ends_[1].after.mutable_pfc(0)->set_enabled(false);
  ends_[0].after.mutable_pfc(0)->set_sent(3);
  EXPECT_EQ(Judge().verdict(), kPass);
}

TEST(PausesBetweenTwoNodes, AreThoseOfTheirUplinksOnTheRail) {
  PodAgent agent;
  Node here{.name = "n1"};
  Node there{.name = "n2"};
  Port from{.agent = &agent, .node = &here, .rail = "rail1"};
  Port to{.agent = &agent, .node = &there, .rail = "rail1"};
  v1::ListCountersResponse counted;
  *counted.add_ports() = Uplink();
  *counted.add_ports() = Uplink();
  counted.mutable_ports(0)->mutable_port()->set_rail("rail0");
  counted.mutable_ports(1)->mutable_port()->set_rail("rail1");
  UplinkCounters before;
  before.emplace("n1", counted);
  before.emplace("n2", counted);
  UplinkCounters after = before;
  after.at("n2")->mutable_ports(0)->mutable_pfc(0)->set_sent(2000);  // of the other rail
  after.at("n2")->mutable_ports(1)->mutable_pfc(0)->set_sent(1001);
  const Attempt attempt = PausesBetween(from, to, before, after, true);
  EXPECT_EQ(attempt.verdict(), kPass);
  EXPECT_THAT(attempt.seen(), HasSubstr("priority 3 of n2: 1 pauses sent"));
  EXPECT_EQ(attempt.from() + attempt.to() + attempt.rail(), "n1n2rail1");
  after.at("n2") = Fail(Code::kTransient, "raild of n2 does not answer");
  const Attempt silent = PausesBetween(from, to, before, after, true);
  EXPECT_EQ(silent.verdict(), kCouldNotMeasure);
  EXPECT_EQ(silent.seen(), "raild of n2 does not answer");
}

}  // namespace
}  // namespace rail::accept
