#include "cmd/raild/metrics/exposition.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "cmd/raild/metrics/testing/families.h"
#include "rail/v1/options.pb.h"
#include "rail/v1/state.pb.h"

namespace rail::metrics {
namespace {

std::vector<DocumentFamily> Everything() {
  std::vector<DocumentFamily> all = FamiliesOf(*v1::NodeState::descriptor());
  for (const Family* family : kAll)
    all.push_back({.name = std::string(family->name),
                   .labels = std::string(family->labels),
                   .help = std::string(family->help),
                   .kind = family->kind});
  return all;
}

TEST(Exposition, WritesFamiliesOneAfterTheOther) {
  Exposition page;
  page.Add(kLookSuccess, {"rules"}, 1);
  page.AddSeconds(kLookAge, {}, 7.125);
  page.Add(kLookSuccess, {"flows"}, 0);
  page.Add(Sample{.name = "railcni_failures_total", .help = "Rounds.", .kind = Kind::kCounter},
           {{"part", "bgp"}, {"rail", "a\"b"}}, "18446744073709551615");
  EXPECT_EQ(
      page.Text(),
      "# HELP railcni_switch_look_success 1: the last look at Open vSwitch had this; 0: what is counted "
      "there is left out of this page.\n"
      "# TYPE railcni_switch_look_success gauge\n"
      "railcni_switch_look_success{source=\"rules\"} 1\n"
      "railcni_switch_look_success{source=\"flows\"} 0\n"
      "# HELP railcni_switch_look_age_seconds Since when the last look at Open vSwitch has ended.\n"
      "# TYPE railcni_switch_look_age_seconds gauge\n"
      "railcni_switch_look_age_seconds 7.125\n"
      "# HELP railcni_failures_total Rounds.\n"
      "# TYPE railcni_failures_total counter\n"
      "railcni_failures_total{part=\"bgp\",rail=\"a\\\"b\"} 18446744073709551615\n");
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
  std::set<std::string> seen;
  for (const DocumentFamily& family : Everything()) {
    const std::string& text = family.name;
    EXPECT_TRUE(std::regex_match(text, name)) << text;
    EXPECT_TRUE(std::regex_match(family.labels, labels)) << text;
    EXPECT_EQ(text.ends_with("_total"), family.kind == Kind::kCounter) << text;
    EXPECT_TRUE(family.help.ends_with('.')) << text;
    EXPECT_EQ(family.help.find_first_of("\\\n"), std::string::npos) << text << ": would need escapes";
    EXPECT_TRUE(seen.insert(text).second) << text << " stands twice";
  }
}

// A row of the table: | `railcni_rail_carrier` | `rail` | ...
// An option that names a field which is not there would keep a metric away for ever.
TEST(Names, AreOfFieldsThatAreThere) {
  std::vector<const google::protobuf::Descriptor*> types = {v1::NodeState::descriptor()};
  for (size_t next = 0; next < types.size(); ++next) {
    const google::protobuf::Descriptor& type = *types[next];
    for (const std::string& each : type.options().GetExtension(v1::info).labels())
      EXPECT_NE(type.FindFieldByName(each.substr(each.find('=') + 1)), nullptr) << type.name() << " " << each;
    for (int i = 0; i < type.field_count(); ++i) {
      const google::protobuf::FieldDescriptor& field = *type.field(i);
      const v1::Metric& metric = field.options().GetExtension(v1::metric);
      EXPECT_TRUE(metric.when().empty() || type.FindFieldByName(metric.when()) != nullptr) << metric.name();
      if (field.message_type() != nullptr && std::ranges::find(types, field.message_type()) == types.end())
        types.push_back(field.message_type());
    }
  }
}

TEST(Names, OfWhatIsNotRaildsStateAreThoseOfTheReadme) {
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
