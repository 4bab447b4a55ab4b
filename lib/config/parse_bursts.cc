#include "lib/config/parse_bursts.h"

#include <nlohmann/json.hpp>

namespace rail::config {
namespace {

constexpr uint32_t kOften = 5;       // ms: a driver's counters are not renewed more often
constexpr uint32_t kSeldom = 1000;   // ms: a second has at least one sample
constexpr uint32_t kFast = 4000000;  // Mbit/s

}  // namespace

void ParseBursts(const nlohmann::json* value, Bursts& bursts, JsonErrors& errors) {
  if (value == nullptr) return;
  JsonObject object(*value, "bursts", errors);
  bursts.every_ms = static_cast<uint32_t>(object.Uint("every_ms", kOften, kSeldom));
  if (object.Has("line_rate_mbit"))
    bursts.line_rate_mbit = static_cast<uint32_t>(object.Uint("line_rate_mbit", 1, kFast));
  object.RejectUnknown();
}

}  // namespace rail::config
