#include "lib/kubernetes/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace rail::kubernetes {
namespace {

using nlohmann::json;

TEST(RailsCondition, CountsAndSaysWhy) {
  EXPECT_EQ(ConditionOf({{"rail0", ""}, {"rail1", ""}}), (Condition{true, "AllRailsWork", "2/2"}));
  EXPECT_EQ(ConditionOf({{"rail0", ""}, {"rail1", "p1 has no carrier"}, {"rail2", "no bridge"}}),
            (Condition{false, "SomeRailsDown", "1/3: rail1: p1 has no carrier; rail2: no bridge"}));
  EXPECT_EQ(ConditionOf({{"rail0", "x"}}).reason, "NoRailWorks");
  EXPECT_LE(ConditionOf({{"rail0", std::string(5000, 'x')}}).message.size(), 1024U);
}

TEST(RailsCondition, PatchesThatConditionAlone) {
  const Request request =
      ConditionRequest("n1", {false, "SomeRailsDown", "0/1: \"x\"\xff"}, 1767323045000, 0);
  EXPECT_EQ(request.method, "PATCH");
  EXPECT_EQ(request.path, "/api/v1/nodes/n1/status");
  EXPECT_EQ(request.content_type, "application/strategic-merge-patch+json");
  const json body = json::parse(request.body);
  ASSERT_EQ(body["status"]["conditions"].size(), 1U);
  const json& condition = body["status"]["conditions"][0];
  EXPECT_EQ(condition["type"], "railcni.io/rails");
  EXPECT_EQ(condition["status"], "False");
  EXPECT_EQ(condition["lastHeartbeatTime"], "2026-01-02T03:04:05Z");
  EXPECT_EQ(condition["lastTransitionTime"], "1970-01-01T00:00:00Z");
}

EventSpec OfPod(const std::string& uid, const std::string& message) {
  return {.kind = "Pod",
          .object_namespace = "ns-a",
          .object = "train-0",
          .uid = uid,
          .reason = "RailNotAttached",
          .message = message,
          .warning = true,
          .host = "n1"};
}

TEST(Event, IsOfItsObjectsNamespace) {
  const Request request = EventRequest(OfPod("u-1", "why"), 0, 255);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/api/v1/namespaces/ns-a/events");
  const json body = json::parse(request.body);
  EXPECT_EQ(body["metadata"]["namespace"], "ns-a");
  EXPECT_EQ(body["metadata"]["name"], "train-0.00000000000000ff");
  EXPECT_EQ(body["involvedObject"]["uid"], "u-1");
  EXPECT_EQ(body["involvedObject"]["namespace"], "ns-a");
  EXPECT_EQ(body["type"], "Warning");
  EventSpec node = OfPod("n1", "rail0 is down");
  node.kind = "Node";
  node.object_namespace.clear();
  const Request of_node = EventRequest(node, 0, 1);
  EXPECT_EQ(of_node.path, "/api/v1/namespaces/default/events");
  EXPECT_FALSE(json::parse(of_node.body)["involvedObject"].contains("namespace"));
}

TEST(EventLimitTest, LetsABurstThroughAndThenFew) {
  EventLimit limit;
  Deadline now{std::chrono::hours(1)};
  int sent = 0;
  for (int i = 0; i < 100; ++i) sent += limit.Allows(OfPod("u-" + std::to_string(i), "why"), now);
  EXPECT_EQ(sent, 10);
  now += std::chrono::seconds(30);
  for (int i = 100; i < 200; ++i) sent += limit.Allows(OfPod("u-" + std::to_string(i), "why"), now);
  EXPECT_EQ(sent, 13);
}

TEST(EventLimitTest, TellsTheSameOnceInFiveMinutesAfterItWasSent) {
  EventLimit limit;
  const Deadline now{std::chrono::hours(1)};
  EXPECT_TRUE(limit.Allows(OfPod("u", "why"), now));
  EXPECT_TRUE(limit.Allows(OfPod("u", "why"), now)) << "it could not be sent";
  limit.Told(OfPod("u", "why"), now);
  EXPECT_FALSE(limit.Allows(OfPod("u", "why"), now + std::chrono::seconds(299)));
  EXPECT_TRUE(limit.Allows(OfPod("u", "another why"), now));
  EXPECT_TRUE(limit.Allows(OfPod("u", "why"), now + std::chrono::minutes(5)));
}

// A Job of one tenant whose pods fail makes a new pod, and so a new uid, every few seconds.
TEST(EventLimitTest, OneTenantsPodsDoNotSilenceTheNodesRailsOrOtherTenants) {
  EventLimit limit;
  Deadline now{std::chrono::hours(1)};
  EventSpec evil = OfPod("", "cannot be a tenant"), good = evil, node = evil;
  evil.object_namespace = "ns-evil";
  good.object_namespace = "ns-good";
  node.object_namespace.clear();
  int sent = 0;
  for (int i = 0; i < 2000; ++i) {
    evil.uid = "u-" + std::to_string(i);
    if (!limit.Allows(evil, now)) continue;
    limit.Told(evil, now);
    ++sent;
  }
  EXPECT_EQ(sent, 10);
  EXPECT_TRUE(limit.Allows(node, now));
  EXPECT_TRUE(limit.Allows(good, now));
}

}  // namespace
}  // namespace rail::kubernetes
