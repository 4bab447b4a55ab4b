#include "lib/engine/nic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    openers_.prepare_nic = [this](const config::Rail& asked, const std::set<std::string>& claimed) {
      asked_.push_back(asked.pf);
      claimed_ = claimed;
      return answer_;
    };
    openers_.rdma_mode = [this] { return rdma_; };
  }

  void Ensure() {
    NicRepair(openers_, store_, picture_).Ensure(config_.rails[0]);
    picture_.Publish(store_);
  }
  void LookAtRdma() {
    NicRepair(openers_, store_, picture_).LookAtRdma();
    picture_.Publish(store_);
  }
  std::vector<std::string> Problems() {
    std::vector<std::string> problems;
    for (const Health& health : board_.Current()->health) {
      if (!health.ok) problems.push_back(health.part + ": " + health.problem);
    }
    return problems;
  }

  config::NodeConfig config_;
  Openers openers_;
  state::testing::Memory store_;
  Board board_;
  Picture picture_{config_, {}, board_};
  std::vector<std::string> asked_;
  std::set<std::string> claimed_;
  Result<std::vector<std::string>> answer_ = std::vector<std::string>();
  Result<RdmaMode> rdma_ = RdmaMode::kExclusive;
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
  EXPECT_EQ(board_.Current()->repairs_by_cause.at("NIC"), 1U);
  EXPECT_THAT(Problems(), IsEmpty());
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
  EXPECT_EQ(board_.Current()->rdma, RdmaMode::kExclusive);
  rdma_ = Fail(Code::kPermission, "no");
  LookAtRdma();
  EXPECT_EQ(board_.Current()->rdma, RdmaMode::kExclusive) << "what was seen last";
  EXPECT_THAT(Problems(), ElementsAre("rdma: no"));
}

}  // namespace
}  // namespace rail::engine
