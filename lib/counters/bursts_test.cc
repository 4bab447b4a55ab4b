#include "lib/counters/bursts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rail::counters {
namespace {

using std::chrono::milliseconds;
using testing::SizeIs;

constexpr uint64_t kLine = 1'000'000;  // bytes per second: a full tick of 10 ms is 10,000
constexpr uint64_t kFullTick = 10'000;
constexpr int64_t kNoon = 1'800'000'000'000;

class Node {
 public:
  Node() { Tick(); }

  // 10 ms, in which the uplink and the pods send so much.
  void Tick(uint64_t uplink = 0, uint64_t pod = 0, uint64_t other = 0, milliseconds took = milliseconds(10)) {
    at_ += took;
    sent_[0] += uplink;
    sent_[1] += pod;
    sent_[2] += other;
    std::vector<Reading> readings;
    for (size_t i = 0; i < ports_.size(); ++i) {
      if (gone_ == static_cast<int>(i)) continue;
      Reading reading{.port = ports_[i], .line_rate = line_};
      reading.bytes[Direction::kSent] = sent_[i];
      readings.push_back(reading);
    }
    recorder.Tick({start_ + at_, kNoon + at_.count()}, readings);
  }
  void Ticks(int count, uint64_t uplink = 0, uint64_t pod = 0, uint64_t other = 0) {
    for (int i = 0; i < count; ++i) Tick(uplink, pod, other);
  }
  void Gone(int port) { gone_ = port; }
  void Reset(size_t port) { sent_[port] = 0; }
  void LineRateUnknown() { line_ = 0; }

  BurstRecorder recorder;

