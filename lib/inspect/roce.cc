#include "lib/inspect/roce.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

namespace rail::inspect {
namespace {

namespace fs = std::filesystem;

// Names of what is in a folder, sorted; none when it cannot be read.
std::vector<fs::path> In(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    found.push_back(at->path());
  std::ranges::sort(found);
  return found;
}

// What a driver cannot count now it refuses to tell.
std::optional<uint64_t> NumberIn(const fs::path& path) {
  std::ifstream file(path);
  uint64_t value = 0;
  if (!(file >> value)) return std::nullopt;
  return value;
}

bool IsName(const std::string& name) {
  return std::ranges::all_of(
      name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

std::vector<RoceCounter> ReadRoceCounters(const std::string& sysfs, const std::string& uplink) {
  std::vector<RoceCounter> counters;
  const auto devices = In(fs::path(sysfs) / "class/net" / uplink / "device/infiniband");
  if (devices.empty()) return counters;
  // An uplink's device has one port.
  for (const fs::path& path : In(devices.front() / "ports/1/hw_counters")) {
    const std::string name = path.filename();
    if (name == "lifespan" || !IsName(name)) continue;  // "lifespan": how long the kernel keeps a reading
    const auto value = NumberIn(path);
    if (value && counters.size() < kMostRoceCounters) counters.push_back({name, *value});
  }
  return counters;
}

}  // namespace rail::inspect
