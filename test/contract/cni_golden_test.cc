// What the three binaries answer to a runtime that asks wrongly: whole documents, byte for byte what the reference's plugin
// library says (code, msg, details), beside the version that it leaves out and the specification asks for.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/base/fd.h"
#include "test/contract/real_plugin.h"

namespace rail::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kNewest = "1.1.0";
// After the reference's words: which key in which place.
std::string Advice(const std::string& is) {
  return R"(the key "cniVersion" of the network's configuration is )" + is +
         R"(: write "cniVersion": "1.0.0" beside "name" there (in spec.config of a NetworkAttachmentDefinition))";
}

std::string Incompatible(const std::string& version, const std::string& is = "wrong") {
  return "config is \"" + version + R"(", plugin supports ["0.3.0" "0.3.1" "0.4.0" "1.0.0" "1.1.0"]; )" +
         Advice(is);
}

struct Case {
  std::string name;
  Variables changes;   // over a good ADD; "-" takes a variable away
  std::string config;  // "" that of the plugin in 1.1.0
  unsigned code;
  std::string msg;
  std::string details;
  std::string version = kNewest;  // of the answer
};

Variables GoodAdd() {
  return {{"CNI_COMMAND", "ADD"},
          {"CNI_CONTAINERID", "c1"},
          {"CNI_NETNS", "/run/netns/not-there"},
          {"CNI_IFNAME", "net1"},
          {"CNI_PATH", "/usr/lib/cni"}};
}

std::string Of(const std::string& version) {
  return R"({"cniVersion": ")" + version + R"(", "name": "rail0", "rail": "rail0"})";
}

