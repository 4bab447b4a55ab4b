// Every verdict of a trace, from what the switch says and what is known of the node.
#include "lib/inspect/inspector.h"
#include "lib/inspect/trace/testing/fixture.h"

namespace rail::inspect {
namespace {

TEST_F(TraceTest, AsksTheSwitchWithThePacketOfThePodAndWithItsAnswer) {
  const Answer answer = Must("10.0.9.1");
  EXPECT_EQ(answer.verdict(), Answer::REACHES) << answer.sentence();
  EXPECT_EQ(answer.reason(), Answer::SENT_TO_LEAF);
  ASSERT_EQ(packets.size(), 2U);
  EXPECT_EQ(packets[0],
            "in_port=2,dl_src=02:00:00:00:00:01,dl_dst=02:52:41:49:4c:00,udp,nw_src=10.0.0.1,nw_dst=10.0.9.1,"
            "nw_ttl=64,"
            "udp_src=49152,udp_dst=4791");
  EXPECT_EQ(packets[1],
            "in_port=1,dl_src=02:00:00:00:0f:00,dl_dst=02:00:00:00:0e:00,udp,nw_src=10.0.9.1,nw_dst=10.0.0.1,"
            "nw_ttl=64,"
            "udp_src=4791,udp_dst=49152");
  EXPECT_EQ(answer.steps(static_cast<int>(answer.deciding_step())).table(), 3);
  EXPECT_EQ(answer.steps(4).words(), "the same tenant");
  EXPECT_EQ(answer.steps(0).table_name(), "admit");
  EXPECT_EQ(answer.steps(0).rule().cookie(), "0x5241494c02000001");
  EXPECT_EQ(answer.steps(0).rule().kind(), "attachment");
  EXPECT_EQ(answer.steps(2).words(), "10.0.9.1 is of no pod of this node");
  EXPECT_EQ(answer.steps(3).table_name(), "remote");
  EXPECT_THAT(answer.steps(3).words(),
              HasSubstr("10.0.9.1 is of tenant red (000000000007ed000000000000aa), learned from BGP"));
  EXPECT_TRUE(answer.back().admitted());
}

TEST_F(TraceTest, NamesTheTenantThatAnAddressIsLeaving) {
  const std::string left = Remote("ip,nw_src=d, ", 100, 0x5241494c80000000,
                                  "set_field:0xb1e0000000000000bb->xxreg1\n            "
                                  "set_field:0x7ed000000000000aa->xxreg2");
  forward = Text(kAdmit + kSourceRed + left + kSame + kLeaf, "1");
  const Answer answer = Must("10.0.9.1");
  EXPECT_EQ(answer.verdict(), Answer::REACHES) << answer.sentence();
  EXPECT_EQ(
      answer.steps(3).words(),
      "10.0.9.1 is of tenant blue (0000000000b1e0000000000000bb) and, for a moment, still of tenant red "
      "(000000000007ed000000000000aa), learned from BGP");
}

TEST_F(TraceTest, WritesEachProtocolAndFamily) {
  question.protocol = v1::TraceRequest::ICMP;
  Must("10.0.9.1");
  EXPECT_THAT(packets[0],
              HasSubstr(",icmp,nw_src=10.0.0.1,nw_dst=10.0.9.1,nw_ttl=64,icmp_type=8,icmp_code=0"));
  view.attachments[0].attachment.addresses.push_back(Ip("fd00::1"));
  question.protocol = v1::TraceRequest::TCP;
  question.destination_port = 22;
  Must("fd00::9");
  EXPECT_THAT(packets[0],
              HasSubstr(",tcp6,ipv6_src=fd00::1,ipv6_dst=fd00::9,nw_ttl=64,tcp_src=49152,tcp_dst=22"));
}

TEST_F(TraceTest, DeliversWithinTheNode) {
  forward = Text(kAdmit + kSourceRed + kToRed + kSame + kToPod2, "3");
  const Answer answer = Must("10.0.0.2");
  EXPECT_EQ(answer.verdict(), Answer::REACHES) << answer.sentence();
  EXPECT_EQ(answer.reason(), Answer::DELIVERED_LOCALLY);
  EXPECT_THAT(answer.sentence(), HasSubstr("ns/b net1 on rail0"));
  EXPECT_THAT(packets[1], HasSubstr("in_port=3,"));
}

TEST_F(TraceTest, NamesTheOtherTenantHereAndElsewhere) {
  forward = Text(kAdmit + kSourceRed + kToBlue + Miss(3));
  Dropped("10.0.0.3", Answer::OTHER_TENANT, "tenant blue (0000000000b1e0000000000000bb), of pod other/c");
  Dropped("10.0.9.2", Answer::OTHER_TENANT, "on another node");
  // Of a tenant that is not on this node no rules are here.
  forward = Text(kAdmit + kSourceRed + kToNobody);
  Dropped("10.0.9.2", Answer::OTHER_TENANT, "belongs to another tenant");
}

// Tenant blue of a label and namespace blue without one are two: the words keep them apart, and say what is missing.
TEST_F(TraceTest, NamesANamespaceThatIsATenantByItselfAndTheLabelThatItDoesNotHave) {
  const auto itself = [&](size_t place, const char* pod_namespace) {
    auto& a = view.attachments[place].attachment;
    a.pod_namespace = a.tenant = pod_namespace;
    a.tenant_id = tenancy::TenantOf(config, pod_namespace, tenancy::NoMap).value().id;
  };
  itself(0, "ns");
  itself(2, "blue");
  forward = Text(kAdmit + kSourceRed + kToBlue + Miss(3));
  Dropped("10.0.0.3", Answer::OTHER_TENANT, "belongs to another tenant: namespace blue (");
  EXPECT_THAT(Must("10.0.0.3").sentence(), HasSubstr("is of namespace ns ("));
  EXPECT_THAT(Must("10.0.0.3").advice(),
              HasSubstr("follows no label of namespaces (kubernetes.tenants is false)"));
  view.attachments[2].attachment.tenant_id = tenancy::NamedTenant(config, "blue").id;
  Dropped("10.0.0.3", Answer::OTHER_TENANT, "belongs to another tenant: tenant blue (");
  config.kubernetes.tenants = true;
  EXPECT_THAT(Must("10.0.0.3").advice(),
              HasSubstr("by the label railcni.io/tenant, which namespace ns does not have, or in"));
  view.attachments[0].attachment.tenant_id = tenancy::NamedTenant(config, "ns").id;
  EXPECT_THAT(Must("10.0.0.3").advice(), HasSubstr("by the label railcni.io/tenant, or in"));
}

TEST_F(TraceTest, SaysWhyADestinationIsUnknown) {
  forward = Text(kAdmit + kSourceRed + kToNobody);
  Dropped("10.0.9.9", Answer::UNKNOWN_DESTINATION, "nobody announces 10.0.9.9");
  Dropped("10.0.9.1", Answer::NOT_INSTALLED, "its rules are not on br-rail0 yet");
  Dropped("224.0.0.5", Answer::NOT_FOR_PODS, "no pod's address");
  Dropped("169.254.1.1", Answer::NOT_FOR_PODS, "no pod's address");
  Dropped("10.0.0.2", Answer::RULES_MISSING, "the rule that knows 10.0.0.2");
  AddPod(4, "ns", "d", "rail1", "10.1.0.4", kRed, 9);
  Dropped("10.1.0.4", Answer::ANOTHER_RAIL, "is on rail1 of this very node");
  config.tenancy.cross_rail = false;
  Dropped("10.1.0.4", Answer::ANOTHER_RAIL, "tenancy.cross_rail is false");
  AddRemote("10.1.9.1", kRed, 1);
  Dropped("10.1.9.1", Answer::ANOTHER_RAIL,
          "is on rail1, and this node lets pods reach addresses of rail0 alone");
  AddRemote("10.1.9.2", kBlue, 1);
  Dropped("10.1.9.2", Answer::OTHER_TENANT, "another node");
  Dropped("10.0.9.1", Answer::NOT_INSTALLED, "its rules are not on br-rail0 yet");
  view.rails[0].seen.set_bgp_state("Active");
  Dropped("10.0.9.9", Answer::BGP_DOWN, "BGP session of rail0 is Active");
}

TEST_F(TraceTest, NamesAForgedSource) {
  forward = Text(Step(0, "in_port=2", 1, 0x5241494c02000001, "drop"));
  question.source_address = Ip("10.0.0.99");
  Dropped("10.0.9.1", Answer::SPOOFED_SOURCE, "10.0.0.99 is not the pod's (10.0.0.1)");
  question.source_address.reset();
  question.source_mac = *MacAddress::Parse("02:00:00:00:00:99");
  Dropped("10.0.9.1", Answer::SPOOFED_SOURCE, "02:00:00:00:00:99 is not the pod's");
  EXPECT_THAT(packets[0], HasSubstr("dl_src=02:00:00:00:00:99"));
  question.source_mac.reset();
  Dropped("10.0.9.1", Answer::RULES_MISSING, "the rule that admits 10.0.0.1");
}

TEST_F(TraceTest, NamesTheRulesThatAreMissingAndWhatKeepsRaild) {
  forward = Text(Miss(0));
  Dropped("10.0.9.1", Answer::RULES_MISSING, "every rule of ns/a net1 on rail0 is not in br-rail0");
  view.health.push_back({{engine::Part::kRail, "rail0"}, false, "ovs is broken", 3});
  EXPECT_THAT(Must("10.0.9.1").advice(), HasSubstr("ovs is broken"));
  forward = Text(kAdmit + Miss(1));
  Dropped("10.0.9.1", Answer::RULES_MISSING, "which tenant");
  view.attachments[0].attachment.tenant_id = {};
  Dropped("10.0.9.1", Answer::NO_TENANT, "tenant-isolation has not run");
  view.attachments[0].attachment.tenant_id = kRed;
  forward = Text(kAdmit + kSourceRed + kToRed + Miss(3));
  Dropped("10.0.9.1", Answer::RULES_MISSING, "lets the tenant talk to itself");
  forward = Text(kAdmit + kSourceRed + kToRed + kSame + Miss(4));
  Dropped("10.0.0.2", Answer::RULES_MISSING, "the rule that forwards to ns/b");
}

TEST_F(TraceTest, NamesALeafThatIsNotKnownAndAWireThatIsOut) {
  forward = Text(kAdmit + kSourceRed + kToRed + kSame + Miss(4));
  Dropped("10.0.9.1", Answer::NO_LEAF_MAC, "the leaf's MAC address is not known");
  forward = Text(kAdmit + kSourceRed + kToRed + kSame + kLeaf, "1");
  view.rails[0].seen.set_carrier(false);
  Dropped("10.0.9.1", Answer::NO_CARRIER, "pf0 has no carrier");
}

TEST_F(TraceTest, NamesAPortThatDoesNotWork) {
  forward = Text(kAdmit + kSourceRed + kToRed + kSame + kToPod2, "drop");
  Dropped("10.0.0.2", Answer::PORT_NOT_WORKING, "rep3 is not a working port of br-rail0: the rules forward");
  EXPECT_EQ(Must("10.0.0.2").deciding_step(), 5U);
  forward = Text(kAdmit + kSourceRed + kToRed + kSame + kLeaf, "drop");
  Dropped("10.0.9.1", Answer::PORT_NOT_WORKING, "pf0 is not a working port");
  forward = Text(kAdmit + kSourceRed + kToRed + kSame + kLeaf, "1");
  back = Text(kAdmit + kSourceRed + kToRed + kSame + kToPod1, "drop");
  const Answer answer = Must("10.0.9.1");
  EXPECT_EQ(answer.reason(), Answer::NO_WAY_BACK);
  EXPECT_THAT(answer.sentence(), HasSubstr("no working port has the number"));
  ports["rep3"] = -1;
  forward = Text(kAdmit + kSourceRed + kToNobody);
  Dropped("10.0.0.2", Answer::PORT_NOT_WORKING,
          "rep3 is not a working port of br-rail0: nothing reaches ns/b");
  forward = Text(kAdmit + kSourceRed + kToRed + kSame + Miss(4));
  Dropped("10.0.0.2", Answer::PORT_NOT_WORKING, "nothing reaches ns/b");
  ports["rep2"] = -1;
  Dropped("10.0.9.1", Answer::PORT_NOT_WORKING, "rep2 is not a working port of br-rail0: ns/a net1 on rail0");
  EXPECT_TRUE(packets.empty());
}

TEST_F(TraceTest, NamesARepresentorThatIsDownOrHasNoCarrier) {
  forward = Text(kAdmit + kSourceRed + kToRed + kSame + kToPod2, "3");
  down = {"rep3"};
  Dropped("10.0.0.2", Answer::PORT_NOT_WORKING,
          "the representor rep3 is set down: the rules forward the packet there, and nothing reaches ns/b");
  EXPECT_THAT(Must("10.0.0.2").advice(), HasSubstr("`ip link set rep3 up`"));
  down = {};
  silent = {"rep3"};
  Dropped("10.0.0.2", Answer::PORT_NOT_WORKING, "the representor rep3 has no carrier");
  EXPECT_THAT(Must("10.0.0.2").advice(), HasSubstr("is the pod's interface up"));
  down = {"rep2"};
  Dropped("10.0.0.2", Answer::PORT_NOT_WORKING,
          "the representor rep2 is set down: ns/a net1 on rail0 can send");
  EXPECT_TRUE(packets.empty());
}

TEST_F(TraceTest, NamesAllTenantsThatContendForAnAddress) {
  for (const tenancy::TenantId lower : {kRed, kBlue}) {
    for (const tenancy::TenantId tenant : {lower, lower == kRed ? kBlue : kRed}) {
      AddRemote("10.0.9.40", tenant, 0);
      view.remotes.own().back().contested = true;
    }
    forward = Text(kAdmit + kSourceRed + kToNobody);
    for (const char* pod : {"a", "c"}) {
      question.source.pod = pod;
      Dropped("10.0.9.40", Answer::CONTESTED,
              "tenant red (000000000007ed000000000000aa) and tenant blue (0000000000b1e0000000000000bb): "
              "while it is, it reaches nobody");
    }
    question.source.pod = "a";
    forward = Text(kAdmit + kSourceRed + kToRed + kSame + kLeaf, "1");  // not removed yet
    EXPECT_EQ(Must("10.0.9.40").verdict(), Answer::DOUBTFUL);
    EXPECT_EQ(Must("10.0.9.40").reason(), Answer::CONTESTED);
    std::erase_if(view.remotes.own(), [](const engine::RemoteView& r) { return r.contested; });
  }
}

TEST_F(TraceTest, SaysThatAnAddressOfAPodHereIsAnnouncedElsewhere) {
  view.attachments[1].elsewhere = {
      {.address = Ip("10.0.0.2"), .other_tenant = true, .by = "AS 7 for tenant blue"}};
  forward = Text(kAdmit + kSourceRed + kToRed + kSame + kToPod2, "3");
  Answer answer = Must("10.0.0.2");
  EXPECT_EQ(answer.verdict(), Answer::REACHES) << "on this node it keeps what it has";
  EXPECT_THAT(answer.notes(),
              testing::ElementsAre(HasSubstr("10.0.0.2 is also announced by AS 7 for tenant blue")));
  forward = Text(kAdmit + kSourceRed + kToRed + kSame + kLeaf, "1");
  view.attachments[0].elsewhere = {
      {.address = Ip("10.0.0.1"), .other_tenant = true, .by = "AS 7 for tenant blue"}};
  answer = Must("10.0.9.1");
  EXPECT_EQ(answer.verdict(), Answer::DOUBTFUL);
  EXPECT_EQ(answer.reason(), Answer::CONTESTED);
  EXPECT_THAT(answer.sentence(), HasSubstr("the other node drops it: 10.0.0.1 is also announced by AS 7"));
  EXPECT_THAT(answer.advice(), HasSubstr("10.0.0.1/32"));
  view.attachments[0].elsewhere[0].other_tenant = false;
  answer = Must("10.0.9.1");
  EXPECT_EQ(answer.verdict(), Answer::REACHES);
  EXPECT_THAT(answer.notes(), testing::Contains(HasSubstr("two pods have one address")));
}

// A leaf passes one of two routes on: nothing but what has come before it says that there are two.
TEST_F(TraceTest, DoesNotCallItIsolationWhenTwoAnnounceTheDestination) {
  AddRemote("10.0.9.41", kBlue, 0);
  forward = Text(kAdmit + kSourceRed + kToNobody);
  Dropped("10.0.9.41", Answer::OTHER_TENANT, "belongs to another tenant");
  EXPECT_THAT(Must("10.0.9.41").advice(),
              AllOf(HasSubstr("the isolation at work"), HasSubstr("`railctl doctor` on its node")));
  view.remotes.own().back().replaced = "AS 7 (AS path 1 7, from the leaf fe80::1 on rail0) for tenant red";
  Dropped("10.0.9.41", Answer::CONTESTED,
          "it was announced by AS 7 (AS path 1 7, from the leaf fe80::1 on rail0) for tenant red");
  EXPECT_THAT(Must("10.0.9.41").advice(),
              AllOf(HasSubstr("one pod must give the address up"), Not(HasSubstr("isolation"))));
}

TEST_F(TraceTest, DoesNotCallItIsolationWhenAPodHereSharesItsAddressWithAnother) {
  question.source.pod = "c";  // of blue
  view.attachments[1].elsewhere = {
      {.address = Ip("10.0.0.2"), .other_tenant = true, .by = "AS 7 for tenant blue"}};
  forward = Text(kAdmit + kSourceRed + kToRed + Miss(3));
  Dropped("10.0.0.2", Answer::CONTESTED, "10.0.0.2 is also announced by AS 7 for tenant blue");
}

TEST_F(TraceTest, SaysWhoAnnouncesAnAddressWithoutATenant) {
  view.without_tenant = [](const tenancy::TenantId&, const IpAddress& address) -> std::string {
    return address == Ip("10.0.9.42") ? "AS 7" : "";
  };
  forward = Text(kAdmit + kSourceRed + kToNobody);
  Dropped("10.0.9.42", Answer::UNKNOWN_DESTINATION, "is announced by AS 7 without a tenant's communities");
  EXPECT_THAT(Must("10.0.9.42").advice(), HasSubstr("strips large communities"));
  Dropped("10.0.9.43", Answer::UNKNOWN_DESTINATION, "nobody announces 10.0.9.43");
}

TEST_F(TraceTest, DoubtsWhatLeavesWhileSomethingElseIsWrong) {
  view.rails[0].seen.set_bgp_state("Active");
  Answer answer = Must("10.0.9.1");
  EXPECT_EQ(answer.verdict(), Answer::DOUBTFUL);
  EXPECT_EQ(answer.reason(), Answer::BGP_DOWN);
  view.rails[0].seen.set_bgp_state("Established");
  view.attachments[0].attachment.announced = false;
  EXPECT_EQ(Must("10.0.9.1").reason(), Answer::NOT_ANNOUNCED);
  view.attachments[0].attachment.announced = true;
  EXPECT_EQ(Must("10.0.9.7").reason(), Answer::UNKNOWN_DESTINATION);
  back = Text(Miss(0));
  answer = Must("10.0.9.1");
  EXPECT_EQ(answer.verdict(), Answer::DOUBTFUL);
  EXPECT_EQ(answer.reason(), Answer::NO_WAY_BACK);
  EXPECT_FALSE(answer.back().admitted());
  EXPECT_THAT(answer.back().sentence(), HasSubstr("ends in table 0"));
}

TEST_F(TraceTest, SaysWhenARuleOfSomebodyElseDecides) {
  forward = Text(Step(0, "in_port=2", 500, 0x7, "output:3"), "3");
  Answer answer = Must("10.0.9.1");
  EXPECT_EQ(answer.verdict(), Answer::DOUBTFUL);
  EXPECT_EQ(answer.reason(), Answer::FOREIGN_RULE);
  EXPECT_THAT(answer.sentence(), HasSubstr("cookie 0x7 decides, which is not RailCNI's: the packet passes"));
  forward = Text(Step(0, "in_port=2", 500, 0x7, "drop"), "drop");
  Dropped("10.0.9.1", Answer::FOREIGN_RULE, "cookie 0x7");
}

TEST_F(TraceTest, KnowsWhatNeedsNoSwitch) {
  Dropped("10.0.0.1", Answer::OWN_ADDRESS, "own address");
  Dropped("fd00::9", Answer::NO_ADDRESS_OF_FAMILY, "has no IPv6 address");
  view.attachments[0].attachment.phase = state::Phase::kAdding;
  Dropped("10.0.9.1", Answer::RULES_MISSING, "is being attached");
  EXPECT_TRUE(packets.empty());
}

TEST_F(TraceTest, TakesTheInterfaceOfTheDestinationsRail) {
  AddPod(4, "ns", "a", "rail1", "10.1.0.1", kRed, 2);
  AddRemote("10.1.9.1", kRed, 1);
  EXPECT_EQ(Must("10.0.9.1").source().rail(), "rail0");
  question.source.rail = "rail0";
  const Answer answer = Must("10.1.9.1");
  EXPECT_EQ(answer.source().rail(), "rail0");
  ASSERT_FALSE(answer.notes().empty());
  EXPECT_THAT(answer.notes(0), HasSubstr("10.1.9.1 is on rail1"));
}

TEST_F(TraceTest, SaysWhatIsAmissInsideThePodsThoughTheSwitchDeliversThePacket) {
  inside[1] = {{"net1: the MTU is 1400 instead of 4200", "ip link set net1 mtu 4200", false}};
  Answer answer = Must("10.0.9.1");
  EXPECT_EQ(answer.verdict(), Answer::REACHES) << "a smaller packet does";
  EXPECT_THAT(answer.notes(),
              testing::Contains("inside the pod ns/a net1 on rail0: net1: the MTU is 1400 instead of 4200"));

  inside[1].push_back({"net1: the interface is down", "ip link set net1 up"});
  view.attachments[0].attachment.netns_path = "/run/netns/a";
  answer = Must("10.0.9.1");
  EXPECT_EQ(answer.verdict(), Answer::DOUBTFUL);
  EXPECT_EQ(answer.reason(), Answer::INSIDE_POD);
  EXPECT_THAT(answer.sentence(), HasSubstr("inside the pod ns/a net1 on rail0 something is not"));
  EXPECT_THAT(answer.sentence(), HasSubstr("the interface is down"));
  EXPECT_THAT(
      answer.advice(),
      HasSubstr("nsenter --net=/run/netns/a sh -c 'ip link set net1 mtu 4200 && ip link set net1 up'"));

  forward = Text(kAdmit + kSourceRed + kToBlue + Miss(3));
  Dropped("10.0.0.3", Answer::OTHER_TENANT, "another tenant");  // the switch's word stays
}

TEST_F(TraceTest, LooksIntoThePodAtTheOtherEndToo) {
  inside[2] = {{"net1: address 10.0.0.2/32 is missing", ""}};
  inside[3] = {{"net1: not on the way", ""}};
  forward = Text(kAdmit + kSourceRed + kToRed + kSame + kToPod2, "3");
  const Answer answer = Must("10.0.0.2");
  EXPECT_EQ(answer.reason(), Answer::INSIDE_POD);
  EXPECT_THAT(answer.notes(), testing::ElementsAre(
                                  "inside the pod ns/b net1 on rail0: net1: address 10.0.0.2/32 is missing"));
  EXPECT_EQ(answer.advice(), "delete the pod: its successor is whole");
}

TEST_F(TraceTest, SaysWhichPodsThereAre) {
  question.source.pod = "z";
  auto answer = Ask("10.0.9.1");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kNotFound);
  EXPECT_THAT(answer.error().message,
              HasSubstr("there is no attachment of pod z on this node (n1); there are: ns/a"));
  question.source.pod.clear();
  answer = Ask("10.0.9.1");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kInvalid);
  EXPECT_THAT(answer.error().message, HasSubstr("it could be: ns/a"));
}

