#include "lib/inspect/messages.h"
#include "test/api/railctl_run.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "cmd/raild/watchdog.h"

namespace rail {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

// Of a table of one row: "RULES" "21/21". A column that is new does not disturb.
std::map<std::string, std::string> Cells(const std::string& table) {
  const auto split = [](const std::string& line) {
    std::vector<std::string> cells;
    for (size_t at = 0; at < line.size();) {
      const size_t end = std::min(line.find("   ", at), line.size());
      cells.push_back(line.substr(at, end - at));
      at = std::min(line.find_first_not_of(' ', end), line.size());
    }
    return cells;
  };
  std::istringstream lines(table);
  std::string header, row;
  std::getline(lines, header);
  std::getline(lines, row);
  const std::vector<std::string> names = split(header), values = split(row);
  EXPECT_EQ(names.size(), values.size()) << table;
  std::map<std::string, std::string> cells;
  for (size_t i = 0; i < std::min(names.size(), values.size()); ++i) cells[names[i]] = values[i];
  return cells;
}

void ExpectFields(const json& found, const json& wanted) {
  for (const auto& [key, value] : wanted.items()) EXPECT_EQ(found.value(key, json()), value) << key;
}

TEST_F(RailctlTest, ListsAttachmentsForPeople) {
  EXPECT_EQ(
      Out({"get", "attachments"}),
      R"(NAMESPACE   POD         IFNAME   RAIL    ADDRESS       TENANT   STATE     RULES     BGP         AGE
ml          gone        net1     rail1   -             -        Pending   missing   -           2m
team-a      a-new-pod   net1     rail0   -             -        Adding    missing   -           2m
team-a      train-0     net1     rail0   10.0.3.7,+1   team-a   Ready     ok        announced   2m
)");
}

TEST_F(RailctlTest, ListsAttachmentsWithAllColumns) {
  EXPECT_EQ(
      Out({"get", "attachment", "train-0", "-o", "wide"}),
      R"(NAMESPACE   POD       IFNAME   RAIL    ADDRESS                TENANT   DEVICE         REPRESENTOR   STATE   RULES   BGP         AGE   MAC                 MTU    OFPORT   PLANE   VLAN
team-a      train-0   net1     rail0   10.0.3.7,2001:db8::7   team-a   0000:3b:00.2   pf0vf0        Ready   ok      announced   2m    02:11:22:33:44:55   4200   5        -       -
)");
}

TEST_F(RailctlTest, FiltersAttachments) {
  EXPECT_EQ(Out({"get", "attachments", "-n", "ml"}),
            R"(NAMESPACE   POD    IFNAME   RAIL    ADDRESS   TENANT   STATE     RULES     BGP   AGE
ml          gone   net1     rail1   -         -        Pending   missing   -     2m
)");
  EXPECT_THAT(Out({"get", "attachments", "--rail", "rail0"}), Not(HasSubstr("gone")));
  EXPECT_EQ(Out({"get", "attachments", "team-a/train-0", "--no-headers"}),
            "team-a   train-0   net1   rail0   10.0.3.7,+1   team-a   Ready   ok   announced   2m\n");
  for (const char* tenant : {"team-a", "c0ffee00000001ab54a98ceb1f0a"}) {
    const json found = json::parse(Out({"get", "attachments", "--tenant", tenant, "-o", "json"}));
    ASSERT_EQ(found.at("attachments").size(), 1U) << tenant;
    EXPECT_EQ(found.at("attachments").at(0).at("pod").at("name"), "train-0");
  }
}

TEST_F(RailctlTest, SaysThatAPodIsNotThere) {
  const Ran ran = Run({"get", "attachments", "nobody", "-n", "ml"});
  EXPECT_EQ(ran.exit_code, railctl::kFailed);
  EXPECT_EQ(ran.err,
            "railctl: no attachment on this node is of pod ml/nobody: `railctl get attachments` lists those "
            "that exist\n");
}

TEST_F(RailctlTest, NamesTheRailsThatExistWhereverOneDoesNot) {
  for (const std::vector<std::string>& command : {
           std::vector<std::string>{"get", "attachments", "--rail", "rail7"},
           {"get", "rail", "rail7"},
           {"get", "remotes", "--rail", "rail7"},
           {"get", "flows", "--rail", "rail7"},
           {"check", "--rail", "rail7"},
           {"trace", "a", "10.0.0.1", "--rail", "rail7"},
           {"get", "attachments", "-w", "--rail", "rail7"},
           {"describe", "attachment", "a", "--rail", "rail7"},
           {"describe", "rail", "rail7"},
       }) {
    const Ran ran = Run(command);
    EXPECT_EQ(ran.exit_code, railctl::kUsage) << testing::PrintToString(command);
    EXPECT_EQ(ran.err, "railctl: there is no rail 'rail7' on this node; there are: rail0, rail1\n");
  }
}

// By what raild says, and not by a guess that it is too old.
TEST_F(RailctlTest, SaysWhyANodeCannotAnswer) {
  const Ran ran = Run({"bursts"});
  EXPECT_EQ(ran.exit_code, railctl::kFailed);
  EXPECT_EQ(ran.err,
            "railctl: raild at " + socket_ +
                ": raild looks for no bursts: put `\"bursts\": {\"every_ms\": 10}` into node.json\n");
}

TEST_F(RailctlTest, PrintsTheHeaderOfAnEmptyList) {
  views_.Publish({});
  EXPECT_EQ(Out({"get", "remotes"}), "ADDRESS   TENANT   TENANT-ID   RAIL   INSTALLED\n");
}

TEST_F(RailctlTest, ListsRailsForPeople) {
  EXPECT_EQ(
      Out({"get", "rails"}),
      R"(NAME    BRIDGE     PF          STATE       LEAF-MAC            BGP           RECEIVED   SENT   RULES
rail0   br-rail0   ens1f0np0   Ready       02:00:00:00:0f:00   Established   3          2      21/21
rail1   br-rail1   ens2f0np0   NoCarrier   -                   -             0          0      0/0
)");
  EXPECT_THAT(
      Cells(Out({"get", "rail", "rail0", "-o", "wide"})),
      IsSupersetOf(Cells(
          R"(NAME    INDEX   BRIDGE     PF          MTU    STATE   BRIDGE-MAC          LEAF-MAC            BGP           RECEIVED   SENT   RULES   LEAF    LEAF-AS      LEAF-ID      PLANE   LEAF-PORT   LEAF-CHASSIS
rail0   0       br-rail0   ens1f0np0   4200   Ready   02:00:00:00:01:00   02:00:00:00:0f:00   Established   3          2      21/21   leaf0   4200010001   10.255.1.1   -       swp3        00:1c:73:0a:0b:0c
)")));
}

TEST_F(RailctlTest, ListsRemotesForPeople) {
  EXPECT_EQ(Out({"get", "remotes"}),
            R"(ADDRESS       TENANT   TENANT-ID                      RAIL    INSTALLED
10.0.3.8      -        0000000000000000000000000005   rail0   no
10.0.3.9      team-a   c0ffee00000001ab54a98ceb1f0a   rail0   yes
2001:db8::9   -        0000000000000000000000000005   7       no
)");
}

TEST_F(RailctlTest, FiltersRemotesAndTenants) {
  const auto addresses = [&](const std::vector<std::string>& filter) {
    std::vector<std::string> arguments = {"get", "remotes", "-o", "json"};
    arguments.insert(arguments.end(), filter.begin(), filter.end());
    const json found = json::parse(Out(arguments));
    std::vector<std::string> texts;
    for (const json& each : found.at("remotes")) texts.push_back(each.at("address"));
    EXPECT_EQ(found.at("total"), texts.size());
    return texts;
  };
  EXPECT_THAT(addresses({"--rail", "rail0"}), ElementsAre("10.0.3.8", "10.0.3.9"));
  EXPECT_THAT(addresses({"--rail", "rail1"}), ElementsAre());
  EXPECT_THAT(addresses({"--tenant", "team-a"}), ElementsAre("10.0.3.9"));
  EXPECT_THAT(addresses({"--tenant", "0000000000000000000000000005", "--rail", "rail0"}),
              ElementsAre("10.0.3.8"));
  EXPECT_THAT(Out({"get", "tenant", "--tenant", "team-a"}), Not(HasSubstr("0005")));
}

TEST_F(RailctlTest, DrawsTheTopology) {
  EXPECT_EQ(Out({"get", "topology"}), R"(unit su-7 (this node's)
  rail0    leaf0 (AS 4200010001, 10.255.1.1), port swp3
  node     gpu-1 (AS 4200000001, this node)  [0:AS 4200010001]
  node     AS 4200000002  [0:AS 4200010001]  same-leaf

another unit
  rail0    AS 4200010003
  node     AS 4200000003  [0:AS 4200010003]  across-spine
)");
  EXPECT_EQ(Out({"get", "topology", "-o", "dot"}), R"dot(graph topology {
  rankdir=BT;
  subgraph cluster_0 {
    label="su-7";
    leaf_4200010001 [shape=box, label="leaf0 (AS 4200010001, 10.255.1.1)"];
    node_4200000001 [label="gpu-1 (AS 4200000001, this node)"];
    node_4200000002 [label="AS 4200000002"];
  }
  subgraph cluster_1 {
    label="another unit";
    leaf_4200010003 [shape=box, label="AS 4200010003"];
    node_4200000003 [label="AS 4200000003"];
  }
  node_4200000001 -- leaf_4200010001 [label="0"];
  node_4200000002 -- leaf_4200010001 [label="0"];
  node_4200000003 -- leaf_4200010003 [label="0"];
}
)dot");
  const json found = json::parse(Out({"get", "topology", "-o", "json"}));
  EXPECT_EQ(found.at("unit"), "su-7");
  EXPECT_EQ(found.at("units").at(1).at("nodes").at(0).at("distance"), "ACROSS_SPINE");
}

TEST_F(RailctlTest, ShowsTheNodeForPeople) {
  EXPECT_EQ(Out({"get", "node"}),
            R"(HOSTNAME   VERSION   UPTIME   BMP    RDMA        REPAIRS
gpu-1      0.1.0     3m       down   exclusive   12

PART         STATE    PROBLEM
rail rail0   ok       -
bgp          failed   connect to /run/frr/bgpd.vty: no such file
)");
}

TEST_F(RailctlTest, GivesProgramsEveryFieldOfAnAttachment) {
  const json document = json::parse(Out({"get", "attachments", "-o", "json", "--rail", "rail0"}));
  EXPECT_EQ(document, json::parse(R"({"attachments": [
    {"id": 1, "network": "rail0", "container_id": "sandbox1", "ifname": "net1", "rail": "rail0",
     "pod": {"namespace": "team-a", "name": "train-0", "uid": "5d2a"},
     "tenant": {"name": "team-a", "id": "c0ffee00000001ab54a98ceb1f0a"},
     "device": "0000:3b:00.2", "representor": "pf0vf0", "mac": "02:11:22:33:44:55",
     "addresses": ["10.0.3.7", "2001:db8::7"], "mtu": 4200, "phase": "READY", "ofport": 5, "announced": true,
     "rules_in_place": true, "pending": "", "created": "2026-01-02T03:05:05Z", "netns": "/run/netns/cni-1",
     "namespace_unseen": "", "device_lost": false,
     "announced_elsewhere": [], "contested": false, "withdrawn": "", "vlan": 0,
     "state": "STATE_READY", "rules": "RULES_OK", "announcement": "ANNOUNCED"},
    {"id": 2, "network": "rail0", "container_id": "sandbox2", "ifname": "net1", "rail": "rail0",
     "pod": {"namespace": "team-a", "name": "a-new-pod", "uid": ""},
     "device": "", "representor": "", "mac": "",
     "addresses": [], "mtu": 0, "phase": "ADDING", "ofport": 0, "announced": false,
     "rules_in_place": false, "pending": "", "created": "2026-01-02T03:05:05Z", "netns": "",
     "namespace_unseen": "", "device_lost": false,
     "announced_elsewhere": [], "contested": false, "withdrawn": "", "vlan": 0,
     "state": "STATE_ADDING", "rules": "RULES_MISSING", "announcement": "ANNOUNCEMENT_UNSPECIFIED"}]})"));
}

TEST_F(RailctlTest, GivesProgramsRailsRemotesAndTheNode) {
  const json rails = json::parse(Out({"-o", "json", "get", "rails"}));
  // Programs read these; a newer raild may have more.
  ExpectFields(
      rails.at("rails").at(0),
      json::parse(R"({"name": "rail0", "index": 0, "pf": "ens1f0np0", "bridge": "br-rail0", "mtu": 4200,
              "bridge_present": true, "bridge_mac": "02:00:00:00:01:00", "leaf_mac": "02:00:00:00:0f:00",
              "carrier": true, "bgp_state": "Established", "prefixes_received": 3, "prefixes_sent": 2,
              "rules_wanted": 21, "rules_installed": 21, "unrecorded_pods": 0, "foreign_flows": 0, "unseen": "",
              "bgp_problem": "", "stripped": 0, "lossless_known": false, "lossless_ok": false,
              "lossless_problems": [], "state": "READY", "connected": true, "rates_known": false, "rates_ok": false, "tenant_rates": [], "rates_problems": [],
              "leaf": {"asn": 4200010001, "router_id": "10.255.1.1", "name": "leaf0", "heard": true},
              "lldp": {"chassis": "00:1c:73:0a:0b:0c", "port": "swp3", "port_description": "", "system_name": "leaf0"},
              "number": 0, "nic_planes": 1, "by_vlan": false, "vlans": []})"));
  const json remotes = json::parse(Out({"-o", "json", "get", "remotes"}));
  EXPECT_EQ(remotes.at("total"), 3);
  EXPECT_EQ(remotes.at("remotes").at(2), json::parse(R"({"address": "2001:db8::9",
    "tenant": {"name": "", "id": "0000000000000000000000000005"}, "rail_index": 7, "rail": "", "installed": false,
    "contested": false, "as_path": [], "distance": "DISTANCE_UNSPECIFIED", "vlan": 0, "reach": "REACH_UNSPECIFIED"})"));
  const json node = json::parse(Out({"-o", "json", "get", "node"}));
  EXPECT_EQ(node, json::parse(R"({"node": {"hostname": "gpu-1", "version": "0.1.0",
    "started": "2026-01-02T03:04:05Z", "bmp_up": false, "repairs": 12, "rdma": "EXCLUSIVE",
    "frontend_links": [], "frontend_addresses": [], "frontend_bfd_problem": "", "unit": "su-7", "health": [
      {"part": "rail rail0", "ok": true, "problem": "", "rail": "rail0", "failures": 0},
      {"part": "bgp", "ok": false, "problem": "connect to /run/frr/bgpd.vty: no such file", "rail": "", "failures": 0}]}, "runs": []})"));
}

