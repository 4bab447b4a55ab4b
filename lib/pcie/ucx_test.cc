// What is said to UCX and libfabric, and the files of all libraries.
#include <gmock/gmock.h>

#include <algorithm>

#include "lib/pcie/libs.h"

namespace rail::libs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Port PortOn(const std::string& ifname, const std::string& rdma) {
  return {.ifname = ifname, .rail = "rail0", .address = "10.0.1.5", .rdma = rdma, .tos = 104};
}

Pod TwoRails() {
  return {.ports = {PortOn("net1", "mlx5_4"), PortOn("net2", "mlx5_9")}, .other_links = {"eth0"}, .gpus = {}};
}

// "": it is not there or left alone.
std::string ValueOf(const std::vector<Setting>& settings, const std::string& name) {
  const auto found = std::ranges::find(settings, name, &Setting::name);
  return found == settings.end() ? "" : found->value;
}

std::string TextOf(const std::vector<File>& files, const std::string& name) {
  const auto found = std::ranges::find(files, name, &File::name);
  return found == files.end() ? "" : found->text;
}

TEST(Ucx, GetsTheDevicesOfTheRailsAlone) {
  const auto settings = UcxSettings(TwoRails());
  EXPECT_EQ(ValueOf(settings, "UCX_NET_DEVICES"), "mlx5_4:1,mlx5_9:1");
  EXPECT_EQ(ValueOf(settings, "UCX_IB_ROCE_REACHABILITY_MODE"), "all");
  EXPECT_EQ(ValueOf(settings, "UCX_IB_TRAFFIC_CLASS"), "104");
  const auto gid = std::ranges::find(settings, "UCX_IB_GID_INDEX", &Setting::name);
  ASSERT_NE(gid, settings.end());
  EXPECT_TRUE(gid->leave);
}

TEST(Ucx, KeepsItsTrafficClassWhereNobodyNamesOne) {
  Pod pod = TwoRails();
  pod.ports[0].tos = pod.ports[1].tos = std::nullopt;
  EXPECT_EQ(ValueOf(UcxSettings(pod), "UCX_IB_TRAFFIC_CLASS"), "");
  EXPECT_THAT(
      TextOf(Files(UcxSettings(pod), {}, ""), "ucx.conf"),
      HasSubstr("# UCX_IB_TRAFFIC_CLASS: leave it alone: node.json names no traffic class for RoCE. UCX"));
}

TEST(Ucx, SaysNothingWhereAPodHasNoRdma) {
  Pod pod = TwoRails();
  for (Port& port : pod.ports) port.rdma.clear();
  EXPECT_THAT(UcxSettings(pod), IsEmpty());
  EXPECT_THAT(LibfabricSettings(pod), IsEmpty());
}

TEST(Libfabric, GetsTheBeginningThatOnlyRailsHave) {
  Pod pod = TwoRails();
  EXPECT_EQ(ValueOf(LibfabricSettings(pod), "FI_VERBS_IFACE"), "net");
  pod.other_links.push_back("net9");
  EXPECT_EQ(ValueOf(LibfabricSettings(pod), "FI_VERBS_IFACE"), "net1") << "\"net\" would be net9 as well";
  pod = TwoRails();
  pod.ports[1].ifname = "roce0";
  EXPECT_EQ(ValueOf(LibfabricSettings(pod), "FI_VERBS_IFACE"), "net1");
  pod.ports.pop_back();
  EXPECT_EQ(ValueOf(LibfabricSettings(pod), "FI_VERBS_IFACE"), "net1");
}

