#include "lib/inspect/roce.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "lib/sriov/sysfs.h"

namespace rail::inspect {
namespace {

// Nothing if the text is missing: a driver refuses to read a counter that it cannot count now.
std::optional<uint64_t> NumberIn(const std::optional<std::string>& text) {
  uint64_t value = 0;
  if (!text) return std::nullopt;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

bool IsName(const std::string& name) {
  return std::ranges::all_of(
      name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

std::vector<RoceCounter> ReadRoceCounters(const std::string& root, const std::string& uplink) {
  const sriov::Sysfs sysfs(root);
  std::vector<RoceCounter> counters;
  const std::string folder = "class/net/" + uplink + "/device/infiniband";
  const auto devices = sysfs.List(folder);
  if (devices.empty()) return counters;
  // An uplink's device has one port.
  const std::string port = folder + "/" + devices.front() + "/ports/1/hw_counters";
  for (const std::string& name : sysfs.List(port)) {
    if (name == "lifespan" || !IsName(name)) continue;  // "lifespan": how long the kernel keeps a reading
    const auto value = NumberIn(sysfs.Read(port + "/" + name));
    if (value && counters.size() < kMostRoceCounters) counters.push_back({name, *value});
  }
  return counters;
}

}  // namespace rail::inspect
