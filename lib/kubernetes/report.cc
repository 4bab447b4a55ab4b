#include "lib/kubernetes/report.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"
#include "lib/base/utf8.h"

namespace rail::kubernetes {
namespace {

using nlohmann::json;

constexpr size_t kMostMessage = 1000;  // the API server refuses events with more than 1024 bytes
constexpr double kBurst = 10;
constexpr double kPerSecond = 0.1;
constexpr std::chrono::minutes kSame{5};

}  // namespace

Condition ConditionOf(const std::vector<RailState>& rails) {
  const auto good = std::ranges::count_if(rails, [](const RailState& rail) { return rail.problem.empty(); });
  Condition condition{.ok = good == std::ssize(rails),
                      .reason = {},
                      .message = std::to_string(good) + "/" + std::to_string(rails.size())};
  condition.reason = condition.ok ? "AllRailsWork" : good == 0 ? "NoRailWorks" : "SomeRailsDown";
  const char* separator = ": ";
  for (const RailState& rail : rails) {
    if (rail.problem.empty()) continue;
    condition.message += separator + rail.name + ": " + rail.problem;
    separator = "; ";
  }
  condition.message = ValidUtf8(condition.message.substr(0, kMostMessage));
  return condition;
}

Request ConditionRequest(const std::string& node, const Condition& condition, int64_t now_ms,
                         int64_t since_ms) {
  const json patch = {{"status",
                       {{"conditions",
                         {{{"type", kRailsCondition},
                           {"status", condition.ok ? "True" : "False"},
                           {"reason", condition.reason},
                           {"message", condition.message},
                           {"lastHeartbeatTime", TimeText(now_ms)},
                           {"lastTransitionTime", TimeText(since_ms)}}}}}}};
  return {.method = "PATCH",
          .path = "/api/v1/nodes/" + node + "/status",
          .body = DumpJson(patch),
          .content_type = "application/strategic-merge-patch+json"};
}

Request EventRequest(const EventSpec& event, int64_t now_ms, uint64_t number) {
  const std::string space = event.object_namespace.empty() ? "default" : event.object_namespace;
  char suffix[20];
  std::snprintf(suffix, sizeof suffix, ".%016llx", static_cast<unsigned long long>(number));
  json object = {{"apiVersion", "v1"}, {"kind", event.kind}, {"name", event.object}, {"uid", event.uid}};
  if (!event.object_namespace.empty()) object["namespace"] = event.object_namespace;
  // A name has 253 bytes at most.
  const json body = {{"apiVersion", "v1"},
                     {"kind", "Event"},
                     {"metadata", {{"namespace", space}, {"name", event.object.substr(0, 230) + suffix}}},
                     {"involvedObject", std::move(object)},
                     {"reason", event.reason},
                     {"message", ValidUtf8(event.message.substr(0, kMostMessage))},
                     {"type", event.warning ? "Warning" : "Normal"},
                     {"source", {{"component", "railcni"}, {"host", event.host}}},
                     {"firstTimestamp", TimeText(now_ms)},
                     {"lastTimestamp", TimeText(now_ms)},
                     {"count", 1}};
  return {.method = "POST", .path = "/api/v1/namespaces/" + space + "/events", .body = DumpJson(body)};
}

bool EventLimit::Allows(const EventSpec& event, Deadline now) {
  // What is forgotten here has nothing told, and its whole burst again.
  std::erase_if(by_namespace_, [&](const auto& each) { return now - each.second.last >= kSame; });
  const auto [entry, is_new] =
      by_namespace_.try_emplace(event.object_namespace, Allowance{.tokens = kBurst, .last = now, .told = {}});
  Allowance& its = entry->second;
  std::erase_if(its.told, [&](const auto& told) { return now - told.second >= kSame; });
  if (its.told.contains({event.uid, event.message})) return false;
  its.tokens =
      std::min(kBurst, its.tokens + kPerSecond * std::chrono::duration<double>(now - its.last).count());
  its.last = now;
  if (its.tokens < 1) return false;
  its.tokens -= 1;
  return true;
}

void EventLimit::Told(const EventSpec& event, Deadline now) {
  const auto its = by_namespace_.find(event.object_namespace);
  if (its != by_namespace_.end()) its->second.told[{event.uid, event.message}] = now;
}

std::string TimeText(int64_t unix_ms) {
  const std::chrono::sys_seconds when{std::chrono::seconds(unix_ms / 1000)};
  const auto day = std::chrono::floor<std::chrono::days>(when);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(when - day);
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text;
}

}  // namespace rail::kubernetes
