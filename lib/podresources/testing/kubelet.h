// A kubelet's podresources service, which speaks the real protocol on a unix socket.
//
// Use:      Kubelet kubelet({{"ml", "train-0", "nvidia.com/gpu", {"GPU-1"}}});   podresources::List(kubelet.socket(), ...);
// Threads:  one at a time; the server has its own
// Owns:     the socket and its folder
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace rail::podresources::testing {

struct Allocation {
  std::string pod_namespace;
  std::string pod;
  std::string resource;
  std::vector<std::string> ids;
};

class Kubelet {
 public:
  explicit Kubelet(std::vector<Allocation> allocations);
  ~Kubelet();
  Kubelet(const Kubelet&) = delete;
  Kubelet& operator=(const Kubelet&) = delete;
  const std::string& socket() const { return socket_; }

 private:
  struct Parts;
  std::string socket_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rail::podresources::testing
