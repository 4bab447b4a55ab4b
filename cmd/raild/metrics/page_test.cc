#include "cmd/raild/metrics/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "cmd/raild/metrics/exposition.h"
#include "cmd/raild/metrics/testing/families.h"
#include "rail/v1/state.pb.h"

namespace rail::raild {
namespace {

using engine::NodeView;
using testing::HasSubstr;
using testing::Not;

engine::AttachmentView Attachment(int64_t id, const std::string& rail, const std::string& tenant,
                                  state::Phase phase = state::Phase::kReady) {
  engine::AttachmentView shown;
  shown.attachment.id = id;
  shown.attachment.rail = rail;
  shown.attachment.tenant = tenant;
  if (!tenant.empty()) shown.attachment.tenant_id.low = static_cast<uint8_t>(tenant.back());
  shown.attachment.phase = phase;
  shown.attachment.announced = true;
  shown.rules_in_place = true;
  return shown;
}

constexpr Clock::time_point kNow{std::chrono::hours(1)};

NodeView Sample() {
  NodeView view{.version = 5, .raild_version = "0.1.0", .started_ms = 1732193279125};
  view.rdma = engine::RdmaMode::kExclusive;
  view.bmp_up = true;
  view.health = {{.part = engine::Part::kBgp, .ok = true, .failures = 2},
                 {.part = {engine::Part::kRail, "rail0"},
                  .ok = false,
                  .problem = "Open vSwitch has gone",
                  .failures = 1}};
  engine::RailView& rail = view.rails.emplace_back();
  rail.rail = {.name = "rail0", .pf = "p0", .bridge = "br-rail0"};
  rail.seen.set_bridge_present(true);
  rail.seen.set_carrier(true);
  rail.seen.set_bgp_state("Active");
  rail.seen.set_prefixes_received(7);
  rail.seen.set_prefixes_sent(3);
  rail.seen.set_rules_wanted(40);
  rail.seen.set_rules_installed(39);
  rail.seen.set_foreign_flows(2);
  rail.seen.set_lossless_known(true);
  rail.seen.add_lossless_problems("p0 does not pause");
  rail.rates.emplace().tenants = {
      {.tenant = "tenant-a", .tenant_id = {}, .nic = "pci/a", .share = 3, .max_mbit = 0, .pods = 1},
      {.tenant = "tenant-a", .tenant_id = {}, .nic = "pci/b", .share = 4, .max_mbit = 100'000, .pods = 1},
      {.tenant = "tenant-b", .tenant_id = {}, .nic = "pci/b", .share = 1, .max_mbit = 0, .pods = 1}};
  view.attachments = {Attachment(1, "rail0", "tenant-a"), Attachment(2, "rail0", "tenant-a"),
                      Attachment(3, "rail0", "", state::Phase::kAdding)};
  view.attachments[1].rules_in_place = view.attachments[1].attachment.announced = false;
  view.attachments[1].device_lost = true;
  view.attachments[0].elsewhere = {{.other_tenant = true, .by = "AS 7 for tenant b"}};
  view.attachments[0].namespace_unseen = "mount it";
  rail.seen.set_unrecorded_pods(4);
  rail.seen.set_offers_devices(true);
  rail.seen.set_devices(8);
  rail.seen.set_devices_healthy(7);
  rail.seen.mutable_lldp()->set_chassis("00:1c:73:0a:0b:0c");
  rail.seen.mutable_lldp()->set_port("swp3");
  rail.seen.mutable_lldp()->set_system_name("leaf0");
  v1::RailVlan& vlan = *rail.seen.add_vlans();
  vlan.set_vlan(101);
  vlan.mutable_tenant()->set_name("tenant-a");
  vlan.set_port_works(true);
  vlan.set_bgp_state("Idle");
  rail.leaf = {.leaf = {.asn = 4200010001, .router_id = *IpAddress::Parse("10.255.1.1"), .name = "leaf0"},
               .heard = true};
  view.unit = "su-7";
  view.attachments[2].pending = "port: Open vSwitch has gone";
  view.remote_counts = {.known = 100000, .contested = 1, .of_tenant = {{"tenant-a", 12}}};
  v1::FrontendLink& link = *view.frontend.add_frontend_links();
  link.set_name("mgmt1");
  link.set_connected(true);
  link.add_not_told("192.0.2.11");
  link.add_missing_default_routes("ipv4");
  link.add_missing_default_routes("ipv6");
  link.add_unused_default_paths("ipv6");
  view.attachments[0].moves_to = "tenant-b";
  view.tenant_list = {.wanted = true,
                      .known = true,
                      .namespaces = 10000,
                      .invalid = 2,
                      .example = {},
                      .problem = "no route",
                      .problem_since = kNow - std::chrono::seconds(90)};
  view.repairs_by_cause = {{"rules", 80}};
  return view;
}

PortsPart NoPorts() {
  static const counters::PortsView none;
  return {.view = none};
}

// One of everything.
PortsPart AllPorts() {
  using counters::Direction;
  static const counters::PortsView all = [] {
    counters::PortsView view{.version = 1, .bursts_on = true};
    counters::PortView& uplink = view.ports.emplace_back();
    uplink.port = std::make_shared<const counters::Port>(counters::Port{.rail = "rail0", .link = "p0"});
    uplink.line_rate = 1;
    uplink.now.pfc.emplace();
    view.ports.emplace_back().port = std::make_shared<const counters::Port>(
        counters::Port{.rail = "rail0", .link = "rep0", .attachment = 1});
    view.tenants[{"rail0", "tenant-a"}][Direction::kSent].slow_packets = 1;
    view.bursts[{"rail0", true, Direction::kSent}] = {};
    return view;
  }();
  return {.view = all, .pods = true};
}

Measured Look() {
  Measured measured;
  measured.took = std::chrono::microseconds(12500);
  measured.ended = kNow - std::chrono::milliseconds(7250);
  measured.sample.datapath = {.name = "system@ovs-system", .flows = 30, .limit = 200000, .offloaded = 6};
  measured.sample.masks = {{"ipv4", 2}, {"other", 1}};
  measured.drops[{"rail0", 6, "tenant-a"}] = 4;
  measured.drops[{"rail0", inspect::kOfGuard + static_cast<uint8_t>(guard::Reason::kMac), "tenant-a"}] = 5;
  measured.drops[{"rail0", 3, ""}] = 9;
  measured.sample.flows[{"rail0", "tenant-a"}] = {
      .in_hardware = 5, .in_tc = 1, .in_software = 2, .dropping = 3};
  measured.roce["rail0"] = {{"np_cnp_sent", 6}};
  return measured;
}

CniRuns Runs() {
  CniRuns runs;
  event::PluginRun ran{"ovs-provider", "ADD", std::chrono::milliseconds(12), false, {}};
  ran.parts.front() = std::chrono::milliseconds(2);
  ran.parts.back() = std::chrono::milliseconds(10);
  runs.Count(ran);
  runs.Count({"ovs-provider", "ADD", std::chrono::seconds(40), true, ran.parts});
  runs.Count({"some-plugin", "ADD", {}, false, {}});
  runs.Count({"ovs-provider", "PLUNDER", {}, false, {}});
  return runs;
}

// In alphabetical order, since that of the page says nothing; without HELP and TYPE, which are the names' own.
std::multiset<std::string> Samples(const std::string& page) {
  std::istringstream lines(page);
  std::multiset<std::string> samples;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('#')) samples.insert(line);
  }
  return samples;
}

std::string FamilyOf(const std::string& sample) {
  return sample.substr(0, sample.find_first_of("{ "));
}

TEST(CniRuns, AreMessagesWithAllBuckets) {
  const std::vector<v1::PluginRuns> all = Runs().ToMessages();
  ASSERT_EQ(all.size(), 1U) << "of plugins and verbs that exist";
  EXPECT_EQ(all[0].plugin() + " " + all[0].verb(), "ovs-provider ADD");
  EXPECT_EQ(all[0].runs(), 2U);
  EXPECT_EQ(all[0].failed(), 1U);
  EXPECT_DOUBLE_EQ(all[0].seconds(), 40.012);
  ASSERT_EQ(all[0].buckets_size(), static_cast<int>(metrics::Histogram::kBounds.size()));
  for (const v1::PluginRuns::Bucket& bucket : all[0].buckets())
    EXPECT_EQ(bucket.runs(), bucket.at_most() < 0.012 ? 0U : 1U) << bucket.at_most();
}

TEST(MetricsPage, SaysAllThatTheViewAndTheLookSay) {
  const Measured look = Look();
  const http::Page page = MetricsPage(Sample(), &look, kNow, Runs(), NoPorts());
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.type, "text/plain; version=0.0.4; charset=utf-8");
  // A metric goes or is renamed on purpose, with a line in UPGRADE.md. Another one may come; of these, no other sample.
  const std::multiset<std::string> wanted = Samples(R"(railcni_build_info{version="0.1.0"} 1
railcni_start_time_seconds 1732193279.125
railcni_up{part="bgp"} 1
railcni_up{part="rail rail0"} 0
railcni_failures_total{part="bgp"} 2
railcni_failures_total{part="rail rail0"} 1
railcni_repairs_total{cause="rules"} 80
railcni_repairs_total{cause="foreign flow"} 0
railcni_repairs_total{cause="port"} 0
railcni_repairs_total{cause="orphan port"} 0
railcni_repairs_total{cause="external_ids"} 0
railcni_repairs_total{cause="representor"} 0
railcni_repairs_total{cause="guard"} 0
railcni_repairs_total{cause="sysctl"} 0
railcni_repairs_total{cause="NIC"} 0
railcni_repairs_total{cause="QoS"} 0
railcni_repairs_total{cause="rates"} 0
railcni_repairs_total{cause="announcement"} 0
railcni_repairs_total{cause="orphan announcement"} 0
railcni_repairs_total{cause="bgp configuration"} 0
railcni_repairs_total{cause="front end"} 0
railcni_repairs_total{cause="tenant link"} 0
railcni_repairs_total{cause="attachment"} 0
railcni_repairs_total{cause="device"} 0
railcni_rail_info{rail="rail0",bridge="br-rail0",uplink="p0",number="0",plane=""} 1
railcni_rail_lldp_info{rail="rail0",system="leaf0",port="swp3",chassis="00:1c:73:0a:0b:0c"} 1
railcni_rail_leaf_info{rail="rail0",leaf="leaf0",asn="4200010001",router_id="10.255.1.1",heard="1"} 1
railcni_rail_carrier{rail="rail0"} 1
railcni_rail_bridge_present{rail="rail0"} 1
railcni_rail_leaf_known{rail="rail0"} 0
railcni_rail_rules_wanted{rail="rail0"} 40
railcni_rail_rules_installed{rail="rail0"} 39
railcni_rail_devices{rail="rail0"} 8
railcni_rail_devices_healthy{rail="rail0"} 7
railcni_rail_foreign_flows{rail="rail0"} 2
railcni_rail_lossless_ok{rail="rail0"} 0
railcni_rail_rates_ok{rail="rail0"} 1
railcni_tenant_tx_share{rail="rail0",tenant="tenant-a"} 3
railcni_tenant_tx_share{rail="rail0",tenant="tenant-b"} 1
railcni_tenant_tx_max_bytes_per_second{rail="rail0",tenant="tenant-a"} 12500000000
railcni_bgp_session_established{rail="rail0"} 0
railcni_bgp_session_state{rail="rail0",state="Idle"} 0
railcni_bgp_session_state{rail="rail0",state="Connect"} 0
railcni_bgp_session_state{rail="rail0",state="Active"} 1
railcni_bgp_session_state{rail="rail0",state="OpenSent"} 0
railcni_bgp_session_state{rail="rail0",state="OpenConfirm"} 0
railcni_bgp_session_state{rail="rail0",state="Established"} 0
railcni_bgp_session_state{rail="rail0",state="none"} 0
railcni_bgp_session_state{rail="rail0",state="other"} 0
railcni_bgp_prefixes_received{rail="rail0"} 7
railcni_bgp_prefixes_sent{rail="rail0"} 3
railcni_vlan_port_works{rail="rail0",vlan="101",tenant="tenant-a"} 1
railcni_vlan_session_established{rail="rail0",vlan="101",tenant="tenant-a"} 0
railcni_vlan_prefixes_received{rail="rail0",vlan="101",tenant="tenant-a"} 0
railcni_vlan_prefixes_sent{rail="rail0",vlan="101",tenant="tenant-a"} 0
railcni_unit_info{unit="su-7"} 1
railcni_bmp_up 1
railcni_learning_complete 0
railcni_remotes 100000
railcni_contested_addresses 1
railcni_tenant_remotes{tenant="tenant-a"} 12
railcni_rdma_netns_mode{mode="exclusive"} 1
railcni_rdma_netns_mode{mode="shared"} 0
railcni_rdma_netns_mode{mode="none"} 0
railcni_frontend_session_established{link="mgmt1"} 1
railcni_frontend_addresses_not_told{link="mgmt1"} 1
railcni_frontend_leaked_prefixes{link="mgmt1"} 0
railcni_frontend_missing_default_routes{link="mgmt1"} 2
railcni_frontend_stray_default_routes{link="mgmt1"} 0
railcni_frontend_unused_default_paths{link="mgmt1"} 1
railcni_tenants_known 1
railcni_tenants_stale_seconds 90
railcni_tenants_namespaces 10000
railcni_tenants_invalid_labels 2
railcni_attachments{rail="rail0",phase="adding"} 1
railcni_attachments{rail="rail0",phase="ready"} 2
railcni_attachments{rail="rail0",phase="deleting"} 0
railcni_attachments_without_rules{rail="rail0"} 1
railcni_attachments_announced{rail="rail0"} 1
railcni_attachments_announced_elsewhere{rail="rail0"} 1
railcni_attachments_without_device{rail="rail0"} 1
railcni_attachments_unseen{rail="rail0"} 1
railcni_attachments_pending_undo{rail="rail0"} 1
railcni_attachments_in_other_tenant{rail="rail0"} 1
railcni_unrecorded_pods{rail="rail0"} 4
railcni_tenant_attachments{rail="rail0",tenant="tenant-a"} 2
railcni_cni_duration_seconds_bucket{le="0.002",plugin="ovs-provider",verb="ADD"} 0
railcni_cni_duration_seconds_bucket{le="0.005",plugin="ovs-provider",verb="ADD"} 0
railcni_cni_duration_seconds_bucket{le="0.01",plugin="ovs-provider",verb="ADD"} 0
railcni_cni_duration_seconds_bucket{le="0.02",plugin="ovs-provider",verb="ADD"} 1
railcni_cni_duration_seconds_bucket{le="0.05",plugin="ovs-provider",verb="ADD"} 1
railcni_cni_duration_seconds_bucket{le="0.1",plugin="ovs-provider",verb="ADD"} 1
railcni_cni_duration_seconds_bucket{le="0.2",plugin="ovs-provider",verb="ADD"} 1
railcni_cni_duration_seconds_bucket{le="0.5",plugin="ovs-provider",verb="ADD"} 1
railcni_cni_duration_seconds_bucket{le="1",plugin="ovs-provider",verb="ADD"} 1
railcni_cni_duration_seconds_bucket{le="2",plugin="ovs-provider",verb="ADD"} 1
railcni_cni_duration_seconds_bucket{le="5",plugin="ovs-provider",verb="ADD"} 1
railcni_cni_duration_seconds_bucket{le="10",plugin="ovs-provider",verb="ADD"} 1
railcni_cni_duration_seconds_bucket{le="30",plugin="ovs-provider",verb="ADD"} 1
railcni_cni_duration_seconds_bucket{le="+Inf",plugin="ovs-provider",verb="ADD"} 2
railcni_cni_duration_seconds_sum{plugin="ovs-provider",verb="ADD"} 40.012
railcni_cni_duration_seconds_count{plugin="ovs-provider",verb="ADD"} 2
railcni_cni_part_seconds_total{plugin="ovs-provider",verb="ADD",part="record"} 0.004
railcni_cni_part_seconds_total{plugin="ovs-provider",verb="ADD",part="ovsdb"} 0
railcni_cni_part_seconds_total{plugin="ovs-provider",verb="ADD",part="openflow"} 0
railcni_cni_part_seconds_total{plugin="ovs-provider",verb="ADD",part="ipam"} 0
railcni_cni_part_seconds_total{plugin="ovs-provider",verb="ADD",part="bgp"} 0
railcni_cni_part_seconds_total{plugin="ovs-provider",verb="ADD",part="link"} 0
railcni_cni_part_seconds_total{plugin="ovs-provider",verb="ADD",part="pod"} 0
railcni_cni_part_seconds_total{plugin="ovs-provider",verb="ADD",part="other"} 0.02
railcni_cni_failures_total{plugin="ovs-provider",verb="ADD"} 1
railcni_switch_look_success{source="rules"} 1
railcni_switch_look_success{source="datapath"} 1
railcni_switch_look_success{source="flows"} 1
railcni_switch_look_age_seconds 7.25
railcni_switch_look_duration_seconds 0.0125
railcni_dropped_packets_total{rail="rail0",table="compare",tenant=""} 9
railcni_dropped_packets_total{rail="rail0",table="refuse",tenant="tenant-a"} 4
railcni_dropped_packets_total{rail="rail0",table="guard_mac",tenant="tenant-a"} 5
railcni_datapath_all_flows 30
railcni_datapath_masks{family="ipv4"} 2
railcni_datapath_masks{family="other"} 1
railcni_datapath_flow_limit 200000
railcni_datapath_offloaded_flows 6
railcni_datapath_flows{rail="rail0",tenant="tenant-a",place="hardware"} 5
railcni_datapath_flows{rail="rail0",tenant="tenant-a",place="tc"} 1
railcni_datapath_flows{rail="rail0",tenant="tenant-a",place="software"} 2
railcni_datapath_dropping_flows{rail="rail0",tenant="tenant-a"} 3
railcni_roce_counter_total{rail="rail0",counter="np_cnp_sent"} 6
)");
  std::set<std::string> families;
  for (const std::string& sample : wanted) families.insert(FamilyOf(sample));
  std::multiset<std::string> found = Samples(page.body);
  std::erase_if(found, [&](const std::string& sample) { return !families.contains(FamilyOf(sample)); });
  EXPECT_EQ(found, wanted);
  const http::Page whole = MetricsPage(Sample(), &look, kNow, Runs(), AllPorts());
  std::vector<std::string> names;
  for (const metrics::Family* family : metrics::kAll) names.emplace_back(family->name);
  for (const auto& family : metrics::FamiliesOf(*v1::NodeState::descriptor())) names.push_back(family.name);
  for (const std::string& name : names)
    EXPECT_THAT(whole.body, HasSubstr("# TYPE " + name + " ")) << "nobody fills it";
}

