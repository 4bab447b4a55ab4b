#include "lib/base/strict_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace rail {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Refusal(std::string_view text, JsonLimits limits = {}) {
  const auto document = ParseJson(text, limits);
  if (document) return "";
  EXPECT_EQ(document.error().code, Code::kInvalid);
  return document.error().message;
}

TEST(ParseJson, GivesTheDocument) {
  const auto document = ParseJson(R"({"a":[1,-2,3.5,"x",true,null],"b":{}})");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ((*document)["a"][1], -2);
  EXPECT_EQ(DumpJson(*document), R"({"a":[1,-2,3.5,"x",true,null],"b":{}})");
}

TEST(ParseJson, SaysWhereItIsBroken) {
  EXPECT_THAT(Refusal("{\n  \"a\": }"), HasSubstr("line 2, column 8"));
  EXPECT_THAT(Refusal(""), HasSubstr("line 1"));
  EXPECT_THAT(Refusal("{} {}"), HasSubstr("line 1"));
  EXPECT_NE(Refusal("{'a':1}"), "");
  EXPECT_NE(Refusal("// comment\n{}"), "");
  EXPECT_NE(Refusal("{\"a\":1,}"), "");
  EXPECT_NE(Refusal("[NaN]"), "");
  EXPECT_NE(Refusal("[1e999]"), "");
  EXPECT_NE(Refusal("\"\xff\""), "");
  EXPECT_NE(Refusal(std::string_view("{}\0{", 4)), "");
}

TEST(ParseJson, RefusesAKeyThatStandsTwiceAtAnyDepth) {
  EXPECT_THAT(Refusal(R"({"mtu":1,"mtu":2})"), HasSubstr("\"mtu\" stands twice"));
  EXPECT_THAT(Refusal(R"({"a":[{"x":1,"x":1}]})"), HasSubstr("\"x\""));
  EXPECT_THAT(Refusal(R"({"mtu":1,"\u006dtu":2})"), HasSubstr("mtu"));
  EXPECT_EQ(Refusal(R"({"a":{"x":1},"b":{"x":1},"x":1})"), "");
}

TEST(ParseJson, RefusesWhatIsTooDeepOrTooLarge) {
  const std::string deep = std::string(32, '[') + std::string(32, ']');
  EXPECT_EQ(Refusal(deep), "");
  EXPECT_THAT(Refusal("[" + deep + "]"), HasSubstr("deeper than 32"));
  EXPECT_THAT(Refusal(std::string(200000, '[')), HasSubstr("deeper"));
  EXPECT_EQ(Refusal("[1,2]", {.max_bytes = 5}), "");
  EXPECT_THAT(Refusal("[1,23]", {.max_bytes = 5}), HasSubstr("5 bytes"));
}

TEST(DumpJson, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(DumpJson(json("a\xff")), "\"a\xef\xbf\xbd\"");
}

class ReadJson : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Write(const std::string& text) {
    std::ofstream(folder_ / "file.json") << text;
    return folder_ / "file.json";
  }
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("rail-json-" + std::to_string(::getpid()));
};

TEST_F(ReadJson, GivesTheDocumentOfAFile) {
  EXPECT_EQ(ReadJsonFile(Write("{\"a\":1}"))->at("a"), 1);
}

TEST_F(ReadJson, NamesTheFileInEveryError) {
  EXPECT_THAT(ReadJsonFile(Write("{")).error().message, HasSubstr("file.json: "));
  const auto missing = ReadJsonFile(folder_ / "missing.json");
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("missing.json"));
  const auto directory = ReadJsonFile(folder_);
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().sys_errno, EISDIR);
}

TEST_F(ReadJson, ReadsNoMoreThanTheLimit) {
  EXPECT_THAT(ReadJsonFile("/dev/zero", {.max_bytes = 100}).error().message, HasSubstr("100 bytes"));
  EXPECT_TRUE(ReadJsonFile(Write("[1,2]"), {.max_bytes = 5}));
  EXPECT_FALSE(ReadJsonFile(Write("[1,23]"), {.max_bytes = 5}));
}

