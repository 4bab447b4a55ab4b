#include "cmd/railctl/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "cmd/railctl/table.h"

namespace rail::railctl {
namespace {

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

TEST(AttachmentRow, SaysPendingBeforeThePhase) {
  v1::Attachment a;
  a.set_phase(v1::Attachment::DELETING);
  EXPECT_EQ(AttachmentRow(a, 0)[8], "Deleting");
  a.set_pending("withdraw 10.0.3.7: bgpd is down");
  EXPECT_EQ(AttachmentRow(a, 0)[8], "Pending");
}

TEST(AttachmentRow, SaysThatAPodLivesWithoutItsDevice) {
  v1::Attachment a;
  a.set_phase(v1::Attachment::READY);
  a.set_device_lost(true);
  EXPECT_EQ(AttachmentRow(a, 0)[8], "NoDevice");
}

TEST(AttachmentRow, SaysThatAnotherNodeAnnouncesItsAddress) {
  v1::Attachment a;
  a.set_announced(true);
  EXPECT_EQ(AttachmentRow(a, 0)[10], "announced");
  a.add_announced_elsewhere("10.0.3.1 is also announced by AS 7");
  EXPECT_EQ(AttachmentRow(a, 0)[10], "duplicate");
  a.set_contested(true);
  EXPECT_EQ(AttachmentRow(a, 0)[10], "contested");
}

TEST(AttachmentRow, SaysThatItsAddressesAreWithdrawn) {
  v1::Attachment a;
  a.set_announced(true);
  a.set_withdrawn("the uplink up0 of its rail has no carrier");
  EXPECT_EQ(AttachmentRow(a, 0)[10], "withdrawn");
}

TEST(AttachmentRow, CallsRulesThatNobodyCanLookForUnknown) {
  v1::Attachment a;
  EXPECT_EQ(AttachmentRow(a, 0)[9], "missing");
  a.set_rules_in_place(true);
  EXPECT_EQ(AttachmentRow(a, 0)[9], "ok");
  a.mutable_rules_unknown_since()->set_seconds(1);
  EXPECT_EQ(AttachmentRow(a, 0)[9], "unknown");
}

TEST(AttachmentRow, ShowsTheFirstOfItsAddressesOrAll) {
  v1::Attachment a;
  a.add_addresses("10.0.1.2");
  EXPECT_EQ(AttachmentRow(a, 0)[4], "10.0.1.2");
  a.add_addresses("fd52::2");
  EXPECT_EQ(AttachmentRow(a, 0)[4], "10.0.1.2,+1");
  EXPECT_EQ(AttachmentRow(a, 0, Lists::kWhole)[4], "10.0.1.2,fd52::2");
}

TEST(Rows, HaveAsManyCellsAsTheirHeader) {
  EXPECT_EQ(AttachmentRow({}, 0).size(), AttachmentHeader().size());
  EXPECT_EQ(RailRow({}).size(), RailHeader().size());
  EXPECT_EQ(RemoteRow({}).size(), RemoteHeader().size());
  EXPECT_EQ(TenantRow({}).size(), TenantHeader().size());
  EXPECT_EQ(VlanRow({}).size(), VlanHeader().size());
  EXPECT_EQ(RuleRow({}, {}).size(), RuleHeader().size());
  EXPECT_EQ(MegaflowRow({}, {}).size(), MegaflowHeader().size());
  EXPECT_EQ(NodeRow({}, 0).size(), NodeHeader().size());
}

// The columns that only -o wide shows exist, so that a column that is renamed does not come back unseen.
TEST(Rows, NameColumnsThatExistAsWide) {
  const std::vector<std::pair<Row, Columns>> kinds = {
      {AttachmentHeader(), kAttachmentWide}, {RailHeader(), kRailWide}, {RemoteHeader(), kRemoteWide},
      {TenantHeader(), kTenantWide},         {RuleHeader(), kRuleWide}, {MegaflowHeader(), kMegaflowWide}};
  for (const auto& [header, wide] : kinds) {
    for (const std::string& name : wide) EXPECT_EQ(std::ranges::count(header, name), 1) << name;
  }
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
  a.set_phase(v1::Attachment::DELETING);
  a.set_announced(true);
  v1::Rail r;
  r.set_name("rail15");
  r.set_pf("enp159s0f1np1");
  r.set_bridge("br-rail15");
  r.set_bridge_present(true);
  r.set_carrier(true);
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
  const std::vector<std::pair<std::vector<Row>, Columns>> tables = {
      {{AttachmentHeader(), AttachmentRow(a, 0)}, kAttachmentWide},
      {{RailHeader(), RailRow(r)}, kRailWide},
      {{RuleHeader(), RuleRow(a, rule)}, kRuleWide},
      {{MegaflowHeader(), MegaflowRow(a, flow)}, kMegaflowWide}};
  for (const auto& [rows, wide] : tables) {
    Table table(rows[0], {.hidden = wide, .width = kWidth});
    table.Add(rows[1]);
    std::ostringstream out;
    table.Print(out);
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(line.size(), kWidth + 2) << line;  // "…": 3 bytes
  }
}

TEST(RailRow, NeedsNoSessionOfARailWithoutTenantsInModeVrf) {
  v1::Rail r;
  r.set_bridge_present(true);
  r.set_carrier(true);
  EXPECT_EQ(State(r), "NoSession");
  r.set_by_vlan(true);
  EXPECT_EQ(State(r), "Ready");
  v1::RailVlan& vlan = *r.add_vlans();
  vlan.set_vlan(101);
  vlan.mutable_tenant()->set_name("red");
  vlan.set_port("rcvlan-0-101");
  EXPECT_EQ(State(r), "NoSession");
  EXPECT_EQ(VlanRow(vlan)[6], "rcvlan-0-101 (missing)");
}

TEST(RailRow, NamesTheFirstThingThatIsMissing) {
  v1::Rail r;
  const auto state = [&] { return RailRow(r)[5]; };
  r.set_foreign_flows(1);
  EXPECT_EQ(state(), "ForeignFlows");
  r.set_foreign_flows(0);
  EXPECT_EQ(state(), "NoBridge");
  r.set_bridge_present(true);
  EXPECT_EQ(state(), "NoCarrier");
  r.set_carrier(true);
  EXPECT_EQ(state(), "NoSession");
  r.set_bgp_state("Established");
  EXPECT_EQ(state(), "NoLeaf");
  r.set_leaf_mac("02:00:00:00:00:01");
  r.set_unrecorded_pods(1);
  EXPECT_EQ(state(), "RecordLost");
  r.set_unrecorded_pods(0);
  r.set_unseen("ovsdb-server does not answer");
  EXPECT_EQ(state(), "Unseen");
  r.set_unseen("");
  r.set_rules_wanted(9);
  EXPECT_EQ(state(), "RulesDiffer");
  r.set_rules_installed(9);
  EXPECT_EQ(state(), "Ready");
}

TEST(RemoteRow, SaysWhetherItsRulesAreHereOrWhyNot) {
  v1::Remote r;
  EXPECT_EQ(RemoteRow(r)[4], "no");
  r.set_contested(true);
  EXPECT_EQ(RemoteRow(r)[4], "contested");
  r.set_contested(false);
  r.set_installed(true);
  EXPECT_EQ(RemoteRow(r)[4], "yes");
}

TEST(Rows, SayThePlaneOfARailThatHasPlanes) {
  v1::Rail rail;
  rail.set_number(3);
  EXPECT_EQ(RailRow(rail)[15], "") << "it has none";
  rail.set_plane(0);
  EXPECT_EQ(RailRow(rail)[15], "3/0");
  v1::Attachment attachment;
  attachment.set_rail_number(3);
  attachment.set_plane(1);
  EXPECT_EQ(AttachmentRow(attachment, 0)[15], "3/1");
  v1::Remote remote;
  EXPECT_EQ(RemoteRow(remote).back(), "");
  remote.set_rail_number(3);
  remote.set_plane(1);
  EXPECT_EQ(RemoteRow(remote).back(), "3/1");
}

TEST(RailRow, SaysIntoWhichPortTheUplinkIsPlugged) {
  v1::Rail rail;
  rail.mutable_lldp()->set_port("swp3");
  rail.mutable_lldp()->set_chassis("00:1c:73:0a:0b:0c");
  EXPECT_EQ(RailRow(rail)[16], "swp3");
  EXPECT_EQ(RailRow(rail)[17], "00:1c:73:0a:0b:0c");
}

TEST(RemoteRow, GivesTheNumberOfARailThatThisNodeDoesNotHave) {
  v1::Remote r;
  EXPECT_EQ(RemoteRow(r)[3], "");
  r.set_rail_index(0);
  EXPECT_EQ(RemoteRow(r)[3], "0");
  r.set_rail("rail0");
  EXPECT_EQ(RemoteRow(r)[3], "rail0");
}

}  // namespace
}  // namespace rail::railctl
