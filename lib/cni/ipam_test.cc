#include "lib/cni/ipam.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/cni/testing/request.h"

namespace rail::cni {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::MakeRequest;

Deadline Soon() {
  return After(std::chrono::seconds(20));
}

// IPAM plugins as shell scripts in a folder of their own, which is CNI_PATH.
class IpamTest : public ::testing::Test {
 protected:
  IpamTest() {
    char name[] = "/tmp/railcni-ipam-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~IpamTest() override { std::filesystem::remove_all(folder_); }

  // Every script logs its verb and keeps its input.
  void Install(const std::string& name, const std::string& body) {
    const std::string file = folder_ + "/" + name;
    std::ofstream(file) << "#!/bin/sh\necho \"$CNI_COMMAND\" >> " << folder_ << "/calls\ncat > " << folder_
                        << "/in.$CNI_COMMAND\n"
                        << body << "\n";
    ::chmod(file.c_str(), 0755);
  }
  std::string Read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/" + name).rdbuf();
    return text.str();
  }
  Request Make(const std::string& command, const std::string& version, const std::string& extra = "") const {
    return MakeRequest(
        command,
        R"({"cniVersion": ")" + version + R"(", "name": "n", "ipam": {"type": "x", "k": 1})" + extra + "}",
        {{"CNI_PATH", "/not-there:" + folder_}, {"CNI_ARGS", "A=1"}});
  }

  std::string folder_;
  ExecIpam ipam_;
};

constexpr const char* kGood = R"(echo '{"ips": [{"address": "10.0.0.2/24"}]}')";

TEST_F(IpamTest, AddGivesTheEnvironmentAndTheConfiguration) {
  Install("x", std::string("env > ") + folder_ + "/env\n" + kGood);
  const Request request = Make("ADD", "1.0.0");
  const auto result = ipam_.Add(request, Soon());
  ASSERT_TRUE(result) << result.error().msg;
  EXPECT_EQ(result->ips[0].address.ToString(), "10.0.0.2/24");
  EXPECT_EQ(Read("calls"), "ADD\n");
  EXPECT_EQ(Read("in.ADD"), request.config_text);
  const std::string env = "\n" + Read("env");
  for (const char* line : {"\nCNI_COMMAND=ADD\n", "\nCNI_CONTAINERID=c1\n", "\nCNI_IFNAME=net1\n",
                           "\nCNI_ARGS=A=1\n", "\nCNI_NETNS=/run/netns/not-there\n"}) {
    EXPECT_THAT(env, HasSubstr(line));
  }
  EXPECT_THAT(env, HasSubstr("\nCNI_PATH=/not-there:" + folder_ + "\n"));
}

TEST_F(IpamTest, ErrorComesBackWithItsCodeAndText) {
  Install(
      "x",
      R"(echo '{"code": 11, "msg": "no daemon", "details": "later"}'; [ $CNI_COMMAND = DEL ] && exit 0; exit 1)");
  const auto result = ipam_.Add(Make("ADD", "1.0.0"), Soon());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, 11U);
  EXPECT_EQ(result.error().msg, "ipam x: no daemon");
  EXPECT_EQ(result.error().details, "later");
  EXPECT_EQ(Read("calls"), "ADD\nDEL\n");
}

TEST_F(IpamTest, CodesThatWouldMisleadTheRuntimeBecomeAFault) {
  for (const char* code : {"0", "3", "-1", "\"7\"", "4294967296"}) {
    Install("x", std::string("echo '{\"code\": ") + code + ", \"msg\": \"gone\"}'; exit 1");
    const auto result = ipam_.Del(Make("DEL", "1.0.0"), Soon());
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, kFault) << code;
    EXPECT_EQ(result.error().msg, "ipam x: gone");
  }
}

TEST_F(IpamTest, FailureWithoutADocumentIsTold) {
  Install("x", "echo oops; exit 7");
  auto result = ipam_.Del(Make("DEL", "1.0.0"), Soon());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().msg, "ipam x: it failed with status 7 and without an error document");
  EXPECT_EQ(result.error().details, "oops\n");
  Install("x", "kill -9 $$");
  result = ipam_.Del(Make("DEL", "1.0.0"), Soon());
  EXPECT_EQ(result.error().msg, "ipam x: it was killed by signal 9");
}

