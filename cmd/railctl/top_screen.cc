#include "cmd/railctl/top_screen.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "cmd/railctl/ports.h"

namespace rail::railctl {
namespace {

constexpr size_t kBar = 20;  // characters
constexpr const char* kRed = "\x1b[31m";
constexpr const char* kOff = "\x1b[0m";
constexpr double kFull = 0.9;

double Fastest(const v1::PortCounters& port) {
  return std::max(port.sent().byte_rate(), port.received().byte_rate());
}

double Peak(const v1::PortCounters& port) {
  return static_cast<double>(std::max(port.sent().peak(), port.received().peak()));
}

uint32_t Above(const v1::PortCounters& port) {
  return std::max(port.sent().above_ms(), port.received().above_ms());
}

const char* SortName(TopView::Sort sort) {
  switch (sort) {
    case TopView::Sort::kRate: return "rate";
    case TopView::Sort::kPeak: return "peak";
    case TopView::Sort::kPauses: return "pauses";
    case TopView::Sort::kName: return "name";
  }
  return "";
}

const char* ShowName(TopView::Show show) {
  return show == TopView::Show::kAll ? "ports" : show == TopView::Show::kUplinks ? "uplinks" : "pods";
}

// `#` up to the last second's average, `-` up to its fastest tick.
std::string Bar(double average, double peak, uint64_t line_rate) {
  if (line_rate == 0) return std::string(kBar, ' ');
  const auto part = [&](double rate) {
    const double share = std::min(1.0, rate / static_cast<double>(line_rate));
    return static_cast<size_t>(std::lround(share * static_cast<double>(kBar)));
  };
  std::string bar(part(average), '#');
  bar.resize(std::max(bar.size(), part(peak)), '-');
  bar.resize(kBar, ' ');
  return bar;
}

std::string Cut(std::string text, size_t width) {
  if (text.size() > width) text.resize(width);
  return text;
}

bool Shown(const v1::PortCounters& port, const TopView& view) {
  const bool uplink = port.port().attachment() == 0;
  if (view.show == TopView::Show::kUplinks && !uplink) return false;
  if (view.show == TopView::Show::kPods && uplink) return false;
  return view.rail.empty() || view.rail == port.port().rail();
}

}  // namespace

std::vector<std::string> RailsOf(const v1::ListCountersResponse& counters) {
  std::vector<std::string> rails;
  for (const v1::PortCounters& port : counters.ports()) {
    if (std::ranges::find(rails, port.port().rail()) == rails.end()) rails.push_back(port.port().rail());
  }
  return rails;
}

bool Press(char key, const std::vector<std::string>& rails, TopView& view) {
  switch (key) {
    case 'q':
    case 3:  // ^C
      return false;
    case 's': view.sort = static_cast<TopView::Sort>((static_cast<int>(view.sort) + 1) % 4); break;
    case 'p': view.show = static_cast<TopView::Show>((static_cast<int>(view.show) + 1) % 3); break;
    case 'r': {
      const auto now = std::ranges::find(rails, view.rail);
      if (view.rail.empty() || now == rails.end()) {
        view.rail = rails.empty() ? "" : rails.front();
      } else {
        view.rail = now + 1 == rails.end() ? "" : *(now + 1);
      }
      break;
    }
    default: break;
  }
  return true;
}

bool IsWorthAScreen(const v1::ListCountersResponse& counters) {
  return counters.has_read() &&
         (counters.ports().empty() ||
          std::ranges::any_of(counters.ports(), [](const auto& port) { return port.seconds() > 0; }));
}

std::vector<std::string> Draw(const v1::ListCountersResponse& counters, const TopView& view,
                              const TopSize& size) {
  std::vector<const v1::PortCounters*> ports;
  for (const v1::PortCounters& port : counters.ports()) {
    if (Shown(port, view)) ports.push_back(&port);
  }
  const auto key = [&](const v1::PortCounters* p) {
    const double value = view.sort == TopView::Sort::kRate     ? Fastest(*p)
                         : view.sort == TopView::Sort::kPeak   ? Peak(*p)
                         : view.sort == TopView::Sort::kPauses ? PauseRate(*p)
                                                               : 0.0;
    return std::tuple(-value, p->port().rail(), p->port().attachment() != 0, PortName(p->port()));
  };
  std::ranges::stable_sort(ports, {}, key);

  std::vector<std::string> lines;
  const auto add = [&](const std::string& line, bool red = false) {
    const std::string cut = Cut(line, size.width);
    lines.push_back(red && size.color ? kRed + cut + kOff : cut);
  };
  add(fmt::format("{:%H:%M:%S}Z  {} {}{}, by {}{}   q quit  s sort  p ports  r rail",
                  fmt::gmtime(static_cast<std::time_t>(counters.read().seconds())), ports.size(),
                  ShowName(view.show), view.rail.empty() ? "" : " of " + view.rail, SortName(view.sort),
                  counters.bursts_on() ? "" : ", bursts are off"));
  const size_t name_width = size.width > 110 ? 34 : size.width > 84 ? 24 : 16;
  add(fmt::format("{:<8} {:<{}} {:>7} {:>8}  {:<{}}  {:>5} {:>5} {:>6}", "RAIL", "PORT", name_width, "SENT",
                  "RECEIVED", "OF LINE RATE", kBar + 2, "PEAK", "MS>90", "PAUSES"));
  for (const v1::PortCounters* p : ports) {
    if (lines.size() >= size.height) break;
    const bool full = p->line_rate() != 0 && Peak(*p) >= kFull * static_cast<double>(p->line_rate());
    add(fmt::format("{:<8} {:<{}} {:>7} {:>8}  [{}]  {:>5} {:>5} {:>6}", Cut(p->port().rail(), 8),
                    Cut(PortName(p->port()), name_width), name_width, Bits(p->sent().byte_rate()),
                    Bits(p->received().byte_rate()), Bar(Fastest(*p), Peak(*p), p->line_rate()),
                    Percent(Peak(*p), p->line_rate()), Above(*p),
                    p->pfc().empty() ? "-" : Number(PauseRate(*p))),
        full || PauseRate(*p) > 0);
  }
  if (lines.size() > size.height) lines.resize(size.height);
  return lines;
}

}  // namespace rail::railctl
