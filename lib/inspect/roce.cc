#include "lib/inspect/roce.h"

#include <algorithm>

#include "lib/base/parse.h"
#include "lib/sriov/sysfs.h"

namespace rail::inspect {
namespace {

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
    const auto value = Number<uint64_t>(
        sysfs.Read(port + "/" + name).value_or(""));  // a driver refuses what it cannot count now
    if (value && counters.size() < kMostRoceCounters) counters.push_back({name, *value});
  }
  return counters;
}

}  // namespace rail::inspect
