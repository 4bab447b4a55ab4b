// What only a real Open vSwitch can show: failures of its daemons, its other writers, its control socket.
#include <gmock/gmock.h>
#include <poll.h>

#include <chrono>

#include "lib/ovs/db_connection.h"
#include "lib/ovs/db_monitor.h"
#include "lib/ovs/flow_monitor.h"
#include "lib/ovs/mgmt_connection.h"
#include "lib/ovs/unixctl.h"
#include "lib/ovs/vswitchd.h"
#include "test/contract/ovs_fixture.h"

namespace rail::ovs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PrivateOvs;

constexpr uint64_t kCookie = Cookie(CookieKind::kAttachment, 5);

class VswitchdContract : public ::testing::Test {
 protected:
  void SetUp() override {
    auto ovs = PrivateOvs::Start();
    ASSERT_TRUE(ovs) << ovs.error().message;
    ovs_ = std::move(*ovs);
    ASSERT_TRUE(ovs_->AddVeth("up0", "leaf0"));
    ASSERT_TRUE(ovs_->AddVeth("rep0", "vf0"));
    Connect();
    spec_.name = "br-rail0";
    spec_.datapath = "netdev";
    spec_.uplink = "up0";
    spec_.hwaddr = "02:00:00:00:00:10";
    spec_.mtu = 4200;
    Ensure();
  }

  void Connect() {
    auto db = DbConnection::Open(ovs_->db(), Soon());
    ASSERT_TRUE(db) << db.error().message;
    db_ = std::move(*db);
  }
  void Ensure() {
    const auto bridge = db_->EnsureBridge(spec_, Soon());
    ASSERT_TRUE(bridge) << bridge.error().message;
  }
  PortSpec Rep0() const {
    PortSpec spec;
    spec.bridge = "br-rail0";
    spec.name = "rep0";
    return spec;
  }
  std::string Vsctl(std::vector<std::string> args) {
    args.insert(args.begin(), {"ovs-vsctl", "--db=unix:" + ovs_->db(), "--timeout=20"});
    const auto text = ovs_->Run(args);
    EXPECT_TRUE(text) << text.error().message;
    return text.value_or("");
  }
  Result<std::unique_ptr<OpenFlow>> OpenBridge() {
    return MgmtConnection::Open(ovs_->mgmt("br-rail0"), Soon());
  }
  static Deadline Soon() { return After(seconds(20)); }

  std::unique_ptr<PrivateOvs> ovs_;
  std::unique_ptr<Ovsdb> db_;
  BridgeSpec spec_;
};

TEST_F(VswitchdContract, WritesNothingWhenTheBridgeIsRight) {
  const std::string before = Vsctl({"get", "Open_vSwitch", ".", "next_cfg"});
  Ensure();
  EXPECT_EQ(Vsctl({"get", "Open_vSwitch", ".", "next_cfg"}), before);
}

TEST_F(VswitchdContract, GivesTheDevicesTheirMtuAndMac) {
  EXPECT_EQ(Vsctl({"get", "Interface", "br-rail0", "mtu", "mac_in_use"}), "4200\n\"02:00:00:00:00:10\"\n");
  EXPECT_EQ(Vsctl({"get", "Interface", "up0", "mtu"}), "4200\n");
  PortSpec spec = Rep0();
  spec.mtu = 4100;
  ASSERT_TRUE(db_->AddPort(spec, Soon()));
  EXPECT_EQ(Vsctl({"get", "Interface", "rep0", "mtu"}), "4100\n");
}

TEST_F(VswitchdContract, MendsOnlyWhatIsOursWhenOthersChangeTheBridge) {
  Vsctl({"set", "Bridge", "br-rail0", "fail_mode=standalone", "other_config:hwaddr=02:00:00:00:00:99",
         "other_config:disable-in-band=false", "other_config:mac-table-size=5", "external_ids:theirs=1", "--",
         "set", "Interface", "up0", "mtu_request=1600"});
  Ensure();
  EXPECT_EQ(Vsctl({"get", "Bridge", "br-rail0", "fail_mode", "other_config", "external_ids"}),
            "secure\n{disable-in-band=\"true\", hwaddr=\"02:00:00:00:00:10\", "
            "mac-table-size=\"5\"}\n{theirs=\"1\"}\n");
  EXPECT_EQ(Vsctl({"get", "Interface", "up0", "mtu_request", "ofport_request"}), "4200\n1\n");
}