std::vector<Case> Cases() {
  const Variables check = {{"CNI_COMMAND", "CHECK"}};
  const Variables gc = {{"CNI_COMMAND", "GC"}};
  const Variables status = {{"CNI_COMMAND", "STATUS"}};
  const std::string id = "invalid characters in containerID";
  const std::string separator = "interface name contains / or : or whitespace characters";
  const std::string incompatible = "incompatible CNI versions";
  std::vector<Case> cases = {
      // 1.1: the environment, in the order of its checks.
      {"CommandUnknown", {{"CNI_COMMAND", "REMOVE"}}, "", 4, "unknown CNI_COMMAND: REMOVE", ""},
      {"CommandInLowerCase", {{"CNI_COMMAND", "add"}}, "", 4, "unknown CNI_COMMAND: add", ""},
      {"AddWithoutAnything",
       {{"CNI_CONTAINERID", "-"}, {"CNI_NETNS", "-"}, {"CNI_IFNAME", "-"}, {"CNI_PATH", "-"}},
       "",
       4,
       "required env variables [CNI_CONTAINERID,CNI_NETNS,CNI_IFNAME,CNI_PATH] missing",
       ""},
      {"AddWithoutThree",
       {{"CNI_NETNS", "-"}, {"CNI_IFNAME", ""}, {"CNI_PATH", "-"}},
       "",
       4,
       "required env variables [CNI_NETNS,CNI_IFNAME,CNI_PATH] missing",
       ""},
      {"CheckWithoutNetns",
       {{"CNI_COMMAND", "CHECK"}, {"CNI_NETNS", "-"}},
       "",
       4,
       "required env variables [CNI_NETNS] missing",
       ""},
      {"DelWithoutIfname",
       {{"CNI_COMMAND", "DEL"}, {"CNI_NETNS", "-"}, {"CNI_IFNAME", "-"}},
       "",
       4,
       "required env variables [CNI_IFNAME] missing",
       ""},
      {"GcWithoutPath",
       {{"CNI_COMMAND", "GC"}, {"CNI_PATH", "-"}},
       "",
       4,
       "required env variables [CNI_PATH] missing",
       ""},
      {"StatusWithoutPath",
       {{"CNI_COMMAND", "STATUS"}, {"CNI_PATH", "-"}},
       "",
       4,
       "required env variables [CNI_PATH] missing",
       ""},
      {"InvalidBeforeMissing", {{"CNI_CONTAINERID", "a/b"}, {"CNI_PATH", "-"}}, "", 4, id, "a/b"},
      {"MissingBeforeInput", {{"CNI_PATH", "-"}}, "{", 4, "required env variables [CNI_PATH] missing", ""},
      {"InputBeforeCommand",
       {{"CNI_COMMAND", "REMOVE"}},
       R"({"name": "a b"})",
       7,
       "invalid characters found in network name",
       "a b"},
      // 1.8: names.
      {"ContainerIdDot", {{"CNI_CONTAINERID", ".c1"}}, "", 4, id, ".c1"},
      {"ContainerIdDash", {{"CNI_CONTAINERID", "-c1"}}, "", 4, id, "-c1"},
      {"ContainerIdSlash", {{"CNI_CONTAINERID", "../c1"}}, "", 4, id, "../c1"},
      {"ContainerIdNewline", {{"CNI_CONTAINERID", "c1\n"}}, "", 4, id, "c1\n"},
      {"ContainerIdUmlaut", {{"CNI_CONTAINERID", "c\xc3\xbc"}}, "", 4, id, "c\xc3\xbc"},
      {"IfnameLong",
       {{"CNI_IFNAME", "a234567890123456"}},
       "",
       4,
       "interface name is too long",
       "interface name should be less than 16 characters"},
      {"IfnameDot", {{"CNI_IFNAME", "."}}, "", 4, "interface name is . or ..", ""},
      {"IfnameDotDot", {{"CNI_IFNAME", ".."}}, "", 4, "interface name is . or ..", ""},
      {"IfnameSlash", {{"CNI_IFNAME", "a/b"}}, "", 4, separator, ""},
      {"IfnameColon", {{"CNI_IFNAME", "a:b"}}, "", 4, separator, ""},
      {"IfnameTab", {{"CNI_IFNAME", "a\tb"}}, "", 4, separator, ""},
      {"IfnameNewline", {{"CNI_IFNAME", "net1\n"}}, "", 4, separator, ""},
      {"IfnameNextLine", {{"CNI_IFNAME", "a\xc2\x85"}}, "", 4, separator, ""},
      {"IfnameNoBreakSpace", {{"CNI_IFNAME", "a\xc2\xa0"}}, "", 4, separator, ""},
      {"IfnameEnQuad", {{"CNI_IFNAME", "a\xe2\x80\x80"}}, "", 4, separator, ""},
      {"IfnameIdeographicSpace", {{"CNI_IFNAME", "a\xe3\x80\x80"}}, "", 4, separator, ""},
      {"NetworkMissing", {}, R"({"cniVersion": "1.0.0"})", 7, "missing network name", ""},
      {"NetworkEmpty", {}, R"({"cniVersion": "1.0.0", "name": ""})", 7, "missing network name", ""},
      {"NetworkSlash",
       {},
       R"({"cniVersion": "1.0.0", "name": "a/b"})",
       7,
       "invalid characters found in network name",
       "a/b"},
      {"NetworkNewline",
       {},
       R"({"cniVersion": "1.0.0", "name": "a\n"})",
       7,
       "invalid characters found in network name",
       "a\n"},
      // 1.4: versions.
      {"VersionOlder", {}, Of("0.2.0"), 1, incompatible, Incompatible("0.2.0")},
      {"VersionNone", {}, R"({"name": "rail0"})", 1, incompatible, Incompatible("0.1.0", "missing")},
      {"VersionNewer", {}, Of("1.2.0"), 1, incompatible, Incompatible("1.2.0")},
      {"VersionShort", {}, Of("1.0"), 1, incompatible, Incompatible("1.0")},
      {"VersionUnparsableAdd", {}, Of("abc"), 1, incompatible, Incompatible("abc")},
      {"CheckBefore040", check, Of("0.3.1"), 1, "config version does not allow CHECK", "", "0.3.1"},
      {"GcBefore110", gc, Of("1.0.0"), 1, "config version does not allow GC", "", "1.0.0"},
      {"StatusBefore110", status, Of("0.4.0"), 1, "config version does not allow STATUS", "", "0.4.0"},
      {"CheckNewer", check, Of("1.2.0"), 1, "plugin version does not allow CHECK", Advice("wrong")},
      {"CheckWithoutAVersion", check, R"({"name": "rail0"})", 1, "config version does not allow CHECK",
       Advice("missing")},
      {"GcNewer", gc, Of("2.0.0"), 1, "plugin version does not allow GC", Advice("wrong")},
      {"StatusNewer", status, Of("1.1.1"), 1, "plugin version does not allow STATUS", Advice("wrong")},
      // 1.5, 1.7: results.
      {"CheckWithoutResult", check, Of("1.0.0"), 7, "Required prevResult missing",
       "CHECK compares with the result of ADD, which the runtime keeps", "1.0.0"},
      {"PrevResultOfAnUnknownVersion", check,
       R"({"cniVersion": "1.0.0", "name": "rail0", "rail": "rail0", "prevResult": {"cniVersion": "9.9.9"}})",
       7,
       R"(invalid network config: prevResult: cniVersion: a result of version "9.9.9" cannot be read, only ["0.3.0" "0.3.1" "0.4.0" "1.0.0" "1.1.0"])",
       "", "1.0.0"},
  };
  for (const auto& [verb, name] :
       std::map<std::string, std::string>{{"CHECK", "Check"}, {"GC", "Gc"}, {"STATUS", "Status"}}) {
    cases.push_back(
        {"VersionUnparsable" + name,
         {{"CNI_COMMAND", verb}},
         Of("abc"),
         6,
         R"(failed to convert major version part "abc": strconv.Atoi: parsing "abc": invalid syntax)",
         Advice("wrong")});
  }
  return cases;
}

