// What other programs print, read.
#include <gmock/gmock.h>

#include "lib/base/parse.h"
#include "lib/inspect/doctor/testing/fixture.h"
#include "lib/inspect/megaflow.h"
#include "lib/inspect/text.h"
#include "lib/inspect/trace/switch_trace.h"

namespace rail::inspect {
namespace {

Megaflow FlowOf(const std::string& port, const std::string& match) {
  Megaflow flow;
  flow.in_port = port;
  flow.match = match;
  return flow;
}

}  // namespace

void AddMasks(NodeFacts& facts, int masks) {
  for (int bits = 1; bits <= masks; ++bits)
    facts.masks.Add(FlowOf("rep0", "in_port(rep0),ipv6(dst=fd52::/" + std::to_string(bits) + ")"));
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Megaflow> ParseMegaflows(std::string_view text) {
  std::vector<Megaflow> flows;
  ForEachMegaflow(text, [&](Megaflow&& flow) { flows.push_back(std::move(flow)); });
  return flows;
}

// As Open vSwitch 3.1 prints them.
constexpr char kTrace[] =
    R"(Flow: udp,in_port=2,vlan_tci=0x0000,dl_src=4e:7b:7b:bb:1e:90,nw_src=10.0.1.2,nw_dst=10.0.1.4,nw_ttl=64

bridge("br-rail0")
------------------
 0. ip,in_port=2,vlan_tci=0x0000/0x1fff,dl_src=4e:7b:7b:bb:1e:90,nw_src=10.0.1.2, priority 100, cookie 0x5241494c02000001
    resubmit(,1)
 1. in_port=2, priority 100, cookie 0x5241494c03000001
    set_field:0xc6b14db04ca0630123456789abcd->xxreg0
    resubmit(,2)
 2. priority 0, cookie 0x5241494c01000000
    drop

Final flow: udp,reg0=0xc6b1,reg1=0x4db04ca0,reg2=0x63012345,reg3=0x6789abcd,in_port=2
Megaflow: recirc_id=0,eth,ip,in_port=2,dl_src=4e:7b:7b:bb:1e:90,nw_src=10.0.1.2,nw_dst=10.0.1.64/26,nw_frag=no
Datapath actions: drop
)";

TEST(Masks, AreTheBitsThatFlowsLookAt) {
  const Megaflow one =
      FlowOf("rep0",
             "in_port(rep0),eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02),eth_type(0x0800),"
             "ipv4(src=10.0.0.1,dst=10.0.0.0/255.0.0.0,frag=no)");
  EXPECT_EQ(MaskOf(one), "in_port,eth(src,dst),eth_type,ipv4(src,dst/255.0.0.0,frag)");
  EXPECT_EQ(MaskOf(FlowOf("u", "in_port(u),vlan(vid=5,pcp=0),encap(eth_type(0x0800),ipv4(src=10.0.0.1))")),
            "in_port,vlan(vid,pcp),encap(eth_type,ipv4(src))");
  EXPECT_EQ(MaskOf(FlowOf("rep0", "in_port(rep0),vlan_tci(0x1000/0x1000)")), "in_port,vlan_tci(/0x1000)");

  Masks masks;
  EXPECT_EQ(masks.Most("ipv4").second, 0U);
  masks.Add(one);
  masks.Add(FlowOf("rep1",
                   "in_port(rep1),eth(src=02:00:00:00:00:03,dst=02:00:00:00:00:02),eth_type(0x0800),"
                   "ipv4(src=10.0.0.7,dst=11.0.0.0/255.0.0.0,frag=no)"));  // the same bits
  masks.Add(FlowOf("rep1", "in_port(rep1),eth_type(0x0800),ipv4(dst=10.0.0.0/255.128.0.0)"));
  masks.Add(FlowOf("rep0", "in_port(rep0),eth_type(0x86dd),ipv6(dst=fd52::/16)"));
  masks.Add(FlowOf("rep0", "in_port(rep0),eth_type(0x0806)"));
  EXPECT_THAT(masks.Counts(),
              ::testing::ElementsAre(std::pair("ipv4", 2U), std::pair("ipv6", 1U), std::pair("other", 1U)));
  EXPECT_EQ(masks.Count(), 4U);
  EXPECT_EQ(masks.Most("ipv4"), (std::pair<std::string, size_t>("rep1", 2)));
}

TEST(SwitchTrace, IsReadRuleByRule) {
  const auto trace = ParseSwitchTrace(kTrace);
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->steps.size(), 3U);
  EXPECT_EQ(trace->steps[0].table, 0);
  EXPECT_EQ(trace->steps[0].priority, 100);
  EXPECT_EQ(trace->steps[0].cookie, 0x5241494c02000001U);
  EXPECT_EQ(trace->steps[0].match,
            "ip,in_port=2,vlan_tci=0x0000/0x1fff,dl_src=4e:7b:7b:bb:1e:90,nw_src=10.0.1.2");
  EXPECT_THAT(trace->steps[1].actions,
              ElementsAre("set_field:0xc6b14db04ca0630123456789abcd->xxreg0", "resubmit(,2)"));
  EXPECT_EQ(trace->steps[2].match, "");
  EXPECT_EQ(trace->steps[2].priority, 0);
  EXPECT_TRUE(trace->steps[2].matched);
  EXPECT_THAT(trace->megaflow, HasSubstr("nw_dst=10.0.1.64/26"));
  EXPECT_EQ(trace->datapath_actions, "drop");
}