TEST_F(IpamTest, AnAnswerThatIsNoResultIsFollowedByDel) {
  Install("x", R"([ $CNI_COMMAND = ADD ] && echo '{"ips": [{"address": "x"}]}'; true)");
  const auto result = ipam_.Add(Make("ADD", "1.0.0"), Soon());
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().msg, HasSubstr("ipam x: its answer is no result: result: ips[0].address"));
  EXPECT_EQ(Read("calls"), "ADD\nDEL\n");
}

TEST_F(IpamTest, AFailedDelAfterAFailedAddIsToldToo) {
  Install("x", R"(echo "{\"code\": 100, \"msg\": \"no $CNI_COMMAND\"}"; exit 1)");
  const auto result = ipam_.Add(Make("ADD", "1.0.0"), Soon());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().msg, "ipam x: no ADD");
  EXPECT_EQ(result.error().details, "the DEL after it failed too: ipam x: no DEL");
}

TEST_F(IpamTest, AsksForVersionsFirstAbove100AndCallsInTheNewestCommonOne) {
  Install(
      "x",
      R"(case $CNI_COMMAND in VERSION) echo '{"cniVersion": "1.0.0", "supportedVersions": ["0.1.0", "0.4.0", "1.0.0"]}';; ADD) echo '{"cniVersion": "1.0.0", "ips": [{"address": "10.0.0.2/24"}]}';; esac)");
  const auto result = ipam_.Add(Make("ADD", "1.1.0"), Soon());
  ASSERT_TRUE(result) << result.error().msg;
  EXPECT_EQ(Read("calls"), "VERSION\nADD\n");
  const json sent = json::parse(Read("in.ADD"));
  EXPECT_EQ(sent["cniVersion"], "1.0.0");
  EXPECT_EQ(sent["ipam"]["k"], 1);
}

TEST_F(IpamTest, ConvertsThePreviousResultWithTheVersion) {
  Install(
      "x",
      R"([ $CNI_COMMAND = VERSION ] && echo '{"cniVersion": "0.4.0", "supportedVersions": ["0.4.0"]}'; true)");
  ASSERT_TRUE(
      ipam_.Check(Make("CHECK", "1.1.0",
                       R"(, "prevResult": {"cniVersion": "1.1.0", "ips": [{"address": "10.0.0.2/24"}]})"),
                  Soon()));
  EXPECT_EQ(
      json::parse(Read("in.CHECK"))["prevResult"],
      json::parse(
          R"({"cniVersion": "0.4.0", "dns": {}, "ips": [{"address": "10.0.0.2/24", "version": "4"}]})"));
  ASSERT_TRUE(ipam_.Del(Make("DEL", "1.1.0", R"(, "prevResult": {"cniVersion": "9.9.9"})"), Soon()));
  EXPECT_FALSE(json::parse(Read("in.DEL")).contains("prevResult"));
}

TEST_F(IpamTest, CallsAtOnceInTheConfigsVersionWhenThePluginSpeaksIt) {
  Install(
      "x",
      R"([ $CNI_COMMAND = VERSION ] && echo '{"cniVersion": "1.1.0", "supportedVersions": ["1.0.0", "1.1.0"]}'; true)");
  const Request request = Make("STATUS", "1.1.0");
  ASSERT_TRUE(ipam_.Forward(request, Soon()));
  EXPECT_EQ(Read("calls"), "VERSION\nSTATUS\n");
  EXPECT_EQ(Read("in.STATUS"), request.config_text);
}

TEST_F(IpamTest, AsksForVersionsAfterCode1) {
  Install(
      "x",
      R"(case $CNI_COMMAND in
    VERSION) echo '{"cniVersion": "0.4.0", "supportedVersions": ["0.3.1", "0.4.0"]}';;
    ADD) if grep -q '"cniVersion":"0.4.0"' )" +
          folder_ +
          R"(/in.ADD; then echo '{"cniVersion": "0.4.0", "ips": [{"version": "4", "address": "10.0.0.2/24"}]}'; else echo '{"code": 1, "msg": "incompatible CNI versions"}'; exit 1; fi;; esac)");
  const auto result = ipam_.Add(Make("ADD", "1.0.0"), Soon());
  ASSERT_TRUE(result) << result.error().msg;
  EXPECT_EQ(Read("calls"), "ADD\nVERSION\nADD\n");
}

