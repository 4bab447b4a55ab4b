// The same cases on a fake that speaks the kubelet's protocol and, where RAILCNI_TEST_PODRESOURCES names its socket, on a real kubelet.
#include "lib/kubelet/podresources.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "lib/base/fd.h"
#include "lib/kubelet/testing/pod_lister.h"

namespace rail::kubelet {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Device = pcie::PodDevices::Device;

const pcie::ResourceDevices kAllocatable = {{"nvidia.com/gpu", {"GPU-1", "GPU-2", "GPU-3"}},
                                            {"example.com/rail0", {"0000:3b:00.2"}}};

class PodResources : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "Fake") {
      fake_ = std::make_unique<testing::PodLister>(
          std::vector<testing::Given>{{"ml", "train-0", "nvidia.com/gpu", {"GPU-1", "GPU-2"}},
                                      {"ml", "plain", "x", {}},
                                      {"ml", "by-claim", "gpu.nvidia.com", {"gpu-3", "gpu-5"}, true},
                                      {"ml", "cdi", "", {"gpu-3"}, true}},
          kAllocatable);
      socket_ = fake_->socket();
      return;
    }
    const char* real = std::getenv("RAILCNI_TEST_PODRESOURCES");
    if (real == nullptr) GTEST_SKIP() << "RAILCNI_TEST_PODRESOURCES names no kubelet's socket";
    socket_ = real;
  }
  std::unique_ptr<testing::PodLister> fake_;
  std::string socket_;
};

INSTANTIATE_TEST_SUITE_P(Contract, PodResources, ::testing::Values("Fake", "Kubelet"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(PodResources, ListsPodsWithTheirNamesAndDevices) {
  const auto pods = ListPodDevices(socket_, After(5s));
  ASSERT_TRUE(pods) << pods.error().message;
  ASSERT_FALSE(pods->empty()) << "a node has pods";
  for (const pcie::PodDevices& pod : *pods) {
    EXPECT_NE(pod.pod, "");
    EXPECT_NE(pod.pod_namespace, "");
    for (const auto& device : pod.devices) EXPECT_NE(device.resource, "");
  }
  const auto has_one = [](const pcie::PodDevices& pod) { return !pod.devices.empty(); };
  EXPECT_TRUE(std::ranges::any_of(*pods, has_one)) << "a node with a device plugin has a pod with a device";
  if (fake_ == nullptr) return;
  ASSERT_EQ(pods->size(), 4U);
  ASSERT_EQ(pods->front().devices.size(), 2U);
  EXPECT_EQ(pods->front().devices[1].resource, "nvidia.com/gpu");
  EXPECT_EQ(pods->front().devices[1].id, "GPU-2");
  EXPECT_THAT(pods->at(2).devices,
              ElementsAre(Device{"gpu.nvidia.com", "gpu-3"}, Device{"gpu.nvidia.com", "gpu-5"}))
      << "once, also where two containers have the claim";
  EXPECT_THAT(pods->at(3).devices, IsEmpty()) << "a claim without its driver's name";
}

TEST_P(PodResources, ListsAllDevicesByResource) {
  const auto all = ListAllocatable(socket_, After(5s));
  if (fake_ == nullptr && !all) {  // a kubelet before 1.23
    EXPECT_EQ(all.error().code, Code::kUnsupported) << all.error().message;
    return;
  }
  ASSERT_TRUE(all) << all.error().message;
  for (const auto& [resource, ids] : *all) {
    EXPECT_NE(resource, "");
    EXPECT_FALSE(ids.empty()) << resource;
  }
  if (fake_ != nullptr) {
    EXPECT_EQ(*all, kAllocatable);
  }
}

TEST(PodResourcesErrors, AnOldKubeletHasNoListOfAllDevices) {
  const testing::PodLister old({});
  const auto all = ListAllocatable(old.socket(), After(5s));
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, Code::kUnsupported);
  EXPECT_THAT(all.error().message, HasSubstr(old.socket()));
}

TEST(PodResourcesErrors, NoSocket) {
  const auto pods = ListPodDevices("/nonexistent/kubelet.sock", After(5s));
  ASSERT_FALSE(pods);
  EXPECT_EQ(pods.error().code, Code::kNotFound);
  EXPECT_THAT(pods.error().message, HasSubstr("/nonexistent/kubelet.sock"));
}

TEST(PodResourcesErrors, AKubeletThatHangsCostsItsTimeOnly) {
  const std::string path = ::testing::TempDir() + "/hangs-" + std::to_string(::getpid()) + ".sock";
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  const Deadline began = Clock::now();
  const auto pods = ListPodDevices(path, After(200ms));
  ::unlink(path.c_str());
  ASSERT_FALSE(pods);
  EXPECT_EQ(pods.error().code, Code::kTransient);
  EXPECT_LT(Clock::now() - began, 30s);
}

}  // namespace
}  // namespace rail::kubelet