TEST(LibraryFiles, EachLibraryFindsItsOwn) {
  const auto files = Files(Settings(TwoRails(), kRails), {"net1 lacks\nsomething"}, "<system/>");
  std::vector<std::string> names;
  for (const File& file : files) names.push_back(file.name);
  EXPECT_THAT(names, ElementsAre("nccl.conf", "ucx.conf", "libs.env", "topology.xml"));
  for (const char* name : {"nccl.conf", "ucx.conf", "libs.env"})
    EXPECT_THAT(TextOf(files, name), testing::StartsWith("# missing: net1 lacks something\n")) << name;
  EXPECT_THAT(TextOf(files, "nccl.conf"), HasSubstr("\nNCCL_IB_HCA==mlx5_4:1:0:0,mlx5_9:1:0:0\n"));
  EXPECT_THAT(TextOf(files, "nccl.conf"), Not(HasSubstr("UCX_")));
  EXPECT_THAT(TextOf(files, "ucx.conf"), HasSubstr("\nUCX_NET_DEVICES=mlx5_4:1,mlx5_9:1\n"));
  EXPECT_THAT(TextOf(files, "ucx.conf"), Not(HasSubstr("NCCL_")));
  for (const char* line : {"\nexport NCCL_CROSS_NIC='0'\n", "\nexport UCX_NET_DEVICES='mlx5_4:1,mlx5_9:1'\n",
                           "\nexport FI_VERBS_IFACE='net'\n"})
    EXPECT_THAT(TextOf(files, "libs.env"), HasSubstr(line));
  EXPECT_EQ(Files({}, {}, "").size(), 3U) << "nothing on PCIe";
}

Port PortWith(std::vector<Gid> gids) {
  Port port = PortOn("net1", "mlx5_4");
  port.gids = std::move(gids);
  port.own_gids = {"::ffff:10.0.1.5", "fd00::5"};
  return port;
}

TEST(Gids, AreTheRoceV2EntriesOfThePodsAddresses) {
  Pod pod;
  EXPECT_EQ(GidLines(pod), "");
  pod.ports = {PortWith({{1, "fe80::1", "RoCE v2"},
                         {2, "::ffff:10.0.1.5", "IB/RoCE v1"},
                         {3, "::ffff:10.0.1.5", "RoCE v2"},
                         {7, "fd00::5", "RoCE v2"}})};
  EXPECT_EQ(GidLines(pod), "mlx5_4 1 3 ::ffff:10.0.1.5\nmlx5_4 1 7 fd00::5\n");
  EXPECT_THAT(MovedGids(GidLines(pod), pod.ports[0]), IsEmpty());
}

TEST(Gids, MovedAreThoseAtAnotherIndexAndThoseGone) {
  const std::string lines =
      "# title of four words\nmlx5_4 1 3 ::ffff:10.0.1.5\nmlx5_4 1 7 fd00::5\nmlx5_9 1 3 ::ffff:10.0.2.5\n";
  EXPECT_THAT(MovedGids(lines, PortWith({{3, "::ffff:10.0.1.5", "IB/RoCE v1"},
                                         {5, "::ffff:10.0.1.5", "RoCE v2"},
                                         {7, "fd00::5", "RoCE v2"}})),
              ElementsAre("GID ::ffff:10.0.1.5 of mlx5_4 has index 5 now, it had 3"));
  EXPECT_THAT(MovedGids(lines, PortWith({{3, "::ffff:10.0.1.5", "RoCE v2"}})),
              ElementsAre("GID fd00::5 of mlx5_4 is gone, it had index 7"));
  Port other = PortWith({{3, "::ffff:10.0.1.5", "RoCE v2"}, {7, "fd00::5", "RoCE v2"}});
  EXPECT_THAT(MovedGids("", other), IsEmpty()) << "a new entry is none";
  EXPECT_THAT(MovedGids(lines, other), IsEmpty());
  other.rdma = "mlx5_5";
  EXPECT_THAT(MovedGids(lines, other), testing::SizeIs(2)) << "another device's entries";
  other.rdma = "mlx5_4";
  other.port = 2;
  EXPECT_THAT(MovedGids(lines, other), testing::SizeIs(2)) << "another port's";
}

TEST(LibraryFiles, AValueIsNothingElseToAShell) {
  const std::vector<Setting> settings = {{"NCCL_SOCKET_IFNAME", "=a'; reboot '\n$(reboot)", "why"}};
  EXPECT_THAT(TextOf(Files(settings, {}, ""), "libs.env"),
              HasSubstr("export NCCL_SOCKET_IFNAME='=a'\\''; reboot '\\'' $(reboot)'\n"));
  EXPECT_THAT(TextOf(Files(settings, {}, ""), "nccl.conf"),
              HasSubstr("\nNCCL_SOCKET_IFNAME==a'; reboot ' $(reboot)\n"));
}

}  // namespace
}  // namespace rail::libs
