// Who is disturbed by whom at the same time, and what counts as disturbed. Nothing is sent.
#include "cmd/railctl/accept/neighbour.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rail::accept {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Pods of both tenants on each of the nodes, on the rails rail0 and rail1; two nodes below a leaf.
class NeighbourRounds : public ::testing::Test {
 protected:
  void AddNode(const std::vector<std::string>& tenants) {
    const size_t number = nodes_.size();
    Node& node = nodes_.emplace_back();
    node.name = "n" + std::to_string(number);
    for (const std::string& tenant : tenants) {
      PodAgent& agent = agents_.emplace_back();
      agent.pod = tenant + "/" + node.name;
      for (const char* rail : {"rail0", "rail1"}) {
        Port& port = ports_.emplace_back();
        port.agent = &agent;
        port.node = &node;
        port.rail = rail;
        port.tenant = tenant;
        port.leaf = std::string(rail) + " leaf" + std::to_string(number / 2);
      }
    }
  }

  std::deque<Node> nodes_;
  std::deque<PodAgent> agents_;
  std::vector<Port> ports_;
};

TEST_F(NeighbourRounds, HaveEachInterfaceAsVictimOnceAndNoUplinkTwiceAtATime) {
  for (int i = 0; i < 4; ++i) AddNode({"a", "b"});
  const auto rounds = TrialRounds(ports_);
  EXPECT_THAT(rounds, SizeIs(4)) << "both ends of a pair, of both tenants";
  std::set<const Port*> victims;
  for (const auto& round : rounds) {
    std::set<std::pair<const Node*, std::string>> busy;
    for (const Trial& trial : round) {
      EXPECT_TRUE(victims.insert(trial.victim).second);
      EXPECT_EQ(trial.victim->node, trial.noisy->node);
      EXPECT_NE(trial.victim->tenant, trial.noisy->tenant);
      EXPECT_EQ(trial.victim->tenant, trial.mate->tenant);
      EXPECT_EQ(trial.noisy->tenant, trial.noisy_mate->tenant);
      EXPECT_NE(trial.victim->node, trial.mate->node);
      EXPECT_NE(trial.noisy->node, trial.noisy_mate->node);
      EXPECT_NE(trial.victim->leaf, trial.mate->leaf) << "the far ones say more";
      EXPECT_TRUE(busy.insert({trial.victim->node, trial.victim->rail}).second);
      std::set<const Node*> mates{trial.mate->node, trial.noisy_mate->node};
      for (const Node* node : mates) EXPECT_TRUE(busy.insert({node, trial.victim->rail}).second);
    }
  }
  EXPECT_THAT(victims, SizeIs(16));
}

TEST_F(NeighbourRounds, AreNoMoreForALargeFabric) {
  for (int i = 0; i < 64; ++i) AddNode({"a", "b"});
  EXPECT_THAT(TrialRounds(ports_), SizeIs(4));
}

TEST_F(NeighbourRounds, TakeAnotherNodeForTheNoiseWhereTheVictimsMateHasNoNeighbour) {
  AddNode({"a", "b"});
  AddNode({"a"});
  AddNode({"b"});
  const auto rounds = TrialRounds(ports_);
  ASSERT_THAT(rounds, SizeIs(2));
  EXPECT_EQ(rounds[0][0].mate->node->name, "n1");
  EXPECT_EQ(rounds[0][0].noisy_mate->node->name, "n2");
}

TEST_F(NeighbourRounds, AreNoneWhereNobodySharesANode) {
  AddNode({"a"});
  AddNode({"a"});
  AddNode({"b"});
  AddNode({"b"});
  EXPECT_THAT(TrialRounds(ports_), IsEmpty());
}

TEST_F(NeighbourRounds, AreNoneOnOneNode) {
  AddNode({"a", "b", "a", "b"});
  EXPECT_THAT(TrialRounds(ports_), IsEmpty());
}

v1::EchoResponse Echoed(uint32_t sent, uint32_t received, double p99_us) {
  v1::EchoResponse echo;
  echo.set_sent(sent);
  echo.set_received(received);
  echo.set_p50_us(p99_us / 2);
  echo.set_p99_us(p99_us);
  return echo;
}

