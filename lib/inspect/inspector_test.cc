// The looks themselves, on a node made of fakes.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <optional>
#include <set>

#include "lib/inspect/inside.h"
#include "lib/inspect/testing/inspector_fixture.h"

namespace rail::inspect {
namespace {

using engine::testing::Dependency;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(InspectorTest, HoldsTheFileAgainstWhatRaildRunsBy) {
  Look();
  EXPECT_THAT(Findings(), Not(Contains("config-newer-than-raild")));
  config::NodeConfig now = world.config;
  now.bgp.max_prefixes = 7;
  deps.load_config = [&] { return now; };
  EXPECT_THAT(Findings(), Contains("config-newer-than-raild"));
  deps.load_config = []() -> Result<config::NodeConfig> {
    return Fail(Code::kInvalid, "node.json: line 3: no comma");
  };
  EXPECT_THAT(Findings(), Contains("config-unreadable"));
}

TEST_F(InspectorTest, WithoutRaildAndItsFileAccusesNobodyElse) {
  deps.load_config = []() -> Result<config::NodeConfig> {
    return Fail(Code::kInvalid, "node.json: line 3: no comma");
  };
  const std::vector<Finding> found =
      inspector->DoctorWithoutRaild({.log = "l", .start = "s", .obstacles = {}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "config-unreadable");
  ASSERT_EQ(found[0].follows.size(), 1U);
  EXPECT_EQ(found[0].follows[0].id, "raild-down");
}

TEST_F(InspectorTest, WithoutRaildLooksAtAllThatItCanSee) {
  vswitchd_down = true;
  std::vector<std::string> ids;
  for (const Finding& each : inspector->DoctorWithoutRaild({.log = "l", .start = "s", .obstacles = {}}))
    ids.push_back(each.id);
  EXPECT_THAT(ids, Contains("raild-down"));
  EXPECT_THAT(ids, Contains("vswitchd-down"));
}

TEST_F(Attached, ChecksOutWhenAllIsAsTheRecordSays) {
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(Attached, CheckNamesEachThingThatIsMissing) {
  const state::Attachment attachment = world.Attachment(pod);
  const auto rules = world.RulesOf(ovs::CookieKind::kTenant);
  ASSERT_TRUE(world.Bridge().Commit({.remove = rules}, {}));
  EXPECT_THAT(Problems(), Contains(HasSubstr("br-rail0 lacks the rule table=1")));
  ASSERT_TRUE(world.Bridge().Commit({.add = rules}, {}));

  ASSERT_TRUE(world.bgp.Withdraw(*IpAddress::Parse("10.0.3.7"), {}));
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("bgpd does not announce 10.0.3.7/32")));

  ASSERT_TRUE(world.ovsdb.DeletePort("br-rail0", attachment.representor, {}, ovs::Ovsdb::Wait::kClosed, {}));
  EXPECT_THAT(Problems(), Contains(HasSubstr("is not a port of bridge br-rail0")));

  world.EndNamespace(pod);
  EXPECT_THAT(Problems(), Contains(HasSubstr("is gone: raild undoes the attachment")));
}

TEST_F(Attached, CheckLooksAtTheDeviceToo) {
  world.devices.Amiss("vf0", {"VF vf0: its RDMA device is not in the pod"});
  EXPECT_THAT(Problems(), ElementsAre("VF vf0: its RDMA device is not in the pod"));
  world.devices.Amiss("vf0", {});
  world.pods.SetMac(pod.identity, "net1", *MacAddress::Parse("02:66:66:66:66:66"));
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("the MAC address is 02:66:66:66:66:66 instead of")));
  world.faults.down = {Dependency::kDevices};
  EXPECT_THAT(Problems(), Contains(HasSubstr("look at its device")));
}

