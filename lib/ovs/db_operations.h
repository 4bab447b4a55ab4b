// The operations of an OVSDB transaction.
//
// Use:      operations.push_back(Mutate("Bridge", UuidIs(uuid), PutInto("external_ids", {{"k", "v"}})));
// Threads:  pure functions
// Source:   RFC 7047 section 5.2
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lib/ovs/ovsdb.h"

namespace rail::ovs {

// The condition that selects one row.
nlohmann::json UuidIs(const std::string& uuid);

nlohmann::json Insert(const char* table, const std::string& uuid_name, nlohmann::json row);
nlohmann::json Mutate(const char* table, nlohmann::json where, nlohmann::json mutations);
// The mutation of one column: "insert", "delete", "+=".
nlohmann::json Mutate(const char* table, nlohmann::json where, const char* column, const char* mutator,
                      nlohmann::json value);
nlohmann::json Update(const char* table, nlohmann::json where, nlohmann::json row);

// Makes ovsdb-server refuse the transaction unless the rows that `where` selects have exactly these names.
nlohmann::json WaitForNames(const char* table, nlohmann::json where, const std::vector<std::string>& names);

// The mutations that set map entries and overwrite existing ones: `insert` alone keeps the existing value.
nlohmann::json PutInto(const char* column, const ExternalIds& ids);

}  // namespace rail::ovs
