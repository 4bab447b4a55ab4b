// The faults that a node can have: the doctor's first line names the cause, and what follows from it is below it.
#include "lib/inspect/doctor/causes.h"

#include <gmock/gmock.h>

#include <functional>
#include <set>

#include "lib/inspect/doctor/testing/fixture.h"
#include "lib/inspect/select.h"

namespace rail::inspect {
namespace {

using testing::ElementsAre;

const Error kHung{Code::kTransient, "no answer in time", 0};

// Two rails with two pods on each.
NodeFacts Node() {
  NodeFacts facts = Well();
  facts.config.rails.push_back({.name = "rail1", .index = 1, .pf = "pf1", .bridge = "br-rail1", .mtu = 4200});
  RailFacts& seen = facts.rails["rail1"] = facts.rails["rail0"];
  seen.bridge->name = "br-rail1";
  seen.bridge->ports[0].name = "br-rail1";
  seen.bridge->ports[1].name = "pf1";
  engine::RailView& shown = facts.view.rails.emplace_back(facts.view.rails[0]);
  shown.rail = facts.config.rails[1];
  facts.view.health.push_back({{engine::Part::kRail, "rail1"}, true, "", 0});
  int number = 0;
  for (const char* rail : {"rail0", "rail1", "rail1"}) {
    engine::AttachmentView pod = facts.view.attachments[0];
    pod.attachment.pod_name = "more" + std::to_string(++number);
    pod.attachment.rail = rail;
    pod.attachment.representor = "rep0" + std::to_string(number);
    facts.rails[rail].representors[pod.attachment.representor] = facts.rails["rail0"].representors["rep0"];
    facts.rails[rail].bridge->ports.push_back(
        {.bridge = {}, .name = pod.attachment.representor, .ofport = 9});
    facts.view.attachments.push_back(pod);
  }
  facts.rails["rail1"].representors.erase("rep0");
  std::erase_if(facts.rails["rail1"].bridge->ports,
                [](const ovs::Port& port) { return port.name == "rep0"; });
  return facts;
}

std::vector<std::string> Texts(const std::vector<Finding>& findings) {
  std::vector<std::string> texts;
  for (const Finding& each : findings) texts.push_back(each.id + " " + each.subject);
  return texts;
}

// What raild says of a part that it cannot put right.
void PartFails(NodeFacts& f, const engine::PartId& part) {
  std::erase_if(f.view.health, [&](const engine::Health& health) { return health.part == part; });
  f.view.health.push_back({part, false, "no answer in time", 3});
}

// raild cannot look at the bridges.
void NobodyLooks(NodeFacts& f) {
  for (engine::RailView& rail : f.view.rails) {
    rail.seen.set_unseen("no answer in time");
    rail.seen.mutable_unseen_since()->set_seconds((f.now_ms - 3000) / 1000);
    PartFails(f, {engine::Part::kRail, rail.rail.name});
  }
  for (engine::AttachmentView& a : f.view.attachments) a.rules_unknown_since_ms = f.now_ms - 3000;
}

void SessionsDown(NodeFacts& f) {
  for (engine::RailView& rail : f.view.rails) rail.seen.set_bgp_state("Active");
}

void BgpdAway(NodeFacts& f) {
  f.bgpd_down = kHung;
  f.view.bmp_up = false;
  SessionsDown(f);
  for (const engine::Part part : {engine::Part::kBgp, engine::Part::kBgpFeed}) PartFails(f, part);
  f.view.attachments[0].pending = "announce: no answer in time";
  f.view.attachments[0].pending_step = "announce";
}

void RailWithoutWire(NodeFacts& f) {
  f.view.rails[0].seen.set_bgp_state("Active");
  PartFails(f, {engine::Part::kUplink, "rail0"});
  for (engine::AttachmentView& a : f.view.attachments) {
    if (a.attachment.rail == "rail0") a.withdrawn = "the uplink pf0 of its rail has no carrier";
  }
}

struct Fault {
  const char* name;
  std::function<void(NodeFacts&)> make;
  std::vector<std::string> roots;
  const char* follows;  // from the first
};

const std::vector<Fault>& Faults() {
  static const std::vector<Fault> faults = {
      {"RaildIsDead",
       [](NodeFacts& f) {
         f.start = StartFacts{.log = "l", .start = "s", .obstacles = {}};
         f.view.attachments[0].pending = "announce: no answer in time";
         f.view.attachments[0].pending_step = "announce";
         for (engine::AttachmentView& a : f.view.attachments) a.rules_in_place = false;  // nobody has looked
       },
       {"raild-down raild"},
       "1 attachment"},
      {"RaildDoesNotStartForItsFile",
       [](NodeFacts& f) {
         f.start = StartFacts{.log = "l", .start = "s", .obstacles = {}};
         f.config_error = Error{Code::kInvalid, "node.json: bgp.as: unknown key", 0};
       },
       {"config-unreadable node.json"},
       "1 more finding"},
      {"RaildDoesNotStartForItsRecord",
       [](NodeFacts& f) {
         f.start = StartFacts{.log = "l", .start = "s", .obstacles = {}};
         f.record_error = Error{Code::kDamaged, "state.db: is damaged", 0};
       },
       {"record-unreadable /var/lib/railcni/state.db"},
       "1 more finding"},
      {"RaildDoesNotStartForAPort",
       [](NodeFacts& f) {
         f.start = StartFacts{
             .log = "l", .start = "s", .obstacles = {{"metrics.listen", "another program has it", "end it"}}};
       },
       {"raild-cannot-start metrics.listen"},
       "1 more finding"},
      {"OvsdbServerHangsOrDies",
       [](NodeFacts& f) {
         f.ovsdb_down = kHung;
         for (auto& [name, rail] : f.rails) rail.bridge.reset();
         f.other_config.clear();
         NobodyLooks(f);
         PartFails(f, engine::Part::kFlowLimit);
       },
       {"ovsdb-down ovsdb-server"},
       "2 rails, 3 parts of raild"},
      {"VswitchdHangs",
       [](NodeFacts& f) {
         f.vswitchd_down = kHung;
         NobodyLooks(f);
         SessionsDown(f);
       },
       {"vswitchd-down ovs-vswitchd"},
       "2 sessions, 2 rails, 2 parts of raild"},
      {"VswitchdDiesWithItsPorts",
       [](NodeFacts& f) {
         f.vswitchd_down = kHung;
         NobodyLooks(f);
         SessionsDown(f);
         for (auto& [name, rail] : f.rails) rail.local = {};  // LOCAL is vswitchd's own device
         for (engine::RailView& rail : f.view.rails) {
           rail.seen.clear_leaf_mac();
           PartFails(f, {engine::Part::kLeaf, rail.rail.name});
         }
         f.rails["rail0"].bridge->ports[2].ofport = -1;
       },
       {"vswitchd-down ovs-vswitchd"},
       "2 sessions, 1 attachment, 2 rails, 4 parts of raild"},
      {"OpenVswitchIsStopped",
       [](NodeFacts& f) {
         f.ovsdb_down = f.vswitchd_down = kHung;
         for (auto& [name, rail] : f.rails) rail.bridge.reset();
         NobodyLooks(f);
         SessionsDown(f);
       },
       {"ovsdb-down ovsdb-server", "vswitchd-down ovs-vswitchd"},
       "2 rails, 2 parts of raild"},
      {"BgpdHangsOrDies", BgpdAway, {"bgpd-down bgpd"}, "1 attachment, 2 parts of raild"},
      {"BgpdHasNoBmp",
       [](NodeFacts& f) {
         f.view.bmp_up = false;
         PartFails(f, engine::Part::kBgpFeed);
       },
       {"bmp-missing bgpd"},
       "1 part of raild"},
      {"UplinkDown",
       [](NodeFacts& f) {
         f.rails["rail0"].uplink.up = f.rails["rail0"].uplink.carrier = false;
         RailWithoutWire(f);
       },
       {"uplink-down rail0"},
       "1 session, 2 attachments, 1 part of raild"},
      {"NoCarrier",
       [](NodeFacts& f) {
         f.rails["rail0"].uplink.carrier = false;
         RailWithoutWire(f);
       },
       {"uplink-without-carrier rail0"},
       "1 session, 2 attachments, 1 part of raild"},
      {"UplinkMissing",
       [](NodeFacts& f) {
         f.rails["rail0"].uplink = {};
         f.rails["rail0"].bridge->ports[1].ofport = -1;
         f.view.rails[0].seen.set_unseen("the uplink of rail rail0: there is no link pf0");
         f.view.attachments[0].rules_unknown_since_ms = f.now_ms;
         PartFails(f, {engine::Part::kRail, "rail0"});
         PartFails(f, {engine::Part::kNic, "rail0"});
         RailWithoutWire(f);
       },
       {"uplink-missing rail0"},
       "1 session, 2 attachments, 1 rail, 3 parts of raild"},
      {"BridgeDeleted",
       [](NodeFacts& f) {
         f.config.ovs.manage_bridges = false;
         f.rails["rail0"].bridge.reset();
         f.view.rails[0].seen.set_bgp_state("");
         for (engine::AttachmentView& a : f.view.attachments) a.rules_in_place = a.attachment.rail != "rail0";
         PartFails(f, {engine::Part::kRail, "rail0"});
         PartFails(f, {engine::Part::kLeaf, "rail0"});
       },
       {"bridge-missing rail0"},
       "1 session, 2 attachments, 2 parts of raild"},
      {"PfReset",
       [](NodeFacts& f) {
         for (engine::AttachmentView& a : f.view.attachments) {
           if (a.attachment.rail != "rail0") continue;
           a.device_lost = true;
           a.withdrawn = "its device is not in the pod";
           a.rules_in_place = false;
           f.rails["rail0"].representors[a.attachment.representor] = {};
         }
         PartFails(f, engine::Part::kPodDevices);
         PartFails(f, {engine::Part::kRail, "rail0"});
       },
       {"nic-reset rail0"},
       "2 attachments, 2 parts of raild"},
      {"PfGoneWithItsVfs",
       [](NodeFacts& f) {
         f.rails["rail1"].uplink = {};
         f.view.rails[1].seen.set_bgp_state("Active");
         for (engine::AttachmentView& a : f.view.attachments) a.device_lost = a.attachment.rail == "rail1";
         PartFails(f, {engine::Part::kNic, "rail1"});
       },
       {"uplink-missing rail1"},
       "1 session, 2 attachments, 1 rail, 1 part of raild"},
      {"VfsRemoved",
       [](NodeFacts& f) {
         f.rails["rail0"].nic = {{.address = "0000:3b:00.0"}};
         f.view.attachments[0].device_lost = true;
       },
       {"nic-without-vfs rail0"},
       "1 attachment"},
      {"RecordUnreadable",
       [](NodeFacts& f) {
         f.record_error = kHung;
         for (const engine::PartId& part :
              {engine::PartId(engine::Part::kState), engine::PartId(engine::Part::kRail, "rail0"),
               engine::PartId(engine::Part::kRail, "rail1"), engine::PartId(engine::Part::kBgp)})
           PartFails(f, part);
       },
       {"record-unreadable /var/lib/railcni/state.db"},
       "4 parts of raild"},
      {"DiskFull",
       [](NodeFacts& f) {
         f.record_free_bytes = 0;
         f.record_error = kHung;
         for (const engine::Part part : {engine::Part::kState, engine::Part::kWritingRecord})
           PartFails(f, part);
       },
       {"record-no-space /var/lib/railcni/state.db"},
       "2 parts of raild, 1 more finding"},
      {"RecordLost",
       [](NodeFacts& f) {
         f.view.attachments.clear();  // which leaves their ports to nobody
         for (engine::RailView& rail : f.view.rails) {
           rail.seen.set_unrecorded_pods(2);
           PartFails(f, {engine::Part::kRecordOfRail, rail.rail.name});
         }
         f.config.tenancy.tenants.clear();
       },
       {"record-lost /var/lib/railcni/state.db"},
       "2 rails, 2 parts of raild"},
      {"LeafDies",
       [](NodeFacts& f) { f.view.rails[1].seen.set_bgp_state("Active"); },
       {"bgp-session-down rail1"},
       ""},
      {"SpineDies", [](NodeFacts& f) { f.view.rails[0].seen.set_prefixes_received(0); }, {}, ""},
      {"ApiServerAway",
       [](NodeFacts& f) {
         f.view.tenant_list = {.wanted = true, .known = true, .example = {}, .problem = "no route"};
         f.tenants_stale = std::chrono::seconds(61);
       },
       {"api-server-away API server"},
       ""},
      {"NetlinkHangs",
       [](NodeFacts& f) {
         f.links_unknown = kHung;
         NobodyLooks(f);
         PartFails(f, {engine::Part::kUplink, "rail0"});
       },
       {"links-unknown kernel"},
       "2 rails, 3 parts of raild"},
  };
  return faults;
}

class EachFault : public testing::TestWithParam<Fault> {};

TEST_P(EachFault, IsTheFirstLine) {
  NodeFacts facts = Node();
  GetParam().make(facts);
  const std::vector<Finding> roots = Diagnose(facts);
  ASSERT_EQ(Texts(roots), GetParam().roots);
  EXPECT_EQ(roots.empty() ? "" : FollowsInShort(roots[0]), GetParam().follows);
}

INSTANTIATE_TEST_SUITE_P(Doctor, EachFault, testing::ValuesIn(Faults()),
                         [](const auto& fault) { return std::string(fault.param.name); });

TEST(Causes, AreFindingsAndSoIsWhatFollows) {
  const auto kinds = KindsOfFindings();
  const std::set<std::string_view> known(kinds.begin(), kinds.end());
  for (const Cause& cause : Causes()) {
    EXPECT_TRUE(known.contains(cause.id)) << cause.id;
    for (const std::string_view entry : cause.follows)
      EXPECT_TRUE(known.contains(entry.substr(0, entry.find(':')))) << entry << " of " << cause.id;
  }
}

TEST(Causes, StandOnceForEachScope) {
  std::set<std::pair<std::string_view, Scope>> rows;
  for (const Cause& cause : Causes()) EXPECT_TRUE(rows.emplace(cause.id, cause.scope).second) << cause.id;
}

TEST(Causes, NeverFollowFromThemselves) {
  std::set<std::string_view> open;
  std::function<void(std::string_view)> walk = [&](std::string_view id) {
    ASSERT_TRUE(open.insert(id).second) << id << " follows from itself";
    for (const Cause& cause : Causes()) {
      if (cause.id != id) continue;
      for (const std::string_view entry : cause.follows) walk(entry.substr(0, entry.find(':')));
    }
    open.erase(id);
  };
  for (const Cause& cause : Causes()) walk(cause.id);
}

TEST(Causes, AreAsSevereAsTheWorstThatFollows) {
  NodeFacts facts = Node();
  facts.links_unknown = kHung;
  facts.view.rails[0].seen.set_unseen("no answer in time");
  std::vector<Finding> roots = Diagnose(facts);
  ASSERT_EQ(Texts(roots), std::vector<std::string>{"links-unknown kernel"});
  EXPECT_EQ(roots[0].severity, Severity::kWarning);

  facts = Node();
  facts.rails["rail0"].nic = {{.address = "0000:3b:00.0"}};
  facts.view.attachments[0].device_lost = true;
  roots = Diagnose(facts);
  ASSERT_EQ(roots.size(), 1U);
  EXPECT_EQ(roots[0].severity, Severity::kCritical);
}

TEST(Causes, ReachNoFurtherThanTheirScope) {
  NodeFacts facts = Node();
  facts.rails["rail0"].uplink.carrier = false;
  for (engine::RailView& rail : facts.view.rails) rail.seen.set_bgp_state("Active");
  const std::vector<Finding> roots = Diagnose(facts);
  EXPECT_THAT(Texts(roots), ElementsAre("uplink-without-carrier rail0", "bgp-session-down rail1"));
  EXPECT_THAT(Texts(roots[0].follows), ElementsAre("bgp-session-down rail0"));
  EXPECT_EQ(roots[0].rail, "rail0");
  EXPECT_EQ(roots[0].scope, Scope::kRail);
}

TEST(Causes, TheNearestHoldsWhatFollows) {
  NodeFacts facts = Node();
  facts.vswitchd_down = kHung;
  facts.rails["rail0"].uplink.carrier = false;
  for (engine::RailView& rail : facts.view.rails) rail.seen.set_bgp_state("Active");
  const std::vector<Finding> roots = Diagnose(facts);
  ASSERT_THAT(Texts(roots), ElementsAre("vswitchd-down ovs-vswitchd", "uplink-without-carrier rail0"));
  EXPECT_THAT(Texts(roots[0].follows), ElementsAre("bgp-session-down rail1"));
  EXPECT_THAT(Texts(roots[1].follows), ElementsAre("bgp-session-down rail0"));
}

TEST(Causes, AreOrderedBySeverityThenNearnessThenWhatFollows) {
  NodeFacts facts = Node();
  facts.certificates[0].validity->until_ms = facts.now_ms - 1;  // critical, and nothing depends on it
  facts.view.attachments[0].elsewhere = {{.address = *IpAddress::Parse("10.0.3.7"), .by = "AS 1"}};
  facts.view.rails[0].seen.set_bgp_state("Active");
  facts.rails["rail1"].uplink.carrier = false;
  facts.view.rails[1].seen.set_bgp_state("Active");
  facts.view.bmp_up = false;
  facts.other_config.erase("hw-offload");
  EXPECT_THAT(Texts(Diagnose(facts)),
              ElementsAre("bmp-missing bgpd", "uplink-without-carrier rail1", "bgp-session-down rail0",
                          "own-address-announced-elsewhere ns/a net1 on rail0",
                          "certificate-expired /etc/railcni/api.crt", "hw-offload-off Open vSwitch"));
}

TEST(Causes, OfTwoAlikeTheOneWithMoreBelowItComesFirst) {
  NodeFacts facts = Node();
  for (const char* rail : {"rail0", "rail1"}) facts.rails[rail].uplink.carrier = false;
  facts.view.rails[1].seen.set_bgp_state("Active");
  const std::vector<Finding> roots = Diagnose(facts);
  ASSERT_THAT(Texts(roots), ElementsAre("uplink-without-carrier rail1", "uplink-without-carrier rail0"));
  EXPECT_THAT(Texts(roots[0].follows), ElementsAre("bgp-session-down rail1"));
}

// The other end of a veth or VF that is set down inside the pod is a representor without carrier.
TEST(Causes, ALinkThatIsDownInsideThePodIsNotAFaultOfItsRepresentor) {
  NodeFacts facts = Node();
  for (const char* port : {"rep0", "rep01"}) facts.rails["rail0"].representors[port].carrier = false;
  facts.view.attachments[0].attachment.id = 77;
  facts.pods.differ[77].push_back({"net1 is down", "ip link set net1 up"});
  const std::vector<Finding> roots = Diagnose(facts);
  ASSERT_THAT(Texts(roots), ElementsAre("attachment-differs ns/a net1 on rail0",
                                        "representor-without-carrier ns/more1 net1 on rail0"));
  EXPECT_THAT(Texts(roots[0].follows), ElementsAre("representor-without-carrier ns/a net1 on rail0"));
}

// What an attachment suffers from is below what has made it so.
TEST(Causes, HoldWhatFollowsOnTheSameAttachment) {
  const NodeFacts facts = Node();
  const std::string who = Name(facts.view.attachments[0].attachment);
  const auto find = [&](const char* id) {
    return Finding{.id = id, .subject = who, .what = {}, .why = {}, .fix = {}};
  };
  for (const auto& [cause, follows] : {std::pair("device-lost", "port-not-working"),
                                       {"device-lost", "rules-missing"},
                                       {"device-lost", "withdrawn"},
                                       {"device-lost", "not-announced"},
                                       {"representor-down", "attachment-differs"},
                                       {"port-not-working", "rules-missing"},
                                       {"port-not-working", "attachment-differs"}}) {
    const std::vector<Finding> roots = CausesFirst({find(follows), find(cause)}, facts);
    ASSERT_EQ(roots.size(), 1U) << follows << " stands beside " << cause;
    EXPECT_EQ(roots[0].id, cause);
  }
}

// "part-failing" follows by its part: bgpd's trouble is nothing of the switch.
TEST(Causes, TellThePartsOfRaildApart) {
  NodeFacts facts = Node();
  facts.vswitchd_down = kHung;
  PartFails(facts, engine::Part::kBgp);
  PartFails(facts, {engine::Part::kRail, "rail0"});
  const std::vector<Finding> roots = Diagnose(facts);
  ASSERT_THAT(Texts(roots), ElementsAre("vswitchd-down ovs-vswitchd", "part-failing bgp"));
  EXPECT_THAT(Texts(roots[0].follows), ElementsAre("part-failing rail rail0"));
}

TEST(Causes, CountEachThingOnceHoweverManyFindingsItHas) {
  Finding root{.id = "vswitchd-down", .subject = "ovs-vswitchd", .what = {}, .why = {}, .fix = {}};
  const auto add = [](Finding& to, const char* id, const char* subject, Scope scope) -> Finding& {
    return to.follows.emplace_back(
        Finding{.id = id, .subject = subject, .what = {}, .why = {}, .fix = {}, .scope = scope});
  };
  EXPECT_EQ(FollowsInShort(root), "");
  Finding& first = add(root, "rules-unknown", "rail0", Scope::kRail);
  add(first, "no-leaf-neighbour", "rail0", Scope::kRail);
  add(first, "rules-missing", "ns/a net1 on rail0", Scope::kAttachment);
  add(root, "rules-missing", "ns/b net1 on rail0", Scope::kAttachment);
  EXPECT_EQ(FollowsInShort(root), "2 attachments, 1 rail");
  EXPECT_EQ(CountFollows(root), 4U);
}

}  // namespace
}  // namespace rail::inspect
