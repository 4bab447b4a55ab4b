// What a ResourceClaim has got from this driver, and what the driver says of it in its status.
//
// Use:      RAIL_ASSIGN(const auto devices, GetClaim(api, {"ml", "job-0-rails", uid}, "rail.railcni.io", until));
//           RAIL_TRY(ReportDevices(api, claim, "rail.railcni.io", {{.pool = "n1", .device = "0000-3b-00-2", .ready = true}}, until));
// Threads:  one, as the client
// Source:   resource/v1 ResourceClaim; kubernetes pkg/apis/resource/validation; server-side apply: of status.devices a manager's own entries
//           alone are replaced. Rights: README.md
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/address.h"
#include "lib/base/clock.h"
#include "lib/kubernetes/resource_api.h"

namespace rail::kubernetes {

struct ClaimName {
  std::string pod_namespace, name, uid;
};

struct AllocatedDevice {
  std::string request;  // "request", or "request/subrequest" of a prioritized list
  std::string pool, device;
  std::string share_id;  // "": no other claim shares the device
  bool admin = false;    // adminAccess: another claim may have it, too
  bool operator==(const AllocatedDevice&) const = default;
};

// What a DeviceClass or the claim says to the driver ("opaque").
struct ClaimConfig {
  std::vector<std::string> requests;  // {}: all
  std::string parameters;             // JSON
};

struct Claim {
  std::string pod_claim;                 // its name in the pod's spec, where a template has made it; else ""
  std::vector<AllocatedDevice> devices;  // of this driver
  std::vector<ClaimConfig> configs;      // for this driver; the last counts
};

// {}: nothing is of this driver. Errors: kInvalid a name that is none (nothing is asked then), a device without a name; kNotFound no such
// claim, or one of another UID; kBusy not allocated; of AskFor.
Result<Claim> GetClaim(const ResourceApi& api, const ClaimName& claim, const std::string& driver,
                       Deadline until);

struct DeviceStatus {
  std::string pool, device, share_id;
  bool ready = false;
  std::string message;
  int64_t since_ms = 0;             // when `ready` was last another
  std::string link;                 // its name in the pod
  std::vector<IpPrefix> addresses;  // 16 at most
  std::optional<MacAddress> mac;
};

// Makes `statuses` all that this driver says of the claim. Errors: kInvalid what the server would refuse, which a claim of another UID is,
// too; kNotFound no such claim; kUnsupported a server that keeps no statuses; of AskFor.
Status ReportDevices(const ResourceApi& api, const ClaimName& claim, const std::string& driver,
                     const std::vector<DeviceStatus>& statuses, Deadline until);

}  // namespace rail::kubernetes