 private:
  Clock::time_point start_ = Clock::now();
  milliseconds at_{-10};
  uint64_t line_ = kLine;
  int gone_ = -1;
  std::array<uint64_t, 3> sent_{5, 5, 5};
  std::vector<PortPtr> ports_ = {std::make_shared<const Port>(Port{.rail = "rail0", .link = "p0"}),
                                 std::make_shared<const Port>(Port{.rail = "rail0",
                                                                   .link = "rep0",
                                                                   .attachment = 1,
                                                                   .pod_namespace = "ml",
                                                                   .pod = "train-0",
                                                                   .ifname = "net1"}),
                                 std::make_shared<const Port>(Port{.rail = "rail0",
                                                                   .link = "rep1",
                                                                   .attachment = 2,
                                                                   .pod_namespace = "ml",
                                                                   .pod = "train-1",
                                                                   .ifname = "net1"})};
};

std::vector<Burst> Of(const std::vector<Burst>& bursts, const std::string& link) {
  std::vector<Burst> found;
  for (const Burst& burst : bursts) {
    if (burst.port->link == link) found.push_back(burst);
  }
  return found;
}

TEST(BurstsTest, FindsTheBurstThatAnAverageHides) {
  Node node;
  node.Ticks(100);
  node.Ticks(10, kFullTick, kFullTick, 0);
  node.Ticks(390);
  const auto bursts = Of(node.recorder.Since(0), "p0");
  ASSERT_THAT(bursts, SizeIs(1));
  EXPECT_EQ(bursts[0].start_ms, kNoon + 1000);
  EXPECT_EQ(bursts[0].ms, 100U);
  EXPECT_EQ(bursts[0].bytes, 10 * kFullTick);
  EXPECT_EQ(bursts[0].max, kLine);
  EXPECT_FALSE(bursts[0].goes_on);
  ASSERT_THAT(bursts[0].with, SizeIs(1)) << "the other pod sent nothing";
  EXPECT_EQ(bursts[0].with[0].port->pod, "train-0");
  EXPECT_EQ(bursts[0].with[0].bytes, 10 * kFullTick);
  uint64_t bytes = 0;
  for (const Second& second : node.recorder.SecondsOf("p0")) bytes += second.of[Direction::kSent].bytes;
  EXPECT_LE(bytes / 5, kLine / 50) << "over 5 s it is 2 % of line rate";
}

TEST(BurstsTest, ASecondHasItsMaximumAndP99) {
  Node node;
  node.Ticks(98, kFullTick / 10);
  node.Ticks(2, kFullTick);
  ASSERT_THAT(node.recorder.SecondsOf("p0"), SizeIs(1));
  const Stretch stretch = node.recorder.SecondsOf("p0").back().of[Direction::kSent];
  EXPECT_EQ(stretch.max, kLine);
  EXPECT_EQ(stretch.p99, kLine) << "the 99th of 100 is one of the two fastest";
  EXPECT_EQ(stretch.above_ms, 20U);
  EXPECT_EQ(stretch.longest_ms, 20U);
  node.Ticks(99, kFullTick / 10);
  node.Ticks(1, kFullTick);
  EXPECT_EQ(node.recorder.SecondsOf("p0").back().of[Direction::kSent].p99, kLine / 10);
  EXPECT_EQ(node.recorder.SecondsOf("p0").back().of[Direction::kReceived].max, 0U);
}

TEST(BurstsTest, ASecondEndsWithTheTickNearestToItsEnd) {
  BurstRecorder recorder(milliseconds(500));
  const auto port = std::make_shared<const Port>(Port{.rail = "rail0", .link = "p0"});
  const Clock::time_point start = Clock::now();
  for (const int64_t at : {0, 501, 999, 1500, 2001}) {
    const Reading reading{.port = port, .line_rate = kLine, .bytes = {}};
    recorder.Tick({start + milliseconds(at), kNoon + at}, std::array{reading});
  }
  ASSERT_THAT(recorder.SecondsOf("p0"), SizeIs(2));
  EXPECT_EQ(recorder.SecondsOf("p0")[0].ms, 999U) << "not 1500: the tick was 1 ms early";
  EXPECT_EQ(recorder.SecondsOf("p0")[1].ms, 1002U);
}

TEST(BurstsTest, ARunGoesOnOverTheSecondsEdge) {
  Node node;
  node.Ticks(95);
  node.Ticks(10, kFullTick);
  EXPECT_TRUE(Of(node.recorder.Since(0), "p0").at(0).goes_on);
  EXPECT_EQ((node.recorder.totals().at({"rail0", true, Direction::kSent}).above), milliseconds(100))
      << "before the second ends";
  node.Ticks(95);
  const auto& seconds = node.recorder.SecondsOf("p0");
  ASSERT_THAT(seconds, SizeIs(2));
  EXPECT_EQ(seconds[0].of[Direction::kSent].above_ms, 50U);
  EXPECT_EQ(seconds[1].of[Direction::kSent].above_ms, 50U);
  EXPECT_EQ(seconds[1].of[Direction::kSent].longest_ms, 100U);
  EXPECT_THAT(Of(node.recorder.Since(0), "p0"), SizeIs(1));
  EXPECT_EQ((node.recorder.totals().at({"rail0", true, Direction::kSent}).above), milliseconds(100));
  EXPECT_EQ((node.recorder.totals().at({"rail0", true, Direction::kSent}).bursts), 1U);
}

TEST(BurstsTest, BelowNinetyPercentIsNoBurst) {
  Node node;
  node.Ticks(50, kFullTick * 89 / 100);
  EXPECT_THAT(node.recorder.Since(0), SizeIs(0));
  node.Ticks(50, kFullTick * 91 / 100);
  EXPECT_THAT(node.recorder.Since(0), SizeIs(1));
}

TEST(BurstsTest, ALateTickIsAnAverageNotAPeak) {
  Node node;
  node.Ticks(10);
  node.Tick(3 * kFullTick / 2, 0, 0, milliseconds(30));
  EXPECT_THAT(node.recorder.Since(0), SizeIs(0)) << "half of line rate for 30 ms";
}

TEST(BurstsTest, WithoutALineRateThereIsNoBurst) {
  Node node;
  node.LineRateUnknown();
  node.Ticks(110, kFullTick);
  EXPECT_THAT(node.recorder.Since(0), SizeIs(0));
  EXPECT_EQ(node.recorder.SecondsOf("p0").back().of[Direction::kSent].max, kLine);
}

TEST(BurstsTest, ACounterThatBeginsAnewIsNoBurst) {
  Node node;
  node.Ticks(10, kFullTick / 2);
  node.Reset(0);
  node.Ticks(90, kFullTick / 2);
  EXPECT_THAT(node.recorder.Since(0), SizeIs(0));
  ASSERT_THAT(node.recorder.SecondsOf("p0"), SizeIs(1));
  EXPECT_EQ(node.recorder.SecondsOf("p0")[0].of[Direction::kSent].bytes, 99 * kFullTick / 2)
      << "all but the tick of the reset";
}

TEST(BurstsTest, ThePortGoesAndItsBurstStays) {
  Node node;
  node.Ticks(10, 0, kFullTick);
  node.Gone(1);
  node.Ticks(10);
  ASSERT_THAT(Of(node.recorder.Since(0), "rep0"), SizeIs(1));
  EXPECT_FALSE(Of(node.recorder.Since(0), "rep0")[0].goes_on);
  EXPECT_THAT(node.recorder.SecondsOf("rep0"), SizeIs(0));
  EXPECT_THAT(node.recorder.ports(), SizeIs(2));
}

TEST(BurstsTest, WhatIsOlderThanFifteenMinutesIsForgotten) {
  Node node;
  node.Ticks(2, kFullTick);
  for (int i = 0; i < 901; ++i) node.Tick(0, 0, 0, milliseconds(1000));
  EXPECT_THAT(node.recorder.Since(0), SizeIs(0));
  EXPECT_THAT(node.recorder.SecondsOf("p0"), SizeIs(900));
}

TEST(BurstsTest, SinceLeavesOutWhatEndedBefore) {
  Node node;
  node.Ticks(2, kFullTick);
  node.Ticks(50);
  node.Ticks(2, kFullTick);
  node.Ticks(2);
  EXPECT_THAT(node.recorder.Since(0), SizeIs(2));
  EXPECT_THAT(node.recorder.Since(kNoon + 300), SizeIs(1));
}

TEST(BurstsTest, PausesBelongToTheSecondInWhichTheyCame) {
  Node node;
  node.recorder.Pauses("p0", 1000);
  node.Ticks(50);
  node.recorder.Pauses("p0", 1007);
  node.Ticks(60);
  node.recorder.Pauses("p0", 1009);
  node.Ticks(100);
  EXPECT_EQ(node.recorder.SecondsOf("p0")[0].pauses, 7U) << "what was counted before is nobody's";
  EXPECT_EQ(node.recorder.SecondsOf("p0")[1].pauses, 2U);
}

}  // namespace
}  // namespace rail::counters