// As Open vSwitch 3.1 prints a table that comes back: indented, and then what is left of the rule that has asked it.
TEST(SwitchTrace, ATableThatComesBackTakesNoActionsOfTheRuleThatAsksIt) {
  const auto trace = ParseSwitchTrace(R"(bridge("br-rail0")
------------------
 2. ip, priority 10, cookie 0x5241494c01000000
    push:NXM_OF_IP_SRC[]
    move:NXM_OF_IP_DST[]->NXM_OF_IP_SRC[]
     -> NXM_OF_IP_SRC[] is now 10.0.0.9
    resubmit(,7)
     7. ip,nw_src=10.0.0.9, priority 100, cookie 0x5241494c80000294
            set_field:0x2a->xxreg1
            set_field:0x2b->xxreg2
    pop:NXM_OF_IP_SRC[]
     -> NXM_OF_IP_SRC[] is now 10.0.0.5
    resubmit(,3)
 3. priority 0, cookie 0x5241494c01000000
    drop

Final flow: unchanged
Megaflow: recirc_id=0,eth,ip,in_port=5,nw_src=10.0.0.5,nw_dst=10.0.0.9,nw_frag=no
Datapath actions: drop
)");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->steps.size(), 3U);
  EXPECT_THAT(trace->steps[0].actions,
              ElementsAre("push:NXM_OF_IP_SRC[]", "move:NXM_OF_IP_DST[]->NXM_OF_IP_SRC[]", "resubmit(,7)",
                          "pop:NXM_OF_IP_SRC[]", "resubmit(,3)"));
  EXPECT_EQ(trace->steps[1].table, 7);
  EXPECT_THAT(trace->steps[1].actions, ElementsAre("set_field:0x2a->xxreg1", "set_field:0x2b->xxreg2"));
  EXPECT_THAT(trace->steps[2].actions, ElementsAre("drop"));
}

TEST(SwitchTrace, KnowsATableWithoutAMatchAndTheDefaultPriority) {
  const auto trace = ParseSwitchTrace(
      "bridge(\"b\")\n-----\n 0. in_port=1, cookie 0x7\n    resubmit(,9)\n 9. No match.\n    drop\n\nFinal "
      "flow: unchanged\n"
      "Megaflow: recirc_id=0,eth\nDatapath actions: drop\n");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->steps.size(), 2U);
  EXPECT_EQ(trace->steps[0].priority, 32768);
  EXPECT_EQ(trace->steps[0].cookie, 7U);
  EXPECT_FALSE(trace->steps[1].matched);
}

TEST(SwitchTrace, IsNotMadeUpFromAnotherText) {
  for (const char* text : {"", "no such bridge", "Datapath actions: drop\n", " 0. priority 0\n"}) {
    EXPECT_FALSE(ParseSwitchTrace(text)) << text;
  }
}

constexpr char kFlows[] =
    "flow-dump from the main thread:\n"
    "ufid:b5847957-a521-47a7-969e-0fb873bec0a7, "
    "skb_priority(0/0),skb_mark(0/0),ct_state(0/0),recirc_id(0),dp_hash(0/0),"
    "in_port(rep0x1),packet_type(ns=0,id=0),eth(src=66:c2:e5:ed:86:b2,dst=02:52:41:49:4c:00),eth_type(0x86dd)"
    ","
    "ipv6(src=fd52:4149:0:1::3,dst=fd52:4149:0:1::4,label=0x9a816/0,proto=58/0,tclass=0/0,hlimit=64/"
    "0,frag=no),"
    "icmpv6(type=128/0,code=0/0), packets:3, bytes:246, used:0.386s, dp:ovs, "
    "actions:set(eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02)),rep0x2, dp-extra-info:miniflow_bits(5,5)\n"
    "ufid:1, in_port(rep0x2),eth_type(0x0800),ipv4(src=10.0.1.4,dst=0.0.0.0/0.0.0.0), packets:9, bytes:1, "
    "used:never, "
    "offloaded:yes, dp:tc, actions:rail0p\n"
    "ufid:2, in_port(rep0x3), packets:0, bytes:0, used:never, dp:tc, actions:drop\n";