TEST_F(RailctlTest, ShowsRulesAndMegaflowsAndTenants) {
  v1::ListFlowsResponse flows;
  v1::AttachmentFlows& each = *flows.add_attachments();
  *each.mutable_attachment() = inspect::ToMessage(SampleView().attachments[0]);
  v1::RuleStats& rule = *each.add_rules();
  rule = inspect::ToMessage(ovs::Rule{1, 100, 0x5241494c03000001, "in_port=5", "drop"});
  rule.set_packets(7);
  rule.set_bytes(70);
  v1::Megaflow& flow = *each.add_megaflows();
  flow.set_direction(v1::Megaflow::FROM_POD);
  flow.set_match("ip");
  flow.set_actions("1");
  flow.set_packets(3);
  flow.set_bytes(30);
  flow.set_used("never");
  flow.set_place(v1::Megaflow::TC);
  flow.set_why_not("the NIC has not");
  inspector_.flows = [&](const inspect::Selector&, const inspect::FlowsPage&) { return flows; };
  EXPECT_EQ(Out({"get", "flows"}),
            R"(NAMESPACE   POD       IFNAME   RAIL    TABLE   KIND     PACKETS   BYTES   MATCH
team-a      train-0   net1     rail0   1       tenant   7         70      in_port=5

NAMESPACE   POD       IFNAME   RAIL    DIRECTION   WHERE   PACKETS   USED    WHY-NOT-IN-HARDWARE
team-a      train-0   net1     rail0   from        tc      3         never   the NIC has not
)");
  EXPECT_EQ(
      Out({"get", "flows", "-o", "wide"}),
      R"(NAMESPACE   POD       IFNAME   RAIL    TABLE   PRIORITY   KIND     PACKETS   BYTES   MATCH       ACTIONS
team-a      train-0   net1     rail0   1       100        tenant   7         70      in_port=5   drop

NAMESPACE   POD       IFNAME   RAIL    DIRECTION   WHERE   PACKETS   BYTES   USED    MATCH   ACTIONS   WHY-NOT-IN-HARDWARE
team-a      train-0   net1     rail0   from        tc      3         30      never   ip      1         the NIC has not
)");
  flows.set_datapath_problem("ovs-vswitchd is down");
  EXPECT_THAT(Run({"get", "flows"}).err, HasSubstr("ovs-vswitchd is down"));
  EXPECT_EQ(Out({"get", "tenants"}),
            R"(TENANT   TENANT-ID                      NAMESPACES   ATTACHMENTS   RAILS   REMOTES   CONFIGURED
team-a   c0ffee00000001ab54a98ceb1f0a   team-a       1             rail0   1         no
-        0000000000000000000000000005   -            0             -       2         no
)");
}

