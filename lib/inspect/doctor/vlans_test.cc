// Mode `vrf`: what a tenant lacks on a rail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/attach/tenant_vlans.h"
#include "lib/inspect/doctor/testing/fixture.h"

namespace rail::inspect {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The pod's tenant is red, in VLAN 101; blue has VLAN 102 and a pod that others of the node have told of.
class DoctorOfVlans : public testing::Test {
 protected:
  DoctorOfVlans() {
    facts.config.tenancy.mode = config::TenancyMode::kVrf;
    facts.config.tenancy.vlans.of_tenant = {{"red", 101}, {"blue", 102}};
    facts.view.attachments[0].vlan = 101;
    facts.vrfs.emplace();
    engine::RailView& rail = facts.view.rails[0];
    rail.seen.set_by_vlan(true);
    rail.seen.set_bgp_state("Established");
    for (const auto& [id, one] : engine::VlansByTenant(facts.config)) {
      v1::RailVlan& vlan = *rail.seen.add_vlans();
      vlan.set_vlan(one.vlan);
      engine::SetTenant(*vlan.mutable_tenant(), one.tenant, id);
      vlan.set_port(engine::VlanPortName(rail.rail, one.vlan));
      vlan.set_vrf(engine::VrfName(rail.rail, one.vlan));
      vlan.set_port_works(true);
      vlan.set_leaf_mac(rail.seen.leaf_mac());
      vlan.set_bgp_state("Established");
      rail.sessions[vlan.port()] = frr::Session{.interface = vlan.port(),
                                                .state = "Established",
                                                .peer = *IpAddress::Parse("fe80::7"),
                                                .notification = {},
                                                .last_reset = {}};
      facts.vrfs->insert(vlan.vrf());
      facts.rails["rail0"].bridge->ports.push_back(
          {.bridge = "br-rail0",
           .name = vlan.port(),
           .ofport = 10 + one.vlan,
           .error = "",
           .external_ids = {{engine::kVlanKey, std::to_string(one.vlan)}}});
    }
    std::ranges::sort(*rail.seen.mutable_vlans(), {}, [](const v1::RailVlan& vlan) { return vlan.vlan(); });
  }
  v1::RailVlan& Red() { return *facts.view.rails[0].seen.mutable_vlans(0); }
  frr::Session& RedSession() { return facts.view.rails[0].sessions.at("rcvlan-0-101"); }
  ovs::Port& PortOf(const v1::RailVlan& vlan) {
    return *std::ranges::find(facts.rails["rail0"].bridge->ports, vlan.port(), &ovs::Port::name);
  }
  void EndSession(frr::Attempt attempt) {
    RedSession().state = "Active";
    Red().set_bgp_state("Active");
    RedSession().attempt = attempt;
    facts.view.rails[0].seen.set_bgp_state("Active");
  }
  Finding Only() {
    const std::vector<Finding> found = Diagnose(facts);
    EXPECT_THAT(found, SizeIs(1));
    if (found.empty()) return {};
    EXPECT_EQ(found[0].severity, Severity::kCritical);
    EXPECT_EQ(found[0].subject, "VLAN 101 of rail rail0");
    EXPECT_EQ(found[0].rail, "rail0");
    EXPECT_NE(found[0].fix, "");
    return found[0];
  }

  NodeFacts facts = Well();
};

TEST_F(DoctorOfVlans, ShowsTheVrfInWhichOthersHaveAnAddress) {
  facts.view.attachments[0].elsewhere = {{.address = *IpAddress::Parse("10.0.3.7"), .by = "AS 1"}};
  const std::vector<Finding> found = Diagnose(facts);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].fix, HasSubstr("'show bgp vrf railcni-0-101 ipv4 unicast 10.0.3.7/32'"));
}

TEST_F(DoctorOfVlans, NamesAPodThatItsTenantsVlanHasLeft) {
  facts.view.attachments[0].vlan = config::kNoVlan;
  const std::vector<Finding> found = Diagnose(facts);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].id, "tenant-vlan-changed");
  EXPECT_EQ(found[0].severity, Severity::kCritical);
  EXPECT_THAT(found[0].what, HasSubstr("its tenant red has no VLAN in node.json any more"));
}