TEST_F(IpamTest, SaysBothListsWhenNoVersionIsCommon) {
  Install(
      "x",
      R"([ $CNI_COMMAND = VERSION ] && echo '{"cniVersion": "0.2.0", "supportedVersions": ["0.1.0", "0.2.0"]}'; true)");
  const auto result = ipam_.Del(Make("DEL", "1.1.0"), Soon());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, 1U);
  EXPECT_EQ(result.error().details, R"(config is "1.1.0", plugin supports ["0.1.0" "0.2.0"])");
}

TEST_F(IpamTest, APluginTooOldForTheVerbHasNothingToSay) {
  Install(
      "x",
      R"(case $CNI_COMMAND in VERSION) echo '{"cniVersion": "0.3.1", "supportedVersions": ["0.3.1"]}';; *) exit 1;; esac)");
  EXPECT_TRUE(ipam_.Check(Make("CHECK", "1.1.0"), Soon()));
  EXPECT_TRUE(ipam_.Forward(Make("STATUS", "1.1.0"), Soon()));
  EXPECT_TRUE(ipam_.Forward(Make("GC", "1.1.0"), Soon()));
}

TEST_F(IpamTest, TheDeadlineKillsTheWholeProcessGroup) {
  Install("x", "sleep 300 & echo $! > " + folder_ + "/child; wait");
  const Deadline start = Clock::now();
  const auto result =
      ExecPlugin("x", {folder_}, {{"CNI_COMMAND", "DEL"}}, "{}", After(std::chrono::milliseconds(500)));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(60)) << "the plugin would take 300 s";
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, 11U);
  EXPECT_EQ(result.error().msg, "ipam x: it did not answer before the deadline, and was killed");
  const int child = std::stoi(Read("child"));
  // The orphan is reaped by init; until then it is a zombie, which is dead too.
  const Deadline end = Soon();
  std::string state;
  while (::kill(child, 0) == 0 && Clock::now() < end) {
    std::getline(std::ifstream("/proc/" + std::to_string(child) + "/stat"), state);
    if (state.find(") Z ") != std::string::npos) break;
  }
  EXPECT_LT(Clock::now(), end) << "process " << child << " still runs: " << state;
}

TEST_F(IpamTest, NothingIsRunWhenTheTimeHasPassed) {
  Install("x", "true");
  const auto result = ExecPlugin("x", {folder_}, {{"CNI_COMMAND", "DEL"}}, "{}", Clock::now());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, 11U);
  EXPECT_THAT(result.error().msg, HasSubstr("ipam x: it was not run"));
  EXPECT_EQ(Read("calls"), "");
}

TEST_F(IpamTest, AGrandchildThatKeepsStdoutOpenIsNotWaitedFor) {
  Install("x", "sleep 300 & echo $! > " + folder_ + "/child; echo '{}'");
  const Deadline start = Clock::now();
  const auto result = ExecPlugin("x", {folder_}, {{"CNI_COMMAND", "ADD"}}, "{}", Soon());
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(60)) << "the grandchild would take 300 s";
  ::kill(std::stoi(Read("child")), SIGKILL);
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, "{}\n");
}

TEST_F(IpamTest, NoChildIsLeftToReap) {
  Install("x", "true");
  ASSERT_TRUE(ExecPlugin("x", {folder_}, {}, "{}", Soon()));
  Install("late", "exec sleep 300");  // one that ends might do so before its time is looked at
  ASSERT_FALSE(ExecPlugin("late", {folder_}, {}, "{}", After(std::chrono::milliseconds(200))));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(IpamTest, TooMuchOutputIsAnError) {
  Install("x", "yes");
  const auto result = ExecPlugin("x", {folder_}, {{"CNI_COMMAND", "ADD"}}, "{}", Soon());
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().msg, HasSubstr("more than 1048576 bytes"));
}