TEST_F(RailctlTest, CollectsAllPagesOfRemotes) {
  engine::NodeView view = SampleView();
  const engine::RemoteView one = view.remotes[0];
  std::vector<engine::RemoteView>& remotes = view.remotes.own();
  remotes.clear();
  for (uint32_t i = 0; i < 20001; ++i) {
    const std::string bytes = {10, 1, static_cast<char>(i >> 8), static_cast<char>(i)};
    remotes.push_back(one);
    remotes.back().remote.address = *IpAddress::FromBytes(bytes);
  }
  views_.Publish(view);
  const json document = json::parse(Out({"get", "remotes", "-o", "json"}));
  EXPECT_EQ(document.at("remotes").size(), 20001U);
  EXPECT_EQ(document.at("total"), 20001);
  EXPECT_EQ(document.at("next_page_token"), "");
}

TEST_F(RailctlTest, FollowsThePagesOfFlowsByItself) {
  inspector_.flows = [&](const inspect::Selector&,
                         const inspect::FlowsPage& page) -> Result<v1::ListFlowsResponse> {
    v1::ListFlowsResponse flows;
    flows.set_total(3);
    if (page.after < 2) flows.set_next_page_token(std::to_string(page.after + 1));
    *flows.add_attachments()->mutable_attachment() =
        inspect::ToMessage(views_.Current()->attachments.at(static_cast<size_t>(page.after)));
    return flows;
  };
  const json document = json::parse(Out({"get", "flows", "-o", "json"}));
  ASSERT_EQ(document["attachments"].size(), 3U);
  EXPECT_EQ(document["attachments"][2]["attachment"]["id"], 3);
  EXPECT_EQ(document["next_page_token"], "");
  EXPECT_EQ(document["total"], 3);
}

