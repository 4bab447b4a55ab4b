#include "cmd/railctl/ports.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "cmd/railctl/commands.h"
#include "lib/base/text.h"

namespace rail::railctl {
namespace {

std::string Prefixed(double value) {
  constexpr std::array<const char*, 5> kUnits = {"", "k", "M", "G", "T"};
  size_t unit = 0;
  // As it will be written: 999.6 is 1.00k, not 1000.
  while (unit + 1 < kUnits.size() && value >= 999.5) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f}", value > 0 && value < 1 ? 1.0 : value);
  return fmt::format("{:.{}f}{}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, kUnits[unit]);
}

std::string TimeOf(const google::protobuf::Timestamp& time) {
  return fmt::format("{:%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(time.seconds())),
                     time.nanos() / 1'000'000);
}

std::string Way(v1::Burst::Direction direction) {
  return direction == v1::Burst::SENT ? "sent" : "received";
}

Status PrintCounters(const Context& context, const v1::ListCountersResponse& response, Layout layout) {
  if (AsJson(context)) {
    RAIL_ASSIGN(const Json json, ToJson(response));
    context.out << Text(json, layout) << '\n';
    return {};
  }
  Table table =
      MakeTable(context, {.header = CounterHeader(), .wide = kCounterWide}, /*width=*/0, kShouldBeZero);
  for (const v1::PortCounters& port : response.ports()) table.Add(CounterRow(port));
  table.Print(context.out);
  return {};
}

}  // namespace

const std::set<std::string> kCounterWide = {"TENANT",   "PEAK",        "SENT/p", "RECEIVED/p",
                                            "CNP-SENT", "CNP-HANDLED", "LINK"};
const std::set<std::string> kShouldBeZero = {"DROPS", "ERRORS", "PAUSES", "SLOW", "OUT-OF-SEQ"};

std::string PortName(const v1::Port& port) {
  if (port.attachment() == 0) return "uplink " + port.link();
  return port.namespace_() + "/" + port.pod() + " " + port.ifname();
}

std::string Bits(double bytes_per_second) {
  return Prefixed(8 * bytes_per_second);
}

std::string Number(double value) {
  return Prefixed(value);
}

std::string Percent(double bytes_per_second, uint64_t line_rate) {
  if (line_rate == 0) return "-";
  return fmt::format("{:.0f}%", std::min(999.0, 100 * bytes_per_second / static_cast<double>(line_rate)));
}

double PauseRate(const v1::PortCounters& port) {
  double rate = 0;
  for (const v1::PfcCounters& pfc : port.pfc()) rate += pfc.sent_rate() + pfc.received_rate();
  return rate;
}

double RdmaRate(const v1::PortCounters& port, std::initializer_list<std::string_view> names) {
  double rate = 0;
  for (const v1::NamedCounter& counter : port.rdma()) {
    if (std::ranges::find(names, std::string_view(counter.name())) != names.end()) rate += counter.rate();
  }
  return rate;
}

Row CounterHeader() {
  return {"RAIL",  "PORT",   "TENANT", "SENT", "RECEIVED",   "PEAK",     "SENT/p",      "RECEIVED/p",
          "DROPS", "ERRORS", "PAUSES", "SLOW", "OUT-OF-SEQ", "CNP-SENT", "CNP-HANDLED", "LINK"};
}

Row CounterRow(const v1::PortCounters& p) {
  const bool first = p.seconds() <= 0;  // there are no rates so far
  const auto number = [&](double rate) { return first ? std::string("-") : Number(rate); };
  const auto rdma = [&](std::initializer_list<std::string_view> names) {
    return p.rdma().empty() ? std::string("-") : number(RdmaRate(p, names));
  };
  const bool slow = p.sent().has_slow_packets() || p.received().has_slow_packets();
  return {p.port().rail(),
          PortName(p.port()),
          p.port().tenant(),
          first ? "-" : Bits(p.sent().byte_rate()),
          first ? "-" : Bits(p.received().byte_rate()),
          Percent(static_cast<double>(std::max(p.sent().peak(), p.received().peak())), p.line_rate()),
          number(p.sent().packet_rate()),
          number(p.received().packet_rate()),
          number(p.sent().dropped_rate() + p.received().dropped_rate()),
          number(p.sent().error_rate() + p.received().error_rate()),
          p.pfc().empty() ? "-" : number(PauseRate(p)),
          slow ? number(p.sent().slow_rate() + p.received().slow_rate()) : "-",
          rdma({"out_of_sequence", "packet_seq_err", "out_of_seq_request", "rcvd_seq_err"}),
          rdma({"np_cnp_sent"}),
          rdma({"rp_cnp_handled"}),
          p.port().link()};
}

Row BurstHeader() {
  return {"START", "MS", "RAIL", "PORT", "WAY", "PEAK", "OF-LINE", "BYTES", "WITH"};
}

Row BurstRow(const v1::Burst& b) {
  std::string with;
  for (const v1::Companion& each : b.with())
    Append(with, ", ", PortName(each.port()) + " " + Percent(static_cast<double>(each.bytes()), b.bytes()));
  return {TimeOf(b.start()),
          std::to_string(b.ms()) + (b.goes_on() ? "+" : ""),
          b.port().rail(),
          PortName(b.port()),
          Way(b.direction()),
          Bits(static_cast<double>(b.peak())),
          Percent(static_cast<double>(b.peak()), b.line_rate()),
          Number(static_cast<double>(b.bytes())),
          with};
}

Row FastestHeader() {
  return {"FASTEST-SECOND", "RAIL", "PORT", "WAY", "PEAK", "OF-LINE", "P99", "AVERAGE", "MS-ABOVE", "PAUSES"};
}

Row FastestRow(const v1::FastestSecond& s) {
  return {TimeOf(s.start()),
          s.port().rail(),
          PortName(s.port()),
          Way(s.direction()),
          Bits(static_cast<double>(s.peak())),
          Percent(static_cast<double>(s.peak()), s.line_rate()),
          Bits(static_cast<double>(s.p99())),
          Bits(static_cast<double>(s.average())),
          std::to_string(s.above_ms()),
          s.port().attachment() == 0 ? std::to_string(s.pauses()) : ""};
}

ExitCode GetCounters(const Context& context) {
  v1::ListCountersRequest request;
  *request.mutable_filter() = Meant<v1::PortFilter>(context.flags);
  RAIL_ASSIGN(v1::ListCountersResponse response, context.client.Ask(&v1::Node::Stub::ListCounters, request));
  RAIL_TRY(PrintCounters(context, response, Layout::kIndented));
  return kDone;
}

ExitCode WatchCounters(const Context& context) {
  v1::WatchCountersRequest request;
  *request.mutable_filter() = Meant<v1::PortFilter>(context.flags);
  grpc::ClientContext call;
  const auto reader = context.client.node().WatchCounters(&call, request);
  v1::WatchCountersResponse response;
  for (bool first = true; reader->Read(&response); first = false) {
    if (!first && !AsJson(context)) context.out << '\n';
    RAIL_TRY(PrintCounters(context, response.counters(), Layout::kLine));
    context.out.flush();
    if (!context.out) call.TryCancel();  // nobody reads any more
  }
  return context.client.Ended(reader->Finish());
}

ExitCode ShowBursts(const Context& context) {
  v1::ListBurstsRequest request;
  *request.mutable_filter() = Meant<v1::PortFilter>(context.flags);
  request.set_since_seconds(context.flags.since_seconds);
  request.set_most(context.flags.most);
  RAIL_ASSIGN(v1::ListBurstsResponse response, context.client.Ask(&v1::Node::Stub::ListBursts, request));
  if (AsJson(context)) return PrintJson(context, response);
  if (response.bursts().empty()) {
    context.out << "no burst above 90 % of line rate in that time\n";
  } else {
    Table bursts = MakeTable(context, {.header = BurstHeader(), .wide = {}});
    for (const v1::Burst& each : response.bursts()) bursts.Add(BurstRow(each));
    bursts.Print(context.out);
    if (response.total() > static_cast<uint32_t>(response.bursts_size()))
      context.out << "and " << response.total() - static_cast<uint32_t>(response.bursts_size())
                  << " shorter ones: --most shows more\n";
  }
  if (response.seconds().empty()) return kDone;
  context.out << '\n';
  Table seconds = MakeTable(context, {.header = FastestHeader(), .wide = {}});
  for (const v1::FastestSecond& each : response.seconds()) seconds.Add(FastestRow(each));
  seconds.Print(context.out);
  return kDone;
}

}  // namespace rail::railctl
