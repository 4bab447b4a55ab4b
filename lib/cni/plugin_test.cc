#include "lib/cni/plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/cni/testing/request.h"

namespace rail::cni {
namespace {

using nlohmann::json;
using testing::AddEnvironment;
using testing::Environment;
using ::testing::HasSubstr;
using testing::MakeRequest;
using testing::Ran;
using testing::RunPlugin;

constexpr const char* kConfig = R"({"cniVersion": "1.1.0", "name": "rail0", "type": "sample"})";

// Answers every verb, and counts.
struct Sample {
  int calls = 0;
  Plugin plugin{.name = "sample",
                .about = "sample plugin",
                .add = [this](const Request& request) -> Outcome<std::string> {
                  ++calls;
                  return R"({"cniVersion":")" + request.cni_version + R"("})";
                },
                .del = [this](const Request&) { return Count(); },
                .check = [this](const Request&) { return Count(); },
                .gc = [this](const Request&) { return Count(); },
                .status = [this](const Request&) { return Count(); }};

  Outcome<void> Count() {
    ++calls;
    return {};
  }
  Ran Run(const Environment& environment, const std::string& config) {
    return RunPlugin(plugin, environment, config);
  }
};

std::string ConfigOf(const std::string& version) {
  return R"({"name": "rail0", "cniVersion": ")" + version + "\"}";
}

// One refusal: what is put over a good ADD, and the error document that must come out.
struct Refusal {
  std::string name;
  Environment changes;
  std::string config;
  unsigned code;
  std::string msg;
  std::string details;  // looked for inside
};

void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.name;
}

std::string NameOf(const ::testing::TestParamInfo<Refusal>& instance) {
  return instance.param.name;
}

class Refused : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refused, WithCodeAndMessage) {
  const Refusal& refusal = GetParam();
  Environment environment = AddEnvironment();
  for (const auto& [name, value] : refusal.changes) environment[name] = value;
  Sample sample;
  const Ran ran = sample.Run(environment, refusal.config);
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(sample.calls, 0);
  const json document = json::parse(ran.out);
  EXPECT_EQ(document["code"], refusal.code);
  EXPECT_THAT(document["msg"].get<std::string>(), HasSubstr(refusal.msg));
  EXPECT_THAT(document.value("details", ""), HasSubstr(refusal.details));
  EXPECT_TRUE(IsSupported(document["cniVersion"].get<std::string>()));
}

const std::string kAllOurs = R"(plugin supports ["0.3.0" "0.3.1" "0.4.0" "1.0.0" "1.1.0"])";
const std::string kDeep = std::string(40, '[') + std::string(40, ']');
const std::string kNonUtf8 = "{\"cniVersion\": \"1.0.0\", \"name\": \"rail0\", \"x\": \"\xff\"}";

