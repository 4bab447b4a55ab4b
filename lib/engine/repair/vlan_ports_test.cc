// Mode `vrf`: raild's rules follow the ports of the VLANs and the leaf that each of them hears, and what it says of them.
#include "lib/engine/repair/vlan_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/engine/testing/repair_fixture.h"

namespace rail::engine {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class VlanPortsTest : public testing::RepairTest {
 protected:
  VlanPortsTest() {
    world.config.tenancy.mode = config::TenancyMode::kVrf;
    world.config.tenancy.tenants = {{"red", {"ns-a"}}, {"blue", {"ns-b"}}, {"green", {"ns-c"}}};
    world.config.tenancy.vlans.of_tenant = {{"red", 101}, {"blue", 102}, {"green", 103}};
    world.bgp.Restart();
    raild = world.StartRaild(std::chrono::hours(1));
    raild->Audit();
    Attach(world.MakePod("p1", "ns-a", "vf0"), "10.0.3.1");
    Attach(world.MakePod("p2", "ns-b", "vf1"), "10.0.3.1");
    raild->Audit();
    for (const char* port : {"rcvlan-0-101", "rcvlan-0-102"})
      world.SetLeafMac(port, std::string("02:1e:af:00:00:") + (port + 10));  // "...:01", "...:02"
    raild->Audit();
  }
  // "table match actions" of the rules whose match or actions contain `part`.
  std::vector<std::string> With(const std::string& part) {
    std::vector<std::string> found;
    for (const ovs::Rule& rule : world.Bridge().rules()) {
      const std::string text = std::to_string(rule.table) + " " + rule.match + " " + rule.actions;
      if (text.find(part) != std::string::npos) found.push_back(text);
    }
    return found;
  }
  const RailView& Rail() {
    view = raild->views.Current();
    return view->rails.at(0);
  }
  std::shared_ptr<const NodeView> view;
};

TEST_F(VlanPortsTest, EachTenantHasItsWayToTheLeaf) {
  for (const auto& [vlan, reg, mac] :
       {std::tuple("101", "0x65", "02:1e:af:00:00:01"), {"102", "0x66", "02:1e:af:00:00:02"}}) {
    const std::string port = std::string("rcvlan-0-") + vlan;
    const auto number = std::to_string((*world.ovsdb.FindPort(port, {}))->ofport);
    EXPECT_THAT(With(std::string(mac)), SizeIs(2)) << "IPv4 and IPv6";
    EXPECT_THAT(With(mac),
                Contains(AllOf(HasSubstr(std::string("4 ip,reg8=") + reg), HasSubstr("push_vlan"),
                               HasSubstr(std::to_string(0x1000 | std::stoi(vlan)) + "->vlan_vid"))));
    EXPECT_THAT(With(std::string("dl_vlan=") + vlan + ",ipv6_dst"),
                Contains(HasSubstr("pop_vlan,output:" + number)));
    EXPECT_THAT(With("in_port=" + number + ","), SizeIs(2));
  }
  EXPECT_THAT(With("dl_dst=02:1e:af"), IsEmpty());
  EXPECT_THAT(Problems(), Not(Contains(HasSubstr("leaf"))));
}

TEST_F(VlanPortsTest, ALeafThatIsReplacedHasItsRulesAndAPortThatGoesTakesItsOwnAlong) {
  world.SetLeafMac("rcvlan-0-101", "02:1e:af:00:00:77");
  raild->the_switch.Learned();
  EXPECT_THAT(With("02:1e:af:00:00:77"), SizeIs(2));
  EXPECT_THAT(With("02:1e:af:00:00:01"), IsEmpty());
  EXPECT_THAT(With("02:1e:af:00:00:02"), SizeIs(2)) << "the other tenant's stay";
}

// A tenant's first pod is there before the leaf has spoken in its VLAN.
TEST_F(VlanPortsTest, ALeafThatIsNotKnownInOneVlanKeepsNoRulesInAnother) {
  Attach(world.MakePod("p3", "ns-c", "vf2"), "10.0.3.1");
  raild->Audit();
  const auto stale = [](uint64_t vlan) {
    return ovs::Rule{pipeline::kForwardTable, 60, ovs::Cookie(ovs::CookieKind::kLeaf, vlan),
                     "ip,in_port=" + std::to_string(vlan), "output:1"};
  };
  ASSERT_TRUE(Commit({.add = {stale(102), stale(103)}}));
  raild->the_switch.RulesChanged();
  EXPECT_THAT(With("in_port=102"), IsEmpty());
  EXPECT_THAT(With("in_port=103"), SizeIs(1));
  world.SetLeafMac("rcvlan-0-103", "02:1e:af:00:00:03");
  raild->the_switch.Learned();
  EXPECT_THAT(With("in_port=103"), IsEmpty()) << "at the news, not at the next audit";
  EXPECT_THAT(With("02:1e:af:00:00:03"), SizeIs(2));
}

TEST_F(VlanPortsTest, AViewHasTheVlansOfTheTenantsThatAreHere) {
  ASSERT_THAT(Rail().seen.vlans(), SizeIs(2));
  EXPECT_TRUE(Rail().seen.by_vlan());
  EXPECT_EQ(Rail().seen.vlans(0).tenant().name(), "red");
  EXPECT_EQ(Rail().seen.vlans(0).port(), "rcvlan-0-101");
  EXPECT_EQ(Rail().seen.vlans(0).vrf(), "railcni-0-101");
  EXPECT_EQ(Rail().seen.vlans(0).leaf_mac(), "02:1e:af:00:00:01");
  EXPECT_EQ(Rail().seen.bgp_state(), "Established");
  EXPECT_TRUE(Rail().connected());
  EXPECT_EQ(view->attachments[0].vlan, 101);
  world.bgp.Instance("railcni-0-102").SetSession("rcvlan-0-102", "Active");
  raild->bgp.Poll();
  raild->Audit();
  world.passed += VlanPorts::kForming;
  raild->Audit();
  EXPECT_FALSE(Rail().connected());
  EXPECT_EQ(Rail().seen.bgp_state(), "Active");
  EXPECT_THAT(Rail().seen.bgp_problem(), HasSubstr("VLAN 102 of tenant blue: "));
  EXPECT_EQ(Rail().seen.vlans(0).bgp_problem(), "");
}

TEST_F(VlanPortsTest, RailsWithoutTenantsNeedNoSession) {
  const RailView& other = (Rail(), view->rails.at(1));
  EXPECT_TRUE(other.seen.by_vlan());
  EXPECT_THAT(other.seen.vlans(), IsEmpty());
  EXPECT_TRUE(other.connected());
}

}  // namespace
}  // namespace rail::engine
