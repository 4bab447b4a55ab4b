#include "lib/cni/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/cni/version.h"

namespace rail::cni {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

AddResult Full() {
  AddResult result;
  result.interfaces = {{.name = "rep0", .mac = "02:00:00:00:00:01"},
                       {.name = "net1",
                        .mac = "02:00:00:00:00:02",
                        .sandbox = "/run/netns/p",
                        .mtu = 4200,
                        .pci_id = "0000:03:00.2",
                        .socket_path = "/s"}};
  result.ips = {{.address = *IpPrefix::Parse("10.0.3.7/32"),
                 .gateway = *IpAddress::Parse("169.254.1.1"),
                 .interface = 1},
                {.address = *IpPrefix::Parse("2001:db8::7/128"), .gateway = std::nullopt}};
  result.routes = {{.destination = *IpPrefix::Parse("10.0.0.0/8"),
                    .gateway = *IpAddress::Parse("169.254.1.1"),
                    .mtu = 4200,
                    .advmss = 1400,
                    .priority = 5,
                    .table = 100,
                    .scope = 0}};
  return result;
}

const char* kFull110 =
    R"({"cniVersion":"1.1.0","interfaces":[{"mac":"02:00:00:00:00:01","name":"rep0"},{"mac":"02:00:00:00:00:02","mtu":4200,"name":"net1","pciID":"0000:03:00.2","sandbox":"/run/netns/p","socketPath":"/s"}],)"
    R"("ips":[{"address":"10.0.3.7/32","gateway":"169.254.1.1","interface":1},{"address":"2001:db8::7/128"}],)"
    R"("routes":[{"advmss":1400,"dst":"10.0.0.0/8","gw":"169.254.1.1","mtu":4200,"priority":5,"scope":0,"table":100}]})";
const char* kFull100 =
    R"({"cniVersion":"1.0.0","interfaces":[{"mac":"02:00:00:00:00:01","name":"rep0"},{"mac":"02:00:00:00:00:02","name":"net1","sandbox":"/run/netns/p"}],)"
    R"("ips":[{"address":"10.0.3.7/32","gateway":"169.254.1.1","interface":1},{"address":"2001:db8::7/128"}],"routes":[{"advmss":1400,"dst":"10.0.0.0/8","gw":"169.254.1.1","mtu":4200,"priority":5,"scope":0,"table":100}]})";

std::string Full040(const std::string& version) {
  return R"({"cniVersion":")" + version +
         R"(","dns":{},"interfaces":[{"mac":"02:00:00:00:00:01","name":"rep0"},{"mac":"02:00:00:00:00:02","name":"net1","sandbox":"/run/netns/p"}],)"
         R"("ips":[{"address":"10.0.3.7/32","gateway":"169.254.1.1","interface":1,"version":"4"},{"address":"2001:db8::7/128","version":"6"}],"routes":[{"advmss":1400,"dst":"10.0.0.0/8","gw":"169.254.1.1","mtu":4200,"priority":5,"scope":0,"table":100}]})";
}

TEST(AddResult, PrintsTheFormOfEachVersion) {
  EXPECT_EQ(Full().Print("1.1.0"), kFull110);
  EXPECT_EQ(Full().Print("1.0.0"), kFull100);
  for (const char* version : {"0.4.0", "0.3.1", "0.3.0"}) EXPECT_EQ(Full().Print(version), Full040(version));
}

TEST(AddResult, PrintsNothingButTheVersionWhenEmpty) {
  EXPECT_EQ(AddResult{}.Print("1.0.0"), R"({"cniVersion":"1.0.0"})");
  EXPECT_EQ(AddResult{}.Print("0.4.0"), R"({"cniVersion":"0.4.0","dns":{}})");
}

TEST(AddResult, ReadsWhatItPrints) {
  for (const std::string& version : SupportedVersions()) {
    AddResult full = Full();
    full.dns = R"({"domain":"x","other":[1]})";
    const std::string text = full.Print(version);
    const auto read = AddResult::Parse(json::parse(text), "0.3.0");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->Print(version), text);
  }
}

TEST(AddResult, ReadsAnAddressManagersAbbreviatedAnswer) {
  const auto result = AddResult::Parse(
      json::parse(
          R"({"ips": [{"address": "10.0.3.7/24", "gateway": null, "interface": 0}], "routes": null, "dns": {}, "unknown": {}})"),
      "1.0.0");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->ips[0].address.ToString(), "10.0.3.7/24");
  EXPECT_EQ(result->ips[0].interface, -1);
  EXPECT_FALSE(result->ips[0].gateway);
  EXPECT_EQ(result->dns, "");
}

TEST(AddResult, TakesNullAsEmpty) {
  const auto result = AddResult::Parse(json(), "1.0.0");
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->ips.empty());
}

