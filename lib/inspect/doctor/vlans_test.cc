// Mode `vrf`: what a tenant lacks on a rail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/attach/tenant_vlans.h"
#include "lib/inspect/doctor/fixture.h"

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
    rail.by_vlan = true;
    rail.bgp_state = "Established";
    for (const auto& [id, one] : engine::VlansByTenant(facts.config)) {
      engine::VlanView& vlan = rail.vlans.emplace_back();
      vlan.vlan = one.vlan;
      vlan.tenant = one.tenant;
      vlan.id = id;
      vlan.port = engine::VlanPortName(rail.rail, one.vlan);
      vlan.vrf = engine::VrfName(rail.rail, one.vlan);
      vlan.port_works = true;
      vlan.leaf_mac = rail.leaf_mac;
      vlan.bgp_state = "Established";
      vlan.session = frr::Session{.interface = vlan.port,
                                  .state = "Established",
                                  .peer = *IpAddress::Parse("fe80::7"),
                                  .notification = {},
                                  .last_reset = {}};
      facts.vrfs->insert(vlan.vrf);
      facts.rails["rail0"].bridge->ports.push_back(
          {.bridge = "br-rail0",
           .name = vlan.port,
           .ofport = 10 + one.vlan,
           .error = "",
           .external_ids = {{engine::kVlanKey, std::to_string(one.vlan)}}});
    }
    std::ranges::sort(rail.vlans, {}, &engine::VlanView::vlan);
  }
  engine::VlanView& Red() { return facts.view.rails[0].vlans[0]; }
  ovs::Port& PortOf(const engine::VlanView& vlan) {
    return *std::ranges::find(facts.rails["rail0"].bridge->ports, vlan.port, &ovs::Port::name);
  }
  void EndSession(frr::Attempt attempt) {
    Red().bgp_state = Red().session->state = "Active";
    Red().session->attempt = attempt;
    facts.view.rails[0].bgp_state = "Active";
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
  facts.view.rails[0].vlans.clear();  // no pod: no session is missing
  facts.view.rails[0].bgp_state = "";
  facts.view.rails[0].leaf_mac = {};
  std::erase_if(facts.rails["rail0"].bridge->ports,
                [](const ovs::Port& port) { return !port.external_ids.empty(); });
  EXPECT_THAT(Diagnose(facts), IsEmpty());
}

TEST_F(DoctorOfVlans, NamesTheVrfThatIsMissing) {
  facts.vrfs = {"railcni-0-102"};
  Finding found = Only();
  EXPECT_EQ(found.id, "vlan-vrf-missing");
  EXPECT_THAT(found.what, HasSubstr("no VRF railcni-0-101 for VLAN 101 of tenant red"));
  Red().session.reset();
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
                [&](const ovs::Port& port) { return port.name == Red().port; });
  Red().port_works = false;
  Red().session.reset();
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
  Red().session->shut_down = true;
  EXPECT_THAT(Only().fix, HasSubstr("vrf railcni-0-101' -c 'no neighbor rcvlan-0-101 shutdown'"));
  facts.sessions = {*Red().session};
  facts.sessions[0].state = "Established";  // what bgpd says now goes before what raild saw last
  EXPECT_THAT(Diagnose(facts), IsEmpty());
  facts.sessions.clear();
  Red().session->state = "Established";
  Red().leaf_mac = {};
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
