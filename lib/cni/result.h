// The result of an ADD, in every version of the specification that we support.
//
// Use:      RAIL_ASSIGN(AddResult result, AddResult::Parse(*request.prev_result, request.cni_version));
//           result.interfaces.push_back({.name = "net1", .mac = mac, .sandbox = netns, .mtu = 4200});
//           std::string out = result.Print("1.0.0");
//           std::string same = PassThrough(*request.prev_result, request.cni_version);   // keeps unknown fields too
// Threads:  values
// Source:   CNI SPEC.md at tags spec-v0.3.1, spec-v0.4.0, spec-v1.0.0, spec-v1.1.0, section 5 "Success"
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/address.h"
#include "lib/base/error.h"

namespace rail::cni {

struct Interface {
  std::string name{};
  std::string mac{};          // "" unknown
  std::string sandbox{};      // netns path; "" on the host
  uint32_t mtu = 0;           // 1.1.0; 0 unknown
  std::string pci_id{};       // 1.1.0; "" none
  std::string socket_path{};  // 1.1.0; "" none
};

struct IpConfig {
  IpPrefix address{};
  std::optional<IpAddress> gateway{};
  int interface = -1;  // index into interfaces, always in range; -1 none
};

struct RouteConfig {
  IpPrefix destination{};
  std::optional<IpAddress> gateway{};
  uint32_t mtu = 0;  // from here on: since 1.1.0, printed in every version
  uint32_t advmss = 0;
  std::optional<uint32_t> priority{}, table{}, scope{};
};

struct AddResult {
  std::vector<Interface> interfaces;
  std::vector<IpConfig> ips;
  std::vector<RouteConfig> routes;
  std::string dns;  // JSON object text; "" when absent

  // Reads a result by its own cniVersion, or `default_version` when it has none. Unknown fields are skipped.
  // JSON null is an empty result. Errors: kInvalid; the message names every key that is wrong ("ips[0].address"), or
  // a version that we do not support.
  static Result<AddResult> Parse(const nlohmann::json& value, const std::string& default_version);

  // One JSON document in the form of `version` (0.3.0 .. 1.1.0), without a newline.
  std::string Print(const std::string& version) const;
};

// Prints `previous` as the result of a plugin that adds nothing. Converts "ips[].version" and "dns" to the form of `version`.
// Keeps every other field, also a field that `version` or this code does not know. A `previous` without cniVersion is read as
// one of `version`. Errors: as AddResult::Parse.
Result<std::string> PassThrough(const nlohmann::json& previous, const std::string& version);

}  // namespace rail::cni
