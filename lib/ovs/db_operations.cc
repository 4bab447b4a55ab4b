#include "lib/ovs/db_operations.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "lib/ovs/db_values.h"

namespace rail::ovs {

using nlohmann::json;

json UuidIs(const std::string& uuid) {
  return json::array({json::array({"_uuid", "==", DbUuid(uuid)})});
}

json Insert(const char* table, const std::string& uuid_name, json row) {
  return {{"op", "insert"}, {"table", table}, {"uuid-name", uuid_name}, {"row", std::move(row)}};
}

json Mutate(const char* table, json where, json mutations) {
  return {
      {"op", "mutate"}, {"table", table}, {"where", std::move(where)}, {"mutations", std::move(mutations)}};
}

json Mutate(const char* table, json where, const char* column, const char* mutator, json value) {
  return Mutate(table, std::move(where), json::array({json::array({column, mutator, std::move(value)})}));
}

json Update(const char* table, json where, json row) {
  return {{"op", "update"}, {"table", table}, {"where", std::move(where)}, {"row", std::move(row)}};
}

json WaitForNames(const char* table, json where, const std::vector<std::string>& names) {
  json rows = json::array();
  for (const auto& name : names) rows.push_back({{"name", name}});
  return {{"op", "wait"},        {"timeout", 0},  {"table", table},         {"where", std::move(where)},
          {"columns", {"name"}}, {"until", "=="}, {"rows", std::move(rows)}};
}

json PutInto(const char* column, const ExternalIds& ids) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : ids) keys.push_back(key);
  return json::array(
      {json::array({column, "delete", DbStrings(keys)}), json::array({column, "insert", DbMap(ids)})});
}

}  // namespace rail::ovs
