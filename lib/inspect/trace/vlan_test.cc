// Traces in mode `vrf`.
#include "lib/inspect/trace/testing/fixture.h"

namespace rail::inspect {
namespace {

// Mode `vrf`: blue's pod c and red's pod b have one address, and so have pods elsewhere.
class VlanTraceTest : public TraceTest {
 protected:
  VlanTraceTest() {
    config.tenancy.mode = config::TenancyMode::kVrf;
    config.tenancy.vlans.of_tenant = {{"red", 101}, {"blue", 102}};
    view.attachments[2].attachment.addresses = {Ip("10.0.0.2")};
    for (engine::AttachmentView& shown : view.attachments)
      shown.vlan = shown.attachment.tenant == "red" ? 101 : 102;
    std::swap(view.attachments[1], view.attachments[2]);  // the other tenant's comes first
    engine::RailView& rail0 = view.rails[0];
    rail0.seen.set_by_vlan(true);
    rail0.seen.set_bgp_state("Idle");
    for (const auto& [tenant, id, vlan] : {std::tuple("red", kRed, 101), {"blue", kBlue, 102}}) {
      v1::RailVlan& shown = *rail0.seen.add_vlans();
      shown.set_vlan(static_cast<uint32_t>(vlan));
      engine::SetTenant(*shown.mutable_tenant(), tenant, id);
      shown.set_port("rcvlan-0-" + std::to_string(vlan));
      shown.set_port_works(true);
      shown.set_leaf_mac("02:00:00:00:0f:0" + std::to_string(vlan % 10));
      shown.set_bgp_state(vlan == 101 ? "Established" : "Idle");
    }
    view.remotes.own().clear();
    AddRemote("10.0.9.1", kBlue, 0);
    AddRemote("10.0.9.1", kRed, 0);
    AddRemote("10.0.9.2", kBlue, 0);
  }
};

TEST_F(VlanTraceTest, FindsTheDestinationOfItsOwnTenant) {
  Answer answer = Must("10.0.9.1");
  EXPECT_EQ(answer.verdict(), Answer::REACHES) << answer.sentence();
  EXPECT_THAT(answer.sentence(),
              HasSubstr("in VLAN 101 to the leaf 02:00:00:00:0f:01: 10.0.9.1 is of the same tenant"));
  EXPECT_THAT(packets[0], HasSubstr("in_port=2,dl_src=")) << "a pod's packet has no tag";
  EXPECT_THAT(packets[1], HasSubstr("in_port=1,dl_vlan=101,dl_src=02:00:00:00:0f:01,"));
  EXPECT_THAT(answer.back().steps(0).words(), HasSubstr("from the leaf, in VLAN 101, for a pod"));
  forward = Text(kAdmit + kSourceRed + kToRed + kSame + kToPod2, "3");
  answer = Must("10.0.0.2");
  EXPECT_EQ(answer.reason(), Answer::DELIVERED_LOCALLY);
  EXPECT_THAT(answer.sentence(), HasSubstr("ns/b net1 on rail0"));
}

TEST_F(VlanTraceTest, SaysThatAnAddressIsAnotherTenantsAlone) {
  forward = Text(kAdmit + kSourceRed + kToNobody);
  Dropped("10.0.9.2", Answer::OTHER_TENANT,
          "no pod of tenant red has 10.0.9.2, which is an address of a pod of tenant blue");
  Dropped("10.0.9.9", Answer::UNKNOWN_DESTINATION, "nobody announces 10.0.9.9");
  Dropped("10.0.9.1", Answer::NOT_INSTALLED, "its rules are not on br-rail0 yet");
}

TEST_F(VlanTraceTest, AsksInTheVrfOfTheSendersTenant) {
  view.without_tenant = [](const tenancy::TenantId& tenant, const IpAddress&) -> std::string {
    return tenant == kBlue ? "AS 7" : "";
  };
  forward = Text(kAdmit + kSourceRed + kToNobody);
  Dropped("10.0.9.9", Answer::UNKNOWN_DESTINATION, "nobody announces 10.0.9.9");
  view.without_tenant = [](const tenancy::TenantId& tenant, const IpAddress&) -> std::string {
    return tenant == kRed ? "AS 7" : "";
  };
  EXPECT_THAT(Must("10.0.9.9").advice(), HasSubstr("'show bgp vrf railcni-0-101 ipv4 unicast 10.0.9.9/32'"));
  view.rails[0].seen.mutable_vlans(0)->set_bgp_state("Idle");
  EXPECT_THAT(Must("10.0.9.9").advice(), HasSubstr("'show bgp vrf railcni-0-101 summary'"));
}

TEST_F(VlanTraceTest, AsksForTheSessionAndTheLeafOfTheVlan) {
  v1::RailVlan& red = *view.rails[0].seen.mutable_vlans(0);
  red.set_bgp_state("");
  Answer answer = Must("10.0.9.1");
  EXPECT_EQ(answer.reason(), Answer::BGP_DOWN);
  EXPECT_THAT(answer.sentence(),
              HasSubstr("the BGP session of VLAN 101 of tenant red on rail0 is not there"));
  forward = Text(kAdmit + kSourceRed + kToRed + kSame + Miss(4));
  Dropped("10.0.9.1", Answer::NO_LEAF_MAC, "heard on rcvlan-0-101");
  red.set_port_works(false);
  Dropped("10.0.9.1", Answer::NO_LEAF_MAC,
          "VLAN 101 of tenant red on rail0 has no port rcvlan-0-101 on br-rail0");
}

}  // namespace
}  // namespace rail::inspect