// For each manager by TCP ovs-vswitchd adds rules that send packets to NORMAL before table 0's rules see them.
TEST_F(VswitchdContract, HasNoHiddenRulesForAManager) {
  const auto socket = FindUnixctl(ovs_->run_dir());
  ASSERT_TRUE(socket) << socket.error().message;
  const auto hidden = [&] {
    const auto rules = UnixctlCall(*socket, "bridge/dump-flows", {"br-rail0"}, Soon());
    EXPECT_TRUE(rules) << rules.error().message;
    return rules && rules->find("NORMAL") != std::string::npos;
  };
  const auto becomes = [&](bool wanted) {
    const Deadline deadline = Soon();
    while (hidden() != wanted && Clock::now() < deadline) {
    }
    return hidden() == wanted;
  };
  Vsctl({"set-manager", "tcp:192.0.2.1:6640"});  // not of the loopback, and no way leads there
  EXPECT_FALSE(hidden());
  Vsctl({"remove", "Bridge", "br-rail0", "other_config", "disable-in-band"});
  EXPECT_TRUE(becomes(true)) << "what the setting is for";
  Ensure();
  EXPECT_TRUE(becomes(false));
}

TEST_F(VswitchdContract, RefusesABridgeWhoseDatapathIsNotToBeHad) {
  BridgeSpec spec = spec_;
  spec.name = "br-rail1";
  spec.uplink = "rep0";
  spec.datapath = "nosuch";
  const auto bridge = db_->EnsureBridge(spec, Soon());
  ASSERT_FALSE(bridge);
  EXPECT_EQ(bridge.error().code, Code::kInvalid);
  EXPECT_THAT(bridge.error().message, HasSubstr("nosuch"));
}

TEST_F(VswitchdContract, IsInvalidWhenTheDatabaseRefusesAValue) {
  PortSpec spec = Rep0();
  spec.ofport_request = 65300;  // beyond what a switch gives to ports
  const auto port = db_->AddPort(spec, Soon());
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code, Code::kInvalid);
  EXPECT_THAT(port.error().message, HasSubstr("constraint violation"));
}

TEST_F(VswitchdContract, KeepsToTheDeadlineWhenVswitchdIsDown) {
  ovs_->KillVswitchd();
  const Deadline deadline = After(milliseconds(300));
  const auto port = db_->AddPort(Rep0(), deadline);
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code, Code::kTransient);
  EXPECT_THAT(port.error().message, HasSubstr("is it running?"));
  EXPECT_LT(Clock::now() - deadline, seconds(20));

  Connect();
  EXPECT_TRUE(db_->DeletePort("br-rail0", "rep0", {}, Ovsdb::Wait::kCommitted, Soon()));
  ASSERT_TRUE(ovs_->StartVswitchd());
  EXPECT_TRUE(db_->AddPort(Rep0(), Soon()));
}

TEST_F(VswitchdContract, IsNotFoundWhenTheBridgeIsNotThere) {
  const auto bridge = MgmtConnection::Open(ovs_->mgmt("br-rail9"), Soon());
  ASSERT_FALSE(bridge);
  EXPECT_EQ(bridge.error().code, Code::kNotFound);
}

TEST_F(VswitchdContract, IsTransientWhenVswitchdDies) {
  auto bridge = OpenBridge();
  ASSERT_TRUE(bridge) << bridge.error().message;
  ovs_->KillVswitchd();
  EXPECT_EQ((*bridge)->Dump({0, 0}, Soon()).error().code, Code::kTransient);
  EXPECT_EQ((*bridge)->Dump({0, 0}, Soon()).error().code, Code::kTransient);
}

TEST_F(VswitchdContract, SaysSoWhenTheBridgeLeavesOutOpenFlow15) {
  Vsctl({"set", "Bridge", "br-rail0", "protocols=OpenFlow10,OpenFlow13"});
  const auto bridge = OpenBridge();
  ASSERT_FALSE(bridge);
  EXPECT_EQ(bridge.error().code, Code::kUnsupported);
  EXPECT_THAT(bridge.error().message, HasSubstr("OpenFlow15"));
}

TEST_F(VswitchdContract, QuotesTheRuleWhenTheSwitchRefusesIt) {
  auto bridge = OpenBridge();
  ASSERT_TRUE(bridge) << bridge.error().message;
  const auto status =
      (*bridge)->Commit({.remove_by_cookie = {},
                         .remove = {},
                         .add = {{0, 5, kCookie, "ip", "drop"}, {0, 6, kCookie, "arp", "group:9"}}},
                        Soon());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kInvalid);
  EXPECT_THAT(status.error().message, HasSubstr("priority=6,cookie=0x5241494c02000005,arp actions=group:9"));
  EXPECT_THAT(status.error().message, HasSubstr("OFPBAC_BAD_OUT_GROUP"));
  bridge = OpenBridge();
  EXPECT_EQ((*bridge)->Dump({0, 0}, Soon())->size(), 0U);
}

