// GPUs and NICs on a real server's PCIe: which pod's are badly paired, and what is said of GPUs without a NIC.
#include <gmock/gmock.h>

#include "lib/inspect/doctor/testing/fixture.h"
#include "lib/pcie/testing/tree.h"

namespace rail::inspect {
namespace {

using namespace std::chrono_literals;
using pcie::testing::Tree;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The pod "ns/a" has one GPU, and its interface on rail0 is this VF.
NodeFacts On(const char* server, const char* gpu, const char* vf) {
  NodeFacts facts = Well();
  facts.machinery.machine = Tree(Tree::File(server)).machine();
  facts.machinery.gpus_of_pods = GpusOfPods{{{"ns", "a"}, {gpu}}};
  facts.view.attachments[0].attachment.device = vf;
  return facts;
}

TEST(DoctorOfGpus, AGpuBesideItsNicIsWell) {
  EXPECT_THAT(Diagnose(On("8-gpus-8-nics", "0000:1b:00.0", "0000:18:00.1")), IsEmpty());
}

TEST(DoctorOfGpus, ABadPairNamesAFreeVfOfTheBetterRail) {
  NodeFacts facts = On("8-gpus-8-nics", "0000:df:00.0", "0000:18:00.1");
  const auto found = Diagnose(facts);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "gpu-far-from-nic");
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(found[0].subject, "ns/a net1 on rail0");
  EXPECT_THAT(
      found[0].what,
      HasSubstr("at two processors; a VF of rail7 would be below one PCIe switch: 0000:dc:00.1 is free"));
  EXPECT_THAT(found[0].fix, HasSubstr("network of rail7"));
}

TEST(DoctorOfGpus, AGpuOfAClaimIsSeen) {
  const Tree tree(Tree::File("8-gpus-8-nics"));
  const Hardware hardware{
      .sysfs = tree.sysfs_root(), .nvidia = tree.nvidia(), .pods = [](Deadline) {
        return std::vector<pcie::PodDevices>{
            {"ns", "a", {{"gpu.nvidia.com", "gpu-7"}, {"rail.railcni.io", "0000-18-00-1"}}}};
      }};
  NodeFacts facts = On("8-gpus-8-nics", "", "0000:18:00.1");
  const Machinery seen = LookAtMachinery({}, hardware, After(1s));
  facts.machinery.gpus_of_pods = seen.gpus_of_pods;
  facts.machinery.pods = seen.pods;
  const auto found = Diagnose(facts);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "gpu-far-from-nic");
  EXPECT_THAT(found[0].what, HasSubstr("0000:df:00.0"));
}

TEST(DoctorOfGpus, ATakenVfIsNotOffered) {
  NodeFacts facts = On("8-gpus-8-nics", "0000:df:00.0", "0000:18:00.1");
  engine::AttachmentView other = facts.view.attachments[0];
  other.attachment.id = 7;
  other.attachment.pod_name = "b";
  other.attachment.device = "0000:dc:00.1";
  facts.view.attachments.push_back(other);
  const auto found = Diagnose(facts);
  const auto bad = std::ranges::find(found, "gpu-far-from-nic", &Finding::id);
  ASSERT_NE(bad, found.end());
  EXPECT_THAT(bad->what, HasSubstr("0000:dc:00.2 is free"));
}

TEST(DoctorOfGpus, GpusWithoutANicAreAWordAndNoWarning) {
  const auto found = Diagnose(On("8-gpus-2-nics", "0000:1b:00.0", "0000:29:00.1"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "gpus-without-nic");
  EXPECT_EQ(found[0].severity, Severity::kInfo);
  EXPECT_THAT(found[0].what, HasSubstr("8 of 8 GPUs"));
  EXPECT_THAT(found[0].why, HasSubstr("at the sender only"));
  EXPECT_THAT(found[0].fix, HasSubstr("NCCL_NET_GDR_LEVEL"));
  const auto four = Diagnose(On("8-gpus-4-nics", "0000:1b:00.0", "0000:18:00.1"));
  ASSERT_EQ(four.size(), 1U);
  EXPECT_THAT(four[0].what, HasSubstr("4 of 8 GPUs"));
}

TEST(DoctorOfGpus, AKubeletThatSaysNothingIsSaid) {
  NodeFacts facts = On("8-gpus-8-nics", "0000:df:00.0", "0000:18:00.1");
  facts.machinery.gpus_of_pods = Fail(Code::kNotFound, "no such socket");
  const auto found = Diagnose(facts);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "pod-gpus-not-known");
  EXPECT_THAT(found[0].what, HasSubstr("no such socket"));
  facts.machinery.machine.gpus.clear();
  EXPECT_THAT(Diagnose(facts), IsEmpty()) << "a node without GPUs";
}

}  // namespace
}  // namespace rail::inspect
