// JSON from outside, read strictly: bounded depth and size, no duplicate keys, integers that fit, unknown keys named.
//
// Use:      RAIL_ASSIGN(nlohmann::json doc, ParseJson(text));
//           JsonErrors errors;
//           JsonObject object(doc, "rails[0]", errors);             // not an object: recorded, reads give defaults
//           std::string name = object.String("name");               // required
//           uint32_t mtu = object.UintOr("mtu", 1500, 68, 65535);   // optional, with its range
//           object.RejectUnknown();                                 // every key nobody asked for is an error
//           RAIL_TRY(errors.ToStatus("node.json"));                 // all errors at once, each with its path
// Threads:  one at a time
// Source:   DECISIONS.md 3: what nlohmann/json lets through by default (300 -> uint8_t = 44, last duplicate wins, deep
//           documents overflow the stack when copied)
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/error.h"

namespace rail {

struct JsonLimits {
  size_t max_bytes = 1 << 20;
  int max_depth = 32;
};

// One document, nothing after it. Errors: kInvalid with line and column, or with the path of the duplicate key.
Result<nlohmann::json> ParseJson(std::string_view text, JsonLimits limits = {});

// Compact text; bytes that are not UTF-8 become U+FFFD. Never throws.
std::string DumpJson(const nlohmann::json& value);

// Reads and parses a file. Errors: those of ParseJson, open(2) and read(2); each names the path.
Result<nlohmann::json> ReadJsonFile(const std::string& path, JsonLimits limits = {});

struct JsonError {
  // kValue: the value is wrong whatever stands beside it (its type, its range, a key that nobody knows).
  // kTogether: it does not go with the rest, or is missing; what is added to the document can mend it.
  enum class Kind { kValue, kTogether };
  std::string path;  // "rails[0].mtu"
  std::string what;  // "must be a whole number from 1280 to 9600"
  Kind kind = Kind::kTogether;
  std::string ToText() const { return path + ": " + what; }
};

class JsonErrors {
 public:
  void Add(const std::string& path, const std::string& what);       // kTogether
  void AddValue(const std::string& path, const std::string& what);  // kValue
  bool empty() const { return errors_.empty(); }
  size_t size() const { return errors_.size(); }
  const std::vector<JsonError>& all() const { return errors_; }
  std::vector<std::string> list() const;  // "<path>: <what>"
  // kInvalid "<document>: <path>: <what>; <path>: <what>", or success.
  Status ToStatus(std::string_view document) const;

 private:
  std::vector<JsonError> errors_;
};

// Reads one object's keys. A missing required key, a wrong type or a value out of range is recorded in `errors` under
// "<path>.<key>" and gives the default value. Reading goes on, so that the caller reports all errors at once.
class JsonObject {
 public:
  JsonObject(const nlohmann::json& value, std::string path, JsonErrors& errors);

  bool Has(std::string_view key);  // present and not null
  std::string String(std::string_view key);
  std::string StringOr(std::string_view key, std::string fallback);
  uint64_t Uint(std::string_view key, uint64_t min, uint64_t max);
  uint64_t UintOr(std::string_view key, uint64_t fallback, uint64_t min, uint64_t max);
  bool BoolOr(std::string_view key, bool fallback);
  std::vector<std::string> StringsOr(std::string_view key);  // [] when absent
  // nullptr when absent or of another type (another type is recorded in `errors`).
  const nlohmann::json* Object(std::string_view key);
  const nlohmann::json* Array(std::string_view key);
  // Marks `key` as known without reading it.
  void Allow(std::string_view key);
  void RejectUnknown();
  // "<path>.<key>", for errors that the caller adds.
  std::string PathOf(std::string_view key) const;

 private:
  const nlohmann::json* Find(std::string_view key);
  void Missing(std::string_view key);

  const nlohmann::json* value_;  // an object, or nullptr
  std::string path_;
  JsonErrors& errors_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace rail
