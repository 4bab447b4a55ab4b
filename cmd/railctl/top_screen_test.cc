#include "cmd/railctl/top_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/railctl/ports.h"

namespace rail::railctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

void Add(v1::ListCountersResponse& answer, const std::string& rail, int64_t attachment, double rate,
         uint64_t peak) {
  v1::PortCounters& port = *answer.add_ports();
  port.mutable_port()->set_rail(rail);
  port.mutable_port()->set_link("p" + rail.substr(4));
  port.mutable_port()->set_attachment(attachment);
  if (attachment != 0) {
    port.mutable_port()->set_namespace_("ml");
    port.mutable_port()->set_pod("train-" + std::to_string(attachment));
    port.mutable_port()->set_ifname("net1");
  }
  port.set_line_rate(12'500'000'000);  // 100 Gbit/s
  port.set_seconds(1);
  port.mutable_sent()->set_byte_rate(rate);
  port.mutable_sent()->set_peak(peak);
}

v1::ListCountersResponse Answer() {
  v1::ListCountersResponse answer;
  answer.set_bursts_on(true);
  answer.mutable_read()->set_seconds(1800000000);
  Add(answer, "rail0", 0, 6.25e9, 12'500'000'000);
  answer.mutable_ports(0)->mutable_sent()->set_above_ms(120);
  v1::PfcCounters& pfc = *answer.mutable_ports(0)->add_pfc();
  pfc.set_received_rate(1500);
  Add(answer, "rail1", 0, 1.25e7, 1'250'000'000);
  Add(answer, "rail0", 4, 6.3e9, 6'300'000'000);
  return answer;
}

TEST(TopScreenTest, TheWholeScreen) {
  EXPECT_THAT(
      Draw(Answer(), {}, {.width = 100, .height = 24}),
      ElementsAre(
          "08:00:00Z  3 ports, by rate   q quit  s sort  p ports  r rail",
          "RAIL     PORT                        SENT RECEIVED  OF LINE RATE             PEAK MS>90 PAUSES",
          "rail0    ml/train-4 net1            50.4G        0  [##########          ]    50%     0      -",
          "rail0    uplink p0                  50.0G        0  [##########----------]   100%   120  1.50k",
          "rail1    uplink p1                   100M        0  [--                  ]    10%     0      -"));
}

TEST(TopScreenTest, BeginsWithRatesOrWithoutPorts) {
  v1::ListCountersResponse answer;
  EXPECT_FALSE(IsWorthAScreen(answer)) << "raild has not answered";
  answer.mutable_read()->set_seconds(1800000000);
  EXPECT_TRUE(IsWorthAScreen(answer)) << "no port of the tenant is here";
  EXPECT_THAT(Draw(answer, {}, {.width = 100, .height = 2}),
              ElementsAre(StartsWith("08:00:00Z  0 ports"), StartsWith("RAIL")));
  Add(answer, "rail0", 0, 0, 0);
  answer.mutable_ports(0)->set_seconds(0);
  EXPECT_FALSE(IsWorthAScreen(answer)) << "there is one reading so far";
  Add(answer, "rail1", 0, 0, 0);
  EXPECT_TRUE(IsWorthAScreen(answer));
}

TEST(TopScreenTest, KeysSortShowAndQuit) {
  const auto answer = Answer();
  const auto rails = RailsOf(answer);
  TopView view;
  EXPECT_TRUE(Press('s', rails, view));
  EXPECT_THAT(Draw(answer, view, {})[2], StartsWith("rail0    uplink p0")) << "the highest peak";
  EXPECT_TRUE(Press('p', rails, view));
  EXPECT_EQ(Draw(answer, view, {}).size(), 4U) << "two uplinks";
  EXPECT_TRUE(Press('p', rails, view));
  EXPECT_THAT(Draw(answer, view, {})[0], HasSubstr("1 pods, by peak"));
  EXPECT_TRUE(Press('p', rails, view));
  EXPECT_TRUE(Press('r', rails, view));
  EXPECT_EQ(Draw(answer, view, {}).size(), 4U) << "two ports of rail0";
  EXPECT_TRUE(Press('r', rails, view));
  EXPECT_THAT(Draw(answer, view, {})[0], HasSubstr("of rail1"));
  EXPECT_TRUE(Press('r', rails, view));
  EXPECT_EQ(view.rail, "");
  EXPECT_TRUE(Press('x', rails, view));
  EXPECT_FALSE(Press('q', rails, view));
  EXPECT_FALSE(Press(3, rails, view));
}

TEST(TopScreenTest, FitsTheTerminalAndIsRedOnlyWhereAsked) {
  const auto lines = Draw(Answer(), {}, {.width = 40, .height = 3});
  ASSERT_EQ(lines.size(), 3U);
  for (const std::string& line : lines) EXPECT_LE(line.size(), 40U);
  EXPECT_THAT(Draw(Answer(), {}, {.color = true})[3], StartsWith("\x1b[31mrail0    uplink"));
  EXPECT_THAT(Draw(Answer(), {}, {.color = true})[4], StartsWith("rail1"));
}

TEST(TopScreenTest, AnUnknownLineRateHasNoBar) {
  auto answer = Answer();
  answer.mutable_ports(0)->set_line_rate(0);
  EXPECT_THAT(Draw(answer, {}, {})[3], HasSubstr("[                    ]      -"));
}

TEST(PortRowsTest, RatesHaveThreeDigits) {
  EXPECT_EQ(Number(0), "0");
  EXPECT_EQ(Number(0.2), "1") << "not nothing";
  EXPECT_EQ(Number(999.4), "999");
  EXPECT_EQ(Number(999.6), "1.00k");
  EXPECT_EQ(Number(12'340), "12.3k");
  EXPECT_EQ(Bits(49.0e9), "392G");
  EXPECT_EQ(Percent(5, 0), "-");
  EXPECT_EQ(Percent(120, 100), "120%");
}

TEST(PortRowsTest, WhatNobodyCountsIsADash) {
  v1::PortCounters port;
  port.mutable_port()->set_link("p0");
  port.set_seconds(1);
  port.mutable_sent()->set_dropped_rate(3);
  const Row header = CounterHeader();
  const auto cell = [&](const v1::PortCounters& p, const std::string& column) {
    return CounterRow(p)[static_cast<size_t>(std::ranges::find(header, column) - header.begin())];
  };
  ASSERT_EQ(CounterRow(port).size(), header.size());
  EXPECT_EQ(cell(port, "DROPS"), "3");
  EXPECT_EQ(cell(port, "SLOW"), "-");
  EXPECT_EQ(cell(port, "PAUSES"), "-");
  EXPECT_EQ(cell(port, "OUT-OF-SEQ"), "-");
  port.mutable_received()->set_slow_packets(9);
  v1::NamedCounter& rdma = *port.add_rdma();
  rdma.set_name("packet_seq_err");
  rdma.set_rate(7);
  EXPECT_EQ(cell(port, "SLOW"), "0");
  EXPECT_EQ(cell(port, "OUT-OF-SEQ"), "7");
  for (const std::string& column : kShouldBeZero) EXPECT_THAT(header, testing::Contains(column));
  for (const std::string& column : kCounterWide) EXPECT_THAT(header, testing::Contains(column));
}

}  // namespace
}  // namespace rail::railctl