TEST_F(Attached, DoctorCheckAndTraceSeeWhatThePodHasChangedInside) {
  const Question question{.source = {.pod = "p1"}, .destination = *IpAddress::Parse("10.0.3.9")};
  EXPECT_EQ(Found("attachment-differs"), nullptr);
  world.pods.SetMtu(pod.identity, "net1", 1400);
  const std::string mtu = "nsenter --net=" + pod.netns + " ip link set net1 mtu ";
  const Finding* finding = Found("attachment-differs");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kWarning) << "packets pass, but big ones";
  EXPECT_THAT(finding->subject, HasSubstr("ns-a/p1 net1"));
  EXPECT_THAT(finding->what, HasSubstr("inside the pod, net1: the MTU is not"));
  EXPECT_THAT(finding->fix, HasSubstr("`" + mtu));
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("the MTU is not")));
  EXPECT_THAT(inspector->Check({})->attachments(0).details(0).fix(), HasSubstr(mtu));

  world.pods.SetMac(pod.identity, "net1", *MacAddress::Parse("02:66:66:66:66:66"));
  finding = Found("attachment-differs");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kCritical);
  EXPECT_THAT(finding->fix, HasSubstr(" sh -c 'ip link set net1 mtu "));
  EXPECT_THAT(finding->fix, HasSubstr(" && ip link set net1 address "));
  EXPECT_THAT(inspector->Trace(question)->notes(),
              Contains(HasSubstr("inside the pod ns-a/p1 net1 on rail0: net1: the MAC address is 02:66")));

  world.pods.EndNamespace(pod.identity);
  world.pods.AddLink(pod.identity, "net1");
  EXPECT_THAT(Found("attachment-differs")->what, HasSubstr("is missing"));
}

TEST_F(Attached, DoctorLooksAtTheDeviceToo) {
  world.devices.Amiss("vf0", {"VF vf0: its RDMA device is not in the pod"});
  const Finding* finding = Found("attachment-differs");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_THAT(finding->what, HasSubstr("its RDMA device is not in the pod"));
  EXPECT_THAT(finding->fix, testing::StartsWith("delete the pod"));
}

// The pod's namespace has no RDMA device: each entry of the file is gone.
TEST_F(Attached, DoctorComparesTheGidsWithThoseOfTheLibraryFiles) {
  const std::filesystem::path file =
      libs::FolderOf(std::filesystem::path(pod.netns).parent_path() / "libs", "vf0") + "/gids";
  std::filesystem::create_directories(file.parent_path());
  inspector = std::make_unique<Inspector>(
      world.config, paths, deps, views(), [] { return int64_t{1}; }, kAnswerTime,
      Hardware{.sysfs = {}, .nvidia = {}, .libraries = file.parent_path().parent_path(), .pods = {}});
  world.config.kubelet.device_plugin = true;
  EXPECT_EQ(Found("gid-moved"), nullptr);
  std::ofstream(file) << "# of 1\nmlx5_2 1 3 ::ffff:10.0.3.7\nmlx5_3 1 3 ::ffff:10.0.4.7\n";
  const Finding* finding = Found("gid-moved");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->subject, "ns-a/p1 net1 on rail0");
  EXPECT_EQ(finding->what, "GID ::ffff:10.0.3.7 of mlx5_2 is gone, it had index 3");
  world.config.kubelet.libraries = false;
  EXPECT_EQ(Found("gid-moved"), nullptr) << "raild does not keep the file";
}

TEST_F(Attached, DoctorSaysHowManyPodsItCouldNotLookInto) {
  world.pods.FailOn("Verify", {Code::kPermission, "setns: not permitted", 0});
  const Finding* finding = Found("pods-not-looked-into");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->what, HasSubstr("1 of 1 pods were not looked into: look into the pod: setns"));
  EXPECT_EQ(Found("pods-not-looked-into"), nullptr);

  NodeFacts facts{.config = world.config, .view = *views().Current()};
  world.pods.SetMtu(pod.identity, "net1", 1400);
  LookIntoPods(facts, deps, {}, Clock::now() - std::chrono::seconds(1));
  EXPECT_EQ(facts.pods.not_looked, 1U);
  EXPECT_THAT(facts.pods.differ, IsEmpty());
  LookIntoPods(facts, deps, {}, After(std::chrono::seconds(20)));
  EXPECT_EQ(facts.pods.looked, 1U);
  EXPECT_EQ(facts.pods.differ.size(), 1U);
}