TEST_F(DoctorOfVlans, FindsNothingWhereAllIsWell) {
  EXPECT_THAT(Diagnose(facts), IsEmpty()) << "no port of a VLAN is somebody else's";
  facts.view.rails[0].seen.clear_vlans();  // no pod: no session is missing
  facts.view.rails[0].seen.set_bgp_state("");
  facts.view.rails[0].seen.clear_leaf_mac();
  std::erase_if(facts.rails["rail0"].bridge->ports,
                [](const ovs::Port& port) { return !port.external_ids.empty(); });
  EXPECT_THAT(Diagnose(facts), IsEmpty());
}

TEST_F(DoctorOfVlans, NamesTheVrfThatIsMissing) {
  facts.vrfs = {"railcni-0-102"};
  Finding found = Only();
  EXPECT_EQ(found.id, "vlan-vrf-missing");
  EXPECT_THAT(found.what, HasSubstr("no VRF railcni-0-101 for VLAN 101 of tenant red"));
  facts.view.rails[0].sessions.erase("rcvlan-0-101");
  found = Only();
  EXPECT_EQ(found.id, "vlan-vrf-missing") << "its session follows from it";
  EXPECT_THAT(found.follows, SizeIs(1));
  facts.vrfs.reset();
  EXPECT_EQ(Only().id, "vlan-session-down") << "nobody could look at the kernel";
}

TEST_F(DoctorOfVlans, NamesThePortThatIsMissing) {
  PortOf(Red()).ofport = -1;
  PortOf(Red()).error = "No such device";
  EXPECT_THAT(Only().what,
              HasSubstr("could not open rcvlan-0-101 for VLAN 101 of tenant red: No such device"));
  PortOf(Red()).ofport = 9;
  PortOf(Red()).external_ids = {{engine::kVlanKey, "102"}};
  std::vector<Finding> found = Diagnose(facts);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].id, "vlan-port-missing");
  EXPECT_THAT(found[0].what, HasSubstr("does not have the mark of VLAN 101"));
  EXPECT_EQ(found[1].id, "foreign-port") << "nothing says whose it is";
  std::erase_if(facts.rails["rail0"].bridge->ports,
                [&](const ovs::Port& port) { return port.name == Red().port(); });
  Red().set_port_works(false);
  facts.view.rails[0].sessions.erase("rcvlan-0-101");
  const Finding missing = Only();
  EXPECT_EQ(missing.id, "vlan-port-missing");
  EXPECT_THAT(missing.what, HasSubstr("bridge br-rail0 has no port rcvlan-0-101"));
  EXPECT_THAT(missing.follows, SizeIs(1));
}

TEST_F(DoctorOfVlans, SaysWhyASessionIsDown) {
  EndSession(frr::Attempt::kRefused);
  Finding found = Only();
  EXPECT_EQ(found.id, "vlan-session-down");
  EXPECT_THAT(found.what, HasSubstr("VLAN 101 of tenant red: "));
  EXPECT_THAT(found.fix, HasSubstr("subinterface with VLAN 101"));
  RedSession().shut_down = true;
  EXPECT_THAT(Only().fix, HasSubstr("vrf railcni-0-101' -c 'no neighbor rcvlan-0-101 shutdown'"));
  facts.sessions = {RedSession()};
  facts.sessions[0].state = "Established";  // what bgpd says now goes before what raild saw last
  EXPECT_THAT(Diagnose(facts), IsEmpty());
  facts.sessions.clear();
  RedSession().state = "Established";
  Red().clear_leaf_mac();
  EXPECT_THAT(Only().what, HasSubstr("MAC address in VLAN 101 of tenant red is not known"));
}

TEST_F(DoctorOfVlans, FollowFromTheirUplink) {
  facts.rails["rail0"].uplink.carrier = false;
  EndSession(frr::Attempt::kNone);
  const std::vector<Finding> found = Diagnose(facts);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].id, "uplink-without-carrier");
  ASSERT_THAT(found[0].follows, SizeIs(1));
  EXPECT_EQ(found[0].follows[0].id, "vlan-session-down");
}

}  // namespace

std::vector<std::string> FindingsOfVlans() {
  return {"vlan-vrf-missing", "vlan-port-missing", "vlan-session-down", "tenant-vlan-changed"};
}

}  // namespace rail::inspect
