#include "cmd/raild/metrics/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace rail::raild {
namespace {

using counters::Direction;
using testing::HasSubstr;
using testing::Not;

std::string Text(const counters::PortsView& view, bool pods) {
  metrics::Exposition page;
  AddPorts(page, {.view = view, .pods = pods});
  return page.Text();
}

counters::PortsView View(int pods) {
  counters::PortsView view{.version = 1, .bursts_on = true};
  counters::PortView& uplink = view.ports.emplace_back();
  uplink.port = std::make_shared<const counters::Port>(counters::Port{.rail = "rail0", .link = "p0"});
  uplink.line_rate = 50;
  uplink.now.traffic[Direction::kReceived].bytes = 12;
  uplink.now.pfc.emplace().indications[3] = 9;
  for (int i = pods; i >= 1; --i) {
    counters::PortView& port = view.ports.emplace_back();
    port.port = std::make_shared<const counters::Port>(counters::Port{.rail = "rail0",
                                                                      .link = "r",
                                                                      .attachment = i,
                                                                      .pod_namespace = "ml",
                                                                      .pod = "t",
                                                                      .ifname = "net1",
                                                                      .tenant = "a"});
  }
  view.tenants[{"rail0", "a"}][Direction::kSent].bytes = 77;
  view.bursts[{"rail0", true, Direction::kSent}] = {.bursts = 2, .above = std::chrono::milliseconds(150)};
  return view;
}

TEST(PortsMetricsTest, UplinksTenantsAndBursts) {
  const std::string text = Text(View(1), false);
  EXPECT_THAT(text, HasSubstr("railcni_uplink_bytes_total{rail=\"rail0\",direction=\"received\"} 12\n"));
  EXPECT_THAT(
      text,
      HasSubstr("railcni_uplink_pfc_frames_total{rail=\"rail0\",priority=\"3\",direction=\"received\"} 9\n"));
  EXPECT_THAT(text,
              HasSubstr("railcni_tenant_bytes_total{rail=\"rail0\",tenant=\"a\",direction=\"sent\"} 77\n"));
  EXPECT_THAT(text, HasSubstr("railcni_bursts_total{rail=\"rail0\",of=\"uplink\",direction=\"sent\"} 2\n"));
  EXPECT_THAT(
      text, HasSubstr("railcni_burst_seconds_total{rail=\"rail0\",of=\"uplink\",direction=\"sent\"} 0.15\n"));
  EXPECT_THAT(text, Not(HasSubstr("slow_path"))) << "the driver does not count it";
  EXPECT_THAT(text, Not(HasSubstr("railcni_pod_")));
}

TEST(PortsMetricsTest, WithoutBurstsTheirFamiliesAreLeftOut) {
  counters::PortsView view = View(0);
  view.bursts_on = false;
  EXPECT_THAT(Text(view, false), Not(HasSubstr("burst")));
  EXPECT_THAT(Text(view, false), Not(HasSubstr("peak")));
}

TEST(PortsMetricsTest, PodsOnlyWhenAskedForAndBounded) {
  const std::string text = Text(View(1200), true);
  size_t lines = 0;
  for (size_t at = text.find("\nrailcni_pod_bytes_total{"); at != std::string::npos;
       at = text.find("\nrailcni_pod_bytes_total{", at + 1))
    ++lines;
  EXPECT_EQ(lines, 2 * kMostPodSeries);
  EXPECT_THAT(text, HasSubstr("attachment=\"1\"")) << "the oldest stay";
  EXPECT_THAT(text, Not(HasSubstr("attachment=\"1001\"")));
}

}  // namespace
}  // namespace rail::raild