TEST_F(VswitchdContract, DoesNotHangWhenEveryRuleIsRefused) {
  auto bridge = OpenBridge();
  ASSERT_TRUE(bridge) << bridge.error().message;
  Change change;
  for (int i = 0; i < 20000; ++i) {
    change.add.push_back({0, 5, kCookie,
                          "ip,nw_dst=10.0." + std::to_string(i / 256) + "." + std::to_string(i % 256),
                          "group:9"});
  }
  EXPECT_EQ((*bridge)->Commit(change, Soon()).error().code, Code::kInvalid);
}

TEST_F(VswitchdContract, KeepsCountersWhenARuleIsAddedAgain) {
  auto bridge = OpenBridge();
  ASSERT_TRUE(bridge) << bridge.error().message;
  // The kernel says hello on the bridge's own port, when it likes: that is not counted.
  const std::string match = "ip,nw_dst=192.168.0.2";
  ASSERT_TRUE((*bridge)->Commit(
      {.remove_by_cookie = {}, .remove = {}, .add = {{0, 5, kCookie, match, "drop"}}}, Soon()));
  const std::string packet = "ffffffffffff0200000000010800450000140000000040110000c0a80001c0a80002";
  const auto sent =
      ovs_->Run({"ovs-ofctl", "-O", "OpenFlow15", "packet-out", "unix:" + ovs_->mgmt("br-rail0"),
                 "in_port=1,packet=" + packet + ",actions=resubmit(,0)"});
  ASSERT_TRUE(sent) << sent.error().message;
  // ovs-vswitchd counts a packet a little after it has taken it.
  const Deadline counted = Soon();
  for (uint64_t packets = 0; packets == 0 && Clock::now() < counted;) {
    const auto rules = (*bridge)->Dump({0, 0}, Soon());
    ASSERT_TRUE(rules && rules->size() == 1);
    packets = (*rules)[0].packets;
  }
  for (const char* actions : {"drop", "LOCAL"}) {
    ASSERT_TRUE((*bridge)->Commit(
        {.remove_by_cookie = {}, .remove = {}, .add = {{0, 5, kCookie, match, actions}}}, Soon()));
    const auto rules = (*bridge)->Dump({0, 0}, Soon());
    ASSERT_TRUE(rules && rules->size() == 1);
    EXPECT_EQ((*rules)[0].rule.actions, actions);
    EXPECT_EQ((*rules)[0].packets, 1U);
    EXPECT_EQ((*rules)[0].bytes, 34U);
  }
}

TEST_F(VswitchdContract, TracesAPacketOverTheControlSocket) {
  const auto socket = FindUnixctl(ovs_->run_dir());
  ASSERT_TRUE(socket) << socket.error().message;
  const auto trace = UnixctlCall(*socket, "ofproto/trace", {"br-rail0", "in_port=1"}, Soon());
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_THAT(*trace, HasSubstr("Datapath actions: drop"));

  const auto unknown = UnixctlCall(*socket, "no/such", {}, Soon());
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kInvalid);
  EXPECT_THAT(unknown.error().message, HasSubstr("not a valid command"));

  ovs_->KillVswitchd();
  EXPECT_EQ(UnixctlCall(*socket, "version", {}, Soon()).error().code, Code::kTransient);
  EXPECT_EQ(FindUnixctl("/nonexistent").error().code, Code::kNotFound);
}

TEST_F(VswitchdContract, RaisesTheRunningFlowLimitAndNeverLowersIt) {
  const AskVswitchd ask = [socket = FindUnixctl(ovs_->run_dir()).value()](auto&&... words) {
    return UnixctlCall(socket, words...);
  };
  const auto limit = [&]() -> uint64_t {
    const auto shown = ask("upcall/show", {}, Soon());
    const auto datapaths = shown ? ParseUpcallShow(*shown) : std::vector<DatapathCounts>();
    return datapaths.size() == 1 ? datapaths[0].limit : 0;
  };
  EXPECT_EQ(limit(), 10000U) << "Open vSwitch's first guess";
  const Status raised = RaiseFlowLimit(ask, 150000, Soon());
  ASSERT_TRUE(raised) << raised.error().message;
  EXPECT_EQ(limit(), 150000U);
  ASSERT_TRUE(RaiseFlowLimit(ask, 5000, Soon()));
  EXPECT_EQ(limit(), 150000U);

  ovs_->KillVswitchd();
  EXPECT_FALSE(RaiseFlowLimit(ask, 150000, Soon()));
}

