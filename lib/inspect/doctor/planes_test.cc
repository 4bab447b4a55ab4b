// Planes of rails, and what LLDP adds to what is known of cables: each fault is the one finding.
#include <gmock/gmock.h>

#include "lib/inspect/doctor/testing/fixture.h"
#include "lib/inspect/topology.h"

namespace rail::inspect {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Rails 0 and 1 are the planes of rail 0, 2 and 3 those of rail 1, and so on: on this node, and as others say.
void Plane(NodeFacts& facts) {
  const auto place = [](uint32_t index) { return config::Place{.rail = index / 2, .plane = index % 2}; };
  for (config::Rail& rail : facts.config.rails) rail.place = place(rail.index);
  for (engine::RailView& rail : facts.view.rails) rail.rail.place = place(rail.rail.index);
  engine::Seats seats = *facts.view.seats;
  for (engine::Seat& seat : seats)
    seat.plane = {static_cast<uint8_t>(seat.rail / 2), static_cast<uint8_t>(seat.rail % 2)};
  facts.view.seats = std::make_shared<const engine::Seats>(std::move(seats));
}

void CablePlanes(NodeFacts& facts, const std::vector<uint32_t>& leaves,
                 const std::map<uint32_t, std::vector<uint32_t>>& others) {
  Cable(facts, leaves, others);
  Plane(facts);
}

// The pod of Well() has a VF on each plane of rail 0.
void PodWithVfs(NodeFacts& facts, const std::string& plane0, const std::string& plane1) {
  CablePlanes(facts, {10, 11}, {});
  engine::AttachmentView second = facts.view.attachments[0];
  second.attachment.id = 2;
  second.attachment.rail = "rail1";
  second.attachment.key.ifname = "net2";
  second.attachment.representor = "rep1";
  facts.view.attachments[0].attachment.device = plane0;
  second.attachment.device = plane1;
  facts.view.attachments.push_back(second);
  facts.rails["rail1"].representors["rep1"] = facts.rails["rail0"].representors["rep0"];
  facts.rails["rail1"].bridge->ports.push_back({.bridge = "br-rail1", .name = "rep1", .ofport = 2});
}

void Plug(engine::RailView& rail, const std::string& chassis, const std::string& port) {
  rail.seen.mutable_lldp()->set_chassis(chassis);
  rail.seen.mutable_lldp()->set_port(port);
}

struct Ill {
  const char* id;
  Severity severity;
  const char* subject;
  const char* words;
  void (*spoil)(NodeFacts&);
};

const Ill kIlls[] = {
    {"planes-inside-nic", Severity::kInfo, "rail0", "the NIC of pf0 makes 4 planes",
     [](NodeFacts& f) { f.config.rails[0].place.nic_planes = f.view.rails[0].rail.place.nic_planes = 4; }},
    {"planes-out-of-order", Severity::kWarning, "ns/a net2 on rail1",
     "plane 0 of rail 0 is 0000:3b:08.2 and plane 1 is 0000:3b:00.2",
     [](NodeFacts& f) { PodWithVfs(f, "0000:3b:08.2", "0000:3b:00.2"); }},
    {"rail-in-other-plane", Severity::kCritical, "rail1",
     "rail1 (plane 1) leads to leaf10 (AS 10), which the node AS 2 has on rail0 (plane 0)",
     [](NodeFacts& f) { CablePlanes(f, {10, 10}, {{2, {10, 11}}}); }},
    {"rail-in-other-plane", Severity::kCritical, "rail0",
     "leads to leaf11 (AS 11) port swp7, which 2 nodes have (AS 2) on rail1 (plane 1), and the other way",
     [](NodeFacts& f) {
       CablePlanes(f, {11, 10}, {{2, {10, 11}}, {3, {10, 11}}});
       Plug(f.view.rails[0], "leaf11", "swp7");
     }},
    {"leaf-in-two-planes", Severity::kWarning, "rail0",
     "addresses of rail1 (plane 1) of the node AS 2 come straight from leaf11 (AS 11), the leaf of rail0 "
     "(plane 0) here",
     [](NodeFacts& f) { CablePlanes(f, {11, 10}, {{2, {10, 11}}}); }},
    {"leaf-in-two-planes", Severity::kWarning, "rail1",
     "leaf10 (AS 10) is the leaf of rail0 (plane 0) and of rail1 (plane 1)",
     [](NodeFacts& f) {
       CablePlanes(f, {10, 10}, {{2, {10, 10}}});
       f.view.rails[1].leaf = f.view.rails[0].leaf;
     }},
    {"remote-on-other-leaf", Severity::kWarning, "AS 3",
     "the node AS 3 has rail1 (plane 1) behind leaf10 (AS 10), which 2 nodes have (AS 1) on rail0 (plane 0)",
     [](NodeFacts& f) { CablePlanes(f, {10, 11}, {{2, {10, 11}}, {3, {10, 10}}}); }},
    {"planes-unlike-elsewhere", Severity::kWarning, "rail1",
     "the uplink with index 1 is rail 0 plane 1 here, and rail 1 plane 0 of the node AS 2",
     [](NodeFacts& f) {
       CablePlanes(f, {10, 11}, {{2, {10, 11}}});
       engine::Seats seats = *f.view.seats;
       seats[1].plane = {1, 0};
       f.view.seats = std::make_shared<const engine::Seats>(seats);
     }},
    {"rails-on-one-leaf", Severity::kWarning, "rail2",
     "rail2 and rail0 lead to one leaf, leaf10 (AS 10) port swp9",
     [](NodeFacts& f) {
       CablePlanes(f, {10, 11, 10, 13}, {{2, {10, 11, 12, 13}}});
       f.view.rails[2].leaf = f.view.rails[0].leaf;
       Plug(f.view.rails[2], "leaf10", "swp9");
     }},
};

class DoctorOfPlanes : public testing::TestWithParam<Ill> {};

TEST_P(DoctorOfPlanes, FindsJustThat) {
  NodeFacts facts = Well();
  GetParam().spoil(facts);
  const std::vector<Finding> findings = Diagnose(facts);
  ASSERT_EQ(findings.size(), 1U) << (findings.empty() ? "nothing" : findings[1].id + ": " + findings[1].what);
  EXPECT_EQ(findings[0].id, GetParam().id);
  EXPECT_EQ(findings[0].severity, GetParam().severity);
  EXPECT_EQ(findings[0].subject, GetParam().subject);
  EXPECT_THAT(findings[0].what, HasSubstr(GetParam().words));
  EXPECT_NE(findings[0].why, "");
  EXPECT_NE(findings[0].fix, "");
}

INSTANTIATE_TEST_SUITE_P(Each, DoctorOfPlanes, testing::ValuesIn(kIlls), [](const auto& ill) {
  std::string name = ill.param.id + std::to_string(ill.index);
  std::erase(name, '-');
  return name;
});

TEST(DoctorOfPlanesThatAreRight, FindsNothing) {
  NodeFacts facts = Well();
  CablePlanes(facts, {10, 11, 12, 13}, {{2, {10, 11, 12, 13}}, {3, {20, 21, 22, 23}}});
  for (engine::RailView& rail : facts.view.rails)
    Plug(rail, "leaf" + std::to_string(rail.rail.index), "swp1");
  EXPECT_THAT(Diagnose(facts), IsEmpty());
}

TEST(DoctorOfPlanesThatAreRight, FindsNothingOfNodesThatDoNotSayTheirPlanes) {
  NodeFacts facts = Well();
  CablePlanes(facts, {10, 11}, {{2, {10, 11}}});
  engine::Seats seats = *facts.view.seats;
  for (engine::Seat& seat : seats) seat.plane = std::nullopt;  // a raild from before this community
  facts.view.seats = std::make_shared<const engine::Seats>(seats);
  EXPECT_THAT(Diagnose(facts), IsEmpty());
}

TEST(DoctorOfPlanesThatAreRight, OrderIsThatOfPciAddresses) {
  NodeFacts facts = Well();
  PodWithVfs(facts, "0000:3b:00.2", "0000:3b:08.2");
  EXPECT_THAT(Diagnose(facts), IsEmpty());
  NodeFacts domains = Well();
  PodWithVfs(domains, "e000:01:00.2", "10002:01:00.2");
  EXPECT_THAT(Diagnose(domains), IsEmpty()) << "by their numbers, not by their texts";
}

// BGP is silent there.
TEST(DoctorOfCablesByLldp, ACableInTheLeafOfAnotherRailIsTheCauseOfTheSilence) {
  NodeFacts facts = Well();
  Cable(facts, {10, 11}, {{2, {10, 11}}});
  facts.view.rails[1].seen.set_bgp_state("Connect");
  facts.view.rails[1].leaf.reset();
  Plug(facts.view.rails[0], "leaf10", "swp1");
  Plug(facts.view.rails[1], "leaf11", "swp1");
  const auto ids = [&] {
    std::vector<std::string> all;
    for (const Finding& each : Diagnose(facts)) all.push_back(each.id);
    return all;
  };
  EXPECT_THAT(ids(), testing::Not(testing::Contains("cable-in-other-leaf")));
  Plug(facts.view.rails[1], "leaf10", "swp8");
  const std::vector<Finding> found = Diagnose(facts);
  ASSERT_THAT(ids(), testing::ElementsAre("cable-in-other-leaf"));
  EXPECT_EQ(found[0].subject, "rail1");
  EXPECT_THAT(found[0].what, HasSubstr("in leaf10 (AS 10) port swp8, the leaf of rail0 (swp1)"));
  EXPECT_THAT(found[0].follows, testing::Not(IsEmpty())) << "the session that does not come up";
  // The leaf of both, as far as anybody knows: its silence has another cause.
  Cable(facts, {10, 10}, {{2, {10, 10}}});
  facts.view.rails[1].leaf.reset();
  EXPECT_THAT(ids(), testing::Not(testing::Contains("cable-in-other-leaf")));
  facts.view.rails[1].leaf = facts.view.rails[0].leaf;
  facts.view.rails[0].leaf->leaf.router_id = *IpAddress::Parse("10.255.9.9");  // set up anew
  EXPECT_THAT(ids(), testing::Not(testing::Contains("cable-in-other-leaf")));
  // This rail had a leaf of its own.
  facts.view.rails[1].leaf->leaf.asn = 11;
  EXPECT_THAT(ids(), testing::Contains("cable-in-other-leaf"));
  facts.view.rails[1].seen.set_by_vlan(true);  // mode `vrf`: without tenants it has no session
  EXPECT_THAT(ids(), testing::Not(testing::Contains("cable-in-other-leaf")));
}

TEST(TopologyWithPlanes, APlaneIsKnownOfARailThatThisNodeDoesNotHave) {
  NodeFacts facts = Well();
  CablePlanes(facts, {10, 11}, {{2, {10, 11, 12, 13}}});
  const Fabric fabric(facts.view);
  EXPECT_EQ(fabric.PlaneOf(1), (tenancy::Plane{0, 1}));
  EXPECT_EQ(fabric.PlaneOf(3), (tenancy::Plane{1, 1})) << "as the other node says";
  EXPECT_EQ(fabric.PlaneOf(4), std::nullopt);
}

}  // namespace

std::vector<std::string> FindingsOfPlanes() {
  std::vector<std::string> ids = {"cable-in-other-leaf"};
  for (const Ill& ill : kIlls) ids.emplace_back(ill.id);
  return ids;
}

}  // namespace rail::inspect
