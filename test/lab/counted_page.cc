// A page of raild's metrics, made by raild's own code, of a node with NICs, whose counters no device of a lab has; for test_alerts.py.
//
// Use:      counted_page SECONDS     the page after so many seconds of trouble; 0: nothing has happened yet
//
// Its counters run a hundred times as fast as a NIC's, so that an alert's window of minutes is full within seconds.
#include <cstdio>
#include <cstdlib>

#include "cmd/raild/metrics/page.h"

namespace rail {
namespace {

using counters::Direction;

constexpr double kFaster = 100;
// Per second, above each alert's threshold (deploy/prometheus/alerts.yaml).
constexpr double kErrors = 2;
constexpr double kPauses = 2000;
constexpr double kSlowPath = 2000;
constexpr double kOutOfSequence = 20;
constexpr double kBytes = 2e9;      // of a rail that is well
constexpr double kSlowBytes = 2e8;  // of one that is not

uint64_t After(double seconds, double rate) {
  return static_cast<uint64_t>(seconds * rate * kFaster);
}

counters::PortsView Ports(double seconds) {
  counters::PortsView view{.version = 1, .bursts_on = true};
  for (int rail = 0; rail < 3; ++rail) {
    counters::PortView& uplink = view.ports.emplace_back();
    uplink.port = std::make_shared<const counters::Port>(
        counters::Port{.rail = "rail" + std::to_string(rail), .link = "p" + std::to_string(rail)});
    uplink.line_rate = 50'000'000'000;
    uplink.now.traffic[Direction::kSent].bytes = After(seconds, rail == 1 ? kSlowBytes : kBytes);
    netlink::PfcStats& pfc = uplink.now.pfc.emplace();
    pfc.enabled = 1U << 3;
    if (rail != 0) continue;
    uplink.now.traffic[Direction::kReceived].errors = After(seconds, kErrors);
    pfc.indications[3] = After(seconds, kPauses);
  }
  view.tenants[{"rail0", "tenant-a"}][Direction::kSent].slow_packets = After(seconds, kSlowPath);
  return view;
}

std::string Page(double seconds) {
  const auto now = Clock::now();
  engine::NodeView view{.version = 1, .raild_version = "test"};
  view.bmp_up = true;
  raild::Measured look;
  look.ended = now;
  look.roce["rail0"] = {{"out_of_sequence", After(seconds, kOutOfSequence)}, {"np_cnp_sent", 1}};
  return raild::MetricsPage(view, &look, now, {}, {.view = Ports(seconds)}).body;
}

}  // namespace
}  // namespace rail

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: counted_page SECONDS\n", stderr);
    return 2;
  }
  std::fputs(rail::Page(std::strtod(argv[1], nullptr)).c_str(), stdout);
  return 0;
}
