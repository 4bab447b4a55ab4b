#include "lib/kubernetes/namespaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rail::kubernetes {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kKey[] = "railcni.io/tenant";

TEST(Page, HoldsNamesLabelsAndVersions) {
  const auto page = ReadPage(R"({"kind": "NamespaceList", "apiVersion": "v1",
    "metadata": {"resourceVersion": "77", "continue": "abc", "remainingItemCount": 3},
    "items": [
      {"metadata": {"name": "ns-a", "uid": "u", "resourceVersion": "5", "creationTimestamp": "2026-01-02T03:04:05Z",
        "labels": {"a": "b", "railcni.io/tenant": "red"}, "annotations": {"railcni.io/tenant": "blue"},
        "managedFields": [{"fieldsV1": {"f:metadata": {"f:labels": {"railcni.io/tenant": {}}}}}]},
       "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}},
      {"metadata": {"name": "ns-b", "labels": null}}]})",
                             kKey);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->resource_version, "77");
  EXPECT_EQ(page->next, "abc");
  ASSERT_THAT(page->namespaces, SizeIs(2));
  EXPECT_EQ(page->namespaces[0].name, "ns-a");
  EXPECT_EQ(page->namespaces[0].label.label, "red");
  EXPECT_EQ(page->namespaces[0].label.created_ms, 1767323045000);
  EXPECT_EQ(page->namespaces[0].label.uid, "u");
  EXPECT_EQ(page->namespaces[1].label.label, std::nullopt);
}

TEST(Page, RefusesWhatIsNoList) {
  for (const std::string& text : {std::string(), std::string("{}"), std::string("[]"), std::string("null"),
                                  std::string("{\"metadata\": {"),
                                  std::string(R"({"metadata": {"resourceVersion": "7"}, "items": [{}]})"),
                                  std::string(R"({"metadata": {"resourceVersion": "7"}, "items": []} x)"),
                                  std::string("{\0}", 3), std::string(5000, '['),
                                  R"({"metadata": {"resourceVersion": "7"}, "x": )" + std::string(40, '[') +
                                      std::string(40, ']') + "}"}) {
    EXPECT_FALSE(ReadPage(text, kKey)) << text.substr(0, 60);
  }
}

TEST(Event, IsOfItsKind) {
  const auto read = [](const std::string& type) {
    return ReadEvent(R"({"type": ")" + type +
                         R"(", "object": {"metadata": {"name": "n", "resourceVersion": "9", "labels":
                         {"railcni.io/tenant": ""}}}})",
                     kKey);
  };
  EXPECT_EQ(read("ADDED")->kind, Event::Kind::kAdded);
  EXPECT_EQ(read("MODIFIED")->what.label.label, "") << "an empty label is a label";
  EXPECT_EQ(read("DELETED")->kind, Event::Kind::kDeleted);
  EXPECT_EQ(read("BOOKMARK")->what.resource_version, "9");
  EXPECT_FALSE(read("RENAMED"));
}

TEST(Event, TellsWhyAWatchEnds) {
  const auto event = ReadEvent(
      R"({"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old", "reason": "Expired"}})",
      kKey);
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->kind, Event::Kind::kError);
  EXPECT_EQ(event->status, 410);
  EXPECT_EQ(event->message, "too old");
}

TEST(Event, RefusesOneWithoutNameOrVersion) {
  EXPECT_FALSE(ReadEvent(R"({"type": "ADDED", "object": {"metadata": {"name": "n"}}})", kKey));
  EXPECT_FALSE(ReadEvent(R"({"type": "ADDED", "object": {"metadata": {"resourceVersion": "1"}}})", kKey));
  EXPECT_FALSE(ReadEvent(R"({"type": "BOOKMARK", "object": {}})", kKey));
}

TEST(Time, IsRfc3339InUtc) {
  EXPECT_EQ(ReadTime("1970-01-01T00:00:01Z"), 1000);
  EXPECT_EQ(ReadTime("2024-02-29T23:59:59Z"), 1709251199000);
  for (const char* text : {"", "null", "2023-02-29T00:00:00Z", "2026-01-02T03:04:05", "2026-01-02T24:04:05Z",
                           "2026-01-02T03:04:05+", "2026-13-02T03:04:05Z", "-026-01-02T03:04:05Z"})
    EXPECT_EQ(ReadTime(text), 0) << text;
}

}  // namespace
}  // namespace rail::kubernetes
