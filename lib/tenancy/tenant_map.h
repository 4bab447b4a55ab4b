// What the namespaces of the cluster are labelled with: the list that raild keeps on disk, from which plugins that reach no API
// server know a namespace's tenant.
//
// Use:      RAIL_ASSIGN(TenantMap map, LoadTenantMap(paths.tenants_file, config.kubernetes.tenant_label));
//           map.namespaces["team-a-dev"] = {.label = "team-a", .created_ms = ...};
//           RAIL_TRY(SaveTenantMap(paths.tenants_file, map));
// Threads:  values
// Source:   README.md of this folder (the file)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/error.h"

namespace rail::tenancy {

struct NamespaceLabel {
  std::optional<std::string> label;  // as it is in the cluster, valid or not; nothing: the namespace has none
  int64_t created_ms = 0;            // Unix time; 0: not known
  std::string uid = {};              // "": not known. A namespace that is made anew has another
  bool operator==(const NamespaceLabel&) const = default;
};

struct TenantMap {
  std::string label_key;         // the map says nothing under another key
  std::string resource_version;  // of the API server; a later list must not be older
  std::map<std::string, NamespaceLabel, std::less<>> namespaces;
  bool operator==(const TenantMap&) const = default;
};
using TenantMapPtr = std::shared_ptr<const TenantMap>;

// Whether a label's value can be a tenant: 1 to 63 of a-z, 0-9 and '-', with no '-' at either end.
bool IsTenantName(std::string_view value);

std::string ToText(const TenantMap& map);
// Errors: kInvalid; kNotFound it is of another label than `label_key`.
Result<TenantMap> ParseTenantMap(std::string_view text, std::string_view label_key);

// Errors: those of ParseTenantMap, open(2) and read(2); kNotFound there is no file.
Result<TenantMap> LoadTenantMap(const std::string& path, std::string_view label_key);
// Replaces the file as a whole: whoever reads meanwhile, or after a loss of power, finds the old one or the new one.
// Errors: of open(2), write(2), fsync(2), rename(2); the old file stays.
Status SaveTenantMap(const std::string& path, const TenantMap& map);

}  // namespace rail::tenancy
