#include "cmd/railctl/columns.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "cmd/railctl/table.h"
#include "rail/v1/options.pb.h"

namespace rail::railctl {
namespace {

using testing::ElementsAre;

const std::vector<const google::protobuf::Descriptor*>& Tables() {
  static const std::vector<const google::protobuf::Descriptor*> tables = {
      v1::Attachment::descriptor(), v1::Rail::descriptor(),          v1::RailVlan::descriptor(),
      v1::Remote::descriptor(),     v1::TenantSummary::descriptor(), v1::NodeInfo::descriptor(),
      v1::HealthPart::descriptor(), v1::FrontendLink::descriptor(),  v1::RuleStats::descriptor(),
      v1::Megaflow::descriptor()};
  return tables;
}

TEST(Age, IsWrittenAsKubectlWritesIt) {
  const std::vector<std::pair<int64_t, std::string>> cases = {
      {0, "0s"},       {119, "119s"},     {120, "2m"},      {599, "9m59s"},    {600, "10m"},
      {10799, "179m"}, {10800, "3h"},     {28740, "7h59m"}, {28800, "8h"},     {172799, "47h"},
      {172800, "2d"},  {691199, "7d23h"}, {691200, "8d"},   {40000000, "462d"}};
  for (const auto& [seconds, text] : cases) EXPECT_EQ(Age(1000, 1000 + seconds * 1000), text) << seconds;
}

TEST(Age, IsZeroWhenTheClockWentBack) {
  EXPECT_EQ(Age(5000, 1000), "0s");
}

// What people have in their fingers and their scripts: these stay, in this order; others may stand between them. One goes or moves on
// purpose, with a line in UPGRADE.md.
void Keeps(const Columns& columns, std::vector<std::string> names) {
  std::vector<std::string> kept;
  for (const std::string& name : columns.header) {
    if (std::ranges::find(names, name) != names.end()) kept.push_back(name);
  }
  EXPECT_EQ(kept, names);
}

TEST(Columns, ThatWereThereAreStillThere) {
  Keeps(ColumnsOf<v1::Attachment>(),
        {"NAMESPACE", "POD", "IFNAME", "RAIL", "ADDRESS", "TENANT", "DEVICE", "REPRESENTOR", "STATE", "RULES",
         "BGP", "AGE", "MAC", "MTU", "OFPORT", "PLANE", "VLAN"});
  Keeps(ColumnsOf<v1::Rail>(),
        {"NAME", "INDEX", "BRIDGE", "PF", "MTU", "STATE", "BRIDGE-MAC", "LEAF-MAC", "BGP", "RECEIVED", "SENT",
         "RULES", "LEAF", "LEAF-AS", "LEAF-ID", "PLANE", "LEAF-PORT", "LEAF-CHASSIS"});
  Keeps(ColumnsOf<v1::RailVlan>(),
        {"VLAN", "TENANT", "BGP", "LEAF-MAC", "RECEIVED", "SENT", "PORT", "PORT-WORKS", "VRF"});
  Keeps(ColumnsOf<v1::Remote>(),
        {"ADDRESS", "TENANT", "TENANT-ID", "RAIL", "INSTALLED", "VLAN", "DISTANCE", "AS-PATH", "PLANE"});
  Keeps(ColumnsOf<v1::TenantSummary>(),
        {"TENANT", "TENANT-ID", "NAMESPACES", "ATTACHMENTS", "RAILS", "REMOTES", "CONFIGURED", "VLAN"});
  Keeps(ColumnsOf<v1::NodeInfo>(), {"HOSTNAME", "VERSION", "UPTIME", "BMP", "RDMA", "REPAIRS"});
  Keeps(ColumnsOf<v1::HealthPart>(), {"PART", "STATE", "PROBLEM"});
  Keeps(ColumnsOf<v1::FrontendLink>(), {"LINK", "BGP", "TOLD", "DEFAULT", "RECEIVED", "PROBLEM"});
  Keeps(ColumnsOf<v1::RuleStats>().OfAttachment(), {"NAMESPACE", "POD", "IFNAME", "RAIL", "TABLE", "PRIORITY",
                                                    "KIND", "PACKETS", "BYTES", "MATCH", "ACTIONS"});
  Keeps(ColumnsOf<v1::Megaflow>().OfAttachment(),
        {"NAMESPACE", "POD", "IFNAME", "RAIL", "DIRECTION", "WHERE", "PACKETS", "BYTES", "USED", "MATCH",
         "ACTIONS", "WHY-NOT-IN-HARDWARE"});
  EXPECT_THAT(ColumnsOf<v1::Attachment>().wide,
              ElementsAre("DEVICE", "MAC", "MTU", "OFPORT", "PLANE", "REPRESENTOR", "VLAN"));
}

// An option that names a field which is not there would give an empty cell for ever.
TEST(Columns, NameFieldsThatAreThere) {
  for (const google::protobuf::Descriptor* table : Tables()) {
    std::set<std::string> names;
    for (int i = 0; i < table->field_count(); ++i) {
      const google::protobuf::FieldDescriptor& field = *table->field(i);
      for (int n = 0; n < field.options().ExtensionSize(v1::column); ++n) {
        const v1::Column& column = field.options().GetExtension(v1::column, n);
        SCOPED_TRACE(table->name() + " " + column.name());
        EXPECT_TRUE(names.insert(column.name()).second) << "twice in one table";
        for (const std::string& beside : {column.over(), column.otherwise()})
          EXPECT_TRUE(beside.empty() || table->FindFieldByName(beside) != nullptr) << beside;
        const bool is_time = field.message_type() == google::protobuf::Timestamp::descriptor();
        if (field.message_type() == nullptr || is_time) continue;
        EXPECT_NE(field.message_type()->FindFieldByName(column.of()), nullptr) << column.of();
      }
    }
  }
}

TEST(RowOf, HasAsManyCellsAsThereAreColumns) {
  EXPECT_EQ(RowOf(v1::Rail()).size(), ColumnsOf<v1::Rail>().header.size());
  EXPECT_EQ(RowAbout({}, RowOf(v1::Megaflow())).size(),
            ColumnsOf<v1::Megaflow>().OfAttachment().header.size());
}

TEST(CellOf, IsEmptyWhereNothingIsKnown) {
  EXPECT_THAT(RowOf(v1::Attachment()), testing::Each(""));
  const Row rail = RowOf(v1::Rail());
  EXPECT_EQ(CellOf(v1::Rail(), "LEAF-AS"), "") << "a message that is unset";
  EXPECT_EQ(CellOf(v1::Rail(), "INDEX"), "0") << "a number that can be 0";
  EXPECT_EQ(CellOf(v1::Rail(), "NO-SUCH"), "");
}

TEST(CellOf, GivesTheWordOfAnEnum) {
  v1::Attachment a;
  a.set_state(v1::Attachment::NO_DEVICE);
  a.set_rules(v1::Attachment::RULES_UNKNOWN);
  a.set_announcement(v1::Attachment::WITHDRAWN);
  EXPECT_EQ(CellOf(a, "STATE"), "NoDevice");
  EXPECT_EQ(CellOf(a, "RULES"), "unknown");
  EXPECT_EQ(CellOf(a, "BGP"), "withdrawn");
  v1::Remote r;
  EXPECT_EQ(CellOf(r, "INSTALLED"), "no");
  r.set_distance(v1::ACROSS_SPINE);
  EXPECT_EQ(CellOf(r, "DISTANCE"), "across-spine");
  a.set_state(static_cast<v1::Attachment::State>(77));
  EXPECT_EQ(CellOf(a, "STATE"), "77") << "of a newer raild";
}

TEST(CellOf, ShowsTheFirstOfAListOrAll) {
  v1::Attachment a;
  a.add_addresses("10.0.1.2");
  EXPECT_EQ(CellOf(a, "ADDRESS"), "10.0.1.2");
  a.add_addresses("fd52::2");
  EXPECT_EQ(CellOf(a, "ADDRESS"), "10.0.1.2,+1");
  EXPECT_EQ(CellOf(a, "ADDRESS", {.lists = Lists::kWhole}), "10.0.1.2,fd52::2");
  v1::Remote r;
  r.add_as_path(7);
  r.add_as_path(8);
  EXPECT_EQ(CellOf(r, "AS-PATH"), "7 8");
  v1::FrontendLink link;
  link.add_default_routes("ipv4");
  link.add_default_routes("ipv6");
  EXPECT_EQ(CellOf(link, "DEFAULT"), "ipv4,ipv6");
}

TEST(CellOf, WritesTwoNumbersAsOneOverTheOther) {
  v1::Rail rail;
  EXPECT_EQ(CellOf(rail, "RULES"), "0/0");
  rail.set_rules_installed(7);
  rail.set_rules_wanted(9);
  EXPECT_EQ(CellOf(rail, "RULES"), "7/9");
  rail.set_number(3);
  EXPECT_EQ(CellOf(rail, "PLANE"), "") << "it has none";
  rail.set_plane(0);
  EXPECT_EQ(CellOf(rail, "PLANE"), "3/0");
  v1::Attachment attachment;
  attachment.set_rail_number(3);
  attachment.set_plane(1);
  EXPECT_EQ(CellOf(attachment, "PLANE"), "3/1");
}

TEST(CellOf, LooksIntoMessagesAndAtWhatStandsInstead) {
  v1::Rail rail;
  rail.mutable_lldp()->set_port("swp3");
  rail.mutable_leaf()->set_asn(4200010001);
  EXPECT_EQ(CellOf(rail, "LEAF-PORT"), "swp3");
  EXPECT_EQ(CellOf(rail, "LEAF-AS"), "4200010001");
  v1::Remote r;
  EXPECT_EQ(CellOf(r, "RAIL"), "");
  r.set_rail_index(0);
  EXPECT_EQ(CellOf(r, "RAIL"), "0") << "a rail that this node does not have";
  r.set_rail("rail0");
  EXPECT_EQ(CellOf(r, "RAIL"), "rail0");
}

TEST(CellOf, SaysBoolsAndAgesInWords) {
  v1::NodeInfo node;
  EXPECT_EQ(CellOf(node, "BMP"), "down");
  EXPECT_EQ(CellOf(node, "RDMA"), "?");
  node.set_bmp_up(true);
  node.mutable_started()->set_seconds(100);
  EXPECT_EQ(CellOf(node, "BMP"), "up");
  EXPECT_EQ(CellOf(node, "UPTIME", {.now_ms = 219'000}), "119s");
  v1::TenantSummary tenant;
  EXPECT_EQ(CellOf(tenant, "CONFIGURED"), "no");
}

// Names of usual length: a namespace of 10 characters, a pod of 18, the widest word of each state.
TEST(Rows, OfADefaultTableFitInto120Columns) {
  v1::Attachment a;
  a.mutable_pod()->set_namespace_(std::string(10, 'n'));
  a.mutable_pod()->set_name(std::string(18, 'p'));
  a.set_ifname("net12");
  a.set_rail("rail15");
  a.add_addresses("10.200.200.200");
  a.add_addresses("fd52:4149:0:1::2");
  a.mutable_tenant()->set_name(std::string(10, 'n'));
  a.set_device("0000:3b:00.2");
  a.set_representor("enp59s0f0npf0vf127");
  a.set_state(v1::Attachment::STATE_DELETING);
  a.set_rules(v1::Attachment::RULES_MISSING);
  a.set_announcement(v1::Attachment::ANNOUNCED);
  v1::Rail r;
  r.set_name("rail15");
  r.set_pf("enp159s0f1np1");
  r.set_bridge("br-rail15");
  r.set_state(v1::Rail::RULES_DIFFER);
  r.set_bgp_state("Established");
  r.set_leaf_mac("02:00:00:00:0f:00");
  r.set_rules_wanted(20000);
  r.set_prefixes_received(100000);
  v1::RuleStats rule;
  rule.set_table(2);
  rule.set_kind("attachment");
  rule.set_packets(99999999999);
  rule.set_bytes(99999999999999);
  rule.set_match(std::string(90, 'm'));
  v1::Megaflow flow;
  flow.set_why_not(std::string(150, 'w'));
  flow.set_packets(99999999999);
  const std::vector<std::pair<Columns, Row>> tables = {
      {ColumnsOf<v1::Attachment>(), RowOf(a, {.now_ms = 28'740'000})},
      {ColumnsOf<v1::Rail>(), RowOf(r)},
      {ColumnsOf<v1::RuleStats>().OfAttachment(), RowAbout(a, RowOf(rule))},
      {ColumnsOf<v1::Megaflow>().OfAttachment(), RowAbout(a, RowOf(flow))}};
  for (const auto& [columns, row] : tables) {
    Table table(columns.header, {.hidden = columns.wide, .width = kWidth});
    table.Add(row);
    std::ostringstream out;
    table.Print(out);
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(line.size(), kWidth + 2) << line;  // "…": 3 bytes
  }
}

}  // namespace
}  // namespace rail::railctl