class FlowMonitorContract : public VswitchdContract {
 protected:
  void SetUp() override {
    VswitchdContract::SetUp();
    auto monitor = FlowMonitor::Open(ovs_->mgmt("br-rail0"), Soon());
    ASSERT_TRUE(monitor) << monitor.error().message;
    monitor_ = std::move(*monitor);
    ASSERT_TRUE(
        monitor_->bridge().Commit({.remove_by_cookie = {},
                                   .remove = {},
                                   .add = {{0, 5, kCookie, "ip", "drop"}, {0, 6, kCookie, "arp", "drop"}}},
                                  Soon()));
    ASSERT_TRUE(monitor_->bridge().Changes()->unknown) << "what was before it";
  }
  std::string Ofctl(const std::string& command, const std::string& flow) {
    const auto text =
        ovs_->Run({"ovs-ofctl", "-O", "OpenFlow15", command, "unix:" + ovs_->mgmt("br-rail0"), flow});
    EXPECT_TRUE(text) << text.error().message;
    return text.value_or("");
  }
  // What is told within the time; nothing at all when it passes.
  RuleChanges Told(int timeout_ms) {
    for (;;) {
      pollfd p{monitor_->fd(), POLLIN, 0};
      const bool readable = ::poll(&p, 1, timeout_ms) > 0;
      auto changes = monitor_->bridge().Changes();
      EXPECT_TRUE(changes) << changes.error().message;
      if (!changes || !changes->empty() || !readable) return changes.value_or(RuleChanges());
    }
  }

  std::unique_ptr<FlowMonitor> monitor_;
};

TEST_F(FlowMonitorContract, SaysOnceThatWhatWasBeforeIsNotKnown) {
  auto other = FlowMonitor::Open(ovs_->mgmt("br-rail0"), Soon());
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_TRUE((*other)->bridge().Changes()->unknown);
  EXPECT_TRUE((*other)->bridge().Changes()->empty());
  const auto unwatched = OpenBridge();
  ASSERT_TRUE(unwatched) << unwatched.error().message;
  EXPECT_TRUE((*unwatched)->Changes()->unknown);
  EXPECT_TRUE((*unwatched)->Changes()->unknown);
}

TEST_F(FlowMonitorContract, IsQuietAboutItsOwnCommits) {
  Change change;
  for (int i = 0; i < 3000; ++i) {
    change.add.push_back(
        {1, 5, kCookie, "ip,nw_dst=10.0." + std::to_string(i / 256) + "." + std::to_string(i % 256), "drop"});
  }
  ASSERT_TRUE(monitor_->bridge().Commit(change, Soon()));
  ASSERT_TRUE(monitor_->bridge().Commit(
      {.remove_by_cookie = {}, .remove = {{0, 6, kCookie, "arp", "drop"}}, .add = {}}, Soon()));
  EXPECT_TRUE(Told(200).empty());
}

TEST_F(FlowMonitorContract, TellsWhenAnotherRemovesEditsOrAddsARuleOfOurs) {
  Ofctl("del-flows", "arp");
  EXPECT_THAT(Told(5000).cookies, ElementsAre(kCookie));
  Ofctl("mod-flows", "ip,actions=LOCAL");
  EXPECT_THAT(Told(5000).cookies, ElementsAre(kCookie));
  Ofctl("add-flow", "cookie=0x5241494c02000009,table=3,ip,actions=drop");
  EXPECT_THAT(Told(5000).cookies, ElementsAre(0x5241494c02000009));
  Ofctl("del-flows", "");
  EXPECT_THAT(Told(5000).cookies, ElementsAre(kCookie, 0x5241494c02000009));
}

