#include "cmd/railctl/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rail::railctl {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Parsed Parse(std::vector<std::string> arguments) {
  return ParseFlags(std::move(arguments), "/default.sock");
}

TEST(ParseFlags, TakesTheDefaultsWhereNothingIsSaid) {
  const Parsed parsed = Parse({"get", "rails"});
  ASSERT_TRUE(parsed.flags) << parsed.text;
  EXPECT_EQ(parsed.flags->command, Command::kRails);
  EXPECT_EQ(parsed.flags->format, Format::kTable);
  EXPECT_EQ(parsed.flags->socket, "/default.sock");
}

TEST(ParseFlags, TakesGlobalOptionsBeforeAndAfterTheCommand) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"--socket", "/s", "-o", "json", "get", "attachments", "-n", "ml", "--rail", "rail1"},
           {"get", "attachments", "--rail", "rail1", "-o", "json", "--socket", "/s", "--namespace", "ml"}}) {
    const Parsed parsed = Parse(arguments);
    ASSERT_TRUE(parsed.flags) << parsed.text;
    EXPECT_EQ(parsed.flags->command, Command::kAttachments);
    EXPECT_EQ(parsed.flags->format, Format::kJson);
    EXPECT_EQ(parsed.flags->socket, "/s");
    EXPECT_EQ(parsed.flags->pod_namespace, "ml");
    EXPECT_EQ(parsed.flags->rail, "rail1");
  }
}

TEST(ParseFlags, KnowsEveryCommand) {
  const std::vector<std::pair<std::vector<std::string>, Command>> cases = {
      {{"get", "remotes"}, Command::kRemotes},
      {{"get", "node"}, Command::kNode},
      {{"watch"}, Command::kWatch},
      {{"health"}, Command::kHealth},
      {{"version"}, Command::kVersion}};
  for (const auto& [arguments, command] : cases) {
    const Parsed parsed = Parse(arguments);
    ASSERT_TRUE(parsed.flags) << parsed.text;
    EXPECT_EQ(parsed.flags->command, command);
  }
}

TEST(ParseFlags, GivesUsageErrorsTheirOwnExitCode) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{{},
                                                                     {"get"},
                                                                     {"get", "nodes"},
                                                                     {"get", "rails", "--rail", "rail0"},
                                                                     {"--frob"},
                                                                     {"-o", "yaml", "watch"}}) {
    const Parsed parsed = Parse(arguments);
    EXPECT_FALSE(parsed.flags);
    EXPECT_EQ(parsed.exit_code, kUsage);
    EXPECT_THAT(parsed.text, StartsWith("railctl: "));
  }
}

TEST(ParseFlags, NamesTheFormatItDoesNotKnow) {
  EXPECT_THAT(Parse({"-o", "yaml", "watch"}).text, HasSubstr("\"yaml\" is neither table nor json"));
  EXPECT_FALSE(Parse({"-o", "1", "watch"}).flags);
}

TEST(ParseFlags, ShowsHelpOnStdout) {
  const Parsed parsed = Parse({"get", "--help"});
  EXPECT_FALSE(parsed.flags);
  EXPECT_EQ(parsed.exit_code, kDone);
  EXPECT_THAT(parsed.text, HasSubstr("attachments"));
}

}  // namespace
}  // namespace rail::railctl
