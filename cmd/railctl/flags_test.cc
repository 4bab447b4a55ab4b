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
      {{"get", "tenants"}, Command::kTenants},
      {{"get", "flows"}, Command::kFlows},
      {{"check"}, Command::kCheck},
      {{"doctor"}, Command::kDoctor},
      {{"trace", "a", "10.0.0.1"}, Command::kTrace},
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

TEST(ParseFlags, TakesAPodWithItsNamespace) {
  const Parsed parsed = Parse({"trace", "ns-a/train-0", "fd00::7", "--rail", "rail1", "--protocol", "tcp",
                               "--port", "22", "--as-address", "fd00::8", "--as-mac", "02:00:00:00:00:01"});
  ASSERT_TRUE(parsed.flags) << parsed.text;
  EXPECT_EQ(parsed.flags->pod_namespace, "ns-a");
  EXPECT_EQ(parsed.flags->pod, "train-0");
  EXPECT_EQ(parsed.flags->destination, "fd00::7");
  EXPECT_EQ(parsed.flags->rail, "rail1");
  EXPECT_EQ(parsed.flags->protocol, "tcp");
  EXPECT_EQ(parsed.flags->port, 22U);
  EXPECT_EQ(parsed.flags->as_address, "fd00::8");
  EXPECT_EQ(parsed.flags->as_mac, "02:00:00:00:00:01");
  EXPECT_EQ(Parse({"check", "train-0", "-n", "ns-b"}).flags->pod_namespace, "ns-b");
}

TEST(ParseFlags, RefusesAQuestionThatCannotBeAsked) {
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"trace", "a"},
                                             {"trace", "a", "10.0.0"},
                                             {"trace", "a", "10.0.0.1", "--protocol", "arp"},
                                             {"trace", "a", "10.0.0.1", "--port", "65536"},
                                             {"trace", "a", "10.0.0.1", "--as-mac", "02"}}) {
    EXPECT_EQ(Parse(arguments).exit_code, kUsage) << arguments.back();
  }
}

TEST(ParseFlags, TakesAllOfTlsOrNone) {
  const std::vector<std::string> all = {"get", "rails",       "--server", "h:1",        "--ca-file",
                                        "ca",  "--cert-file", "c",        "--key-file", "k"};
  const Parsed parsed = Parse(all);
  ASSERT_TRUE(parsed.flags) << parsed.text;
  EXPECT_EQ(parsed.flags->server, "h:1");
  EXPECT_EQ(parsed.flags->ca_file, "ca");
  for (size_t i = 2; i < all.size(); i += 2) {
    std::vector<std::string> some = all;
    some.erase(some.begin() + static_cast<ptrdiff_t>(i), some.begin() + static_cast<ptrdiff_t>(i) + 2);
    EXPECT_EQ(Parse(some).exit_code, kUsage) << "without " << all[i];
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
