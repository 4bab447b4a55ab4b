// What programs in a container can read of their devices (KEP-5304): a file for each request of a claim. Its folder is mounted, not the
// file, so a container that runs sees new content, too.
//
// Use:      RAIL_ASSIGN(const Mount mount, MetadataMount(claims.FolderOf(uid), described, "rail0"));   // among the edits of Prepare
//           RAIL_TRY(WriteMetadata(claims.FolderOf(uid), described, "rail0", devices, After(5s)));     // after Prepare; after ADD
// Threads:  any; writers for one claim wait for each other, also those of other processes
// Owns:     the files in the claim's folder (prepared_claims.h), which go with it
// Source:   kubernetes/kubernetes, staging/src/k8s.io/dynamic-resource-allocation: api/metadata (doc.go; v1beta1 and v1alpha1, which have
//           one shape), kubeletplugin/metadata.go
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/address.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/kubelet/claim.h"
#include "lib/kubelet/plugin.h"

namespace rail::kubelet {

struct DescribedClaim {
  ClaimName claim;
  std::string driver;
};

struct NetworkData {
  std::string interface;  // in the pod
  std::vector<IpPrefix> ips;
  MacAddress mac;
};

struct SemanticVersion {
  std::string text;
};

struct DescribedDevice {
  AllocatedDevice device;
  // As in the driver's ResourceSlice, by name: "resource.kubernetes.io/pciBusID".
  std::map<std::string, std::variant<bool, int64_t, std::string, SemanticVersion>> attributes;
  std::optional<NetworkData> network;  // since the pod's ADD
};

// Where containers look for it. Errors: kInvalid a name cannot be part of a path.
Result<Mount> MetadataMount(const std::string& folder, const DescribedClaim& claim,
                            const std::string& request);

// Makes the file so, with the next generation, or leaves it when it is so.
// Errors: kNotFound the claim is not prepared; kInvalid as MetadataMount; kBusy another has the lock; of mkdir(2), write(2).
Status WriteMetadata(const std::string& folder, const DescribedClaim& claim, const std::string& request,
                     const std::vector<DescribedDevice>& devices, Deadline until);

}  // namespace rail::kubelet