const Refusal kEnvironment[] = {
    {"NothingButTheCommand",
     {{"CNI_CONTAINERID", ""}, {"CNI_NETNS", ""}, {"CNI_IFNAME", ""}, {"CNI_PATH", ""}},
     kConfig,
     4,
     "required env variables [CNI_CONTAINERID,CNI_NETNS,CNI_IFNAME,CNI_PATH] missing",
     ""},
    {"SomeMissing",
     {{"CNI_NETNS", ""}, {"CNI_PATH", ""}},
     kConfig,
     4,
     "required env variables [CNI_NETNS,CNI_PATH] missing",
     ""},
    {"CheckNeedsNetns", {{"CNI_COMMAND", "CHECK"}, {"CNI_NETNS", ""}}, kConfig, 4, "[CNI_NETNS] missing", ""},
    {"DelNeedsIfname",
     {{"CNI_COMMAND", "DEL"}, {"CNI_NETNS", ""}, {"CNI_IFNAME", ""}},
     kConfig,
     4,
     "[CNI_IFNAME] missing",
     ""},
    {"GcNeedsPath", {{"CNI_COMMAND", "GC"}, {"CNI_PATH", ""}}, kConfig, 4, "[CNI_PATH] missing", ""},
    {"StatusNeedsPath", {{"CNI_COMMAND", "STATUS"}, {"CNI_PATH", ""}}, kConfig, 4, "[CNI_PATH] missing", ""},
    {"ContainerIdWithSlash",
     {{"CNI_CONTAINERID", "../c1"}},
     kConfig,
     4,
     "invalid characters in containerID",
     "../c1"},
    {"ContainerIdWithNewline",
     {{"CNI_CONTAINERID", "c1\n"}},
     kConfig,
     4,
     "invalid characters in containerID",
     "c1"},
    {"ContainerIdThatStartsWithDot",
     {{"CNI_CONTAINERID", ".c1"}},
     kConfig,
     4,
     "invalid characters in containerID",
     ".c1"},
    {"WrongBeforeMissing",
     {{"CNI_CONTAINERID", "-"}, {"CNI_PATH", ""}},
     kConfig,
     4,
     "invalid characters in containerID",
     "-"},
    {"IfnameTooLong",
     {{"CNI_IFNAME", "a234567890123456"}},
     kConfig,
     4,
     "interface name is too long",
     "less than 16 characters"},
    {"IfnameDot", {{"CNI_IFNAME", "."}}, kConfig, 4, "interface name is . or ..", ""},
    {"IfnameDotDot", {{"CNI_IFNAME", ".."}}, kConfig, 4, "interface name is . or ..", ""},
    {"IfnameSlash",
     {{"CNI_IFNAME", "a/b"}},
     kConfig,
     4,
     "interface name contains / or : or whitespace characters",
     ""},
    {"IfnameColon",
     {{"CNI_IFNAME", "a:b"}},
     kConfig,
     4,
     "interface name contains / or : or whitespace characters",
     ""},
    {"IfnameSpace",
     {{"CNI_IFNAME", "a b"}},
     kConfig,
     4,
     "interface name contains / or : or whitespace characters",
     ""},
    {"IfnameNewline",
     {{"CNI_IFNAME", "net1\n"}},
     kConfig,
     4,
     "interface name contains / or : or whitespace characters",
     ""},
    {"IfnameNoBreakSpace", {{"CNI_IFNAME", "a\xc2\xa0"}}, kConfig, 4, "whitespace characters", ""},
    {"IfnameIdeographicSpace", {{"CNI_IFNAME", "a\xe3\x80\x80"}}, kConfig, 4, "whitespace characters", ""},
    {"IfnameEscape",
     {{"CNI_IFNAME", "a\x1b[2J"}},
     kConfig,
     4,
     "interface name contains control characters",
     ""},
    {"UnknownCommand", {{"CNI_COMMAND", "REMOVE"}}, kConfig, 4, "unknown CNI_COMMAND: REMOVE", ""},
    {"CommandInLowerCase", {{"CNI_COMMAND", "add"}}, kConfig, 4, "unknown CNI_COMMAND: add", ""},
    {"UnknownCommandAfterTheConfiguration",
     {{"CNI_COMMAND", "REMOVE"}},
     "{",
     6,
     "error unmarshall network config",
     ""},
    {"TwoNamespaces",
     {{"CNI_ARGS", "K8S_POD_NAMESPACE=a;IP=1.2.3.4;K8S_POD_NAMESPACE=b"}},
     kConfig,
     4,
     "two namespaces",
     "\"a\" and \"b\""},
};
INSTANTIATE_TEST_SUITE_P(Environment, Refused, ::testing::ValuesIn(kEnvironment), NameOf);

const Refusal kConfigs[] = {
    {"Empty", {}, "", 6, "error unmarshall network config", ""},
    {"NotJson", {}, "{\"name\"", 6, "error unmarshall network config: not JSON: line 1", ""},
    {"TwoDocuments", {}, std::string(kConfig) + "{}", 6, "not JSON", ""},
    {"List", {}, "[]", 6, "must be an object, not array", ""},
    {"TooDeep", {}, R"({"name": "rail0", "x": )" + kDeep + "}", 6, "nested deeper than 32", ""},
    {"DuplicateKey", {}, R"({"name": "rail0", "name": "rail1"})", 6, "stands twice", ""},
    {"RawNul", {}, std::string("{\"name\": \"rail0\0\"}", 17), 6, "not JSON", ""},
    {"NotUtf8", {}, kNonUtf8, 6, "not JSON", ""},
    {"TooLarge",
     {},
     R"({"name": "rail0", "x": ")" + std::string(1 << 20, 'x') + "\"}",
     6,
     "1048576 bytes",
     ""},
    {"NoName", {}, R"({"cniVersion": "1.0.0"})", 7, "missing network name", ""},
    {"EmptyName", {}, R"({"cniVersion": "1.0.0", "name": ""})", 7, "missing network name", ""},
    {"NameIsNumber", {}, R"({"cniVersion": "1.0.0", "name": 1})", 6, "name must be a string, not number", ""},
    {"NameWithSlash",
     {},
     R"({"cniVersion": "1.0.0", "name": "a/b"})",
     7,
     "invalid characters found in network name",
     "a/b"},
    {"NameWithNul",
     {},
     R"({"cniVersion": "1.0.0", "name": "a\u0000b"})",
     7,
     "invalid characters found in network name",
     ""},
    {"NameWithNewline",
     {},
     R"({"cniVersion": "1.0.0", "name": "a\n"})",
     7,
     "invalid characters found in network name",
     ""},
    {"LongNameWithSpace",
     {},
     R"({"cniVersion": "1.0.0", "name": ")" + std::string(1000000, 'n') + " \"}",
     7,
     "invalid characters",
     ""},
    {"VersionIsNumber", {}, R"({"cniVersion": 1.0, "name": "rail0"})", 6, "cniVersion must be a string", ""},
    {"PrevResultIsText",
     {},
     R"({"cniVersion": "1.0.0", "name": "rail0", "prevResult": "x"})",
     7,
     "prevResult must be an object",
     ""},
    {"DeviceIsNumber",
     {},
     R"({"cniVersion": "1.0.0", "name": "rail0", "deviceID": 7})",
     7,
     "deviceID must be a string",
     ""},
    {"OtherDeviceOfThePod",
     {},
     R"({"cniVersion": "1.0.0", "name": "rail0", "deviceID": "0000:03:00.2", "runtimeConfig": {"deviceID": "0000:99:00.7"}})",
     7,
     "a device that was not allocated",
     "runtimeConfig.deviceID is \"0000:99:00.7\" and deviceID is \"0000:03:00.2\""},
    {"DeviceOfThePodAlone",
     {},
     R"({"cniVersion": "1.0.0", "name": "rail0", "runtimeConfig": {"deviceID": "0000:99:00.7"}})",
     7,
     "a device that was not allocated",
     "deviceID is \"\""},
};
INSTANTIATE_TEST_SUITE_P(Config, Refused, ::testing::ValuesIn(kConfigs), NameOf);

