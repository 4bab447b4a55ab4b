// railctl get nics, get gpus and nccl against a served node that has a real server's PCIe.
#include "lib/pcie/testing/tree.h"
#include "test/api/railctl_run.h"

namespace rail {
namespace {

using nlohmann::json;
using pcie::testing::Tree;
using testing::HasSubstr;
using testing::Not;

class RailctlHardware : public RailctlTest {
 protected:
  void Serve(const char* server) {
    inspector_.machinery.machine = Tree(Tree::File(server)).machine();
    inspector_.machinery.gpus_of_pods = inspect::GpusOfPods{{{"ml", "train-0"}, {"0000:1b:00.0"}}};
  }
};

TEST_F(RailctlHardware, ListsNicsWithTheirNearestGpu) {
  Serve("8-gpus-2-nics");
  engine::NodeView view = SampleView();
  view.attachments[0].attachment.device = "0000:29:00.1";
  views_.Publish(std::move(view));
  EXPECT_EQ(Out({"get", "nics"}), R"(RAIL    PF     ADDRESS        SOCKET   NUMA   VFS   NEAREST-GPU
rail0   ens0   0000:29:00.0   0        0      1/4   0000:1b:00.0,+3 socket
rail1   ens1   0000:aa:00.0   1        1      0/4   0000:9d:00.0,+3 socket
)");
  const std::string wide = Out({"get", "nic", "-o", "wide", "--rail", "rail1"});
  EXPECT_THAT(wide, HasSubstr("0000:9d:00.0,0000:c3:00.0,0000:d1:00.0,0000:df:00.0 socket"));
  EXPECT_THAT(wide, HasSubstr("32.0 GT/s PCIe x16   pci0000:a7/0000:a7:01.0"));
  EXPECT_THAT(wide, Not(HasSubstr("rail0")));
  const json nics = json::parse(Out({"get", "nics", "-o", "json"}))["nics"];
  ASSERT_EQ(nics.size(), 2U);
  EXPECT_EQ(nics[0]["vfs"][0]["pod"], "train-0");
  EXPECT_EQ(nics[0]["gpus"].size(), 8U);
  EXPECT_EQ(nics[0]["gpus"][7]["relation"], "OTHER_SOCKET");
}

TEST_F(RailctlHardware, ListsGpusWithTheirNearestNicAndTheirPod) {
  Serve("8-gpus-4-nics");
  const std::string text = Out({"get", "gpus"});
  EXPECT_THAT(
      text,
      HasSubstr("0000:1b:00.0   NVIDIA H100 80GB HBM3   0        0      rail0 switch   ml          train-0"));
  EXPECT_THAT(
      text, HasSubstr("0000:df:00.0   NVIDIA H100 80GB HBM3   1        1      rail2 socket   -           -"));
  const json gpus = json::parse(Out({"get", "gpus", "-o", "json"}));
  EXPECT_EQ(gpus["gpus"][0]["uuid"], "GPU-00000000-1d2c-4b3a-9f8e-7d6c5b4a3f20");
  EXPECT_EQ(gpus["gpus"][0]["nics"][0]["relation"], "SAME_SWITCH");
  EXPECT_EQ(gpus["gpus"][0]["path"]["bridges"].size(), 3U);
  EXPECT_EQ(gpus["pods_problem"], "");
}

TEST_F(RailctlHardware, SaysHowManyPodsShareAGpu) {
  Serve("8-gpus-4-nics");
  inspector_.machinery.gpus_of_pods =
      inspect::GpusOfPods{{{"ml", "train-0"}, {"0000:1b:00.0"}}, {{"ml", "train-1"}, {"0000:1b:00.0"}}};
  EXPECT_THAT(Out({"get", "gpus"}), HasSubstr("ml          train-0,+1"));
  EXPECT_EQ(json::parse(Out({"get", "gpus", "-o", "json"}))["gpus"][0]["other_pods"], 1);
}

TEST_F(RailctlHardware, SaysWhyItIsNotKnownWhoseAGpuIs) {
  Serve("8-gpus-8-nics");
  inspector_.machinery.gpus_of_pods = Fail(Code::kNotFound, "no such socket");
  EXPECT_THAT(Out({"get", "gpus"}), HasSubstr("whose they are is not known: no such socket"));
}

class RailctlLibs : public RailctlTest {
 protected:
  RailctlLibs() {
    answer_.pod.ports = {
        {.ifname = "net1", .rail = "rail0", .rdma = "mlx5_4", .gids = {{3, "::ffff:10.0.3.7", "RoCE v2"}}}};
    answer_.settings = {{"NCCL_IB_HCA", "=mlx5_4:1:0:0", "the devices"},
                        {"NCCL_IB_GID_INDEX", "", "NCCL finds it", true},
                        {"NCCL_CROSS_NIC", "0", "rails"},
                        {"UCX_NET_DEVICES", "mlx5_4:1", "for NIXL, too", false, libs::Library::kUcx}};
    answer_.topology = "<system version=\"1\">\n</system>\n";
    inspector_.libs = [this](const inspect::LibsQuestion& question) {
      asked_ = question;
      return answer_;
    };
  }
  inspect::LibsAnswer answer_;
  inspect::LibsQuestion asked_;
};

TEST_F(RailctlLibs, PrintsForAShellAndAsAFile) {
  EXPECT_EQ(Out({"libs", "ml/train-0"}), R"(# NCCL_IB_HCA: the devices
export NCCL_IB_HCA='=mlx5_4:1:0:0'
# NCCL_IB_GID_INDEX: leave it alone: NCCL finds it
# NCCL_CROSS_NIC: rails
export NCCL_CROSS_NIC='0'
# UCX_NET_DEVICES: for NIXL, too
export UCX_NET_DEVICES='mlx5_4:1'
)");
  EXPECT_EQ(asked_.pod_namespace, "ml");
  EXPECT_EQ(asked_.pod, "train-0");
  EXPECT_EQ(asked_.version, libs::kRails);
  EXPECT_THAT(Out({"libs", "train-0", "-n", "ml", "--file", "nccl.conf", "--nccl", "2.29"}),
              HasSubstr("\nNCCL_IB_HCA==mlx5_4:1:0:0\n"));
  EXPECT_EQ(asked_.version, (libs::Version{2, 29}));
  EXPECT_EQ(Out({"libs", "train-0", "--file", "ucx.conf"}),
            "# UCX_NET_DEVICES: for NIXL, too\nUCX_NET_DEVICES=mlx5_4:1\n");
  EXPECT_EQ(Out({"libs", "train-0", "--file", "topology.xml"}), "<system version=\"1\">\n</system>\n");
  const json answer = json::parse(Out({"libs", "train-0", "-o", "json"}));
  EXPECT_EQ(answer["ports"][0]["gids"][0]["gid"], "::ffff:10.0.3.7");
  EXPECT_EQ(answer["settings"][1]["leave"], true);
}

TEST_F(RailctlLibs, EndsBadlyWhereThePodLacksSomething) {
  answer_.problems = {"net1 on rail0 has no RDMA device in the pod"};
  const Ran ran = Run({"libs", "train-0"});
  EXPECT_EQ(ran.exit_code, railctl::kFailed);
  EXPECT_THAT(ran.out, testing::StartsWith("# missing: net1 on rail0 has no RDMA device in the pod\n"));
  answer_.problems.clear();
  answer_.topology.clear();
  EXPECT_THAT(Run({"libs", "train-0", "--file", "topology.xml"}).err, HasSubstr("nothing of it is on PCIe"));
}

TEST_F(RailctlLibs, RefusesAVersionThatIsNone) {
  const Ran ran = Run({"libs", "train-0", "--nccl", "new"});
  EXPECT_EQ(ran.exit_code, railctl::kUsage);
  EXPECT_THAT(ran.err, HasSubstr("\"new\" is none of NCCL"));
  EXPECT_EQ(Run({"libs"}).exit_code, railctl::kUsage) << "no pod";
  EXPECT_EQ(Run({"libs", "p", "--file", "passwd"}).exit_code, railctl::kUsage);
}

}  // namespace
}  // namespace rail
