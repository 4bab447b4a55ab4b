// Resources without networks, networks without resources, and VFs of two owners.
#include "lib/inspect/requests.h"

#include <gmock/gmock.h>

#include "lib/inspect/doctor/testing/fixture.h"
#include "lib/pcie/testing/tree.h"

namespace rail::inspect {
namespace {

using pcie::testing::Tree;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kVf[] = "0000:18:00.1";       // of rail0
constexpr char kOtherVf[] = "0000:18:00.2";  // of rail0
constexpr char kRail1[] = "0000:40:00.1";

// The pod "ns/a" has an interface on rail0; the kubelet lists these pods.
NodeFacts With(std::vector<pcie::PodDevices> pods) {
  NodeFacts facts = Well();
  facts.machinery.machine = Tree(Tree::File("8-gpus-8-nics")).machine();
  facts.machinery.machine.gpus.clear();
  facts.machinery.pods = std::move(pods);
  facts.view.attachments[0].attachment.device = kVf;
  return facts;
}

TEST(DoctorOfRequests, APodWithAsMuchOfBothIsWell) {
  EXPECT_THAT(Diagnose(With({{"ns", "a", {{"nvidia.com/rail0", kVf}, {"nvidia.com/gpu", "GPU-7"}}},
                             {"ns", "plain", {{"example.com/fpga", "0000:aa:00.0"}, {"x", "dev-1"}}}})),
              IsEmpty());
}

TEST(DoctorOfRequests, APodThatHasForgottenTheAnnotationIsNamedWithItsResources) {
  const auto found = Diagnose(
      With({{"ns", "a", {{"nvidia.com/rail0", kVf}}},
            {"ml", "train-0", {{"nvidia.com/rail0", "0000:18:00.2"}, {"example.com/any-name", kRail1}}}}));
  ASSERT_EQ(found.size(), 2U);
  for (const Finding& each : found) {
    EXPECT_EQ(each.id, "rail-without-network");
    EXPECT_EQ(each.severity, Severity::kWarning);
    EXPECT_EQ(each.subject, "ml/train-0");
    EXPECT_THAT(each.fix, AllOf(HasSubstr("k8s.v1.cni.cncf.io/networks"), HasSubstr("template")));
  }
  EXPECT_EQ(found[0].what,
            "the kubelet has given it nvidia.com/rail0 (0000:18:00.2), and it has no interface on rail0");
  EXPECT_THAT(found[1].what,
              HasSubstr("example.com/any-name (0000:40:00.1), and it has no interface on rail1"))
      << "a device counts by what it is";
}

TEST(DoctorOfRequests, APodWithOneNetworkForTwoDevicesIsNamed) {
  const auto found =
      Diagnose(With({{"ns", "a", {{"nvidia.com/rail0", kVf}, {"nvidia.com/rail0", kOtherVf}}}}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].what,
              HasSubstr("(0000:18:00.1, 0000:18:00.2), and it has 1 of 2 interfaces on rail0"));
}

TEST(DoctorOfRequests, APodThatHasForgottenTheResourcesIsNamed) {
  NodeFacts facts = With({{"ns", "a", {}}, {"ns", "b", {{"nvidia.com/rail0", kOtherVf}}}});
  engine::AttachmentView other = facts.view.attachments[0];
  other.attachment.id = 7;
  other.attachment.pod_name = "b";
  other.attachment.device = kOtherVf;
  facts.view.attachments.push_back(other);
  const auto found = Diagnose(facts);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "network-without-resource");
  EXPECT_EQ(found[0].subject, "ns/a");
  EXPECT_EQ(found[0].what,
            "it has 1 interfaces on rail0, and the kubelet has given it 0 devices of that rail");
  facts.machinery.pods[1].devices.clear();
  EXPECT_THAT(Diagnose(facts), IsEmpty())
      << "the kubelet gives out nothing of this rail: claims (DRA), or static devices";
}

TEST(DoctorOfRequests, ADeviceOfAClaimCountsByTheAddressInItsName) {
  NodeFacts facts = With({{"ns", "a", {{"rail.railcni.io", "0000-18-00-1"}}}});
  EXPECT_THAT(Diagnose(facts), IsEmpty());
  facts.machinery.pods = {{"ns", "a", {}}, {"ml", "b", {{"rail.railcni.io", "0000-18-00-2"}}}};
  const auto found = Diagnose(facts);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].what,
            "the kubelet has given it rail.railcni.io (0000-18-00-2), and it has no interface on rail0");
  EXPECT_EQ(found[1].id, "network-without-resource");
  EXPECT_EQ(found[1].fix,
            "let a claim of the pod request one device of rail0 for each of its networks there");
}

TEST(DoctorOfRequests, NothingIsSaidOfPodsThatTheKubeletDoesNotList) {
  EXPECT_THAT(Diagnose(With({})), IsEmpty());
  EXPECT_THAT(Diagnose(With({{"ml", "other", {}}})), IsEmpty());
}