TEST_F(RailctlTest, TellsProbesWhetherRaildServes) {
  EXPECT_EQ(Out({"health"}), "SERVING\n");
  server_->Stop();
  EXPECT_EQ(Run({"health"}).exit_code, railctl::kFailed);
}

TEST_F(RailctlTest, TellsAProbeOfLivenessThatAThreadOfRaildHangsAndThatItWorksAgain) {
  const auto raild = [] { return *event::Loop::Open(); };
  const auto watching = raild();
  const auto worker = raild();
  raild::Watchdog watchdog(
      *watching, raild::Supervisor::FromEnvironment(),
      [&](const raild::Health& health) {
        server_->Tell(health);
        watching->Stop();
      },
      [] { return std::string(); }, std::chrono::milliseconds(200));
  watchdog.Add("Open vSwitch", *worker);
  std::mutex round;  // what the worker hangs on
  round.lock();
  worker->Post([&] { const std::lock_guard hang(round); });
  std::jthread thread([&] { worker->Run(); });
  watchdog.Begin();
  watching->Run();  // until the watchdog has something to say
  for (const std::vector<std::string>& probe : {std::vector<std::string>{"health"}, {"health", "--ready"}}) {
    const Ran ran = Run(probe);
    EXPECT_EQ(ran.exit_code, railctl::kFailed);
    EXPECT_EQ(ran.out, "NOT_SERVING\n");
    EXPECT_THAT(ran.err, AllOf(HasSubstr("hangs"), HasSubstr("raild's thread for Open vSwitch"),
                               HasSubstr("restart raild")));
  }
  EXPECT_THAT(Out({"get", "node"}), HasSubstr("raild        failed"));
  round.unlock();
  watching->Run();
  EXPECT_EQ(Out({"health"}), "SERVING\n");
  EXPECT_EQ(Out({"health", "--ready"}), "SERVING\n");
  worker->Stop();
}