TEST_F(Attached, DoctorLooksIntoNoPodWhoseDeviceIsLostOrThatIsOnlyAnnounced) {
  world.pods.SetMtu(pod.identity, "net1", 1400);
  const auto spoiled = [&](const std::function<void(engine::AttachmentView&)>& spoil) {
    NodeFacts facts{.config = world.config, .view = *views().Current()};
    spoil(facts.view.attachments.at(0));
    LookIntoPods(facts, deps, {}, After(std::chrono::seconds(20)));
    return facts.pods.looked + facts.pods.not_looked + facts.pods.differ.size();
  };
  EXPECT_EQ(spoiled([](engine::AttachmentView&) {}), 2U);
  EXPECT_EQ(spoiled([](engine::AttachmentView& a) { a.device_lost = true; }), 0U);
  EXPECT_EQ(spoiled([](engine::AttachmentView& a) { a.namespace_unseen = "mount it"; }), 0U);
  EXPECT_EQ(spoiled([](engine::AttachmentView& a) { a.attachment.phase = state::Phase::kDeleting; }), 0U);
  EXPECT_EQ(spoiled([](engine::AttachmentView& a) {
              a.attachment.adopted = true;
              a.attachment.representor.clear();
            }),
            0U);
}

TEST_F(Attached, ACommandIsOnlyMadeOfWordsThatAShellTakesAsThemselves) {
  state::Attachment attachment = world.Attachment(pod);
  attachment.netns_path = "/run/netns/cni-1";
  const std::vector<podnet::Deviation> two = {{"a", "ip link set net1 up"}, {"b", ""}, {"c", "ip rule add"}};
  EXPECT_EQ(CommandFor(attachment, two),
            "`nsenter --net=/run/netns/cni-1 sh -c 'ip link set net1 up && ip rule add'`");
  EXPECT_EQ(CommandFor(attachment, {two[0]}), "`nsenter --net=/run/netns/cni-1 ip link set net1 up`");
  EXPECT_EQ(CommandFor(attachment, {two[1]}), "");
  attachment.netns_path = "/run/netns/$(reboot)";
  EXPECT_EQ(CommandFor(attachment, two), "");
}

TEST_F(Attached, CheckAndDoctorLookAtTheRepresentorsLink) {
  const int link = world.host.GetLink("rep0")->index;
  ASSERT_TRUE(world.host.SetDown(link));
  EXPECT_THAT(Problems(),
              ElementsAre(HasSubstr("its representor rep0 is set down: nothing reaches the pod")));
  EXPECT_THAT(Findings(), Contains("representor-down"));
  ASSERT_TRUE(world.host.SetUp(link));
  EXPECT_THAT(Problems(), IsEmpty());
}

// Also where no raild follows the switch: what it has published is not asked.
TEST_F(Attached, TheDoctorAsksTheSwitchForRulesOfOthers) {
  EXPECT_THAT(Findings(), Not(Contains("foreign-flows")));
  ASSERT_TRUE(
      world.Bridge("br-rail1").Commit({.add = {{0, 60000, 0, "ip,nw_dst=10.0.3.7", "output:5"}}}, {}));
  const auto findings = inspector->Doctor();
  const auto found = std::ranges::find(findings, "foreign-flows", &Finding::id);
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(found->subject, "rail1");
  EXPECT_THAT(found->what, HasSubstr("ip,nw_dst=10.0.3.7 actions=output:5"));
}

TEST_F(Attached, EachPartOfACheckStandsAlone) {
  world.faults.down = {Dependency::kOvsdb, Dependency::kBgp};
  const std::vector<std::string> problems = Problems();
  EXPECT_EQ(problems.size(), 2U) << "each once: " << testing::PrintToString(problems);
  world.faults.down = {Dependency::kState};
  EXPECT_FALSE(inspector->Check({}));
}

TEST_F(Attached, SaysWhenNobodyIsMeant) {
  const auto checked = inspector->Check({.pod = "nobody"});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Code::kNotFound);
  EXPECT_THAT(checked.error().message, HasSubstr("there is no attachment of pod nobody"));
  EXPECT_EQ(inspector->ListFlows({.rail = "rail1"}, {}).error().code, Code::kNotFound);
}