std::string Identifier(std::string name) {
  std::erase(name, '-');
  return name;
}

class A01_Golden : public ::testing::TestWithParam<std::tuple<std::string, Case>> {};

TEST_P(A01_Golden, TheWholeAnswer) {
  const auto& [plugin, wanted] = GetParam();
  Variables variables = GoodAdd();
  for (const auto& [name, value] : wanted.changes) {
    if (value == "-") {
      variables.erase(name);
    } else {
      variables[name] = value;
    }
  }
  const Ran ran = RunBinary(plugin, variables, wanted.config.empty() ? Of(kNewest) : wanted.config);
  EXPECT_EQ(ran.status, 1);
  json document = {{"cniVersion", wanted.version}, {"code", wanted.code}, {"msg", wanted.msg}};
  if (!wanted.details.empty()) document["details"] = wanted.details;
  EXPECT_EQ(ran.out, document.dump() + "\n") << "one document on stdout, and nothing else";
}
INSTANTIATE_TEST_SUITE_P(Of, A01_Golden,
                         ::testing::Combine(::testing::ValuesIn(AllPlugins()), ::testing::ValuesIn(Cases())),
                         [](const auto& instance) {
                           return Identifier(std::get<0>(instance.param)) + "_" +
                                  std::get<1>(instance.param).name;
                         });

class A01_Binary : public ::testing::TestWithParam<std::string> {
 protected:
  static json ErrorOf(const Ran& ran) {
    EXPECT_EQ(ran.status, 1) << ran.out;
    return json::parse(ran.out, nullptr, false);
  }
};
INSTANTIATE_TEST_SUITE_P(Of, A01_Binary, ::testing::ValuesIn(AllPlugins()),
                         [](const auto& instance) { return Identifier(instance.param); });

TEST_P(A01_Binary, VersionPrintsOneDocumentWhateverElseIsWrong) {
  const Ran ran = RunBinary(
      GetParam(), {{"CNI_COMMAND", "VERSION"}, {"CNI_CONTAINERID", "/"}, {"CNI_IFNAME", ".."}}, "\xff{");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, R"({"cniVersion":"1.1.0","supportedVersions":["0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]})"
                     "\n");
  EXPECT_EQ(ran.err, "");
}

TEST_P(A01_Binary, WithoutACommandItTellsAPersonWhatItIs) {
  const Ran ran = RunBinary(GetParam(), {}, "");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr(GetParam()));
  EXPECT_THAT(ran.err, HasSubstr("CNI protocol versions supported: 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0\n"));
}

TEST_P(A01_Binary, WhatIsNotJsonIsCode6AndNamesThePlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not JSON"},
      {"{", "line 1"},
      {"[]", "must be an object, not array"},
      {"null", "not null"},
      {"{}{}", "not JSON"},
      {R"({"name": 1})", "name must be a string, not number"},
      {R"({"name": "n", "cniVersion": 1})", "cniVersion must be a string"},
      {R"({"name": "a", "name": "b"})", "stands twice"}};
  for (const auto& [config, said] : cases) {
    const json error = ErrorOf(RunBinary(GetParam(), GoodAdd(), config));
    EXPECT_EQ(error["code"], 6) << config;
    EXPECT_THAT(error["msg"].get<std::string>(), HasSubstr("error unmarshall network config"));
    EXPECT_THAT(error["msg"].get<std::string>(), HasSubstr(said));
  }
}

TEST_P(A01_Binary, AnInputThatCannotBeReadIsCode5) {
  const Fd folder(::open("/", O_RDONLY | O_CLOEXEC));  // read(2) says EISDIR
  const Ran ran = RunBinaryOn(GetParam(), GoodAdd(), folder.get());
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.out, R"({"cniVersion":"1.1.0","code":5,"msg":"error reading from stdin"})"
                     "\n");
}

