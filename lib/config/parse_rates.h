// Reads the section "rates" of node.json.
//
// Use:      ParseRates(root.Object("rates"), node.rates, errors);
// Threads:  pure functions
// Source:   README.md of this folder
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "lib/base/strict_json.h"
#include "lib/config/rates.h"

namespace rail::config {

// nullptr: the section is not there, and raild limits nobody.
void ParseRates(const nlohmann::json* value, std::optional<Rates>& rates, JsonErrors& errors);

// "200gbit", "500mbit" as Mbit/s; nullopt: no such text, 0, or more than 10 Tbit/s.
std::optional<uint64_t> ParseMbit(std::string_view text);

}  // namespace rail::config
