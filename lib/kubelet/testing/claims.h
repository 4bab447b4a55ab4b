// Claims for tests, what their containers get, and what a container runtime says of a CDI file.
//
// Use:      claims.Prepare(Claim("a"), {Vf(1), Vf(2)}, Edits, After(kLong));   EXPECT_EQ(RefusalOf(ReadText(path)), "");
// Threads:  pure functions
// Source:   cncf-tags/container-device-interface, pkg/cdi and pkg/parser
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "lib/base/text.h"
#include "lib/kubelet/claim.h"
#include "lib/kubelet/plugin.h"
#include "lib/kubelet/prepared_claims.h"

namespace rail::kubelet::testing {

constexpr auto kLong = std::chrono::seconds(30);

// Whether fsync(2) waits for the disk (prepared_claims_crash_test.cc): no test takes the power away, and some write much.
inline bool flushes = true;
struct WithoutFlushes {
  WithoutFlushes() { flushes = false; }
  ~WithoutFlushes() { flushes = true; }
};

inline ClaimName Claim(const std::string& name) {
  return {.pod_namespace = "team-" + name, .name = "claim-" + name, .uid = "uid-" + name};
}

inline AllocatedDevice Vf(int number, const std::string& request = "rail0") {
  return {.request = request, .pool = "node1", .device = "vf" + std::to_string(number)};
}

// A variable with all devices, the RDMA device's file, a folder.
inline Result<Allocation> Edits(const std::string& request, const std::vector<AllocatedDevice>& devices) {
  const std::string names = Join(devices, ",", &AllocatedDevice::device);
  return Allocation{
      .envs = {{"PCIDEVICE_RAIL", names}},
      .mounts = {{.container_path = "/run/" + request, .host_path = "/srv/" + request}},
      .nodes = {{.container_path = "/dev/infiniband/uverbs0", .host_path = "/dev/infiniband/uverbs0"}}};
}

inline std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Each file and folder below `folder`, with its content.
inline std::map<std::string, std::string> Tree(const std::string& folder) {
  std::map<std::string, std::string> tree;
  for (const auto& each : std::filesystem::recursive_directory_iterator(folder))
    tree[std::filesystem::relative(each.path(), folder)] =
        each.is_directory() ? "(folder)" : ReadText(each.path());
  return tree;
}

// Why a runtime would not take the file; "": it takes it.
inline std::string RefusalOf(const std::string& text) {
  const auto spec = nlohmann::json::parse(text, nullptr, false);
  if (!spec.is_object()) return "not an object";
  const auto has_only = [](const nlohmann::json& object, const std::set<std::string>& keys) {
    for (const auto& [key, value] : object.items())
      if (!keys.contains(key)) return false;
    return true;
  };
  if (!has_only(spec, {"cdiVersion", "kind", "devices"})) return "a field that it does not know";
  if (spec.value("cdiVersion", "") != "0.5.0") return "another version";
  static const std::regex kKind("[A-Za-z][-._A-Za-z0-9]*[A-Za-z0-9]/[A-Za-z][-_A-Za-z0-9]*[A-Za-z0-9]");
  if (!std::regex_match(spec.value("kind", ""), kKind)) return "the kind";
  if (!spec.contains("devices") || spec["devices"].empty()) return "no devices";
  static const std::regex kName("[A-Za-z0-9]([-_.:A-Za-z0-9]*[A-Za-z0-9])?");
  std::set<std::string> names;
  for (const auto& device : spec["devices"]) {
    if (!has_only(device, {"name", "containerEdits"})) return "a field of a device that it does not know";
    const std::string name = device.value("name", "");
    if (!std::regex_match(name, kName) || !names.insert(name).second) return "the name " + name;
    const auto edits = device.value("containerEdits", nlohmann::json::object());
    if (edits.empty() || !has_only(edits, {"env", "deviceNodes", "mounts"})) return "the edits of " + name;
    for (const auto& each : edits.value("env", nlohmann::json::array())) {
      const size_t end = each.get<std::string>().find('=');
      if (end == 0 || end == std::string::npos) return "a variable of " + name;
    }
    for (const auto& each : edits.value("deviceNodes", nlohmann::json::array())) {
      if (each.value("path", "").empty()) return "a device file of " + name;
      if (each.value("permissions", "").find_first_not_of("rwm") != std::string::npos)
        return "rights of " + name;
    }
    for (const auto& each : edits.value("mounts", nlohmann::json::array()))
      if (each.value("hostPath", "").empty() || each.value("containerPath", "").empty())
        return "a mount of " + name;
  }
  return "";
}

}  // namespace rail::kubelet::testing