TEST_F(Attached, FlowsAreItsRulesAndTheMegaflowsFromAndToIt) {
  world.Bridge().AddPackets(world.RulesOf(ovs::CookieKind::kTenant)[0], 7, 700);
  megaflows =
      "in_port(rep0), packets:1, bytes:2, used:never, dp:ovs, actions:up0\n"
      "in_port(up0), packets:5, bytes:2, used:never, offloaded:yes, dp:tc, "
      "actions:set(eth(src=a,dst=b)),rep0\n"
      "in_port(rep9), packets:9, bytes:2, used:never, dp:ovs, actions:up0\n";
  const auto flows = inspector->ListFlows({}, {});
  ASSERT_TRUE(flows) << flows.error().message;
  EXPECT_EQ(flows->datapath_problem(), "");
  ASSERT_EQ(flows->attachments_size(), 1);
  const v1::AttachmentFlows& mine = flows->attachments(0);
  EXPECT_TRUE(
      std::ranges::any_of(mine.rules(), [](const v1::RuleStats& stats) { return stats.packets() == 7; }));
  EXPECT_TRUE(
      std::ranges::is_sorted(mine.rules(), {}, [](const v1::RuleStats& stats) { return stats.table(); }));
  EXPECT_EQ(mine.rules().rbegin()->table(), 6U);
  EXPECT_LE(mine.rules_size(), 12) << "not those that refuse a forged MAC one by one";
  ASSERT_EQ(mine.megaflows_size(), 2);
  EXPECT_EQ(mine.megaflows(0).direction(), v1::Megaflow::TO_POD);
  EXPECT_EQ(mine.megaflows(0).why_not(), "");
  EXPECT_EQ(mine.megaflows(1).direction(), v1::Megaflow::FROM_POD);
  EXPECT_THAT(mine.megaflows(1).why_not(), HasSubstr("userspace datapath"));
}

TEST_F(Attached, MasksInHardwareAreCountedForTheWholeNodeWhateverIsAskedFor) {
  const std::string taken = ", packets:5, bytes:2, used:never, offloaded:yes, dp:tc, actions:up0\n";
  const std::string left = ", packets:5, bytes:2, used:never, dp:tc, actions:up0\n";
  megaflows = "in_port(rep0),eth_type(0x0800),ipv4(src=10.0.0.1)" + taken +
              "in_port(rep9),eth_type(0x0800),ipv4(src=10.0.0.2)" + taken +  // the same bits
              "in_port(rep9),eth_type(0x0800),ipv4(src=10.0.0.0/255.0.0.0)" + taken +
              "in_port(rep9),eth_type(0x86dd),ipv6(src=fd52::1)" + taken +
              "in_port(rep0),eth_type(0x0800),ipv4(dst=10.0.0.1)" + left +
              "in_port(rep0),eth_type(0x0806), packets:1, bytes:2, used:never, dp:ovs, actions:up0\n";
  for (const FlowsPage& page : {FlowsPage{}, FlowsPage{.after = 900}}) {
    const auto flows = inspector->ListFlows({.pod = "p1"}, page);
    ASSERT_TRUE(flows) << flows.error().message;
    EXPECT_EQ(flows->masks_in_hardware(), 3U);
    EXPECT_EQ(flows->most_masks(), kMostMasks);
  }
  vswitchd_down = true;
  EXPECT_EQ(inspector->ListFlows({}, {})->masks_in_hardware(), 0U);
}

TEST_F(Attached, FlowsComeInPagesAndAPageKeepsOnlyWhatIsItsOwn) {
  engine::NodeView view = *views().Current();
  const engine::AttachmentView first = view.attachments.at(0);
  for (int64_t id : {900, 700, 800}) {
    engine::AttachmentView& more = view.attachments.emplace_back(first);
    more.attachment.id = id;
    more.attachment.representor = "rep" + std::to_string(id);
  }
  views().Publish(view);
  for (size_t i = 0; i < kMostMegaflows + 50; ++i) {
    megaflows += "in_port(rep700), packets:" + std::to_string(i * 11 % 1050) +
                 ", bytes:2, used:never, dp:ovs, actions:up0\n";
  }
  const auto page = inspector->ListFlows({}, {.after = 0, .size = 2});
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->total(), 4U);
  ASSERT_EQ(page->attachments_size(), 2);
  EXPECT_EQ(page->attachments(0).attachment().id(), first.attachment.id);
  EXPECT_EQ(page->next_page_token(), "700");
  const auto& kept = page->attachments(1).megaflows();
  ASSERT_EQ(static_cast<size_t>(kept.size()), kMostMegaflows);
  EXPECT_EQ(page->attachments(1).megaflows_total(), kMostMegaflows + 50);
  EXPECT_EQ(kept.begin()->packets(), 1049U);
  EXPECT_EQ(kept.rbegin()->packets(), 50U) << "those with the most packets";

  view.attachments.pop_back();  // 800 goes between the pages
  views().Publish(view);
  const auto last = inspector->ListFlows({}, {.after = 700, .size = 2});
  ASSERT_TRUE(last) << last.error().message;
  ASSERT_EQ(last->attachments_size(), 1);
  EXPECT_EQ(last->attachments(0).attachment().id(), 900);
  EXPECT_EQ(last->next_page_token(), "");
  views().Publish({});
  EXPECT_TRUE(inspector->ListFlows({.pod = "p1"}, {.after = 900})) << "an empty last page";
}