TEST(JsonObject, ReadsWhatIsThereAndTheFallbackElse) {
  const json document = json::parse(R"({"s":"x","u":7,"b":true,"l":["a","b"],"o":{"k":1},"n":null})");
  JsonErrors errors;
  JsonObject object(document, "", errors);
  EXPECT_EQ(object.String("s"), "x");
  EXPECT_EQ(object.StringOr("absent", "y"), "y");
  EXPECT_EQ(object.StringOr("n", "null is absent"), "null is absent");
  EXPECT_EQ(object.Uint("u", 0, 10), 7U);
  EXPECT_EQ(object.UintOr("absent", 9, 0, 10), 9U);
  EXPECT_TRUE(object.BoolOr("b", false));
  EXPECT_TRUE(object.BoolOr("absent", true));
  EXPECT_THAT(object.StringsOr("l"), ElementsAre("a", "b"));
  EXPECT_THAT(object.StringsOr("absent"), IsEmpty());
  EXPECT_NE(object.Object("o"), nullptr);
  EXPECT_NE(object.Array("l"), nullptr);
  EXPECT_EQ(object.Object("absent"), nullptr);
  EXPECT_TRUE(object.Has("s"));
  EXPECT_FALSE(object.Has("n"));
  object.RejectUnknown();
  EXPECT_TRUE(errors.ToStatus("doc")) << errors.ToStatus("doc").error().message;
}

TEST(JsonObject, TellsAllErrorsAtOnceEachWithItsPath) {
  const json document = json::parse(R"({"s":7,"b":"yes","l":["a",1],"o":[],"a":{},"extra":1})");
  JsonErrors errors;
  JsonObject object(document, "rails[0]", errors);
  EXPECT_EQ(object.String("missing"), "");
  EXPECT_EQ(object.StringOr("s", "fallback"), "fallback");
  EXPECT_TRUE(object.BoolOr("b", true));
  (void)object.StringsOr("l");
  EXPECT_EQ(object.Object("o"), nullptr);
  EXPECT_EQ(object.Array("a"), nullptr);
  object.RejectUnknown();
  EXPECT_THAT(errors.list(),
              ElementsAre("rails[0].missing: is missing", "rails[0].s: must be a string, not number",
                          "rails[0].b: must be true or false, not string", "rails[0].l[1]: must be a string",
                          "rails[0].o: must be an object, not array",
                          "rails[0].a: must be a list, not object", "rails[0].extra: unknown key"));
  const Status status = errors.ToStatus("node.json");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kInvalid);
  EXPECT_THAT(status.error().message, HasSubstr("node.json: rails[0].missing: is missing; rails[0].s:"));
}

TEST(JsonObject, TakesOnlyWholeNumbersInRange) {
  const json document = json::parse(
      R"({"low":67,"high":65536,"negative":-1,"fraction":1500.5,"float":1500.0,"text":"1500","bool":true,
          "huge":18446744073709551616,"max":18446744073709551615,"good":68,"zero":-0})");
  JsonErrors errors;
  JsonObject object(document, "", errors);
  for (const char* key : {"low", "high", "negative", "fraction", "float", "text", "bool", "huge", "zero"}) {
    const size_t before = errors.list().size();
    EXPECT_EQ(object.UintOr(key, 1500, 68, 65535), 1500U) << key;
    EXPECT_EQ(errors.list().size(), before + 1) << key;
  }
  EXPECT_THAT(errors.list()[0], HasSubstr("low: must be a whole number from 68 to 65535"));
  EXPECT_EQ(object.Uint("good", 68, 65535), 68U);
  EXPECT_EQ(object.Uint("max", 0, UINT64_MAX), UINT64_MAX);
  EXPECT_EQ(errors.list().size(), 9U);
}

TEST(JsonObject, IsEmptyWhenTheValueIsNoObject) {
  const json document = json::array();
  JsonErrors errors;
  JsonObject object(document, "tenancy", errors);
  EXPECT_EQ(object.String("mode"), "");
  EXPECT_EQ(object.UintOr("n", 3, 0, 9), 3U);
  object.RejectUnknown();
  EXPECT_THAT(errors.list(), ElementsAre("tenancy: must be an object, not array"));
}

TEST(JsonObject, AllowsAKeyThatSomebodyElseReads) {
  const json document = {{"ipam", 1}};
  JsonErrors errors;
  JsonObject object(document, "", errors);
  object.Allow("ipam");
  object.RejectUnknown();
  EXPECT_TRUE(errors.empty());
}

}  // namespace
}  // namespace rail
