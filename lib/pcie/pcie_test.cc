// Real servers' trees: who is near whom, whose GPU is whose, which pair is bad.
#include "lib/pcie/pcie.h"

#include <gmock/gmock.h>

#include "lib/pcie/pairs.h"
#include "lib/pcie/testing/tree.h"

namespace rail::pcie {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::Tree;

Relation Between(const Machine& machine, size_t gpu, size_t nic) {
  return Relate(machine.gpus.at(gpu).path, *machine.nics.at(nic).path);
}

TEST(Pcie, ReadsAServerWithANicForEachGpu) {
  const Tree tree(Tree::File("8-gpus-8-nics"));
  const Machine machine = tree.machine();
  ASSERT_EQ(machine.gpus.size(), 8U) << "the management controller's VGA is no GPU";
  ASSERT_EQ(machine.nics.size(), 8U);
  EXPECT_EQ(machine.gpus[0].path.address, "0000:1b:00.0");
  EXPECT_EQ(machine.gpus[0].model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(machine.gpus[0].uuid, "GPU-00000000-1d2c-4b3a-9f8e-7d6c5b4a3f20");
  EXPECT_EQ(machine.gpus[0].path.root, "pci0000:15");
  EXPECT_THAT(machine.gpus[0].path.bridges, ElementsAre("0000:15:01.0", "0000:16:00.0", "0000:17:00.0"));
  EXPECT_EQ(machine.gpus[7].path.socket, 1U);
  EXPECT_EQ(machine.nics[3].rdma, "mlx5_3");
  EXPECT_EQ(machine.nics[3].path->width, 16U);
  EXPECT_THAT(machine.nics[0].vfs,
              ElementsAre("0000:18:00.1", "0000:18:00.2", "0000:18:00.3", "0000:18:00.4"));
  for (size_t gpu = 0; gpu < 8; ++gpu) {
    for (size_t nic = 0; nic < 8; ++nic) {
      const Relation expected = gpu == nic           ? Relation::kSameSwitch
                                : gpu / 4 == nic / 4 ? Relation::kSameSocket
                                                     : Relation::kOtherSocket;
      EXPECT_EQ(Between(machine, gpu, nic), expected) << gpu << ' ' << nic;
    }
  }
  EXPECT_THAT(GpusWithoutNic(machine), IsEmpty());
}

TEST(Pcie, AVfIsWhereItsPfIs) {
  const Tree tree(Tree::File("8-gpus-8-nics"));
  const Machine machine = tree.machine();
  const auto vf = PathOf(tree.sysfs(), "0000:18:00.2");
  ASSERT_TRUE(vf);
  EXPECT_EQ(vf->bridges, machine.nics[0].path->bridges);
  EXPECT_EQ(vf->speed, "") << "the kernel says Unknown";
  EXPECT_EQ(Relate(*vf, machine.gpus[0].path), Relation::kSameSwitch);
  EXPECT_EQ(machine.FindNic("0000:18:00.2"), &machine.nics[0]);
  EXPECT_EQ(PathOf(tree.sysfs(), "0000:77:00.0"), std::nullopt);
}

// Each host bridge of a GB200 or an Azure machine is a domain; VMD's domains have five digits, below a device of another domain.
TEST(Pcie, DomainsMayHaveMoreThanFourDigits) {
  const Tree tree(
      "root pci10002:00 node 0\n  10002:00:00.0 bridge\n    10002:01:00.0 nic p0 mlx5_0 2\n    10002:02:00.0 "
      "gpu GPU-a\n"
      "root pci0000:00 node 0\n  0000:00:0e.0 bridge\n    pci10003:00 bridge\n      10003:00:01.0 bridge\n"
      "        10003:01:00.0 nic p1 mlx5_1 0\n      10003:00:02.0 bridge\n        10003:02:00.0 gpu GPU-b\n");
  const Machine machine = tree.machine();
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_EQ(machine.gpus[0].path.root, "pci10002:00");
  EXPECT_THAT(machine.nics[0].vfs, ElementsAre("10002:01:00.1", "10002:01:00.2"));
  EXPECT_EQ(machine.FindNic("10002:01:00.2"), &machine.nics[0]);
  EXPECT_EQ(Between(machine, 0, 0), Relation::kSameSwitch);
  EXPECT_EQ(Between(machine, 1, 1), Relation::kSameRoot) << "VMD's own device is no switch";
  EXPECT_EQ(Between(machine, 1, 0), Relation::kSameSocket);
  const PodDevices pod{"ns", "pod", {{"amd.com/gpu", "10003:02:00.0"}, {"nvidia.com/gpu", "GPU-a::1"}}};
  EXPECT_THAT(GpusOfPods({pod}, machine),
              ElementsAre(Pair(PodName{"ns", "pod"}, ElementsAre("10002:02:00.0", "10003:02:00.0"))));
}

TEST(Pcie, FourNicsLeaveEverySecondGpuWithoutOne) {
  const Tree tree(Tree::File("8-gpus-4-nics"));
  EXPECT_THAT(GpusWithoutNic(tree.machine()),
              ElementsAre("0000:43:00.0", "0000:61:00.0", "0000:c3:00.0", "0000:df:00.0"));
}

TEST(Pcie, TwoNicsLeaveAllGpusWithoutOne) {
  const Tree tree(Tree::File("8-gpus-2-nics"));
  const Machine machine = tree.machine();
  EXPECT_EQ(GpusWithoutNic(machine).size(), 8U);
  EXPECT_EQ(Between(machine, 0, 0), Relation::kSameSocket);
  EXPECT_EQ(Between(machine, 0, 1), Relation::kOtherSocket);
}

TEST(Pcie, RootComplexAndUnknownSockets) {
  const Tree tree(
      "root pci0000:00 node -1\n  0000:00:01.0 bridge\n    0000:01:00.0 gpu GPU-a\n"
      "  0000:00:02.0 bridge\n    0000:02:00.0 nic p0 mlx5_0 0\n"
      "root pci0000:40 node -1\n  0000:40:01.0 bridge\n    0000:41:00.0 nic p1 mlx5_1 0\n");
  const Machine machine = tree.machine();
  EXPECT_EQ(Between(machine, 0, 0), Relation::kSameRoot);
  EXPECT_EQ(Between(machine, 0, 1), Relation::kSameSocket) << "nothing is claimed that nobody knows";
  EXPECT_EQ(machine.gpus[0].path.numa_node, std::nullopt);
}

TEST(Pcie, TwoNumaNodesOfOneProcessorAreOneSocket) {
  const Tree tree(
      "socket 0 node 0 cpus 0-7\nsocket 0 node 1 cpus 8-15\n"
      "root pci0000:00 node 0\n  0000:00:01.0 bridge\n    0000:01:00.0 gpu GPU-a\n"
      "root pci0000:40 node 1\n  0000:40:01.0 bridge\n    0000:41:00.0 nic p0 mlx5_0 0\n");
  EXPECT_EQ(Between(tree.machine(), 0, 0), Relation::kSameSocket);
}

TEST(Pcie, ARailWithoutAPciDeviceHasNoPath) {
  const Tree tree(Tree::File("8-gpus-8-nics"));
  const Machine machine = Look(tree.sysfs(), tree.nvidia(), {{"rail0", "veth0"}});
  ASSERT_EQ(machine.nics.size(), 1U);
  EXPECT_FALSE(machine.nics[0].path);
  EXPECT_THAT(GpusWithoutNic(machine), IsEmpty()) << "no NIC is known: nothing can be said";
}

TEST(Pairs, KnowsAPodsGpusByUuidAndByAddress) {
  const Machine machine = Tree(Tree::File("8-gpus-8-nics")).machine();
  const std::vector<PodDevices> pods = {
      {"ml", "a", {{"nvidia.com/gpu", machine.gpus[1].uuid}, {"nvidia.com/rail0", "0000:18:00.2"}}},
      {"ml", "b", {{"amd.com/gpu", "0000:df:00.0"}}},
      {"ml", "shared", {{"nvidia.com/gpu", machine.gpus[2].uuid + "::1"}}},
      {"ml", "part", {{"nvidia.com/mig-1g.10gb", "MIG-77"}}}};
  EXPECT_THAT(GpusOfPods(pods, machine),
              ElementsAre(Pair(PodName("ml", "a"), ElementsAre("0000:43:00.0")),
                          Pair(PodName("ml", "b"), ElementsAre("0000:df:00.0")),
                          Pair(PodName("ml", "shared"), ElementsAre("0000:52:00.0"))));
}

// As device plugins and NVML name whole GPUs, replicas of shared ones, and parts.
TEST(Pairs, KnowsASharedGpuByEachOfItsIds) {
  const Machine machine = Tree(Tree::File("8-gpus-8-nics")).machine();
  const std::string uuid = "GPU-00000000-1d2c-4b3a-9f8e-7d6c5b4a3f20";
  const auto gpus = [&](const std::string& id) {
    const auto found = GpusOfPods({{"ml", "a", {{"nvidia.com/gpu", id}}}}, machine);
    return found.empty() ? std::vector<std::string>() : found.begin()->second;
  };
  for (const std::string& id :
       {uuid, uuid + "::3", uuid + "-17", "MIG-" + uuid + "/1/0", std::string("0000:1b:00.0"),
        std::string("0000:1b:00.0-slice-0"), std::string("0000:1b:00.0::2"), std::string("0000:1B:00.0"),
        std::string("00000000:1B:00.0")})
    EXPECT_THAT(gpus(id), ElementsAre("0000:1b:00.0")) << id;
  for (const std::string& id :
       {std::string("0"), std::string("nvidia0"), std::string("MIG-aaaa"), std::string(), uuid + "7",
        uuid.substr(0, 39), std::string("0001:1b:00.0"), std::string("00010000:1b:00.0"),
        std::string("0000:1b:00.01"), std::string(":1b:00.0")})
    EXPECT_THAT(gpus(id), IsEmpty()) << id;
  EXPECT_EQ(PciAddressIn("10002:01:00.0"), "10002:01:00.0") << "domains of VMD and Azure";
  EXPECT_EQ(PciAddressIn("00010002:01:00.0"), "10002:01:00.0");
  EXPECT_EQ(PciAddressIn("0000-1B-00-0"), "0000:1b:00.0") << "the name of a claim's device";
}

// The minor number is no place among the machine's GPUs.
TEST(Pairs, KnowsAGpuOfAClaimByItsMinorNumber) {
  const Tree tree(Tree::File("8-gpus-8-nics"));
  tree.Write("nvidia/gpus/0000:1b:00.0/information", "GPU UUID: \t GPU-a\nDevice Minor: \t 12");
  tree.Write("nvidia/gpus/0000:43:00.0/information", "GPU UUID: \t GPU-b\nDevice Minor: \t N/A");
  const Machine machine = tree.machine();
  EXPECT_EQ(machine.gpus[0].minor, 12U);
  EXPECT_EQ(machine.gpus[1].minor, std::nullopt);
  const auto gpus = [&](const char* resource, const char* id) {
    const auto found = GpusOfPods({{"ml", "a", {{resource, id}}}}, machine);
    return found.empty() ? std::vector<std::string>() : found.begin()->second;
  };
  EXPECT_THAT(gpus("gpu.nvidia.com", "gpu-12"), ElementsAre("0000:1b:00.0"));
  EXPECT_THAT(gpus("gpu.nvidia.com", "gpu-2"), ElementsAre("0000:52:00.0"));
  EXPECT_THAT(gpus("gpu.example.com", "gpu-12"), IsEmpty()) << "another driver's word";
  for (const char* id : {"gpu-0", "gpu-1", "gpu-", "gpu-2-mig-1g24gb-19-0", "gpu-vfio-2"})
    EXPECT_THAT(gpus("gpu.nvidia.com", id), IsEmpty()) << id;
}

TEST(Pairs, ABadPairNamesTheBetterNic) {
  const Machine machine = Tree(Tree::File("8-gpus-8-nics")).machine();
  const auto bad = BadPairs(machine, {"0000:1b:00.0"}, {"0000:9a:00.2"});
  ASSERT_EQ(bad.size(), 1U);
  EXPECT_EQ(bad[0].own, "0000:9a:00.2");
  EXPECT_EQ(bad[0].now, Relation::kOtherSocket);
  EXPECT_EQ(bad[0].better->rail, "rail0");
  EXPECT_EQ(bad[0].possible, Relation::kSameSwitch);
}

TEST(Pairs, EachGpuOfAPodWantsItsOwnNic) {
  const Machine machine = Tree(Tree::File("8-gpus-8-nics")).machine();
  EXPECT_THAT(BadPairs(machine, {"0000:1b:00.0", "0000:43:00.0"}, {"0000:18:00.1", "0000:40:00.1"}),
              IsEmpty());
  EXPECT_THAT(BadPairs(machine, {"0000:1b:00.0"}, {"0000:18:00.1", "0000:9a:00.2"}), IsEmpty())
      << "a VF more does no harm";
  const auto bad = BadPairs(machine, {"0000:1b:00.0", "0000:43:00.0"}, {"0000:18:00.1", "0000:9a:00.2"});
  ASSERT_EQ(bad.size(), 1U);
  EXPECT_EQ(bad[0].gpu, "0000:43:00.0");
  EXPECT_EQ(bad[0].own, "0000:18:00.1") << "the nearest that it has";
}

TEST(Pairs, WhereNoNicIsNearerNoPairIsBad) {
  const Machine machine = Tree(Tree::File("8-gpus-2-nics")).machine();
  EXPECT_THAT(BadPairs(machine, {"0000:1b:00.0", "0000:43:00.0"}, {"0000:29:00.1"}), IsEmpty());
  EXPECT_EQ(BadPairs(machine, {"0000:df:00.0"}, {"0000:29:00.1"}).size(), 1U);
  EXPECT_THAT(BadPairs(machine, {"0000:df:00.0"}, {}), IsEmpty()) << "a pod without VFs";
}

}  // namespace
}  // namespace rail::pcie
