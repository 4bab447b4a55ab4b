// What the kubelet and the API server call a claim, and what it got from this driver.
//
// Source:   dra/v1/dra.proto; ResourceClaim of resource.k8s.io/v1
#pragma once

#include <string>
#include <vector>

namespace rail::kubelet {

struct ClaimName {
  std::string pod_namespace;
  std::string name;
  std::string uid;
  std::string pod_claim =
      {};  // its name in the pod's spec, where a template has made it; else "". The kubelet does not say it
};

struct AllocatedDevice {
  std::string request;  // "request", or "request/subrequest" of a prioritized list
  std::string pool;
  std::string device;
  bool operator==(const AllocatedDevice&) const = default;
};

// One that is ready for containers.
struct PreparedDevice {
  AllocatedDevice device;
  std::vector<std::string> cdi_names;  // vendor/class=name; of a request only its first device has them
  bool operator==(const PreparedDevice&) const = default;
};

}  // namespace rail::kubelet
