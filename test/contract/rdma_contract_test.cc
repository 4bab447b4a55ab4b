// What every Rdma does: the same cases on the fake and, where RAILCNI_TEST_RDMA names two RDMA devices of this machine (rxe0,rxe1), on
// the kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "lib/netlink/kernel_rdma.h"
#include "lib/netlink/testing/rdma.h"
#include "lib/netlink/testing/scratch.h"

namespace rail::netlink {
namespace {

enum class Which { kFake, kKernel };
constexpr char kRealDevices[] = "RAILCNI_TEST_RDMA";

std::string NameOf(Which which) {
  return which == Which::kFake ? "Fake" : "Kernel";
}
void PrintTo(Which which, std::ostream* out) {
  *out << NameOf(which);
}
std::vector<Which> Implementations() {
  std::vector<Which> all{Which::kFake};
  if (std::getenv(kRealDevices) != nullptr) all.push_back(Which::kKernel);
  return all;
}

class RdmaContract : public ::testing::TestWithParam<Which> {
 protected:
  void SetUp() override {
    if (GetParam() == Which::kFake) {
      const auto here = netns::Netns::Current().value();
      machine_.Add(first_, here.identity());
      machine_.Add(second_, here.identity());
    } else {
      const std::string names = std::getenv(kRealDevices);
      first_ = names.substr(0, names.find(','));
      second_ = names.substr(names.find(',') + 1);
    }
    rdma_ = Open().value();
  }
  Result<std::unique_ptr<Rdma>> Open() {
    return GetParam() == Which::kFake ? machine_.Open() : KernelRdma::Open();
  }
  std::optional<RdmaDevice> Find(const std::string& name) {
    const auto devices = rdma_->List();
    EXPECT_TRUE(devices) << devices.error().message;
    const auto it = std::ranges::find(*devices, name, &RdmaDevice::name);
    return it == devices->end() ? std::nullopt : std::optional(*it);
  }
  static void Must(const Status& status) { ASSERT_TRUE(status) << status.error().message; }

  std::string first_ = "rxe0";
  std::string second_ = "rxe1";
  testing::RdmaMachine machine_{RdmaNetns::kShared};
  std::unique_ptr<Rdma> rdma_;
};

INSTANTIATE_TEST_SUITE_P(, RdmaContract, ::testing::ValuesIn(Implementations()),
                         [](const auto& param) { return NameOf(param.param); });

TEST_P(RdmaContract, ListsTheDevices) {
  const auto first = Find(first_);
  const auto second = Find(second_);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->index, second->index);
}

TEST_P(RdmaContract, TellsTheMode) {
  const auto mode = rdma_->NetnsMode();
  ASSERT_TRUE(mode) << mode.error().message;
  EXPECT_EQ(*mode, RdmaNetns::kShared);
}

TEST_P(RdmaContract, RenamesADeviceWhichKeepsItsIndex) {
  const uint32_t index = Find(first_)->index;
  Must(rdma_->Rename(index, "mlx5_rail0"));
  EXPECT_FALSE(Find(first_));
  ASSERT_TRUE(Find("mlx5_rail0"));
  EXPECT_EQ(Find("mlx5_rail0")->index, index);
  Must(rdma_->Rename(index, first_));
  EXPECT_TRUE(Find(first_));
}

TEST_P(RdmaContract, RefusesANameThatIsTaken) {
  const auto refused = rdma_->Rename(Find(first_)->index, second_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kExists) << refused.error().message;
}

TEST_P(RdmaContract, KnowsNoDeviceThatIsNotThere) {
  EXPECT_EQ(rdma_->Rename(4711, "mlx5_rail0").error().code, Code::kNotFound);
}

TEST_P(RdmaContract, MovesNothingInSharedMode) {
  const netns::Netns pod = netns::testing::MakeScratch();
  const auto refused = rdma_->Move(Find(first_)->index, pod.fd());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnsupported) << refused.error().message;
}

}  // namespace
}  // namespace rail::netlink
