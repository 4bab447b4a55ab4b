#include "test/api/served.h"

#include <cstdlib>
#include <filesystem>

namespace rail {
namespace {

engine::RailView SampleRail(const std::string& name, uint32_t index) {
  engine::RailView view;
  view.rail.name = name;
  view.rail.index = index;
  view.rail.pf = "ens" + std::to_string(index + 1) + "f0np0";
  view.rail.bridge = "br-" + name;
  view.rail.mtu = 4200;
  view.seen.set_bridge_present(true);
  return view;
}

constexpr tenancy::TenantId kTeamA{0xc0ffee00000001, 0xab54a98ceb1f0a};

engine::AttachmentView SampleAttachment(int64_t id, const std::string& pod_namespace,
                                        const std::string& pod) {
  engine::AttachmentView view;
  state::Attachment& a = view.attachment;
  a.id = id;
  a.key = {"rail0", "sandbox" + std::to_string(id), "net1"};
  a.rail = "rail0";
  a.pod_namespace = pod_namespace;
  a.pod_name = pod;
  a.created_ms = kStartedMs + 60000;
  return view;
}

engine::RemoteView SampleRemote(const std::string& address, tenancy::TenantId tenant, uint32_t rail_index) {
  engine::RemoteView view;
  view.remote.address = *IpAddress::Parse(address);
  view.remote.tenant = tenant;
  view.remote.rail_index = rail_index;
  return view;
}

}  // namespace

engine::NodeView SampleView() {
  engine::NodeView view;
  view.hostname = "gpu-1";
  view.raild_version = "0.1.0";
  view.asn = 4200000001;
  view.unit = "su-7";
  view.seats = std::make_shared<const engine::Seats>(
      engine::Seats{{4200000002, 0, 4200010001}, {4200000003, 0, 4200010003}});
  view.started_ms = kStartedMs;
  view.repairs = 12;
  view.rdma = engine::RdmaMode::kExclusive;
  view.health.push_back({{engine::Part::kRail, "rail0"}, true, ""});
  view.health.push_back({engine::Part::kBgp, false, "connect to /run/frr/bgpd.vty: no such file"});

  engine::RailView& rail0 = view.rails.emplace_back(SampleRail("rail0", 0));
  rail0.seen.set_carrier(true);
  rail0.seen.set_bridge_mac("02:00:00:00:01:00");
  rail0.seen.set_leaf_mac("02:00:00:00:0f:00");
  rail0.seen.set_bgp_state("Established");
  rail0.seen.set_prefixes_received(3);
  rail0.seen.set_prefixes_sent(2);
  rail0.seen.set_rules_wanted(21);
  rail0.seen.set_rules_installed(21);
  rail0.leaf = {{4200010001, *IpAddress::Parse("10.255.1.1"), "leaf0"}, true};
  rail0.seen.mutable_lldp()->set_chassis("00:1c:73:0a:0b:0c");
  rail0.seen.mutable_lldp()->set_port("swp3");
  rail0.seen.mutable_lldp()->set_system_name("leaf0");
  view.rails.push_back(SampleRail("rail1", 1));

  engine::AttachmentView& ready = view.attachments.emplace_back(SampleAttachment(1, "team-a", "train-0"));
  ready.attachment.phase = state::Phase::kReady;
  ready.attachment.addresses = {*IpAddress::Parse("10.0.3.7"), *IpAddress::Parse("2001:db8::7")};
  ready.attachment.tenant = "team-a";
  ready.attachment.tenant_id = kTeamA;
  ready.attachment.device = "0000:3b:00.2";
  ready.attachment.representor = "pf0vf0";
  ready.attachment.mac = *MacAddress::Parse("02:11:22:33:44:55");
  ready.attachment.mtu = 4200;
  ready.attachment.ofport = 5;
  ready.attachment.announced = true;
  ready.attachment.pod_uid = "5d2a";
  ready.attachment.netns_path = "/run/netns/cni-1";
  ready.rules_in_place = true;

  view.attachments.push_back(SampleAttachment(2, "team-a", "a-new-pod"));

  engine::AttachmentView& left = view.attachments.emplace_back(SampleAttachment(3, "ml", "gone"));
  left.attachment.phase = state::Phase::kDeleting;
  left.attachment.rail = "rail1";
  left.pending = "withdraw 10.0.4.1: bgpd is down";

  view.remotes.own().push_back(SampleRemote("10.0.3.9", kTeamA, 0));
  view.remotes.own().back().tenant = "team-a";
  view.remotes.own().back().installed = true;
  view.remotes.own().push_back(SampleRemote("10.0.3.8", {0, 5}, 0));
  view.remotes.own().push_back(SampleRemote("2001:db8::9", {0, 5}, 7));
  return view;
}

Result<v1::ListFlowsResponse> FakeInspector::ListFlows(const inspect::Selector& selector,
                                                       const inspect::FlowsPage& page) const {
  return flows(selector, page);
}
Result<v1::CheckResponse> FakeInspector::Check(const inspect::Selector& selector) const {
  return check(selector);
}
Result<v1::TraceResponse> FakeInspector::Trace(const inspect::Question& question) const {
  return trace(question);
}
std::vector<inspect::Finding> FakeInspector::Doctor() const {
  return doctor();
}

void Served::SetUp() {
  std::string pattern = testing::TempDir() + "/apiXXXXXX";
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  root_ = pattern;
  socket_ = root_ + "/run/raild.sock";
  views_.Publish(SampleView());
  Start();
}

void Served::Start() {
  server_.reset();
  auto server = raild::Server::Start(Sources(), socket_);
  ASSERT_TRUE(server) << server.error().message;
  server_ = std::move(*server);
  server_->Tell({.started = true});
}

void Served::TearDown() {
  server_.reset();
  std::filesystem::remove_all(root_);
}

}  // namespace rail
