#include "cmd/raild/modes.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lib/state/sqlite.h"

namespace rail::raild {
namespace {

class PrintAttachmentsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() / "rail-print-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/state.db";
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  static Result<std::string> Print(const std::string& path) {
    return AttachmentsText(state::Sqlite::OpenAsItIs(path));
  }
  static state::Attachment Draft(const std::string& container, const std::string& device) {
    state::Attachment draft;
    draft.key = {.network = "rail0", .container_id = container, .ifname = "net1"};
    draft.rail = "rail0";
    draft.device = device;
    return draft;
  }
  std::string folder_, path_;
};

TEST_F(PrintAttachmentsTest, NoRecordIsNoAttachmentAndStaysNoRecord) {
  EXPECT_EQ(Print(path_).value(), "");
  EXPECT_EQ(Print(folder_ + "/no/state.db").value(), "");
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(PrintAttachmentsTest, EachIsOneLineWhateverItsPhase) {
  auto store = state::Sqlite::Open(path_);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(Print(path_).value(), "");
  state::Attachment pod = Draft("c1", "vf0");
  pod.pod_namespace = "tenant-a";
  pod.pod_name = "a1";
  const auto ready = (*store)->Create(pod);
  ASSERT_TRUE(ready && (*store)->SetPhase(ready->id, state::Phase::kReady));
  const auto leaving = (*store)->Create(Draft("c2", "vf1"));
  ASSERT_TRUE(leaving && (*store)->SetPhase(leaving->id, state::Phase::kDeleting));
  EXPECT_EQ(Print(path_).value(),
            "tenant-a/a1 net1 on rail0, vf0: ready\ncontainer c2 net1 on rail0, vf1: deleting\n");
}

TEST_F(PrintAttachmentsTest, ARecordThatCannotBeReadIsNotAnEmptyOne) {
  std::ofstream(path_)
      << "this is no record, and is longer than the head of one would have to be, so it is damaged";
  EXPECT_FALSE(Print(path_));
}

}  // namespace
}  // namespace rail::raild
