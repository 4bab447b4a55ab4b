#include "cmd/raild/metrics/exposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace rail::metrics {
namespace {

TEST(Exposition, WritesFamiliesOneAfterTheOther) {
  Exposition page;
  page.Add(kRailCarrier, {"rail0"}, 1);
  page.AddSeconds(kStartTime, {}, 1732193279.125);
  page.Add(kRailCarrier, {"rail1"}, 0);
  page.Add(kFailures, {"bgp"}, UINT64_MAX);
  EXPECT_EQ(page.Text(),
            "# HELP railcni_rail_carrier 1: the rail's uplink has a carrier.\n"
            "# TYPE railcni_rail_carrier gauge\n"
            "railcni_rail_carrier{rail=\"rail0\"} 1\n"
            "railcni_rail_carrier{rail=\"rail1\"} 0\n"
            "# HELP railcni_start_time_seconds When raild was started, in seconds since 1970.\n"
            "# TYPE railcni_start_time_seconds gauge\n"
            "railcni_start_time_seconds 1732193279.125\n"
            "# HELP railcni_failures_total Rounds in which this part could not be put right.\n"
            "# TYPE railcni_failures_total counter\n"
            "railcni_failures_total{part=\"bgp\"} 18446744073709551615\n");
}

TEST(Exposition, EscapesValuesOfLabels) {
  Exposition page;
  page.Add(kMegaflows, {"a\"} 1\nx 2", "back\\slash", "\xc3\xa9"}, 3);
  EXPECT_THAT(page.Text(),
              testing::EndsWith("\nrailcni_datapath_flows{rail=\"a\\\"} 1\\nx 2\",tenant=\"back\\\\slash\","
                                "place=\"\xc3\xa9\"} 3\n"));
}

TEST(Exposition, WritesHistograms) {
  Histogram times;
  for (const double seconds : {0.001, 0.005, 0.03, 31.0}) times.Observe(seconds);
  Exposition page;
  page.Add(kCniSeconds, {"ovs-provider", "ADD"}, times);
  const std::string text = page.Text();
  EXPECT_THAT(
      text,
      testing::HasSubstr(
          "# TYPE railcni_cni_duration_seconds histogram\n"
          "railcni_cni_duration_seconds_bucket{le=\"0.002\",plugin=\"ovs-provider\",verb=\"ADD\"} 1\n"
          "railcni_cni_duration_seconds_bucket{le=\"0.005\",plugin=\"ovs-provider\",verb=\"ADD\"} 2\n"));
  EXPECT_THAT(text,
              testing::HasSubstr(
                  "_bucket{le=\"30\",plugin=\"ovs-provider\",verb=\"ADD\"} 3\n"
                  "railcni_cni_duration_seconds_bucket{le=\"+Inf\",plugin=\"ovs-provider\",verb=\"ADD\"} 4\n"
                  "railcni_cni_duration_seconds_sum{plugin=\"ovs-provider\",verb=\"ADD\"} 31.036\n"
                  "railcni_cni_duration_seconds_count{plugin=\"ovs-provider\",verb=\"ADD\"} 4\n"));
}

TEST(Exposition, IsEmptyWithoutSamples) {
  EXPECT_EQ(Exposition().Text(), "");
}

TEST(Names, FollowTheConventions) {
  const std::regex name("railcni(_[a-z]+)+");
  const std::regex labels("([a-z_]+(,[a-z_]+)*)?");
  std::set<std::string_view> seen;
  for (const Family* family : kAll) {
    const std::string text(family->name);
    EXPECT_TRUE(std::regex_match(text, name)) << text;
    EXPECT_TRUE(std::regex_match(std::string(family->labels), labels)) << text;
    EXPECT_EQ(text.ends_with("_total"), family->kind == Kind::kCounter) << text;
    EXPECT_TRUE(family->help.ends_with('.')) << text;
    EXPECT_EQ(family->help.find_first_of("\\\n"), std::string_view::npos) << text << ": would need escapes";
    EXPECT_TRUE(seen.insert(family->name).second) << text << " stands twice";
  }
}

// A row of the table: | `railcni_rail_carrier` | `rail` | ...
TEST(Names, AreThoseOfTheReadme) {
  std::ifstream file(RAILCNI_METRICS_README);
  std::stringstream text;
  text << file.rdbuf();
  const std::string readme = text.str();
  std::set<std::string> described;
  const std::regex row("\\n\\| `(railcni_[a-z_]+)` \\| ([^|]*) \\|");
  for (std::sregex_iterator at(readme.begin(), readme.end(), row), end; at != end; ++at) {
    std::string labels;
    for (const char c : (*at)[2].str()) {
      if (c != '`' && c != ' ') labels += c;
    }
    EXPECT_TRUE(described.insert((*at)[1].str() + "{" + labels + "}").second) << (*at)[1];
  }
  std::set<std::string> there;
  for (const Family* family : kAll)
    there.insert(std::string(family->name) + "{" + std::string(family->labels) + "}");
  EXPECT_EQ(described, there);
}

}  // namespace
}  // namespace rail::metrics