TEST_F(TraceTest, TenantsAreThoseHereThoseElsewhereAndThoseOfNodeJson) {
  config.tenancy.tenants = {{"red", {"ns", "ns-dev"}}, {"green", {"g"}}};
  AddRemote("10.0.9.5", {0, 0xcc}, 0);
  view.remotes.own().back().tenant = "";
  const v1::ListTenantsResponse response = Tenants(view, config.tenancy);
  const auto& tenants = response.tenants();
  ASSERT_EQ(tenants.size(), 4);
  EXPECT_EQ(tenants[0].tenant().name(), "blue");
  EXPECT_FALSE(tenants[0].configured());
  EXPECT_EQ(tenants[1].tenant().name(), "green");
  EXPECT_EQ(tenants[1].tenant().id(), "");
  EXPECT_EQ(tenants[2].tenant().name(), "red");
  EXPECT_THAT(tenants[2].namespaces(), testing::ElementsAre("ns", "ns-dev"));
  EXPECT_EQ(tenants[2].attachments(), 2U);
  EXPECT_TRUE(tenants[2].configured());
  EXPECT_EQ(tenants[3].tenant().id(), (tenancy::TenantId{0, 0xcc}).ToString());
  EXPECT_EQ(tenants[3].remotes(), 1U);
}

}  // namespace
}  // namespace rail::inspect
