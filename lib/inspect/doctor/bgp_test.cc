// Sessions, leaves and addresses that others announce: what one finding says, and what none says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "lib/inspect/doctor/testing/fixture.h"

namespace rail::inspect {

void EndSession(NodeFacts& facts, frr::Attempt attempt, std::optional<frr::Notification> said) {
  engine::RailView& rail = facts.view.rails[0];
  rail.seen.set_bgp_state("Active");
  rail.sessions["br-rail0"] = frr::Session{.interface = "br-rail0",
                                           .state = "Active",
                                           .peer = *IpAddress::Parse("fe80::7"),
                                           .notification = std::move(said),
                                           .last_reset = {},
                                           .attempt = attempt};
}

namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(DoctorOfBgp, SaysOfAnAddressThatItsOwnTenantAnnouncesElsewhereThatTwoPodsHaveIt) {
  NodeFacts facts = Well();
  facts.view.attachments[0].elsewhere = {
      {.address = *IpAddress::Parse("10.0.3.1"), .by = "AS 7 for tenant red"}};
  const std::vector<Finding> findings = Diagnose(facts);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "own-address-announced-elsewhere");
  EXPECT_THAT(findings[0].what, HasSubstr("of the same tenant: two pods have one address"));
  EXPECT_THAT(findings[0].why, HasSubstr("one pod or the other"));
}

// A host with IPv6 alone whose bgpd has neighbors and no router-id of its own.
TEST(DoctorOfBgp, FindsABgpdWithoutAnIdentifier) {
  NodeFacts facts = Well();
  facts.config.bgp.router_id = *IpAddress::Parse("10.255.0.1");
  facts.bgp_identifier = facts.config.bgp.router_id;
  EXPECT_THAT(Diagnose(facts), IsEmpty());
  facts.bgp_identifier = IpAddress();
  for (const bool manage : {true, false}) {
    facts.config.bgp.manage = manage;
    const std::vector<Finding> findings = Diagnose(facts);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].id, "bgp-identifier-missing");
    EXPECT_EQ(findings[0].severity, Severity::kCritical);
    EXPECT_THAT(findings[0].fix, HasSubstr(manage ? "raild sets bgp.router_id of node.json, 10.255.0.1"
                                                  : "-c 'bgp router-id 10.255.0.1'"));
  }
}

TEST(DoctorOfBgp, SaysNothingOfVersionsThatDoNotEnd) {
  NodeFacts facts = Well();
  for (const char* version : {"", "8.4.4", "10.2.6", "10.30", "10.4.1"}) {
    facts.frr_version = version;
    EXPECT_THAT(Diagnose(facts), IsEmpty()) << version;
  }
  for (const char* version : {"10.3", "10.3.4"}) {
    facts.frr_version = version;
    const std::vector<Finding> findings = Diagnose(facts);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].id, "frr-version-crashes");
    EXPECT_EQ(findings[0].severity, Severity::kWarning);
    EXPECT_THAT(findings[0].what,
                HasSubstr(std::string("zebra is of FRRouting ") + version + ", which ends"));
  }
}

// Many a leaf answers no echo, and one that answers large ones takes them.
TEST(DoctorOfBgp, ALeafThatAnswersNothingSaysNothingOfItsMtu) {
  NodeFacts facts = Well();
  for (const bool small : {false, true}) {
    facts.rails["rail0"].leaf = {.full_size = 4200, .small_size = 1500, .small = small, .full = small};
    EXPECT_THAT(Diagnose(facts), IsEmpty());
  }
}

TEST(DoctorOfBgp, SaysOfASessionThatIsBackWhatBgpdSaysNow) {
  NodeFacts facts = Well();
  EndSession(facts, frr::Attempt::kRefused);
  facts.sessions = {facts.view.rails[0].sessions.at("br-rail0")};
  facts.sessions[0].state = "Established";
  EXPECT_THAT(Diagnose(facts), IsEmpty());
}

