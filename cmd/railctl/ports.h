// Counters and bursts of ports as rows, and rates as people write them. What top draws: top_screen.h.
//
// Use:      Table table(CounterHeader(), {.alarming = kShouldBeZero});  table.Add(CounterRow(port));
// Threads:  pure functions
#pragma once

#include <string>

#include "cmd/railctl/columns.h"
#include "rail/v1/counters.pb.h"

namespace rail::railctl {

extern const std::set<std::string> kCounterWide;
extern const std::set<std::string> kShouldBeZero;  // columns of counters in which everything but 0 is a fault

Row CounterHeader();
Row CounterRow(const v1::PortCounters& port);
Row BurstHeader();
Row BurstRow(const v1::Burst& burst);
Row FastestHeader();
Row FastestRow(const v1::FastestSecond& second);

// "uplink p0", "ml/train-0 net1"
std::string PortName(const v1::Port& port);
// Bits per second with 3 digits: "0", "987", "1.25k", "98.2M", "392G".
std::string Bits(double bytes_per_second);
// The same for packets per second.
std::string Number(double value);
// 0..999 %; "-": the line rate is not known.
std::string Percent(double bytes_per_second, uint64_t line_rate);
double PauseRate(const v1::PortCounters& port);
// The sum of the rates of an RDMA device's counters of these names; a driver has none or one of them.
double RdmaRate(const v1::PortCounters& port, std::initializer_list<std::string_view> names);

}  // namespace rail::railctl
