// The RDMA devices of a machine in memory, and one namespace's view of them.
//
// Use:      RdmaMachine machine(RdmaNetns::kExclusive);
//           machine.Add("mlx5_4", host.identity());
//           auto rdma = machine.Open();                 // of the calling thread's namespace, as the kernel's
// Threads:  one at a time
// Source:   kernel drivers/infiniband/core/device.c: names are unique on the machine, an index stays with its device
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/netlink/netns.h"
#include "lib/netlink/rdma.h"

namespace rail::netlink::testing {

class RdmaMachine {
 public:
  struct Device {
    RdmaDevice device;
    netns::Identity where;
  };

  explicit RdmaMachine(RdmaNetns mode) : mode_(mode) {}

  uint32_t Add(const std::string& name, const netns::Identity& where);
  // As when the namespace dies: its devices are `home`'s again.
  void Kill(const netns::Identity& pod, const netns::Identity& home);
  void Rename(const std::string& from, const std::string& to);  // by the pod
  RdmaNetns mode() const { return mode_; }
  std::vector<Device>& devices() { return devices_; }
  const Device* Find(const std::string& name) const;
  std::vector<std::string> Names() const;  // in the order in which they were added

  Result<std::unique_ptr<Rdma>> Open();

  std::function<void()> on_change = [] {};  // after a device was renamed or moved through a view

 private:
  const RdmaNetns mode_;
  std::vector<Device> devices_;
  uint32_t next_ = 0;
};

}  // namespace rail::netlink::testing
