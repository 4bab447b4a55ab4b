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
constexpr size_t kMostRemembered = 1000;

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
  std::erase_if(told_, [&](const auto& told) { return now - told.second >= kSame; });
  const auto key = std::pair(event.uid, event.message);
  if (told_.contains(key) || told_.size() >= kMostRemembered) return false;
  tokens_ = std::min(kBurst, tokens_ + kPerSecond * std::chrono::duration<double>(now - last_).count());
  last_ = now;
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  told_[key] = now;
  return true;
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