TEST_F(Attached, FlowsAreToldWithoutTheDatapathWhenItDoesNotAnswer) {
  vswitchd_down = true;
  const auto flows = inspector->ListFlows({}, {});
  ASSERT_TRUE(flows) << flows.error().message;
  EXPECT_EQ(flows->datapath_problem(), "ovs-vswitchd is down");
  EXPECT_FALSE(flows->attachments(0).rules().empty());
  world.faults.down = {Dependency::kOpenFlow};
  EXPECT_FALSE(inspector->ListFlows({}, {}));
}

TEST_F(Attached, ASampleCountsDropsByTableAndTenant) {
  const uint64_t id = static_cast<uint64_t>(world.Attachment(pod).id);
  for (const ovs::Rule& rule : world.Bridge().rules()) {
    world.Bridge().AddPackets(rule, rule.actions == "drop" ? 100 + rule.table : 7, 0);
  }
  world.guard.Refuse("rep0", guard::Reason::kMac, 3);
  world.guard.Refuse("rep0", guard::Reason::kDestinations, 2);
  const SwitchSample sample = Sample();
  EXPECT_EQ(sample.rules_problem, "");
  std::vector<std::string> drops;
  for (const DropRule& rule : sample.drops) {
    if (rule.rail != "rail0") continue;
    EXPECT_EQ(rule.attachment, rule.tenant.empty() ? 0 : static_cast<int64_t>(id));
    drops.push_back(std::to_string(rule.table) + rule.tenant + "=" + std::to_string(rule.packets));
  }
  // Of table 1 its miss, of table 2 that and what comes from the uplink, and of each the end of nobody that table 3 drops. Table 4 has
  // five rules that drop: its miss, and the fabric's own addresses. A miss of table 7 drops nothing.
  EXPECT_THAT(drops, testing::UnorderedElementsAre("0=100", "1=204", "2=307", "3=103", "4=520", "6=106",
                                                   "6ns-a=106", "244ns-a=3", "246ns-a=2"));
}

TEST_F(Attached, ASampleSaysWhereTheFlowsOfATenantAre) {
  const std::string port = world.Attachment(pod).representor;
  const auto flow = [](const std::string& from, const std::string& where, const std::string& actions) {
    return "ufid:1, in_port(" + from + "), packets:1, bytes:1, used:0.1s, " + where + ", actions:" + actions +
           "\n";
  };
  megaflows = flow(port, "offloaded:yes, dp:tc", "set(eth(src=a,dst=b)),uplink") +
              flow("uplink", "dp:tc", port) + flow(port, "dp:ovs", "uplink") + flow(port, "dp:ovs", "drop") +
              flow("uplink", "dp:ovs", "drop") + flow("uplink", "dp:ovs", "br-rail0");
  const SwitchSample sample = Sample();
  EXPECT_EQ(sample.datapath_problem + sample.flows_problem, "");
  EXPECT_EQ(sample.datapath.flows, 6U);
  ASSERT_EQ(sample.flows.size(), 1U);
  const auto& [of, flows] = *sample.flows.begin();
  EXPECT_EQ(of, std::pair(std::string("rail0"), std::string("ns-a")));
  EXPECT_EQ(flows.in_hardware, 1U);
  EXPECT_EQ(flows.in_tc, 1U);
  EXPECT_EQ(flows.in_software, 1U);
  EXPECT_EQ(flows.dropping, 1U);
}

