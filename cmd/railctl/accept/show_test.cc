// A report out of its file, and out of the log of its pod.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cmd/railctl/accept/report.h"
#include "cmd/railctl/accept/run.h"
#include "cmd/railctl/accept/testing/sample.h"
#include "lib/base/whole_file.h"

namespace rail::accept {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Show : public ::testing::Test {
 protected:
  Show() { std::filesystem::create_directory(folder_); }
  ~Show() override { std::filesystem::remove_all(folder_); }

  Result<int> Of(const std::string& text, const Options& options = {}) {
    std::ofstream(folder_ + "/in") << text;
    out_.str("");
    return RunShow(folder_ + "/in", options, {.out = out_, .err = err_, .now_ms = [] { return 0; }});
  }

  const std::string folder_ = ::testing::TempDir() + "accept-show-" + std::to_string(::getpid());
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(Show, PrintsAReportAsItsRunHasPrintedIt) {
  std::ostringstream printed;
  PrintReport(Sample(), printing::Painter(false), printed);
  EXPECT_EQ(*Of(AsJson(Sample())), ExitCodeOf(Sample()));
  EXPECT_EQ(out_.str(), printed.str());
}

TEST_F(Show, FindsTheReportInALog) {
  std::ostringstream log;
  log << "making 4 pods\nconfiguration: 3 of 3 passed\n";
  PrintReport(Sample(), printing::Painter(false), log);
  log << AsJsonLine(Sample()) << "\nrailctl: a pod is not gone\n";
  ASSERT_TRUE(Of(log.str(), {.json = true}));
  EXPECT_EQ(out_.str(), AsJson(Sample()));
}

TEST_F(Show, WritesTheOtherForms) {
  ASSERT_TRUE(Of(AsJsonLine(Sample()),
                 {.json_file = folder_ + "/j", .junit_file = folder_ + "/x", .page_file = folder_ + "/p"}));
  EXPECT_EQ(*ReadWhole(folder_ + "/j"), AsJson(Sample()));
  EXPECT_THAT(*ReadWhole(folder_ + "/x"), StartsWith("<?xml"));
  EXPECT_THAT(*ReadWhole(folder_ + "/p"), HasSubstr("<html"));
}

TEST_F(Show, SaysThatALogHasNoReport) {
  const auto shown = Of("making 4 pods\nrailctl: no node can take the pods\n");
  ASSERT_FALSE(shown);
  EXPECT_EQ(shown.error().code, Code::kInvalid);
  EXPECT_THAT(shown.error().message, HasSubstr(folder_));
}

}  // namespace
}  // namespace rail::accept