const Environment kCheck = {{"CNI_COMMAND", "CHECK"}};
const Environment kGc = {{"CNI_COMMAND", "GC"}};
const Environment kStatus = {{"CNI_COMMAND", "STATUS"}};
const Refusal kVersions[] = {
    {"NoVersion",
     {},
     R"({"name": "rail0"})",
     1,
     "incompatible CNI versions",
     "config is \"0.1.0\", " + kAllOurs +
         "; the key \"cniVersion\" of the network's configuration is missing"},
    {"EmptyVersion",
     {},
     ConfigOf(""),
     1,
     "incompatible CNI versions",
     "config is \"0.1.0\", " + kAllOurs +
         "; the key \"cniVersion\" of the network's configuration is missing"},
    {"CheckWithoutAVersion", kCheck, R"({"name": "rail0"})", 1, "config version does not allow CHECK",
     "\"cniVersion\" of the network's configuration is missing"},
    {"Older", {}, ConfigOf("0.2.0"), 1, "incompatible CNI versions", "config is \"0.2.0\", " + kAllOurs},
    {"Newer", {}, ConfigOf("1.2.0"), 1, "incompatible CNI versions", "config is \"1.2.0\", " + kAllOurs},
    {"TextAndNotNumber",
     {},
     ConfigOf("1.0"),
     1,
     "incompatible CNI versions",
     "config is \"1.0\", " + kAllOurs},
    {"AddUnparsable", {}, ConfigOf("abc"), 1, "incompatible CNI versions", "config is \"abc\""},
    {"CheckUnparsable", kCheck, ConfigOf("abc"), 6,
     R"(failed to convert major version part "abc": strconv.Atoi: parsing "abc": invalid syntax)", ""},
    {"GcUnparsable", kGc, ConfigOf("1.x"), 6,
     R"(failed to convert minor version part "x": strconv.Atoi: parsing "x": invalid syntax)", ""},
    {"StatusUnparsable", kStatus, ConfigOf("1.1."), 6,
     R"(failed to convert micro version part "": strconv.Atoi: parsing "": invalid syntax)", ""},
    {"StatusTooManyParts", kStatus, ConfigOf("1.1.0.0"), 6, R"(invalid version "1.1.0.0": too many parts)",
     ""},
    {"StatusHugeNumber", kStatus, ConfigOf("99999999999999999999"), 6, "value out of range", ""},
    {"CheckTooOld", kCheck, ConfigOf("0.3.1"), 1, "config version does not allow CHECK", ""},
    {"GcTooOld", kGc, ConfigOf("1.0.0"), 1, "config version does not allow GC", ""},
    {"StatusTooOld", kStatus, ConfigOf("0.4.0"), 1, "config version does not allow STATUS", ""},
    {"CheckTooNew", kCheck, ConfigOf("1.2.0"), 1, "plugin version does not allow CHECK", ""},
    {"GcTooNew", kGc, ConfigOf("2.0.0"), 1, "plugin version does not allow GC", ""},
    {"CheckBetween", kCheck, ConfigOf("0.5.0"), 1, "incompatible CNI versions", "config is \"0.5.0\""},
};
INSTANTIATE_TEST_SUITE_P(Version, Refused, ::testing::ValuesIn(kVersions), NameOf);