TEST(DoctorOfBgp, ALeafThatBgpdHasNotHeardIsOneFinding) {
  NodeFacts facts = Well();
  EndSession(facts, frr::Attempt::kNone);
  facts.view.rails[0].sessions.at("br-rail0").peer.reset();
  for (const bool mac_known : {true, false}) {
    if (!mac_known) facts.view.rails[0].seen.clear_leaf_mac();
    const std::vector<Finding> findings = Diagnose(facts);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].id, "no-leaf-neighbour");
    EXPECT_THAT(findings[0].what, HasSubstr("no router advertisement"));
  }
}

TEST(DoctorOfBgp, AccusesThisNodesFirewallOnlyOfWhatItHasDroppedOfThisRail) {
  const netlink::DropRule dropped{
      .family = "ip6", .table = "filter", .chain = "INPUT", .handle = 7, .packets = 3, .names_bgp = true};
  const auto with = [&](const std::function<void(netlink::DropRule&)>& change) {
    NodeFacts facts = Well();
    EndSession(facts, frr::Attempt::kSilent);
    facts.drop_rules = {dropped};
    change(facts.drop_rules[0]);
    const std::vector<Finding> findings = Diagnose(facts);
    return findings.size() == 1 ? findings[0] : Finding{};
  };
  const Finding own = with([](netlink::DropRule&) {});
  EXPECT_EQ(own.id, "firewall-drops-bgp");
  EXPECT_THAT(own.fix, HasSubstr("rule 7 of chain INPUT of table ip6 filter (3 packets)"));
  EXPECT_EQ(with([](netlink::DropRule& rule) { rule.links = {"br-rail0"}; }).id, "firewall-drops-bgp");
  EXPECT_EQ(with([](netlink::DropRule& rule) { rule.packets.reset(); }).id, "firewall-drops-bgp");
  const Finding other = with([](netlink::DropRule& rule) { rule.names_bgp = false; });
  EXPECT_EQ(other.id, "leaf-silent");
  EXPECT_THAT(other.fix, HasSubstr("what has dropped packets: rule 7 of chain INPUT"));
  for (const auto& change : {std::function([](netlink::DropRule& rule) { rule.packets = 0; }),
                             std::function([](netlink::DropRule& rule) { rule.links = {"eth0"}; })}) {
    const Finding none = with(change);
    EXPECT_EQ(none.id, "leaf-silent");
    EXPECT_THAT(none.fix, HasSubstr("none of its rules has counted a packet"));
  }
}

TEST(DoctorOfBgp, ARaildThatHasJustBegunSaysNothingOfALeafItHasNotFoundYet) {
  NodeFacts facts = Well();
  facts.view.rails[0].seen.clear_leaf_mac();
  facts.view.attachments[0].rules_in_place = false;
  facts.view.started_ms = facts.now_ms - 4999;
  EXPECT_THAT(Diagnose(facts), IsEmpty());
  facts.view.attachments[0].rules_in_place = true;
  facts.view.started_ms = facts.now_ms - 5000;
  const std::vector<Finding> findings = Diagnose(facts);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "no-leaf-neighbour");
}

// Its first look is on its way: attachments and the feed are not known yet.
TEST(DoctorOfBgp, ARaildThatHasJustBegunAccusesNeitherTheFeedNorPortsNorTenants) {
  NodeFacts facts = Well();
  facts.view.bmp_up = false;
  facts.view.attachments.clear();
  facts.view.started_ms = facts.now_ms - 4999;
  EXPECT_THAT(Diagnose(facts), ::testing::IsEmpty());
  facts.view.started_ms = 0;
  facts.view.version = 0;
  EXPECT_THAT(Diagnose(facts), ::testing::IsEmpty()) << "there is no view yet";
  facts.view.version = 1;
  facts.view.started_ms = facts.now_ms - 5000;
  std::set<std::string> ids;
  for (const Finding& each : Diagnose(facts)) ids.insert(each.id);
  EXPECT_THAT(ids, ::testing::IsSupersetOf({"bmp-missing", "foreign-port", "tenant-unused"}));
}

}  // namespace

std::vector<std::string> FindingsOfBgp() {
  return {"bgp-identifier-missing", "frr-version-crashes"};
}

}  // namespace rail::inspect
