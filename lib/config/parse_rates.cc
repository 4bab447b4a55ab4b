#include "lib/config/parse_rates.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace rail::config {
namespace {

using nlohmann::json;

constexpr uint64_t kMostMbit = 10'000'000;
constexpr uint64_t kMostShare = 1000;

TenantRate ParseRate(const json& value, const std::string& path, const TenantRate& usual,
                     JsonErrors& errors) {
  TenantRate rate = usual;
  JsonObject object(value, path, errors);
  if (object.Has("share")) rate.share = static_cast<uint32_t>(object.Uint("share", 1, kMostShare));
  if (object.Has("max")) {
    const std::string text = object.StringOr("max", "");
    const auto mbit = ParseMbit(text);
    if (!mbit)
      errors.AddValue(object.PathOf("max"),
                      DumpJson(text) + " must be a rate like \"200gbit\" or \"500mbit\"");
    rate.max_mbit = mbit.value_or(0);
  }
  if (rate.max_mbit != 0 && rate.max_mbit < rate.share)
    errors.AddValue(path, "max must be at least as many Mbit/s as share says, which is what a NIC is told");
  object.RejectUnknown();
  return rate;
}

}  // namespace

std::optional<uint64_t> ParseMbit(std::string_view text) {
  uint64_t factor = 0;
  if (text.ends_with("gbit")) factor = 1000;
  if (text.ends_with("mbit")) factor = 1;
  if (factor == 0) return std::nullopt;
  const std::string number(text.substr(0, text.size() - 4));
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size() || value == 0 ||
      value > kMostMbit / factor)
    return std::nullopt;
  return value * factor;
}

void ParseRates(const json* value, std::optional<Rates>& rates, JsonErrors& errors) {
  if (value == nullptr) return;
  Rates& parsed = rates.emplace();
  JsonObject object(*value, "rates", errors);
  if (const json* usual = object.Object("default"))
    parsed.usual = ParseRate(*usual, object.PathOf("default"), {}, errors);
  if (const json* tenants = object.Object("tenants")) {
    for (const auto& [name, one] : tenants->items())
      parsed.tenants[name] = ParseRate(one, object.PathOf("tenants") + "." + name, parsed.usual, errors);
  }
  object.RejectUnknown();
}

}  // namespace rail::config
