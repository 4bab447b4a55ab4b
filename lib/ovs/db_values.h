// Reads and writes values of OVSDB rows as JSON. Does not trust what it reads.
//
// Use:      JsonErrors errors;  DbRow row(json, "Port", errors);  std::string name = row.Text("name");
//           RAIL_TRY(errors.ToStatus(socket));          // all errors, after reading everything
// Threads:  values
// Source:   RFC 7047 section 5.1: <value>, <set>, <map>, <uuid>
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/strict_json.h"
#include "lib/ovs/ovsdb.h"

namespace rail::ovs {

// One row. A value that is missing or of another type is recorded in `errors` and reads as empty.
class DbRow {
 public:
  DbRow(const nlohmann::json& row, std::string table, JsonErrors& errors);

  std::string Text(const std::string& column);                // "" for the empty set
  std::optional<int64_t> Integer(const std::string& column);  // nullopt for the empty set
  std::string Uuid(const std::string& column);
  std::vector<std::string> Uuids(const std::string& column);
  ExternalIds Map(const std::string& column);
  std::vector<std::string> Strings(const std::string& column);  // sorted, as ovsdb-server keeps a set
  std::map<int64_t, std::string> UuidsByNumber(const std::string& column);

 private:
  const nlohmann::json* Find(const std::string& column);
  void Wrong(const std::string& column, const char* wanted);

  const nlohmann::json* row_;  // an object, or nullptr
  std::string table_;
  JsonErrors& errors_;
};

// "unix:/run/openvswitch/db.sock", with or without "unix:" -> the path. Errors: kInvalid another kind of address.
Result<std::string> DbSocketPath(const std::string& address);

nlohmann::json DbMap(const ExternalIds& map);
nlohmann::json DbStrings(const std::vector<std::string>& strings);
nlohmann::json DbUuid(const std::string& uuid);
nlohmann::json DbNamedUuid(const std::string& name);

// The condition that selects the rows of this name.
nlohmann::json DbNameIs(const std::string& name);
// The operation that reads these columns.
nlohmann::json DbSelect(const char* table, nlohmann::json where, nlohmann::json columns);

}  // namespace rail::ovs