TEST(Requests, ADeviceThatNodeJsonNamesIsOfItsRail) {
  NodeFacts facts = With({{"ml", "b", {{"example.com/rail0", "vf7"}}}});
  facts.view.rails[0].rail.devices = {{"0000:aa:00.1", "rep1"}, {"vf7", "rep7"}};
  const auto requests = RequestsOnRails(facts.machinery.pods, facts.machinery.machine, facts.view);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].rail, "rail0");
  const std::vector<pcie::PodDevices> claimed = {{"ml", "c", {{"rail.railcni.io", "0000-aa-00-1"}}}};
  EXPECT_EQ(RequestsOnRails(claimed, facts.machinery.machine, facts.view).size(), 1U);
  facts.view.attachments[0].attachment.pod_namespace = "ml";
  facts.view.attachments[0].attachment.pod_name = "b";
  EXPECT_EQ(WithoutNetwork(RequestsOnRails(facts.machinery.pods, facts.machinery.machine, facts.view)[0]),
            "");
  facts.view.attachments[0].attachment.phase = state::Phase::kDeleting;
  EXPECT_NE(WithoutNetwork(RequestsOnRails(facts.machinery.pods, facts.machinery.machine, facts.view)[0]),
            "");
}

TEST(DoctorOfRequests, DevicesThatTheKubeletHasAsUnhealthyAreNamedWithTheReasonOfOne) {
  NodeFacts facts = Well();
  v1::Rail& seen = facts.view.rails[0].seen;
  seen.set_devices(4);
  seen.set_device_problem("vf3: pf0 has no carrier");
  EXPECT_THAT(Diagnose(facts), IsEmpty()) << "raild is no device plugin";
  seen.set_offers_devices(true);
  seen.set_devices_healthy(3);
  const auto found = Diagnose(facts);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "device-unhealthy");
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(found[0].subject, "rail0");
  EXPECT_EQ(
      found[0].what,
      "1 of the 4 devices that the kubelet has of rail rail0 are unhealthy, as vf3: pf0 has no carrier");
  seen.set_devices_healthy(4);
  EXPECT_THAT(Diagnose(facts), IsEmpty());
}

// The kubelet may give these devices to pods.
NodeFacts Offering(pcie::ResourceDevices allocatable) {
  NodeFacts facts = With({});
  facts.machinery.allocatable = std::move(allocatable);
  return facts;
}

TEST(DoctorOfOwners, EachVfOfOneOwnerIsWell) {
  EXPECT_THAT(Diagnose(Offering({{"a.com/rail0", {kVf, kOtherVf}}, {"a.com/rail1", {kRail1}}})), IsEmpty());
  EXPECT_THAT(Diagnose(Offering({{"a.com/fpga", {"0000:aa:00.0"}}, {"b.com/fpga", {"0000:aa:00.0"}}})),
              IsEmpty())
      << "they are of no rail";
}

TEST(DoctorOfOwners, TwoResourcesOfOneVfAreNamedOnceForTheirRail) {
  const auto found = Diagnose(Offering({{"a.com/rail0", {kVf, kOtherVf}},
                                        {"b.com/vfs", {"00000000:18:00.1", kOtherVf, kRail1}},
                                        {"c.com/rail1", {"0000:40:00.2"}}}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "vf-of-two-owners");
  EXPECT_EQ(found[0].severity, Severity::kCritical);
  EXPECT_EQ(found[0].subject, "rail0");
  EXPECT_EQ(
      found[0].what,
      "0000:18:00.1 is offered to pods by resource a.com/rail0 and by resource b.com/vfs; 1 more of the "
      "rail's devices have two owners");
  EXPECT_THAT(found[0].fix, AllOf(HasSubstr("sriov-network-device-plugin"), HasSubstr("their filter")));
  EXPECT_THAT(found[0].fix, Not(HasSubstr("node.json"))) << "raild is none of the two";
}

TEST(DoctorOfOwners, WhereRaildOffersTheDevicesOneOtherIsEnough) {
  NodeFacts facts = Offering({{"a.com/vfs", {kVf}}});
  facts.config.kubelet.dra = true;
  const auto of_claims = Diagnose(facts);
  ASSERT_EQ(of_claims.size(), 1U);
  EXPECT_EQ(of_claims[0].what,
            "0000:18:00.1 is offered to pods by DRA driver rail.railcni.io and by resource a.com/vfs");
  EXPECT_THAT(of_claims[0].fix, HasSubstr("kubelet.dra to false"));
  facts.config.kubelet.dra = false;
  facts.config.kubelet.device_plugin = true;
  const auto of_resources = Diagnose(facts);
  ASSERT_EQ(of_resources.size(), 1U);
  EXPECT_EQ(of_resources[0].what,
            "0000:18:00.1 is offered to pods by resource a.com/vfs and by resource nvidia.com/rail0");
  EXPECT_THAT(of_resources[0].fix, HasSubstr("kubelet.device_plugin to false"));
  facts.machinery.allocatable = {{"nvidia.com/rail0", {kVf}}};
  EXPECT_THAT(Diagnose(facts), IsEmpty());
}

TEST(DoctorOfOwners, AnotherDraDriverIsNamedAndTheUnhealthyDeviceFollows) {
  NodeFacts facts = With({});
  facts.config.kubelet.dra = true;
  v1::Rail& seen = facts.view.rails[0].seen;
  seen.set_offers_devices(true);
  seen.set_devices(1);
  v1::OtherOwner& other = *seen.add_other_owners();
  other.set_driver("dra.net");
  other.add_devices(kVf);
  const auto found = Diagnose(facts);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].what,
            "0000:18:00.1 is offered to pods by DRA driver dra.net and by DRA driver rail.railcni.io");
  ASSERT_EQ(found[0].follows.size(), 1U);
  EXPECT_EQ(found[0].follows[0].id, "device-unhealthy");
}

}  // namespace

std::vector<std::string> FindingsOfRequests() {
  return {"rail-without-network", "network-without-resource", "device-unhealthy", "vf-of-two-owners"};
}

}  // namespace rail::inspect
