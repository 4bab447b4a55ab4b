// The files of pods' libraries: which pod's, when, and in whose folders.
#include "cmd/raild/workers/library_files.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "lib/kubelet/testing/test_folder.h"

namespace rail::raild {
namespace {

using ::testing::HasSubstr;

class LibraryFilesTest : public ::testing::Test {
 protected:
  void Attach(int64_t id, const std::string& pod, const std::string& device) {
    state::Attachment& a = view.attachments.emplace_back().attachment;
    a.id = id;
    a.phase = state::Phase::kReady;
    a.pod_namespace = "ml";
    a.pod_name = pod;
    a.device = device;
  }
  std::string Prepared(const std::string& device) {
    const auto made = files.Prepare({device});
    EXPECT_TRUE(made) << made.error().message;
    return made.value_or("");
  }
  Status Write() { return WriteBy(files); }
  Status WriteBy(LibraryFiles& writer) {
    const auto ask = [this](const inspect::LibsQuestion& question) -> Result<inspect::LibsAnswer> {
      ++asked;
      if (question.pod == fails) return Fail(why, "no look into the pod");
      inspect::LibsAnswer answer;
      answer.settings = {{"NCCL_IB_HCA", question.pod_namespace + "/" + question.pod, "why"}};
      answer.pod.ports = ports;
      return answer;
    };
    return writer.Write(view, ask, now);
  }
  // "": there is none.
  static std::string Conf(const std::string& folder, const char* name = "/nccl.conf") {
    std::ifstream file(folder + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const kubelet::testing::TestFolder folder;
  LibraryFiles files{folder.path() + "/libs"};
  engine::NodeView view;
  std::vector<libs::Port> ports;
  int asked = 0;
  Deadline now{};
  std::string fails;
  Code why = Code::kPermission;
};

TEST_F(LibraryFilesTest, APodFindsThemInTheFolderOfEachOfItsDevices) {
  const std::string a = Prepared("0000:3b:00.2"), b = Prepared("0000:5e:00.3");
  EXPECT_THAT(a, testing::Not(HasSubstr(":"))) << "a runtime may take it for two paths";
  ASSERT_TRUE(Write());
  EXPECT_EQ(asked, 0) << "no pod has them yet";
  Attach(1, "train-0", "0000:3b:00.2");
  ASSERT_TRUE(Write());
  EXPECT_THAT(Conf(a), HasSubstr("NCCL_IB_HCA=ml/train-0\n"));
  EXPECT_EQ(Conf(b), "");
  Attach(2, "train-0", "0000:5e:00.3");
  ASSERT_TRUE(Write());
  EXPECT_EQ(asked, 2) << "the pod has one more";
  EXPECT_EQ(Conf(a), Conf(b));
  ASSERT_TRUE(Write());
  EXPECT_EQ(asked, 2) << "nothing has changed";
  const auto rights = std::filesystem::status(a + "/nccl.conf").permissions();
  EXPECT_NE(rights & std::filesystem::perms::others_read, std::filesystem::perms::none)
      << "any user of the container";
}

TEST_F(LibraryFilesTest, TheNextPodFindsNothingOfTheOneBefore) {
  const std::string a = Prepared("vf0");
  Attach(1, "train-0", "vf0");
  ASSERT_TRUE(Write());
  view.attachments.clear();
  EXPECT_EQ(Prepared("vf0"), a);
  EXPECT_TRUE(std::filesystem::is_empty(a));
  Attach(2, "train-1", "vf0");
  ASSERT_TRUE(Write());
  EXPECT_THAT(Conf(a), HasSubstr("NCCL_IB_HCA=ml/train-1\n"));
}

TEST_F(LibraryFilesTest, ADeviceThatAnotherPluginHasGivenGetsNone) {
  Attach(1, "train-0", "vf0");
  ASSERT_TRUE(Write());
  EXPECT_EQ(asked, 0);
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/libs"));
}

TEST_F(LibraryFilesTest, APodThatFailsKeepsNoneFromOthersAndIsTriedAgain) {
  const std::string a = Prepared("vf0"), b = Prepared("vf1");
  Attach(1, "a", "vf0");
  Attach(2, "b", "vf1");
  fails = "a";
  const Status written = Write();
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "no look into the pod");
  EXPECT_EQ(Conf(a), "");
  EXPECT_THAT(Conf(b), HasSubstr("ml/b"));
  fails.clear();
  ASSERT_TRUE(Write());
  EXPECT_THAT(Conf(a), HasSubstr("ml/a"));
}

TEST_F(LibraryFilesTest, APodThatHasGoneIsNoError) {
  const std::string a = Prepared("vf0");
  Attach(1, "a", "vf0");
  fails = "a";
  why = Code::kNotFound;
  EXPECT_TRUE(Write());
  EXPECT_EQ(Conf(a), "");
}

TEST_F(LibraryFilesTest, APodThatCameWhileTheOneBeforeWasAskedForGetsNothingOfIt) {
  const std::string a = Prepared("vf0");
  Attach(1, "train-0", "vf0");
  const auto ask = [&](const inspect::LibsQuestion&) {
    Prepared("vf0");
    return inspect::LibsAnswer();
  };
  ASSERT_TRUE(files.Write(view, ask, now));
  EXPECT_TRUE(std::filesystem::is_empty(a));
}

TEST_F(LibraryFilesTest, WhatIsNotReadyYetCountsForNothing) {
  Prepared("vf0");
  Attach(1, "a", "vf0");
  view.attachments[0].attachment.phase = state::Phase::kAdding;
  ASSERT_TRUE(Write());
  EXPECT_EQ(asked, 0);
}

TEST_F(LibraryFilesTest, TheGidsStayThoseThatTheAttachmentsBeganWith) {
  const std::string a = Prepared("vf0");
  Attach(1, "train-0", "vf0");
  ASSERT_TRUE(Write());
  EXPECT_FALSE(std::filesystem::exists(a + "/gids")) << "no RDMA device";
  ports = {{.rdma = "mlx5_2", .gids = {{3, "::ffff:10.0.0.5", "RoCE v2"}}, .own_gids = {"::ffff:10.0.0.5"}}};
  Attach(2, "train-0", "vf1");
  ASSERT_TRUE(Write());
  const std::string first = Conf(a, "/gids");
  EXPECT_THAT(first, testing::MatchesRegex("# .* 1 2 .*\nmlx5_2 1 3 ::ffff:10.0.0.5\n"));

  ports[0].gids[0].index = 5;
  LibraryFiles anew(folder.path() + "/libs");
  ASSERT_TRUE(WriteBy(anew));
  EXPECT_EQ(Conf(a, "/gids"), first);

  view.attachments[0].attachment.id = 3;  // the pod's sandbox was made anew
  ASSERT_TRUE(Write());
  EXPECT_THAT(Conf(a, "/gids"), HasSubstr("\nmlx5_2 1 5 ::ffff:10.0.0.5\n"));
  ports.clear();
  view.attachments[0].attachment.id = 4;
  ASSERT_TRUE(Write());
  EXPECT_FALSE(std::filesystem::exists(a + "/gids"));
}

TEST_F(LibraryFilesTest, GidsThatComeLateAreAddedAndNoneIsWrittenAnew) {
  const std::string a = Prepared("vf0");
  ports = {{.rdma = "mlx5_2", .own_gids = {"::ffff:10.0.0.5", "fd00::5"}}};
  Attach(1, "train-0", "vf0");
  ASSERT_TRUE(Write());
  EXPECT_FALSE(std::filesystem::exists(a + "/gids"));
  ports[0].gids = {{3, "::ffff:10.0.0.5", "RoCE v2"}};
  ASSERT_TRUE(Write());
  EXPECT_THAT(Conf(a, "/gids"), testing::EndsWith("began\nmlx5_2 1 3 ::ffff:10.0.0.5\n"));
  ports[0].gids = {{4, "fd00::5", "RoCE v2"}, {5, "::ffff:10.0.0.5", "RoCE v2"}};
  ASSERT_TRUE(Write());
  EXPECT_THAT(Conf(a, "/gids"), testing::EndsWith("began\nmlx5_2 1 3 ::ffff:10.0.0.5\nmlx5_2 1 4 fd00::5\n"));
  const int before = asked;
  ASSERT_TRUE(Write());
  EXPECT_EQ(asked, before) << "it has all";
}

TEST_F(LibraryFilesTest, GidsThatNeverComeAreLookedForLessAndLess) {
  using std::chrono::minutes;
  using std::chrono::seconds;
  Prepared("vf0");
  ports = {{.rdma = "mlx5_2", .own_gids = {"::ffff:10.0.0.5"}}};
  Attach(1, "train-0", "vf0");
  const Deadline began = now;
  const auto asked_until = [&](Clock::duration end) {
    const int before = asked;
    for (; now < began + end; now += seconds(30)) EXPECT_TRUE(Write());
    return asked - before;
  };
  EXPECT_EQ(asked_until(minutes(1)), 2) << "at first by each call";
  EXPECT_EQ(asked_until(minutes(16)), 4) << "after 1, 2, 4 and 8 minutes";
  EXPECT_EQ(asked_until(minutes(76)), 6) << "then every ten minutes";
  ports[0].gids = {{3, "::ffff:10.0.0.5", "RoCE v2"}};
  EXPECT_EQ(asked_until(minutes(86)), 1) << "they have come";
  EXPECT_EQ(asked_until(minutes(200)), 0);
  view.attachments[0].attachment.id = 2;
  EXPECT_EQ(asked_until(minutes(201)), 1) << "other attachments are asked for at once";
}

TEST_F(LibraryFilesTest, EachDeviceOfOneAllocationHasThem) {
  EXPECT_EQ(files.Prepare({"vf0", "vf1"}).value_or(""), folder.path() + "/libs/vf0");
  Attach(1, "train-0", "vf0");
  Attach(2, "train-0", "vf1");
  ASSERT_TRUE(Write());
  EXPECT_THAT(Conf(folder.path() + "/libs/vf0"), HasSubstr("ml/train-0"));
  EXPECT_THAT(Conf(folder.path() + "/libs/vf1"), HasSubstr("ml/train-0"));
}

TEST_F(LibraryFilesTest, AfterARestartThePodsThatRunGetThemAgain) {
  const std::string a = Prepared("vf0");
  Attach(1, "train-0", "vf0");
  ASSERT_TRUE(Write());
  std::filesystem::remove(a + "/nccl.conf");
  LibraryFiles anew(folder.path() + "/libs");
  ASSERT_TRUE(anew.Write(view, [](const inspect::LibsQuestion&) { return inspect::LibsAnswer(); }, now));
  EXPECT_TRUE(std::filesystem::exists(a + "/nccl.conf"));
}

}  // namespace
}  // namespace rail::raild
