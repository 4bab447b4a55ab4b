#include "lib/ovs/db_values.h"

#include <nlohmann/json.hpp>

namespace rail::ovs {
namespace {

using nlohmann::json;

bool IsTagged(const json& value, const char* tag) {
  return value.is_array() && value.size() == 2 && value[0].is_string() &&
         value[0].get_ref<const std::string&>() == tag;
}

bool IsUuid(const json& value) {
  return IsTagged(value, "uuid") && value[1].is_string();
}

// A set's members. A set with one member may be written as that member.
std::optional<std::vector<json>> Members(const json& value) {
  if (!IsTagged(value, "set")) return std::vector<json>{value};
  if (!value[1].is_array()) return std::nullopt;
  return value[1].get<std::vector<json>>();
}

}  // namespace

DbRow::DbRow(const json& row, std::string table, JsonErrors& errors)
    : row_(row.is_object() ? &row : nullptr), table_(std::move(table)), errors_(errors) {
  if (row_ == nullptr) errors_.Add(table_, "a row that is not an object");
}

const json* DbRow::Find(const std::string& column) {
  if (row_ == nullptr) return nullptr;
  const auto it = row_->find(column);
  if (it != row_->end()) return &*it;
  errors_.Add(table_ + "." + column, "is missing");
  return nullptr;
}

void DbRow::Wrong(const std::string& column, const char* wanted) {
  errors_.Add(table_ + "." + column, std::string("is not ") + wanted);
}

std::string DbRow::Text(const std::string& column) {
  const json* value = Find(column);
  if (value == nullptr) return {};
  const auto members = Members(*value);
  if (members && members->empty()) return {};
  if (members && members->size() == 1 && (*members)[0].is_string()) return (*members)[0].get<std::string>();
  Wrong(column, "a string");
  return {};
}

std::optional<int64_t> DbRow::Integer(const std::string& column) {
  const json* value = Find(column);
  if (value == nullptr) return std::nullopt;
  const auto members = Members(*value);
  if (members && members->empty()) return std::nullopt;
  if (members && members->size() == 1) {
    const json& member = (*members)[0];
    const bool fits = !member.is_number_unsigned() || member.get<uint64_t>() <= uint64_t{INT64_MAX};
    if (member.is_number_integer() && fits) return member.get<int64_t>();
  }
  Wrong(column, "an integer");
  return std::nullopt;
}

std::string DbRow::Uuid(const std::string& column) {
  const json* value = Find(column);
  if (value == nullptr) return {};
  if (IsUuid(*value)) return (*value)[1].get<std::string>();
  Wrong(column, "a UUID");
  return {};
}

std::vector<std::string> DbRow::Uuids(const std::string& column) {
  const json* value = Find(column);
  if (value == nullptr) return {};
  std::vector<std::string> uuids;
  const auto members = Members(*value);
  for (const json& member : members.value_or(std::vector<json>{json()})) {
    if (!IsUuid(member)) {
      Wrong(column, "a set of UUIDs");
      return {};
    }
    uuids.push_back(member[1].get<std::string>());
  }
  return uuids;
}

ExternalIds DbRow::Map(const std::string& column) {
  const json* value = Find(column);
  if (value == nullptr) return {};
  ExternalIds map;
  const bool tagged = IsTagged(*value, "map") && (*value)[1].is_array();
  if (!tagged) Wrong(column, "a map");
  for (const json& pair : tagged ? (*value)[1] : json::array()) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
      Wrong(column, "a map of strings");
      return {};
    }
    map[pair[0].get<std::string>()] = pair[1].get<std::string>();
  }
  return map;
}

std::vector<std::string> DbRow::Strings(const std::string& column) {
  const json* value = Find(column);
  if (value == nullptr) return {};
  std::vector<std::string> strings;
  const auto members = Members(*value);
  for (const json& member : members.value_or(std::vector<json>{json()})) {
    if (!member.is_string()) {
      Wrong(column, "a set of strings");
      return {};
    }
    strings.push_back(member.get<std::string>());
  }
  std::ranges::sort(strings);
  return strings;
}

std::map<int64_t, std::string> DbRow::UuidsByNumber(const std::string& column) {
  const json* value = Find(column);
  if (value == nullptr) return {};
  std::map<int64_t, std::string> uuids;
  const bool tagged = IsTagged(*value, "map") && (*value)[1].is_array();
  if (!tagged) Wrong(column, "a map");
  for (const json& pair : tagged ? (*value)[1] : json::array()) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_integer() || !IsUuid(pair[1])) {
      Wrong(column, "a map of numbers to UUIDs");
      return {};
    }
    uuids[pair[0].get<int64_t>()] = pair[1][1].get<std::string>();
  }
  return uuids;
}

Result<std::string> DbSocketPath(const std::string& address) {
  const std::string prefix = "unix:";
  std::string path = address.starts_with(prefix) ? address.substr(prefix.size()) : address;
  if (path.starts_with("/")) return path;
  return Fail(Code::kInvalid, "\"" + address + "\" is not unix:/absolute/path of the socket of ovsdb-server");
}

json DbMap(const ExternalIds& map) {
  json pairs = json::array();
  for (const auto& [key, value] : map) pairs.push_back(json::array({key, value}));
  return json::array({"map", std::move(pairs)});
}

json DbStrings(const std::vector<std::string>& strings) {
  return json::array({"set", json(strings)});
}

json DbUuid(const std::string& uuid) {
  return json::array({"uuid", uuid});
}

json DbNamedUuid(const std::string& name) {
  return json::array({"named-uuid", name});
}

json DbNameIs(const std::string& name) {
  return json::array({json::array({"name", "==", name})});
}

json DbSelect(const char* table, json where, json columns) {
  return {{"op", "select"}, {"table", table}, {"where", std::move(where)}, {"columns", std::move(columns)}};
}

}  // namespace rail::ovs