// Section 1.6: no code that suppresses the clean-up, whatever is wrong.
TEST_P(A01_Binary, NeverSaysThatNoDelIsNeeded) {
  for (const char* command : {"ADD", "CHECK", "DEL", "GC", "STATUS"}) {
    Variables variables = GoodAdd();
    variables["CNI_COMMAND"] = command;
    const Ran ran =
        RunBinary(GetParam(), variables,
                  R"({"cniVersion": "1.1.0", "name": "n", "rail": "r", "deviceID": "d", "prevResult": {}})");
    if (ran.status == 0) continue;
    const json error = ErrorOf(ran);
    EXPECT_NE(error["code"], 3) << command;
    EXPECT_FALSE(error["msg"].get<std::string>().empty());
  }
}

TEST_P(A01_Binary, A02_RefusesItsOwnNamespaceBeforeItActs) {
  Variables variables = GoodAdd();
  variables["CNI_NETNS"] = "/proc/self/ns/net";
  const std::string config =
      R"({"cniVersion": "1.0.0", "name": "rail0", "rail": "rail0", "deviceID": "vf0", "prevResult": {}})";
  const Ran refused = RunBinary(GetParam(), variables, config);
  EXPECT_EQ(
      refused.out,
      R"({"cniVersion":"1.0.0","code":8,"msg":"plugin's netns and netns from CNI_NETNS should not be the same"})"
      "\n");
  EXPECT_EQ(refused.status, 1);
  // node.json is not there: who comes to it has passed the check.
  for (const char* yes : {"1", "true", "TRUE"}) {
    variables["CNI_NETNS_OVERRIDE"] = yes;
    EXPECT_THAT(ErrorOf(RunBinary(GetParam(), variables, config))["msg"].get<std::string>(),
                HasSubstr("node.json"))
        << yes;
  }
}

// Input made to break: no crash, one document, and an error that names the key or the place.
struct Hostile {
  std::string name;
  std::string config;
  std::string named;
};

std::vector<Hostile> HostileConfigs() {
  const auto with = [](const std::string& key, const std::string& value) {
    return R"({"cniVersion": "1.0.0", "name": "rail0", "rail": "rail0", ")" + key + "\": " + value + "}";
  };
  const std::string megabyte(1000000, 'n');
  const auto text = [](const std::string& content) { return "\"" + content + "\""; };
  return {
      {"ListBomb", with("x", std::string(100000, '[')), "nested deeper than 32"},
      {"ObjectBomb", std::string(100000, '{'), "line 1"},
      {"BalancedBomb", with("prevResult", std::string(40, '[') + std::string(40, ']')),
       "nested deeper than 32"},
      {"TwoMebibytes", with("x", text(std::string(2 << 20, 'x'))), "1048576 bytes"},
      {"NameOfAMegabyteWithABlank", R"({"cniVersion": "1.0.0", "name": ")" + megabyte + " \"}",
       "network name"},
      {"VersionOfAMegabyte", R"({"name": "n", "cniVersion": ")" + megabyte + "\"}",
       "incompatible CNI versions"},
      {"InvalidUtf8", with("x", "\"\xff\xfe\""), "not JSON"},
      {"OverlongUtf8", with("x", "\"\xc0\x80\""), "not JSON"},
      {"SurrogateAlone", with("x", R"("\ud800")"), "not JSON"},
      {"NulByte", with("x", std::string("\"a\0b\"", 5)), "not JSON"},
      {"NulInTheName", R"({"cniVersion": "1.0.0", "name": "a\u0000b"})", "network name"},
      {"NameTwice", R"({"name": "a", "cniVersion": "1.0.0", "name": "b"})", "stands twice"},
      {"HugeExponent", with("x", "1e999"), "not JSON"},
      {"PrevResultIsAList", with("prevResult", "[]"), "prevResult"},
      {"PrevResultIndexOf64Bits",
       with(
           "prevResult",
           R"({"interfaces": [{"name": "a"}], "ips": [{"address": "10.0.0.1/32", "interface": 18446744073709551615}]})"),
       "ips[0].interface"},
      {"PrevResultMtuOf64Bits",
       with("prevResult", R"({"interfaces": [{"name": "a", "mtu": 18446744073709551616}]})"),
       "interfaces[0].mtu"},
      {"PrevResultTableNegative", with("prevResult", R"({"routes": [{"dst": "10.0.0.0/8", "table": -1}]})"),
       "routes[0].table"},
      {"PrevResultPrefix", with("prevResult", R"({"ips": [{"address": "10.0.0.1/4294967328"}]})"),
       "ips[0].address"},
      {"DeviceIsANumber", with("deviceID", "18446744073709551615"), "deviceID"},
      {"DeviceIsAnObject", with("deviceID", "{}"), "deviceID"},
      {"RuntimeDeviceOfAMegabyte", with("runtimeConfig", R"({"deviceID": ")" + megabyte + "\"}"),
       "runtimeConfig.deviceID"},
  };
}