Disturbed Calm() {
  Disturbed seen;
  seen.before = Echoed(500, 500, 200);
  seen.during = Echoed(1000, 1000, 900);
  seen.after = Echoed(500, 500, 250);
  seen.noise = "2000 datagrams a second";
  seen.noise_arrived = true;
  return seen;
}

TEST(Neighbour, PassesWithTheWaitAsItsFigureAndBothEndsOfTheNoise) {
  const Attempt attempt = JudgeNeighbour(Calm());
  EXPECT_EQ(attempt.verdict(), kPass);
  EXPECT_EQ(attempt.value(), 900);
  EXPECT_EQ(attempt.unit(), "us");
  EXPECT_EQ(attempt.control(), "2000 datagrams a second");
  EXPECT_THAT(
      attempt.seen(),
      HasSubstr("alone: 500 of 500 came back, p50 100 us, p99 200 us; beside the noise: 1000 of 1000"));
}

TEST(Neighbour, FailsByDatagramsThatAreLostBesideTheNoiseAlone) {
  Disturbed seen = Calm();
  seen.during = Echoed(1000, 950, 900);
  EXPECT_EQ(JudgeNeighbour(seen).verdict(), kPass) << "5 % may be the host's";
  seen.during = Echoed(1000, 949, 900);
  EXPECT_EQ(JudgeNeighbour(seen).verdict(), kFail);
  EXPECT_THAT(JudgeNeighbour(seen).seen(), HasSubstr("51 of its 1000 datagrams are lost beside the noise"));
  seen.during = Echoed(1000, 0, 0);
  EXPECT_EQ(JudgeNeighbour(seen).verdict(), kFail);
}

TEST(Neighbour, FailsByAWaitBeyondWhatQueuesThatDrainHold) {
  Disturbed seen = Calm();
  seen.during = Echoed(1000, 1000, 5000);
  EXPECT_EQ(JudgeNeighbour(seen).verdict(), kPass) << "20 times the quiet time, and within a switch's buffer";
  seen.during = Echoed(1000, 1000, 5001);
  EXPECT_EQ(JudgeNeighbour(seen).verdict(), kFail);
  EXPECT_THAT(JudgeNeighbour(seen).seen(), HasSubstr("p99 grows beyond 5000 us"));
  seen.after = Echoed(500, 500, 2000);
  EXPECT_EQ(JudgeNeighbour(seen).verdict(), kPass) << "a slow machine: it waits for as long without noise";
}

TEST(Neighbour, CannotBeMeasuredWhereNothingIsNoisyOrTheVictimLosesAlone) {
  Disturbed seen = Calm();
  seen.noise_arrived = false;
  seen.during = Echoed(1000, 1, 90'000);
  EXPECT_EQ(JudgeNeighbour(seen).verdict(), kCouldNotMeasure);
  EXPECT_THAT(JudgeNeighbour(seen).seen(), HasSubstr("nobody was noisy"));
  seen.noise_arrived = true;
  seen.after = Echoed(500, 490, 250);
  EXPECT_EQ(JudgeNeighbour(seen).verdict(), kCouldNotMeasure);
  EXPECT_THAT(JudgeNeighbour(seen).seen(), HasSubstr("also without noise"));
}

TEST(Neighbour, FailsByBandwidthOfWhichLessThanAQuarterIsLeft) {
  Disturbed seen = Calm();
  seen.bandwidth = {.alone = 390, .beside = 98};
  EXPECT_EQ(JudgeNeighbour(seen).verdict(), kPass);
  seen.bandwidth->beside = 97;
  EXPECT_EQ(JudgeNeighbour(seen).verdict(), kFail);
  EXPECT_THAT(JudgeNeighbour(seen).seen(), HasSubstr("ib_write_bw 390.0 Gb/s alone, 97.0 beside the noise"));
  seen.bandwidth->alone = 0;
  EXPECT_EQ(JudgeNeighbour(seen).verdict(), kCouldNotMeasure);
}

}  // namespace
}  // namespace rail::accept