TEST_F(FlowMonitorContract, TellsWhereARuleOfOthersWasPutAndOfItsCookieWhenItGoes) {
  Ofctl("add-flow", "cookie=0x7,table=0,priority=5,ip,actions=LOCAL");  // in the place of ours
  const RuleChanges told = Told(5000);
  EXPECT_FALSE(told.unknown);
  EXPECT_THAT(told.cookies, IsEmpty());
  ASSERT_EQ(told.others.size(), 1U);
  EXPECT_EQ(told.others[0], (Rule{0, 5, 7, "ip", ""}));
  EXPECT_THAT(told.foreign_cookies, ElementsAre(7));
  Ofctl("del-flows", "cookie=0x7/-1");
  const RuleChanges gone = Told(5000);
  EXPECT_THAT(gone.foreign_cookies, ElementsAre(7));
  EXPECT_THAT(gone.others, IsEmpty());
}

TEST_F(FlowMonitorContract, TellsOfMoreThanTheSwitchKeepsForUs) {
  const std::string file = ovs_->run_dir() + "/many";
  ASSERT_TRUE(ovs_->Run({"sh", "-c",
                         "for i in $(seq 20000); do echo \"cookie=0x7,table=1,priority=$i,ip,nw_dst=10.0.0.1,"
                         "actions=drop\"; done >" +
                             file}));
  Ofctl("add-flows", file);
  bool unknown = false;
  for (RuleChanges told = Told(5000); !told.empty(); told = Told(500)) unknown = unknown || told.unknown;
  EXPECT_TRUE(unknown);
  Ofctl("del-flows", "arp");
  EXPECT_THAT(Told(5000).cookies, ElementsAre(kCookie)) << "it goes on after that";
}

TEST_F(FlowMonitorContract, EndsWithVswitchd) {
  ovs_->KillVswitchd();
  pollfd p{monitor_->fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&p, 1, 10000), 1);
  EXPECT_EQ(monitor_->TakeIn().error().code, Code::kTransient);
}

class MonitorContract : public VswitchdContract {
 protected:
  void SetUp() override {
    VswitchdContract::SetUp();
    auto monitor = DbMonitor::Open("unix:" + ovs_->db(), Soon());
    ASSERT_TRUE(monitor) << monitor.error().message;
    monitor_ = std::make_unique<DbMonitor>(std::move(*monitor));
  }
  // Something changed within the time.
  bool Changed(int timeout_ms) {
    for (;;) {
      pollfd p{monitor_->fd(), POLLIN, 0};
      if (::poll(&p, 1, timeout_ms) <= 0) return false;
      const auto changed = monitor_->Receive();
      EXPECT_TRUE(changed) << changed.error().message;
      if (!changed || *changed) return changed.has_value();
    }
  }

  std::unique_ptr<DbMonitor> monitor_;
};

TEST_F(MonitorContract, IsQuietWhenNothingChanges) {
  EXPECT_FALSE(Changed(200));
  EXPECT_EQ(monitor_->Receive().value(), false);
}

TEST_F(MonitorContract, IsQuietWhenABridgeIsTriedAgainWhoseUplinkCannotBeOpened) {
  BridgeSpec spec = spec_;
  spec.name = "br-rail1";
  spec.uplink = "pf9";
  ASSERT_FALSE(db_->EnsureBridge(spec, Soon()));
  while (Changed(100)) {
  }
  const std::string before = Vsctl({"get", "Open_vSwitch", ".", "next_cfg"});
  for (int i = 0; i < 3; ++i) {
    const auto again = db_->EnsureBridge(spec, Soon());
    ASSERT_FALSE(again);
    EXPECT_THAT(again.error().message, HasSubstr("could not open network device pf9"));
  }
  EXPECT_FALSE(Changed(200));
  EXPECT_EQ(Vsctl({"get", "Open_vSwitch", ".", "next_cfg"}), before);
}

TEST_F(MonitorContract, TellsWhenOthersChangeWhatIsOurs) {
  const std::vector<std::vector<std::string>> changes = {
      {"set", "Bridge", "br-rail0", "fail_mode=standalone"},
      {"set", "Bridge", "br-rail0", "external_ids:a=b"},
      {"add-port", "br-rail0", "rep0"},
      {"set", "Port", "rep0", "external_ids:a=b"},
      {"del-port", "br-rail0", "rep0"},
      {"del-br", "br-rail0"}};
  for (const auto& change : changes) {
    while (Changed(50)) {
    }
    Vsctl(change);
    EXPECT_TRUE(Changed(5000)) << change[0] << " " << change[1];
  }
}

TEST_F(MonitorContract, TellsWhenALinkGoesDown) {
  while (Changed(100)) {
  }
  ASSERT_TRUE(ovs_->Run({"ip", "link", "set", "leaf0", "down"}));
  EXPECT_TRUE(Changed(10000));
}

}  // namespace
}  // namespace rail::ovs