TEST_P(A01_Binary, A15_HostileConfigurationsAreRefusedByTheNameOfTheKey) {
  for (const Hostile& hostile : HostileConfigs()) {
    SCOPED_TRACE(hostile.name);
    const Ran ran = RunBinary(GetParam(), GoodAdd(), hostile.config);
    const json error = ErrorOf(ran);
    ASSERT_TRUE(error.is_object()) << ran.out.substr(0, 200);
    EXPECT_THAT(error["msg"].get<std::string>() + error.value("details", ""), HasSubstr(hostile.named));
    EXPECT_THAT(ran.err, Not(HasSubstr("fault of its own")));
  }
}

TEST_P(A01_Binary, A15_HostileVariablesAreRefusedOrIgnored) {
  const std::string large(100000, 'a');
  const std::pair<Variables, std::string> cases[] = {
      {{{"CNI_CONTAINERID", large + "/"}}, "containerID"},
      {{{"CNI_CONTAINERID", "\xff"}}, "containerID"},
      {{{"CNI_IFNAME", large}}, "interface name is too long"},
      {{{"CNI_IFNAME", "a\x1b]0;x"}}, "interface name contains control characters"},
      {{{"CNI_ARGS", "K8S_POD_NAMESPACE=a;" + large + ";K8S_POD_NAMESPACE=b"}},
       "CNI_ARGS names two namespaces"},
      {{{"CNI_ARGS", "K8S_POD_UID=1;;=;;K8S_POD_UID=2=3"}}, "CNI_ARGS names two pods"},
      // What is only strange goes on to the node's configuration, which is not there.
      {{{"CNI_ARGS", std::string(100000, ';')}}, ""},
      {{{"CNI_ARGS", "=;==;\xff=\xff;" + large}}, ""},
      {{{"CNI_CONTAINERID", large}}, ""},
      {{{"CNI_NETNS", large}}, ""},
      {{{"CNI_PATH", std::string(100000, ':')}}, ""}};
  for (const auto& [changes, named] : cases) {
    Variables variables = GoodAdd();
    for (const auto& [name, value] : changes) variables[name] = value;
    const json error = ErrorOf(
        RunBinary(GetParam(), variables, R"({"cniVersion": "1.0.0", "name": "n", "rail": "r", "deviceID": "d",
                                                                    "prevResult": {}})"));
    ASSERT_TRUE(error.is_object());
    EXPECT_THAT(error["msg"].get<std::string>(), HasSubstr(named.empty() ? "node.json" : named));
  }
}

TEST_P(A01_Binary, A18_AnErrorOfDelHasNoWordThatEndsTheRetries) {
  Variables variables = GoodAdd();
  variables["CNI_COMMAND"] = "DEL";
  variables["CNI_CONTAINERID"] = "not found: No such file or directory";
  const Ran ran = RunBinary(GetParam(), variables, Of("1.0.0"));
  std::string text = ErrorOf(ran).dump();
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  EXPECT_THAT(text, Not(HasSubstr("not found")));
  EXPECT_THAT(text, Not(HasSubstr("no such file or directory")));
  EXPECT_THAT(text, HasSubstr("it is not there"));
}

// Whatever the runtime has of the configuration: only the record knows what there is to undo.
TEST_P(A01_Binary, A05_DelSucceedsSilentlyWithAnyInput) {
  Variables variables = GoodAdd();
  variables["CNI_COMMAND"] = "DEL";
  for (const std::string& in :
       {std::string(), std::string("{"), std::string("[]"), std::string("{}"), Of("1.0.0").substr(0, 30),
        std::string(R"({"name": "rail0"})"), std::string(R"({"cniVersion": 1, "name": "rail0"})"), Of("abc"),
        Of("2.0.0"), std::string(R"({"cniVersion": "1.0.0", "name": "a/b"})")}) {
    const Ran ran = RunBinary(GetParam(), variables, in);
    EXPECT_EQ(ran.status, 0) << in << ran.out;
    EXPECT_EQ(ran.out, "");
  }
  const Fd folder(::open("/", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(RunBinaryOn(GetParam(), variables, folder.get()).status, 0);
}

// What cannot be undone without the node's configuration is raild's: the runtime has nothing to repeat.
TEST_P(A01_Binary, A05_DelOnANodeThatIsNotSetUpSucceedsAndSaysWhatItCouldNotDo) {
  Variables variables = GoodAdd();
  variables["CNI_COMMAND"] = "DEL";
  const Ran ran = RunBinary(GetParam(), variables, Of("1.0.0"));
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, "");
}

}  // namespace
}  // namespace rail::testing