TEST(Megaflows, AreReadWithoutWhatTheyDoNotLookAt) {
  const std::vector<Megaflow> flows = ParseMegaflows(kFlows);
  ASSERT_EQ(flows.size(), 3U);
  EXPECT_EQ(flows[0].in_port, "rep0x1");
  EXPECT_EQ(flows[0].match,
            "in_port(rep0x1),eth(src=66:c2:e5:ed:86:b2,dst=02:52:41:49:4c:00),eth_type(0x86dd),"
            "ipv6(src=fd52:4149:0:1::3,dst=fd52:4149:0:1::4,frag=no)");
  EXPECT_EQ(flows[0].actions, "set(eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02)),rep0x2");
  EXPECT_THAT(flows[0].outputs, ElementsAre("rep0x2"));
  EXPECT_EQ(flows[0].packets, 3U);
  EXPECT_EQ(flows[0].used, "0.386s");
  EXPECT_EQ(flows[0].place, v1::Megaflow::SOFTWARE);
  EXPECT_EQ(flows[1].place, v1::Megaflow::HARDWARE);
  EXPECT_EQ(flows[1].match, "in_port(rep0x2),eth_type(0x0800),ipv4(src=10.0.1.4)");
  EXPECT_EQ(flows[2].place, v1::Megaflow::TC);
  EXPECT_THAT(flows[2].outputs, IsEmpty());
}

// As a guest's kernel has it, mode `vrf`.
TEST(Megaflows, BehindATagAreReadAsThoseWithout) {
  const std::vector<Megaflow> flows = ParseMegaflows(
      "ufid:1, "
      "recirc_id(0),in_port(uplink),packet_type(ns=0/0,id=0/"
      "0),eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02),"
      "eth_type(0x8100),vlan(vid=101,pcp=0),encap(eth_type(0x0800),ipv4(src=10.0.0.2,dst=10.0.0.1,proto=17/0,"
      "tos=0x68/0,ttl=64/0,frag=no)), packets:3, bytes:246, used:0.1s, dp:tc, "
      "actions:set(eth(src=02:52:41:49:4c:00,dst=02:00:00:00:01:00)),pop_vlan,rep-red\n");
  ASSERT_EQ(flows.size(), 1U);
  EXPECT_EQ(
      flows[0].match,
      "in_port(uplink),eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02),eth_type(0x8100),vlan(vid=101,pcp=0),"
      "encap(eth_type(0x0800),ipv4(src=10.0.0.2,dst=10.0.0.1,frag=no))");
  EXPECT_THAT(flows[0].outputs, ElementsAre("rep-red"));
  EXPECT_EQ(flows[0].place, v1::Megaflow::TC);
}

TEST(Megaflows, OfNonsenseAreNone) {
  EXPECT_THAT(ParseMegaflows(""), IsEmpty());
  EXPECT_THAT(ParseMegaflows("packets:, actions:\n, actions:x, packets:1\n((((\n"), IsEmpty());
}

TEST(Megaflows, SayWhyTheyAreNotInHardware) {
  const std::vector<Megaflow> flows = ParseMegaflows(kFlows);
  const Datapath kernel{.kernel = true, .hw_offload = true};
  EXPECT_EQ(WhyNotInHardware(flows[1], kernel), "");
  EXPECT_THAT(WhyNotInHardware(flows[2], kernel), HasSubstr("the NIC has not"));
  EXPECT_THAT(WhyNotInHardware(flows[0], kernel), HasSubstr("tc has refused it"));
  EXPECT_THAT(WhyNotInHardware(flows[0], {.kernel = true, .hw_offload = false}),
              HasSubstr("hw-offload is not true"));
  EXPECT_THAT(WhyNotInHardware(flows[0], {.kernel = false, .hw_offload = true}),
              HasSubstr("no NIC takes from links of the kernel"));
  Megaflow recirculates = flows[0];
  recirculates.actions = "ct(zone=1),recirc(0x2)";
  EXPECT_THAT(WhyNotInHardware(recirculates, kernel), HasSubstr("the action recirc is none that tc can do"));
}

TEST(Text, IsSplitOutsideOfParentheses) {
  EXPECT_THAT(SplitOutside("a(b,c(d,e)),f"), ElementsAre("a(b,c(d,e))", "f"));
  EXPECT_THAT(SplitOutside("a),b"), ElementsAre("a)", "b"));
  EXPECT_EQ(Number<uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(Number<uint16_t>("1x"), std::nullopt);
}

}  // namespace
}  // namespace rail::inspect
