#include "lib/tenancy/tenant_map.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "lib/base/fd.h"
#include "lib/base/strict_json.h"

namespace rail::tenancy {
namespace {

using nlohmann::json;

constexpr uint64_t kFormat = 1;
// 10,000 namespaces are 1 MB. A file that has grown beyond this is not ours.
constexpr JsonLimits kLimits{.max_bytes = size_t{64} << 20, .max_depth = 4};

Result<TenantMap> FromJson(const json& document, std::string_view label_key) {
  TenantMap map;
  JsonErrors errors;
  JsonObject root(document, "", errors);
  root.Uint("format", kFormat, kFormat);
  map.label_key = root.String("label");
  map.resource_version = root.StringOr("resource_version", "");
  if (const json* namespaces = root.Object("namespaces")) {
    for (const auto& [name, value] : namespaces->items()) {
      JsonObject object(value, "namespaces." + name, errors);
      NamespaceLabel entry;
      if (object.Has("label")) entry.label = object.String("label");
      entry.created_ms = static_cast<int64_t>(object.UintOr("created_ms", 0, 0, INT64_MAX));
      object.RejectUnknown();
      map.namespaces.emplace(name, std::move(entry));
    }
  } else if (errors.empty()) {
    errors.Add("namespaces", "is missing");
  }
  root.RejectUnknown();
  RAIL_TRY(errors.ToStatus("the list of namespaces"));
  if (map.label_key == label_key) return map;
  return Fail(Code::kNotFound, "the list of namespaces is of label " + map.label_key +
                                   ", and node.json names " + std::string(label_key));
}

Status WriteWhole(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FailErrno(errno, "write " + path);
    text.remove_prefix(static_cast<size_t>(n));
  }
  if (::fsync(fd) != 0) return FailErrno(errno, "write " + path + " to the disk");
  return {};
}

// A rename is on the disk when its folder is.
Status SyncFolderOf(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return FailErrno(errno, "open " + folder);
  if (::fsync(fd.get()) != 0) return FailErrno(errno, "write " + folder + " to the disk");
  return {};
}

}  // namespace

bool IsTenantName(std::string_view value) {
  const auto ends = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !value.empty() && value.size() <= 63 && ends(value.front()) && ends(value.back()) &&
         std::ranges::all_of(value, [&](char c) { return ends(c) || c == '-'; });
}

std::string ToText(const TenantMap& map) {
  json namespaces = json::object();
  for (const auto& [name, entry] : map.namespaces) {
    json& value = namespaces[name] = json::object();
    if (entry.label) value["label"] = *entry.label;
    if (entry.created_ms != 0) value["created_ms"] = entry.created_ms;
  }
  return DumpJson({{"format", kFormat},
                   {"label", map.label_key},
                   {"resource_version", map.resource_version},
                   {"namespaces", std::move(namespaces)}}) +
         "\n";
}

Result<TenantMap> ParseTenantMap(std::string_view text, std::string_view label_key) {
  RAIL_ASSIGN_AS(const json document, ParseJson(text, kLimits), "the list of namespaces");
  return FromJson(document, label_key);
}

Result<TenantMap> LoadTenantMap(const std::string& path, std::string_view label_key) {
  RAIL_ASSIGN_AS(const json document, ReadJsonFile(path, kLimits), "read the list of namespaces");
  auto map = FromJson(document, label_key);
  if (!map) return FailWrapped(map.error(), path);
  return map;
}

Status SaveTenantMap(const std::string& path, const TenantMap& map) {
  const std::string fresh = path + ".new";
  Fd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640));
  if (!fd) return FailErrno(errno, "open " + fresh);
  Status written = WriteWhole(fd.get(), ToText(map), fresh);
  fd.Reset();
  if (written && ::rename(fresh.c_str(), path.c_str()) != 0) written = FailErrno(errno, "replace " + path);
  if (written) return SyncFolderOf(path);
  ::unlink(fresh.c_str());
  return written;
}

}  // namespace rail::tenancy