TEST(MetricsPage, LeavesOutWhatTheSwitchHasNotTold) {
  Measured look = Look();
  look.sample.rules_problem = "connect to /run/openvswitch/br-rail0.mgmt: no such file";
  std::string page = MetricsPage(Sample(), &look, kNow, Runs(), NoPorts()).body;
  EXPECT_THAT(page, HasSubstr("railcni_switch_look_success{source=\"rules\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("railcni_switch_look_success{source=\"datapath\"} 1\n"));
  EXPECT_THAT(page, Not(HasSubstr("railcni_dropped_packets_total")));
  EXPECT_THAT(page, HasSubstr("railcni_datapath_flows{"));
  look.sample.datapath_problem = look.sample.flows_problem = "no answer in time";
  page = MetricsPage(Sample(), &look, kNow, Runs(), NoPorts()).body;
  EXPECT_THAT(page, Not(HasSubstr("railcni_datapath")));
  EXPECT_THAT(page, HasSubstr("railcni_switch_look_age_seconds 7.25\n"));
}

TEST(MetricsPage, CountsFlowsThatAreTooManyToBeRead) {
  Measured look = Look();
  look.sample.flows_problem = "90000 datapath flows are not read one by one";
  const std::string page = MetricsPage(Sample(), &look, kNow, Runs(), NoPorts()).body;
  EXPECT_THAT(page, HasSubstr("railcni_switch_look_success{source=\"flows\"} 0\n"));
  EXPECT_THAT(page, HasSubstr("railcni_datapath_all_flows 30\n"));
  EXPECT_THAT(page, Not(HasSubstr("railcni_datapath_flows{")));
  EXPECT_THAT(page, Not(HasSubstr("railcni_datapath_dropping_flows")));
}

TEST(MetricsPage, ComesWithoutALook) {
  const std::string page = MetricsPage(Sample(), nullptr, kNow, Runs(), NoPorts()).body;
  for (const char* source : {"rules", "datapath", "flows"}) {
    EXPECT_THAT(page, HasSubstr("railcni_switch_look_success{source=\"" + std::string(source) + "\"} 0\n"));
  }
  EXPECT_THAT(page, HasSubstr("railcni_rail_carrier{rail=\"rail0\"} 1\n"));
  EXPECT_THAT(page, Not(HasSubstr("railcni_roce")));
  EXPECT_THAT(page, Not(HasSubstr("railcni_switch_look_age_seconds ")));
}

// What is not known is absent: 0 would be a fault, and 1 a lie.
TEST(MetricsPage, HasNoSampleOfWhatIsNotKnown) {
  NodeView view;
  view.rails.emplace_back().rail = {.name = "rail0", .pf = "p0", .bridge = "br-rail0"};
  const std::string page = MetricsPage(view, nullptr, kNow, Runs(), NoPorts()).body;
  EXPECT_THAT(page, HasSubstr("railcni_rail_carrier{rail=\"rail0\"} 0\n"));
  for (const char* absent : {"railcni_rail_lossless_ok", "railcni_rail_rates_ok", "railcni_rail_lldp_info",
                             "railcni_rail_leaf_info", "railcni_unit_info", "railcni_tenants_"})
    EXPECT_THAT(page, Not(HasSubstr(absent)));
}

TEST(MetricsPage, MissesNoSessionOfARailWithoutTenantsInModeVrf) {
  NodeView view = Sample();
  view.rails[0].seen.set_by_vlan(true);
  const auto established = [&] { return MetricsPage(view, nullptr, kNow, Runs(), NoPorts()).body; };
  EXPECT_THAT(established(), HasSubstr("railcni_bgp_session_established{rail=\"rail0\"} 0\n"));
  view.rails[0].seen.clear_vlans();
  view.rails[0].seen.set_bgp_state("");
  EXPECT_THAT(established(), HasSubstr("railcni_bgp_session_established{rail=\"rail0\"} 1\n"));
}

TEST(MetricsPage, TakesAnyBytesAsATenant) {
  NodeView view = Sample();
  view.attachments[0].attachment.tenant = view.attachments[1].attachment.tenant = "a\"b\\c\nd\xff";
  EXPECT_THAT(
      MetricsPage(view, nullptr, kNow, Runs(), NoPorts()).body,
      HasSubstr("railcni_tenant_attachments{rail=\"rail0\",tenant=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\"} 2\n"));
}

TEST(MetricsPage, DoesNotPutTheListOfRemotesTogether) {
  NodeView view = Sample();
  view.remotes = engine::RemoteList([]() -> std::vector<engine::RemoteView> {
    ADD_FAILURE() << "somebody has asked for 100,000 remotes";
    return {};
  });
  EXPECT_THAT(MetricsPage(view, nullptr, kNow, Runs(), NoPorts()).body,
              HasSubstr("railcni_remotes 100000\n"));
}

// Pods and addresses may multiply; lines must not.
TEST(MetricsPage, HasAsManyLinesForManyPodsAsForOne) {
  NodeView one, many;
  one.attachments = {Attachment(1, "rail0", "tenant-a")};
  for (int64_t id = 1; id <= 1000; ++id) many.attachments.push_back(Attachment(id, "rail0", "tenant-a"));
  const auto lines = [](const http::Page& page) { return std::ranges::count(page.body, '\n'); };
  EXPECT_EQ(lines(MetricsPage(one, nullptr, kNow, Runs(), NoPorts())),
            lines(MetricsPage(many, nullptr, kNow, Runs(), NoPorts())));
}

TEST(HealthPage, IsAsTheParts) {
  EXPECT_EQ(HealthPage({}).status, 503);
  NodeView view = Sample();
  http::Page page = HealthPage(view);
  EXPECT_EQ(page.status, 503);
  EXPECT_EQ(page.body, "rail rail0 is not right\n`railctl get node` on the node says why\n");
  view.health[1] = {.part = {engine::Part::kRail, "rail0"}, .ok = true};
  page = HealthPage(view);
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body, "ok\n");
}

}  // namespace
}  // namespace rail::raild