TEST_F(RailctlTest, TellsAProbeOfReadinessThatTheFirstRoundIsNotDone) {
  server_->Tell({.started = false});
  EXPECT_EQ(Out({"health"}), "SERVING\n");
  const Ran ran = Run({"health", "--ready"});
  EXPECT_EQ(ran.exit_code, railctl::kFailed);
  EXPECT_THAT(ran.err, HasSubstr("is not ready: it has not completed its first look"));
}

TEST_F(RailctlTest, TellsAProbeOfReadinessWhichRailItWaitsFor) {
  server_->Tell({.started = true, .waits_for = "rail0: the session with its leaf is not Established"});
  EXPECT_EQ(Out({"health"}), "SERVING\n");
  const Ran ran = Run({"health", "--ready"});
  EXPECT_EQ(ran.exit_code, railctl::kFailed);
  EXPECT_THAT(ran.err, HasSubstr("rail0: the session with its leaf is not Established"));
}

TEST_F(RailctlTest, SaysItsVersionWithoutADaemon) {
  server_->Stop();
  EXPECT_EQ(Out({"version", "--client"}), "railctl " RAIL_VERSION "\n");
  EXPECT_THAT(Out({"version"}),
              testing::StartsWith("railctl " RAIL_VERSION "\nraild is not known: cannot connect to " +
                                  socket_ + ": No such file or directory: is raild running?"));
  EXPECT_THAT(json::parse(Out({"version", "-o", "json"})).at("server").at("problem"),
              HasSubstr("is raild running?"));
}