TEST(AddResult, NamesEveryKeyThatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {R"([])", "must be an object"},
      {R"({"cniVersion": 1})", "cniVersion: must be a string"},
      {R"({"cniVersion": "0.2.0"})", "cniVersion: a result of version \"0.2.0\""},
      {R"({"cniVersion": "1.2.0"})", "\"1.2.0\" cannot be read"},
      {R"({"ips": {}})", "ips: must be a list"},
      {R"({"ips": [1]})", "ips[0]: must be an object"},
      {R"({"ips": [{}]})", "ips[0].address: is missing"},
      {R"({"ips": [{"address": "10.0.0.1"}]})", "ips[0].address"},
      {R"({"ips": [{"address": "10.0.0.1/33"}]})", "ips[0].address"},
      {R"({"ips": [{"address": "10.0.0.1/24", "gateway": "x"}]})", "ips[0].gateway"},
      {R"({"interfaces": [{"name": "a"}], "ips": [{"address": "10.0.0.1/24", "interface": 1}]})",
       "ips[0].interface: must be -1 or the index"},
      {R"({"interfaces": [{"name": "a"}], "ips": [{"address": "10.0.0.1/24", "interface": -2}]})",
       "ips[0].interface"},
      {R"({"interfaces": [{"name": "a"}], "ips": [{"address": "10.0.0.1/24", "interface": 18446744073709551615}]})",
       "ips[0].interface"},
      {R"({"interfaces": [{"name": "a"}], "ips": [{"address": "10.0.0.1/24", "interface": 0.5}]})",
       "ips[0].interface"},
      {R"({"interfaces": [{}]})", "interfaces[0].name: is missing"},
      {R"({"interfaces": [{"name": "a", "mtu": -1}]})", "interfaces[0].mtu"},
      {R"({"routes": [{"dst": "10.0.0.0"}]})", "routes[0].dst"},
      {R"({"routes": [{"dst": "10.0.0.0/8", "table": 4294967296}]})", "routes[0].table"},
      {R"({"dns": []})", "dns: must be an object"},
  };
  for (const auto& [text, message] : cases) {
    const auto result = AddResult::Parse(json::parse(text), "1.0.0");
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code, Code::kInvalid);
    EXPECT_THAT(result.error().message, HasSubstr(message)) << text;
  }
}

TEST(PassThrough, KeepsEveryFieldInTheSameVersion) {
  for (const std::string& version : SupportedVersions()) {
    json previous = json::parse(Full().Print(version));
    previous["com.example/x"] = {{"deep", {1, 2}}};
    previous["interfaces"][0]["color"] = "red";
    previous["ips"][0]["lease"] = 3600;
    previous["routes"][0]["metric"] = 7;
    previous["dns"] = {{"nameservers", {"10.0.0.1"}}};
    const auto out = PassThrough(previous, version);
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ(json::parse(*out), previous);
  }
}

TEST(PassThrough, ConvertsBetweenForms) {
  for (const char* version : {"0.3.0", "0.3.1", "0.4.0"})
    EXPECT_EQ(*PassThrough(json::parse(kFull100), version), Full040(version));
  EXPECT_EQ(*PassThrough(json::parse(Full040("0.4.0")), "1.0.0"), kFull100);
  EXPECT_EQ(json::parse(*PassThrough(json::parse(kFull100), "1.1.0"))["cniVersion"], "1.1.0");
}

TEST(PassThrough, KeepsUnknownFieldsWhenItConverts) {
  const json previous =
      json::parse(R"({"cniVersion": "1.1.0", "x": 1, "interfaces": [{"name": "a", "mtu": 9000, "y": 2}]})");
  EXPECT_EQ(*PassThrough(previous, "0.4.0"),
            R"({"cniVersion":"0.4.0","dns":{},"interfaces":[{"mtu":9000,"name":"a","y":2}],"x":1})");
}

TEST(PassThrough, KeepsWhatIsNewerThanTheVersion) {
  json newest = json::parse(kFull110);
  const json older = json::parse(*PassThrough(newest, "1.0.0"));
  newest["cniVersion"] = "1.0.0";
  EXPECT_EQ(older, newest);
}

TEST(PassThrough, TakesAResultWithoutVersionInTheConfigs) {
  EXPECT_EQ(*PassThrough(json::object(), "1.0.0"), R"({"cniVersion":"1.0.0"})");
  EXPECT_EQ(*PassThrough(json(), "0.4.0"), R"({"cniVersion":"0.4.0","dns":{}})");
  EXPECT_EQ(*PassThrough(json::parse(R"({"ips": null, "interfaces": null})"), "0.4.0"),
            R"({"cniVersion":"0.4.0","dns":{},"interfaces":null,"ips":null})");
}

TEST(PassThrough, RefusesWhatIsNoResult) {
  EXPECT_FALSE(PassThrough(json::parse(R"({"ips": [{"address": 1}]})"), "1.0.0"));
  EXPECT_FALSE(PassThrough(json("x"), "1.0.0"));
  EXPECT_FALSE(PassThrough(json::parse(R"({"cniVersion": "9.9.9"})"), "1.0.0"));
}

TEST(Version, IsComparedByNumbers) {
  EXPECT_TRUE(AtLeast("1.1.0", "1.0.0"));
  EXPECT_TRUE(AtLeast("0.10.0", "0.4.0"));
  EXPECT_TRUE(AtLeast("1", "1.0.0"));
  EXPECT_FALSE(AtLeast("0.3.1", "0.4.0"));
  EXPECT_FALSE(AtLeast("abc", "0.3.0"));
}

}  // namespace
}  // namespace rail::cni
