#include "lib/engine/repair/nic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "lib/state/testing/memory.h"

namespace rail::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NicTest : public ::testing::Test {
 protected:
  NicTest() {
    config::Rail rail;
    rail.name = "rail0";
    rail.pf = "ens0";
    rail.manage_sriov = true;
    rail.num_vfs = 8;
    config_.rails = {rail};
    openers_.prepare_nic = [this](
                               const config::Rail& asked,
                               const sriov::Preparer::Claimed& claimed) -> Result<std::vector<std::string>> {
      asked_.push_back(asked.pf);
      if (!differs_) return answer_;
      RAIL_ASSIGN(claimed_, claimed());
      EXPECT_FALSE(Lock(FileLock::Kind::kShared)) << "no device is given away meanwhile";
      return answer_;
    };
    openers_.lock_devices = [this](FileLock::Kind kind) { return Lock(kind); };
    openers_.rdma_netns = [this] { return rdma_; };
  }

  void SetUp() override { ASSERT_NE(::mkdtemp(folder_.data()), nullptr); }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Result<FileLock> Lock(FileLock::Kind kind) { return FileLock::Get(folder_ + "/devices", kind); }
  void Ensure() {
    NicRepair(openers_, store_, node_status_).Ensure(config_.rails[0]);
    node_status_.Publish(record_);
  }
  void LookAtRdma() {
    NicRepair(openers_, store_, node_status_).LookAtRdma();
    node_status_.Publish(record_);
  }
  std::vector<std::string> Problems() {
    std::vector<std::string> problems;
    for (const Health& health : views_.Current()->health) {
      if (!health.ok) problems.push_back(ToText(health.part) + ": " + health.problem);
    }
    return problems;
  }

  config::NodeConfig config_;
  Openers openers_;
  state::testing::Memory store_;
  RecordReader record_{store_};
  ViewPublisher views_;
  NodeStatus node_status_{config_, {}, views_};
  std::vector<std::string> asked_;
  bool differs_ = true;
  std::set<std::string> claimed_;
  std::string folder_ = (std::filesystem::temp_directory_path() / "rail-nic-XXXXXX").string();
  Result<std::vector<std::string>> answer_ = std::vector<std::string>();
  Result<std::optional<netlink::RdmaNetns>> rdma_ = netlink::RdmaNetns::kExclusive;
};

TEST_F(NicTest, IsPreparedWithWhatTheRecordHolds) {
  state::Attachment attachment;
  attachment.key = {"rail0", "c", "net1"};
  attachment.device = "0000:3b:00.2";
  attachment.rail = "rail0";
  ASSERT_TRUE(store_.Create(attachment));
  answer_ = std::vector<std::string>{"sriov_numvfs 0 -> 8"};
  Ensure();
  EXPECT_THAT(asked_, ElementsAre("ens0"));
  EXPECT_THAT(claimed_, ElementsAre("0000:3b:00.2"));
  EXPECT_THAT(views_.Current()->repairs_by_cause, IsEmpty()) << "the first time is no repair";
  Ensure();
  EXPECT_EQ(views_.Current()->repairs_by_cause.at("NIC"), 1U);
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_TRUE(Lock(FileLock::Kind::kShared)) << "all is done";
}

TEST_F(NicTest, IsNotChangedWhileAPodIsBeingGivenADevice) {
  const auto taking = Lock(FileLock::Kind::kShared);
  ASSERT_TRUE(taking);
  Ensure();
  EXPECT_THAT(
      Problems(),
      ElementsAre("NIC of rail rail0: pods are being given devices; the NIC is looked at again soon"));
  differs_ = false;
  Ensure();
  EXPECT_THAT(Problems(), IsEmpty()) << "nobody is asked while all is right";
}

TEST_F(NicTest, IsLeftAloneUnlessNodeJsonSaysSo) {
  config_.rails[0].manage_sriov = false;
  Ensure();
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(NicTest, ThatCannotBeChangedNowIsTold) {
  answer_ = Fail(Code::kBusy, "prepare ens0: it is in use");
  Ensure();
  EXPECT_THAT(Problems(), ElementsAre("NIC of rail rail0: prepare ens0: it is in use"));
}

TEST_F(NicTest, TellsTheRdmaSystemsMode) {
  LookAtRdma();
  EXPECT_EQ(views_.Current()->rdma, RdmaMode::kExclusive);
  rdma_ = Fail(Code::kPermission, "no");
  LookAtRdma();
  EXPECT_EQ(views_.Current()->rdma, RdmaMode::kExclusive) << "what was seen last";
  EXPECT_THAT(Problems(), ElementsAre("rdma: no"));
}

}  // namespace
}  // namespace rail::engine
