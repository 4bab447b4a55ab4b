#include "lib/kubelet/cdi.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "lib/base/folder.h"
#include "lib/base/strict_json.h"
#include "lib/base/whole_file.h"

namespace rail::kubelet {
namespace {

using nlohmann::json;

const std::string kKind = "railcni.io/rail", kStart = "railcni.io_rail_", kEnd = ".json";

Result<json> ToJson(const Allocation& allocation) {
  json edits = json::object();
  for (const auto& [name, value] : allocation.envs) {
    if (name.empty() || name.find('=') != std::string::npos)
      return Fail(Code::kInvalid, "\"" + name + "\" cannot be a variable");
    edits["env"].push_back(name + "=" + value);
  }
  for (const auto& [path, host_path, permissions] : allocation.nodes) {
    if (!path.starts_with('/') || !host_path.starts_with('/') || permissions.empty() ||
        permissions.find_first_not_of("rwm") != std::string::npos)
      return Fail(Code::kInvalid, "the device file " + host_path + " at " + path + " with the rights \"" +
                                      permissions +
                                      "\" has no absolute paths, or rights other than r, w and m");
    edits["deviceNodes"].push_back({{"path", path}, {"hostPath", host_path}, {"permissions", permissions}});
  }
  for (const auto& [path, host_path, read_only] : allocation.mounts) {
    if (!path.starts_with('/') || !host_path.starts_with('/'))
      return Fail(Code::kInvalid, "the mount of " + host_path + " at " + path + " has no absolute paths");
    const json options = {read_only ? "ro" : "rw", "bind"};
    edits["mounts"].push_back({{"hostPath", host_path}, {"containerPath", path}, {"options", options}});
  }
  if (!allocation.annotations.empty()) return Fail(Code::kInvalid, "CDI knows no annotations of containers");
  return edits;
}

}  // namespace

bool IsName(std::string_view name, std::string_view between) {
  const auto is_plain = [](unsigned char c) { return c < 128 && std::isalnum(c) != 0; };
  return !name.empty() && name.size() <= 253 && is_plain(name.front()) && is_plain(name.back()) &&
         std::ranges::all_of(name, [&](char c) { return is_plain(c) || between.find(c) != between.npos; });
}

Result<std::vector<std::string>> AddCdiDevice(json& spec, const std::string& uid, const std::string& request,
                                              const Allocation& allocation) {
  RAIL_ASSIGN_AS(json edits, ToJson(allocation), "give containers the edits of request " + request);
  std::vector<std::string> names = allocation.cdi_names;
  if (edits.empty()) return names;
  std::string name = uid + "-" + request;
  std::ranges::replace(name, '/', '.');
  spec["cdiVersion"] = "0.5.0";
  spec["kind"] = kKind;
  spec["devices"].push_back({{"name", name}, {"containerEdits", std::move(edits)}});
  names.push_back(kKind + "=" + name);
  return names;
}

Status PutCdi(const std::string& folder, const std::string& uid, const json& spec) {
  const std::string path = folder + "/" + kStart + uid + kEnd;
  if (spec.is_null()) return RemoveWhole(path);
  if (const auto there = ReadJsonFile(path); there && *there == spec) return {};
  return WriteWhole(path, DumpJson(spec), 0644);
}

Status KeepCdiOf(const std::string& folder, const std::set<std::string>& uids) {
  RAIL_ASSIGN(const auto names, NamesIn(folder));
  for (const std::string& name : names) {
    bool goes = name.starts_with("." + kStart);  // WriteWhole's
    if (name.starts_with(kStart) && name.ends_with(kEnd))
      goes = !uids.contains(name.substr(kStart.size(), name.size() - kStart.size() - kEnd.size()));
    if (goes) RAIL_TRY(RemoveWhole(folder + "/" + name));
  }
  return {};
}

}  // namespace rail::kubelet