TEST_F(Attached, ASampleSaysWhatItCouldNotHave) {
  vswitchd_down = true;
  SwitchSample sample = Sample();
  EXPECT_EQ(sample.datapath_problem, "ovs-vswitchd is down");
  EXPECT_EQ(sample.flows_problem, "ovs-vswitchd is down");
  EXPECT_EQ(sample.rules_problem, "");
  vswitchd_down = false;
  flows_down = true;
  sample = Sample();
  EXPECT_EQ(sample.datapath_problem, "");
  EXPECT_EQ(sample.flows_problem, "no answer in time");
  flows_down = false;
  world.faults.down = {Dependency::kOpenFlow};
  sample = Sample();
  EXPECT_NE(sample.rules_problem, "");
  EXPECT_EQ(sample.datapath_problem + sample.flows_problem, "");
  upcalls = "system@ovs-system:\n  flows         : (current 6) (avg 5) (max 7) (limit 14000)\n";
  EXPECT_THAT(Sample().datapath_problem, HasSubstr("no datapath netdev@ovs-netdev"));
}

TEST_F(Attached, ASampleCountsFlowsThatAreTooManyToBeRead) {
  for (const uint64_t flows : {kMostFlowsRead, kMostFlowsRead + 1}) {
    asked.clear();
    upcalls = "netdev@ovs-netdev:\n  flows : (current " + std::to_string(flows) + ") (limit 200000)\n";
    const SwitchSample sample = Sample();
    EXPECT_EQ(sample.datapath.flows, flows);
    const bool read = flows <= kMostFlowsRead;
    EXPECT_EQ(sample.flows_problem.empty(), read);
    EXPECT_EQ(std::ranges::count(asked, "dpctl/dump-flows"), read ? 1 : 0);
  }
}

TEST_F(Attached, TraceAsksTheSwitchAndSaysWhenItIsDown) {
  const Question question{.source = {.pod = "p1"}, .destination = *IpAddress::Parse("10.0.3.9")};
  const auto answer = inspector->Trace(question);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->reason(), Answer::RULES_MISSING);
  EXPECT_THAT(packet, HasSubstr("nw_src=10.0.3.7,nw_dst=10.0.3.9"));
  vswitchd_down = true;
  EXPECT_EQ(inspector->Trace(question).error().code, Code::kTransient);
  vswitchd_down = false;
  world.faults.down = {Dependency::kOvsdb};
  EXPECT_EQ(inspector->Trace(question).error().code, Code::kTransient);
}

TEST_F(Attached, TheDoctorLooksAtEveryEdgeAndGoesOnWhenOneIsDown) {
  EXPECT_THAT(Findings(), Not(Contains("ovsdb-down")));
  EXPECT_THAT(Findings(), Contains("hw-offload-off"));
  world.ovsdb.SetOtherConfig("hw-offload", "true");
  EXPECT_THAT(Findings(), Not(Contains("hw-offload-off")));
  world.faults.down = {Dependency::kOvsdb, Dependency::kBgp, Dependency::kNetlink, Dependency::kState};
  vswitchd_down = true;
  const std::vector<std::string> findings = Findings();
  for (const char* id : {"ovsdb-down", "bgpd-down", "links-unknown", "record-unreadable", "vswitchd-down"}) {
    EXPECT_THAT(findings, Contains(id));
  }
}

TEST_F(Attached, LooksWithoutChangingAnything) {
  const int commits = world.Bridge().commits();
  const size_t calls = world.host.calls().size();
  asked.clear();
  (void)inspector->Doctor();
  (void)inspector->Check({});
  (void)inspector->ListFlows({}, {});
  (void)inspector->Trace({.source = {.pod = "p1"}, .destination = *IpAddress::Parse("10.0.3.9")});
  EXPECT_EQ(world.Bridge().commits(), commits);
  EXPECT_EQ(world.host.calls().size(), calls);
  for (const std::string& command : asked)
    EXPECT_THAT(command, testing::AnyOf("dpctl/dump-flows", "ofproto/trace", "upcall/show"));
}

}  // namespace
}  // namespace rail::inspect