TEST(Run, AnswersVersionWithoutReadingInput) {
  Sample sample;
  const Ran ran = sample.Run({{"CNI_COMMAND", "VERSION"}}, "\xff not JSON");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, R"({"cniVersion":"1.1.0","supportedVersions":["0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]})"
                     "\n");
  EXPECT_EQ(ran.err, "");
}

TEST(Run, PrintsAboutOnStderrWithoutACommand) {
  Sample sample;
  const Ran ran = sample.Run({}, "");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "sample plugin\nCNI protocol versions supported: 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0\n");
}

TEST(Run, AddPrintsOneDocumentInTheVersionOfTheConfig) {
  Sample sample;
  for (const std::string& version : SupportedVersions()) {
    const Ran ran = sample.Run(AddEnvironment(), ConfigOf(version));
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(json::parse(ran.out)["cniVersion"], version);
  }
}

TEST(Run, OtherVerbsSucceedSilently) {
  Sample sample;
  for (const char* command : {"DEL", "CHECK", "GC", "STATUS"}) {
    Environment environment = AddEnvironment();
    environment["CNI_COMMAND"] = command;
    const Ran ran = sample.Run(environment, kConfig);
    EXPECT_EQ(ran.status, 0) << command;
    EXPECT_EQ(ran.out, "");
  }
  EXPECT_EQ(sample.calls, 4);
}

TEST(Run, AVerbThatIsNotSetSucceedsSilently) {
  const Plugin plugin{.name = "bare", .about = "", .add = {}, .del = {}, .check = {}, .gc = {}, .status = {}};
  for (const char* command : {"ADD", "DEL", "CHECK", "GC", "STATUS"}) {
    Environment environment = AddEnvironment();
    environment["CNI_COMMAND"] = command;
    const Ran ran = RunPlugin(plugin, environment, kConfig);
    EXPECT_EQ(ran.status, 0) << command;
    EXPECT_EQ(ran.out, "");
  }
}

TEST(Run, GcAndStatusTakeEmptyAttachmentVariables) {
  Sample sample;
  for (const char* command : {"GC", "STATUS"}) {
    const Ran ran = sample.Run({{"CNI_COMMAND", command},
                                {"CNI_CONTAINERID", ""},
                                {"CNI_NETNS", ""},
                                {"CNI_IFNAME", ""},
                                {"CNI_PATH", "/opt/cni/bin"}},
                               kConfig);
    EXPECT_EQ(ran.status, 0) << ran.out;
  }
}

TEST(Run, RefusesAddIntoOurOwnNamespace) {
  Sample sample;
  Environment environment = AddEnvironment();
  environment["CNI_NETNS"] = "/proc/self/ns/net";
  const Ran refused = sample.Run(environment, kConfig);
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(json::parse(refused.out)["code"], 8);
  EXPECT_EQ(json::parse(refused.out)["msg"],
            "plugin's netns and netns from CNI_NETNS should not be the same");
  EXPECT_EQ(sample.calls, 0);
  for (const char* yes : {"1", "true", "TRUE"}) {
    environment["CNI_NETNS_OVERRIDE"] = yes;
    EXPECT_EQ(sample.Run(environment, kConfig).status, 0) << yes;
  }
  environment["CNI_NETNS_OVERRIDE"] = "0";
  EXPECT_EQ(sample.Run(environment, kConfig).status, 1);
  environment.erase("CNI_NETNS_OVERRIDE");
  environment["CNI_COMMAND"] = "DEL";
  EXPECT_EQ(sample.Run(environment, kConfig).status, 0);
}

TEST(Run, PrintsAnErrorInTheVersionOfTheConfig) {
  Plugin plugin{.name = "fails", .about = "", .add = {}, .del = {}, .check = {}, .gc = {}, .status = {}};
  plugin.add = [](const Request&) -> Outcome<std::string> { return CniFail(100, "no port", "say \"why\""); };
  const Ran ran = RunPlugin(plugin, AddEnvironment(), ConfigOf("0.4.0"));
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.out, R"({"cniVersion":"0.4.0","code":100,"details":"say \"why\"","msg":"no port"})"
                     "\n");
}