TEST_F(RailctlTest, SaysBothVersions) {
  EXPECT_EQ(Out({"version"}), "railctl " RAIL_VERSION "\nraild 0.1.0 on gpu-1\n");
  EXPECT_EQ(json::parse(Out({"version", "-o", "json"})),
            json::parse(R"({"client": {"version": ")" RAIL_VERSION
                        R"("}, "server": {"version": "0.1.0", "hostname": "gpu-1"}})"));
  engine::NodeView view = SampleView();
  view.raild_version = "0.0.9";
  views_.Publish(view);
  EXPECT_THAT(Out({"version"}), HasSubstr("raild 0.0.9 on gpu-1\nThe two differ"));
}

TEST_F(RailctlTest, PaintsOnlyWhenToldTo) {
  railctl::Parsed parsed = railctl::ParseFlags({"get", "rails"}, socket_);
  std::ostringstream err;
  for (const bool color : {false, true}) {
    std::ostringstream out;
    parsed.flags->color = color;
    EXPECT_EQ(railctl::Run(*parsed.flags, out, err, Now), railctl::kDone);
    EXPECT_EQ(out.str().find("\x1b[31mNoCarrier\x1b[0m   -") != std::string::npos, color) << out.str();
  }
}

TEST_F(RailctlTest, SaysWhereItCouldNotConnect) {
  const Ran ran = Run({"--socket", root_ + "/nothing.sock", "get", "rails"});
  EXPECT_EQ(ran.exit_code, railctl::kFailed);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "railctl: cannot connect to " + root_ +
                         "/nothing.sock: No such file or directory: is raild running? Its log: `journalctl "
                         "-u raild`; `raild --doctor` looks at the "
                         "node without it\n");
}

TEST_F(RailctlTest, SaysWhenItCannotWriteTheAnswer) {
  std::ofstream full("/dev/full");
  std::ostringstream err;
  const railctl::Parsed parsed = railctl::ParseFlags({"get", "rails"}, socket_);
  EXPECT_EQ(railctl::Run(*parsed.flags, full, err, Now), railctl::kFailed);
  EXPECT_EQ(err.str(), "railctl: cannot write the answer: is the disk full?\n");
}

}  // namespace
}  // namespace rail
