#include "lib/inspect/messages.h"
#include "test/api/railctl_run.h"

namespace rail {
namespace {

using nlohmann::json;
using testing::HasSubstr;

inspect::Answer SampleAnswer() {
  inspect::Answer answer;
  answer.set_verdict(v1::TraceResponse::DROPPED);
  answer.set_reason(v1::TraceResponse::OTHER_TENANT);
  answer.set_sentence("10.0.3.9 belongs to another tenant");
  answer.set_advice("nothing");
  answer.mutable_source()->mutable_pod()->set_namespace_("team-a");
  answer.mutable_source()->mutable_pod()->set_name("train-0");
  answer.mutable_source()->set_ifname("net1");
  answer.mutable_source()->set_rail("rail0");
  answer.set_packet("in_port=5");
  answer.set_megaflow("ip");
  answer.set_datapath_actions("drop");
  v1::TraceStep& known = *answer.add_steps();
  known.set_table(7);
  known.set_table_name("remote");
  known.set_matched(true);
  *known.mutable_rule() = inspect::ToMessage(
      ovs::Rule{7, 100, 0x5241494c80000000, "ip,nw_src=10.0.3.9", "set_field:0x5->xxreg1"});
  known.set_words("known");
  v1::TraceStep& compared = *answer.add_steps();
  compared.set_table(3);
  compared.set_table_name("compare");
  compared.set_words("two tenants");
  answer.set_deciding_step(1);
  return answer;
}

TEST_F(RailctlTest, ExplainsATraceForPeople) {
  inspector_.trace = [](const inspect::Question&) { return SampleAnswer(); };
  const Ran ran = Run({"trace", "team-a/train-0", "10.0.3.9"});
  EXPECT_EQ(ran.exit_code, railctl::kFailed) << "it does not arrive";
  EXPECT_EQ(ran.out, R"(team-a/train-0 net1 on rail0 -> 10.0.3.9: DROPPED (OTHER_TENANT)
  why:      10.0.3.9 belongs to another tenant
  do:       nothing

  7 remote       known
                   priority=100,ip,nw_src=10.0.3.9 actions=set_field:0x5->xxreg1 cookie=0x5241494c80000000 (remote)
> 3 compare      two tenants
                   no rule matches

  packet:   in_port=5
  megaflow: ip
  actions:  drop
)");
}

TEST_F(RailctlTest, EndsWellWhenAPacketArrivesAndNotWhenItIsInDoubt) {
  inspect::Answer answer = SampleAnswer();
  inspector_.trace = [&](const inspect::Question&) { return answer; };
  answer.set_verdict(v1::TraceResponse::REACHES);
  EXPECT_EQ(Run({"trace", "a", "10.0.3.9", "-o", "json"}).exit_code, railctl::kDone);
  answer.set_verdict(v1::TraceResponse::DOUBTFUL);
  EXPECT_EQ(Run({"trace", "a", "10.0.3.9", "-o", "json"}).exit_code, railctl::kFailed);
  inspector_.trace = [](const inspect::Question&) -> Result<v1::TraceResponse> {
    return Fail(Code::kNotFound, "there is no such pod");
  };
  const Ran ran = Run({"trace", "a", "10.0.3.9"});
  EXPECT_EQ(ran.exit_code, railctl::kFailed);
  EXPECT_EQ(ran.err, "railctl: there is no such pod\n");
}

TEST_F(RailctlTest, TellsTheDoctorsFindingsAndWhetherTheyMatter) {
  std::vector<inspect::Finding> findings = {
      {inspect::Severity::kInfo, "rdma-missing", "kernel", "no\nRDMA", "pods get none", "modprobe"}};
  inspector_.doctor = [&] { return findings; };
  Ran ran = Run({"doctor"});
  EXPECT_EQ(ran.exit_code, railctl::kDone) << ran.err;
  EXPECT_THAT(
      ran.out,
      HasSubstr("INFO rdma-missing: kernel\n  what: no RDMA\n  why:  pods get none\n  do:   modprobe\n\n"
                "0 critical, 0 warnings, 1 for information; looked for "));
  findings[0].severity = inspect::Severity::kWarning;
  ran = Run({"doctor", "-o", "json"});
  EXPECT_EQ(ran.exit_code, railctl::kFailed);
  EXPECT_EQ(json::parse(ran.out).at("findings").at(0).at("severity"), "WARNING");

  inspect::Finding session{inspect::Severity::kCritical, "bgp-session-down", "rail0", "no session", "w", "f"};
  session.rail = "rail0";
  findings = {{inspect::Severity::kCritical, "vswitchd-down", "ovs-vswitchd", "no answer", "w", "f"}};
  findings[0].follows = {session};
  EXPECT_THAT(Run({"doctor"}).out, HasSubstr("\n  follows: 1 session (`railctl doctor --all` shows them)\n"));
  EXPECT_THAT(Run({"doctor"}).out, testing::Not(HasSubstr("bgp-session-down")));
  EXPECT_THAT(Run({"doctor", "--all"}).out, HasSubstr("\n    CRITICAL bgp-session-down: rail0\n"));
  EXPECT_THAT(Run({"describe", "rail", "rail0"}).out, HasSubstr("CRITICAL bgp-session-down: no session\n"))
      << "also what follows from another is about it";
  EXPECT_THAT(Run({"status"}).out,
              HasSubstr("findings:    1 critical, 0 warnings, 0 for information, and 1 that follow"));
  const json root = json::parse(Run({"doctor", "-o", "json"}).out).at("findings").at(0);
  EXPECT_EQ(root.at("follows").at(0).at("id"), "bgp-session-down");
  EXPECT_EQ(root.at("follows").at(0).at("rail"), "rail0");
  EXPECT_EQ(root.at("follows_in_short"), "1 session");
}

// Of the first attachment: what differs, and what to do about it.
v1::CheckResponse Checked(const std::vector<std::pair<std::string, std::string>>& problems) {
  v1::CheckResponse response;
  v1::CheckedAttachment& checked = *response.add_attachments();
  *checked.mutable_attachment() = inspect::ToMessage(SampleView().attachments[0]);
  for (const auto& [what, fix] : problems) {
    checked.add_problems(what);
    v1::CheckProblem& detail = *checked.add_details();
    detail.set_what(what);
    detail.set_fix(fix);
  }
  return response;
}

TEST_F(RailctlTest, ChecksAndSaysWhatDiffers) {
  v1::CheckResponse checked = Checked({});
  inspector_.check = [&](const inspect::Selector& selector) {
    EXPECT_EQ(selector.pod, "train-0");
    EXPECT_EQ(selector.pod_namespace, "team-a");
    return checked;
  };
  EXPECT_EQ(Out({"check", "team-a/train-0"}), R"(NAMESPACE   POD       IFNAME   RAIL    CHECK   PROBLEM
team-a      train-0   net1     rail0   ok      -
)");
  checked = Checked({{"no port", "`mend it`"}, {"no rule", "`mend it`"}, {"no way", ""}});
  const Ran ran = Run({"check", "train-0", "-n", "team-a"});
  EXPECT_EQ(ran.exit_code, railctl::kFailed);
  EXPECT_EQ(ran.out, R"(NAMESPACE   POD       IFNAME   RAIL    CHECK    PROBLEM
team-a      train-0   net1     rail0   failed   no port
team-a      train-0   net1     rail0   failed   no rule
team-a      train-0   net1     rail0   failed   no way
do: `mend it`
)");
  const std::string text = Run({"check", "train-0", "-n", "team-a", "-o", "json"}).out;
  EXPECT_THAT(text, HasSubstr(R"("what": "no rule")"));
  EXPECT_THAT(text, HasSubstr(R"("fix": "`mend it`")"));
}

std::vector<inspect::Finding> SampleFindings() {
  std::vector<inspect::Finding> findings = {
      {inspect::Severity::kCritical, "uplink-without-carrier", "rail1", "rail1p has no carrier", "cut",
       "cable"},
      {inspect::Severity::kCritical, "rules-missing", "team-a/train-0 net1", "rules lack", "cut off", "wait"},
      {inspect::Severity::kWarning, "hw-offload-off", "Open vSwitch", "off", "slow", "on"}};
  findings[0].rail = "rail1";
  findings[1].attachment = 1;
  return findings;
}

TEST_F(RailctlTest, ShowsTheNodeOnOneScreenWithItsWorstFinding) {
  inspector_.doctor = SampleFindings;
  const Ran ran = Run({"status"});
  EXPECT_EQ(ran.exit_code, railctl::kFailed);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out, R"(node gpu-1: raild 0.1.0, up for 3m, BMP down, RDMA exclusive, 12 repairs
part bgp failed: connect to /run/frr/bgpd.vty: no such file

RAIL    STATE       BGP           LEAF-MAC            RULES   ATTACHMENTS READY
rail0   Ready       Established   02:00:00:00:0f:00   21/21   1/2
rail1   NoCarrier   -             -                   0/0     0/1

attachments: 3: 1 Adding, 1 Pending, 1 Ready
remotes:     3 known
findings:    2 critical, 1 warnings, 0 for information; the worst:

CRITICAL uplink-without-carrier: rail1
  what: rail1p has no carrier
  why:  cut
  do:   cable

`railctl doctor` shows the others.
)");
}

TEST_F(RailctlTest, SaysByTheExitCodeOfStatusHowTheNodeIs) {
  std::vector<inspect::Finding> findings;
  inspector_.doctor = [&] { return findings; };
  EXPECT_EQ(Run({"status"}).exit_code, railctl::kDone);
  findings = {{inspect::Severity::kInfo, "rdma-missing", "kernel", "no RDMA", "none", "modprobe"}};
  EXPECT_EQ(Run({"status"}).exit_code, railctl::kDone);
  findings[0].severity = inspect::Severity::kWarning;
  EXPECT_EQ(Run({"status"}).exit_code, railctl::kFailed);
  const json all = json::parse(Run({"status", "-o", "json"}).out);
  for (const char* key : {"node", "rails", "attachments", "remotes", "findings", "checks"})
    EXPECT_TRUE(all.contains(key)) << key;
  server_->Stop();
  const Ran ran = Run({"status"});
  EXPECT_EQ(ran.exit_code, railctl::kCannotAsk);
  EXPECT_THAT(ran.err, HasSubstr("is raild running?"));
}

TEST_F(RailctlTest, DescribesAnAttachmentWithItsFindingsAndTheNodesWorst) {
  inspector_.doctor = SampleFindings;
  inspector_.check = [](const inspect::Selector&) {
    return Checked({{"its MTU is 1500, the record says 4200", ""}});
  };
  inspector_.flows = [&](const inspect::Selector& selector, const inspect::FlowsPage&) {
    EXPECT_EQ(selector.pod, "train-0");
    v1::ListFlowsResponse flows;
    v1::AttachmentFlows& each = *flows.add_attachments();
    *each.mutable_attachment() = inspect::ToMessage(SampleView().attachments[0]);
    each.add_rules()->set_packets(7);
    each.add_rules()->set_packets(3);
    v1::Megaflow& flow = *each.add_megaflows();
    flow.set_direction(v1::Megaflow::FROM_POD);
    flow.set_place(v1::Megaflow::TC);
    flow.set_why_not("the NIC has not");
    each.set_megaflows_total(1);
    return flows;
  };
  EXPECT_EQ(Out({"describe", "attachment", "team-a/train-0"}), R"(team-a/train-0 net1
  State:        Ready (the interface is in the pod), 2m old
  Tenant:       team-a (c0ffee00000001ab54a98ceb1f0a)
  Rail:         rail0: Ready (pods can use it)

In the pod
  Interface:    net1, MAC 02:11:22:33:44:55, MTU 4200
  Addresses:    10.0.3.7, 2001:db8::7
  Device:       0000:3b:00.2
  Namespace:    /run/netns/cni-1
  Container:    sandbox1

On the switch
  Port:         pf0vf0, OpenFlow port 5
  Rules:        all of them are on the bridge
  Counted:      2 rules, which have met 10 packets
  Flows:        1 datapath flow: 1 in tc; why not in hardware: the NIC has not

In the fabric
  Announced:    bgpd has been given its addresses
  Session:      Established, 3 prefixes received, 2 sent

Compared with the record (railctl check)
  Differs:      its MTU is 1500, the record says 4200

Findings of the doctor
  CRITICAL rules-missing: rules lack
    why: cut off
    do:  wait
  Of the node: CRITICAL uplink-without-carrier: rail1: rail1p has no carrier (`railctl doctor` says what to do)
)");
  const json all = json::parse(Out({"describe", "attachment", "train-0", "-o", "json"}));
  const json& one = all.at("attachments").at(0);
  EXPECT_EQ(one.at("findings").at(0).at("id"), "rules-missing");
  EXPECT_EQ(one.at("problems").size(), 1U);
  EXPECT_EQ(one.at("rules").at(0).at("packets"), 7);
}

TEST_F(RailctlTest, DescribesWhatItKnowsAndSaysWhatItDoesNot) {
  inspector_.doctor = [] { return std::vector<inspect::Finding>{}; };
  inspector_.check = [](const inspect::Selector&) -> Result<v1::CheckResponse> {
    return Fail(Code::kTransient, "ovs-vswitchd does not answer");
  };
  inspector_.flows = [](const inspect::Selector&,
                        const inspect::FlowsPage&) -> Result<v1::ListFlowsResponse> {
    return Fail(Code::kTransient, "ovs-vswitchd does not answer");
  };
  const Ran ran = Run({"describe", "attachment", "gone"});
  EXPECT_EQ(ran.exit_code, railctl::kFailed);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("State:        Pending (undo work"),
                             HasSubstr("Undo work:    withdraw 10.0.4.1: bgpd is down"),
                             HasSubstr("Flows:        not known: raild at"),
                             HasSubstr("Check:        not known"), HasSubstr("none is about it")));
}