TEST(Run, SaysWhenTheAnswerCannotBeWritten) {
  Sample sample;
  std::istringstream in(kConfig);
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);
  Environment environment = AddEnvironment();
  const auto getenv = [&](const char* name) {
    return environment.contains(name) ? environment[name].c_str() : nullptr;
  };
  EXPECT_EQ(cni::Run(sample.plugin, Process{.getenv = getenv, .in = in, .out = out, .err = err}), 1);
  EXPECT_THAT(err.str(), HasSubstr("cannot be written"));
}

TEST(Run, SaysWhenTheInputCannotBeRead) {
  Sample sample;
  std::istringstream in(kConfig);
  in.setstate(std::ios::badbit);
  std::ostringstream out;
  std::ostringstream err;
  Environment environment = AddEnvironment();
  const auto getenv = [&](const char* name) {
    return environment.contains(name) ? environment[name].c_str() : nullptr;
  };
  EXPECT_EQ(cni::Run(sample.plugin, Process{.getenv = getenv, .in = in, .out = out, .err = err}), 1);
  EXPECT_EQ(json::parse(out.str())["code"], 5);
}

TEST(Request, HoldsWhatTheRuntimeSaid) {
  const std::string config =
      R"({"cniVersion": "1.0.0", "name": "rail0", "deviceID": "0000:03:00.2", "unknown": [1],
      "runtimeConfig": {"deviceID": "0000:03:00.2"}, "prevResult": {"cniVersion": "1.0.0"}})";
  const Request request = MakeRequest(
      "ADD", config,
      {{"CNI_PATH", "/opt/cni/bin::/usr/lib/cni"},
       {"CNI_ARGS", "IgnoreUnknown=1;K8S_POD_NAMESPACE=team-a;K8S_POD_NAME=p;K8S_POD_UID=u;IP=1.2.3.4"}});
  EXPECT_EQ(request.command, "ADD");
  EXPECT_EQ(request.container_id, "c1");
  EXPECT_EQ(request.ifname, "net1");
  EXPECT_THAT(request.path, ::testing::ElementsAre("/opt/cni/bin", "/usr/lib/cni"));
  EXPECT_EQ(request.pod.pod_namespace, "team-a");
  EXPECT_EQ(request.pod.name, "p");
  EXPECT_EQ(request.pod.uid, "u");
  EXPECT_EQ(request.network, "rail0");
  EXPECT_EQ(request.cni_version, "1.0.0");
  EXPECT_EQ(request.device_id, "0000:03:00.2");
  EXPECT_EQ(request.config_text, config);
  EXPECT_EQ((*request.config)["unknown"][0], 1);
  EXPECT_EQ((*request.prev_result)["cniVersion"], "1.0.0");
}

TEST(Request, TakesARepeatedNamespaceThatDoesNotDiffer) {
  const Request request =
      MakeRequest("ADD", kConfig, {{"CNI_ARGS", "K8S_POD_NAMESPACE=a;IgnoreUnknown=1;K8S_POD_NAMESPACE=a"}});
  EXPECT_EQ(request.pod.pod_namespace, "a");
}

TEST(Request, TakesLongNames) {
  const std::string name(500000, 'n');
  EXPECT_EQ(MakeRequest("ADD", R"({"cniVersion": "1.0.0", "name": ")" + name + "\"}").network, name);
}

TEST(ParseArgs, SplitsAtTheFirstEqualsAndKeepsTheLast) {
  using Args = std::map<std::string, std::string>;
  EXPECT_EQ(ParseArgs(""), Args{});
  EXPECT_EQ(ParseArgs(";;A=1;;B=x=y;A=2;C=;D;"), (Args{{"A", "2"}, {"B", "x=y"}, {"C", ""}, {"D", ""}}));
}

TEST(CniError, HasACodeThatSaysWhatTheCallerCanDo) {
  const std::pair<Code, unsigned> codes[] = {
      {Code::kInvalid, 7},  {Code::kBusy, 11},         {Code::kTransient, 11},   {Code::kNotFound, 101},
      {Code::kExists, 102}, {Code::kUnsupported, 103}, {Code::kPermission, 104}, {Code::kInternal, kFault}};
  for (const auto& [code, cni] : codes) {
    const CniError error(Error{code, "why", 0});
    EXPECT_EQ(error.code, cni);
    EXPECT_EQ(error.msg, "why");
  }
}

TEST(PrintError, LeavesOutEmptyDetailsAndReplacesWhatIsNotUtf8) {
  EXPECT_EQ(PrintError(CniError(7, "bad \xff"), "1.0.0"),
            "{\"cniVersion\":\"1.0.0\",\"code\":7,\"msg\":\"bad \xef\xbf\xbd\"}");
}

}  // namespace
}  // namespace rail::cni
