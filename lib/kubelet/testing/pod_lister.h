// A kubelet's podresources service, which speaks the real protocol on a unix socket.
//
// Use:      PodLister lister({{"ml", "train-0", "nvidia.com/gpu", {"GPU-1"}}});   ListPodDevices(lister.socket(), ...);
// Threads:  one at a time; the server has its own
// Owns:     the socket and its folder
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/pcie/pairs.h"

namespace rail::kubelet::testing {

struct Given {
  std::string pod_namespace;
  std::string pod;
  std::string resource;
  std::vector<std::string> ids;
  // The devices are of a claim that two containers share, and `resource` is its driver; "": as a kubelet that knows the CDI devices alone.
  bool claim = false;
};

class PodLister {
 public:
  // `allocatable`: nullopt: a kubelet that has no such call.
  explicit PodLister(std::vector<Given> allocations, std::optional<pcie::ResourceDevices> allocatable = {});
  ~PodLister();
  PodLister(const PodLister&) = delete;
  PodLister& operator=(const PodLister&) = delete;
  const std::string& socket() const { return socket_; }

 private:
  struct Parts;
  std::string socket_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rail::kubelet::testing