TEST_F(RailctlTest, DescribesARail) {
  inspector_.doctor = SampleFindings;
  EXPECT_EQ(Out({"describe", "rail", "rail0"}), R"(rail0, index 0
  State:        Ready (pods can use it)
  Uplink:       ens1f0np0, with carrier
  Bridge:       br-rail0, MAC 02:00:00:00:01:00
  Leaf:         02:00:00:00:0f:00
  Plugged into: port swp3 of leaf0, chassis 00:1c:73:0a:0b:0c
  Session:      Established, 3 prefixes received, 2 sent
  MTU:          4200 bytes for pods
  Rules:        21 of ours on the bridge, 21 wanted
  Remotes:      2 addresses of pods elsewhere on this rail

Attachments
NAMESPACE   POD         IFNAME   RAIL    ADDRESS       TENANT   STATE    RULES     BGP         AGE
team-a      a-new-pod   net1     rail0   -             -        Adding   missing   -           2m
team-a      train-0     net1     rail0   10.0.3.7,+1   team-a   Ready    ok        announced   2m

Findings of the doctor
  none is about it
  Of the node: CRITICAL uplink-without-carrier: rail1: rail1p has no carrier (`railctl doctor` says what to do)
)");
  EXPECT_THAT(Out({"describe", "rail", "rail1"}),
              HasSubstr("CRITICAL uplink-without-carrier: rail1p has no carrier\n"));
  const json rail = json::parse(Out({"describe", "rail", "rail1", "-o", "json"}));
  EXPECT_EQ(rail.at("findings").size(), 1U);
  EXPECT_EQ(rail.at("attachments").size(), 1U);
  EXPECT_EQ(rail.at("remotes"), 0);
}

}  // namespace
}  // namespace rail