TEST_F(IpamTest, APluginThatReadsNothingDoesNotBlockALargeConfiguration) {
  const std::string file = folder_ + "/x";
  std::ofstream(file) << "#!/bin/sh\necho '{}'\n";
  ::chmod(file.c_str(), 0755);
  EXPECT_TRUE(ExecPlugin("x", {folder_}, {}, std::string(1 << 20, ' '), Soon()));
}

TEST_F(IpamTest, ThePluginGetsOurFileAndPipeOnceEach) {
  Install("x",
          "ls -l /proc/$$/fd | grep -c memfd:cni-config; ls -l /proc/$$/fd | grep -cF \"$(readlink "
          "/proc/$$/fd/1)\"");
  const auto result = ExecPlugin("x", {folder_}, {}, "{}", Soon());
  ASSERT_TRUE(result) << result.error().msg;
  EXPECT_EQ(*result, "1\n1\n");
}

TEST_F(IpamTest, IsLookedForAsAnExecutableFileByItsBareName) {
  std::filesystem::create_directory(folder_ + "/folder");
  std::ofstream(folder_ + "/text") << "no program";
  for (const char* type : {"missing", "folder", "text"}) {
    const auto result = ExecPlugin(type, {folder_}, {}, "{}", Soon());
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, 101U);
    EXPECT_THAT(result.error().msg,
                HasSubstr("failed to find plugin \"" + std::string(type) + "\" in path [" + folder_ + "]"));
  }
  Install("x", "true");
  for (const char* type : {"", ".", "..", "./x", "/bin/true", "../x"}) {
    const auto result = ExecPlugin(type, {folder_}, {}, "{}", Soon());
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, 7U) << type;
  }
}

TEST_F(IpamTest, AMalformedIpamIsAnErrorAndNotNone) {
  const auto has = [](const std::string& ipam) {
    return MakeRequest("ADD", R"({"cniVersion": "1.0.0", "name": "n", "ipam": )" + ipam + "}");
  };
  for (const char* none : {"null", "{}", R"({"type": ""})", R"({"type": null})"})
    EXPECT_FALSE(HasIpam(has(none))) << none;
  for (const char* bad : {"[]", "\"host-local\"", R"({"type": 7})"}) {
    EXPECT_TRUE(HasIpam(has(bad))) << bad;
    const auto result = ipam_.Add(has(bad), Soon());
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, 7U);
  }
  EXPECT_FALSE(HasIpam(MakeRequest("ADD", R"({"cniVersion": "1.0.0", "name": "n"})")));
}

TEST_F(IpamTest, ReleaseWorksFromTheRecordAlone) {
  Install("x", "env > " + folder_ + "/env");
  const Request request = Make("ADD", "1.0.0");
  const auto call = IpamCall::FromJson(MakeIpamCall(request).ToJson());
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(*call, MakeIpamCall(request));
  ASSERT_TRUE(Release(*call, Soon()));
  EXPECT_EQ(Read("calls"), "DEL\n");
  EXPECT_EQ(Read("in.DEL"), request.config_text);
  EXPECT_THAT(Read("env"), HasSubstr("CNI_CONTAINERID=c1\n"));
}

TEST(IpamCall, IsReadStrictly) {
  const json good = json::parse(
      IpamCall{.type = "x", .path = {"/p"}, .environment = {{"CNI_IFNAME", "net1"}}, .config = "{}"}
          .ToJson());
  ASSERT_TRUE(IpamCall::FromJson(good.dump()));
  for (const auto& [pointer, value] : std::map<std::string, json>{{"/type", 1},
                                                                  {"/path", "x"},
                                                                  {"/path", {1}},
                                                                  {"/environment", nullptr},
                                                                  {"/environment/CNI_IFNAME", 1},
                                                                  {"/config", json::object()},
                                                                  {"/more", 1}}) {
    json bad = good;
    bad[json::json_pointer(pointer)] = value;
    const auto read = IpamCall::FromJson(bad.dump());
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().code, Code::kInvalid);
  }
  EXPECT_FALSE(IpamCall::FromJson("[]"));
  EXPECT_FALSE(IpamCall::FromJson(""));
}

}  // namespace
}  // namespace rail::cni
