// A node's devices as ResourceSlices of resource.k8s.io/v1.
//
// Use:      RAIL_ASSIGN(device.name, DeviceNameOf("0000:3b:00.2"));    // "0000-3b-00-2"
//           RAIL_TRY(CheckPool(pool));
//           for (const auto& [name, slice] : SlicesOf(pool, node_uid, 7)) ...  // "railcni-n1-00", "railcni-n1-01"
// Threads:  pure functions
// Source:   resource/v1 ResourceSlice; kubernetes pkg/apis/resource/validation (limits: 64 devices a slice where one has a taint, else 128)
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/base/error.h"

namespace rail::kubernetes {

// Also of slices without taints: no device moves to another slice when a taint comes or goes.
inline constexpr size_t kDevicesOfSlice = 64;

struct Version {
  std::string text;  // three numbers: "22.41.1000"
  bool operator==(const Version&) const = default;
};

using Attribute = std::variant<std::string, int64_t, bool, Version>;

struct Taint {
  std::string key, value;  // of a label
  std::string effect;      // None, NoSchedule, NoExecute
  bool operator==(const Taint&) const = default;
};

struct Device {
  std::string name;                             // a DNS label
  std::map<std::string, Attribute> attributes;  // by name, or domain/name
  std::map<std::string, std::string> capacity;  // whole numbers: "25G"
  std::vector<Taint> taints;
  bool operator==(const Device&) const = default;
};

struct Pool {
  std::string driver;
  std::string node;             // the pool has its name
  std::vector<Device> devices;  // schedulers take the first that fits
};

// Of a PCI address; a DNS label that is no such name stays as it is. Two devices never have one name. Errors: kInvalid, of other ids.
Result<std::string> DeviceNameOf(std::string_view id);

// Errors: kInvalid, the first thing that the API server would refuse.
Status CheckPool(const Pool& pool);

// Of a pool that was checked: by name.
using Slices = std::map<std::string, nlohmann::json>;
Slices SlicesOf(const Pool& pool, const std::string& node_uid, int64_t generation);

}  // namespace rail::kubernetes
