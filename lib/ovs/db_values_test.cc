#include "lib/ovs/db_values.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace rail::ovs {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(DbRow, ReadsEveryFormOfAValueWhenItIsRight) {
  const json text = json::parse(R"({
    "_uuid": ["uuid", "36bef046-7da7-43a5-905a-c17899216fcb"], "name": "br0", "fail_mode": ["set", []],
    "kind": ["set", ["netdev"]], "ofport": 7, "mtu": ["set", []], "ports": ["set", [["uuid", "a"], ["uuid", "b"]]],
    "one": ["uuid", "c"], "ids": ["map", [["k", "v"], ["l", ""]]]})");
  JsonErrors errors;
  DbRow row(text, "Bridge", errors);
  EXPECT_EQ(row.Uuid("_uuid"), "36bef046-7da7-43a5-905a-c17899216fcb");
  EXPECT_EQ(row.Text("name"), "br0");
  EXPECT_EQ(row.Text("fail_mode"), "");
  EXPECT_EQ(row.Text("kind"), "netdev");
  EXPECT_EQ(row.Integer("ofport"), 7);
  EXPECT_EQ(row.Integer("mtu"), std::nullopt);
  EXPECT_THAT(row.Uuids("ports"), ElementsAre("a", "b"));
  EXPECT_THAT(row.Uuids("one"), ElementsAre("c"));
  EXPECT_THAT(row.Map("ids"), ElementsAre(Pair("k", "v"), Pair("l", "")));
  EXPECT_TRUE(errors.empty());
}

TEST(DbRow, RecordsAnErrorWhenTheValueIsOfAnotherForm) {
  const std::vector<const char*> forms = {"null",
                                          "true",
                                          "3.5",
                                          "{}",
                                          "[]",
                                          R"(["set"])",
                                          R"(["set", 1])",
                                          R"(["set", [1, 2]])",
                                          R"(["map", 1])",
                                          R"(["map", [1]])",
                                          R"(["map", [["a"]]])",
                                          R"(["map", [["a", 1]]])",
                                          R"(["uuid", 1])",
                                          R"(["uuid"])",
                                          R"(["set", [["uuid", 1]]])",
                                          "18446744073709551615"};
  for (const char* form : forms) {
    const json text = {{"c", json::parse(form)}};
    for (const int as : {0, 1, 2, 3, 4}) {
      JsonErrors errors;
      DbRow row(text, "T", errors);
      switch (as) {
        case 0: EXPECT_EQ(row.Text("c"), ""); break;
        case 1: EXPECT_EQ(row.Integer("c"), std::nullopt); break;
        case 2: EXPECT_EQ(row.Uuid("c"), ""); break;
        case 3: EXPECT_THAT(row.Uuids("c"), IsEmpty()); break;
        default: EXPECT_THAT(row.Map("c"), IsEmpty()); break;
      }
      EXPECT_FALSE(errors.empty()) << form << " read as " << as;
    }
  }
}

TEST(DbRow, NamesTableAndColumnWhenOneIsMissing) {
  JsonErrors errors;
  DbRow(json::object(), "Port", errors).Text("name");
  DbRow(json(5), "Port", errors).Text("name");
  EXPECT_THAT(errors.list(), ElementsAre("Port.name: is missing", "Port: a row that is not an object"));
}

TEST(DbSocketPath, TakesAPathWithOrWithoutItsScheme) {
  EXPECT_EQ(DbSocketPath("unix:/run/db.sock").value(), "/run/db.sock");
  EXPECT_EQ(DbSocketPath("/run/db.sock").value(), "/run/db.sock");
  EXPECT_FALSE(DbSocketPath("tcp:127.0.0.1:6640"));
  EXPECT_FALSE(DbSocketPath("unix:db.sock"));
  EXPECT_FALSE(DbSocketPath(""));
}

}  // namespace
}  // namespace rail::ovs
