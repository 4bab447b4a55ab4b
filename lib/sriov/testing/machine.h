// A machine's NICs as sysfs and devlink show them, in a folder of its own: ConnectX-7 by the documented layout.
//
// Use:      Machine machine;
//           machine.AddPf({.address = "0000:3b:00.0", .netdev = "ens1f0np0", .vfs = 8});
//           Lookup lookup(machine.sysfs(), machine.OpenDevlink());
// Threads:  one at a time
// Owns:     the folder, which goes with it
// Source:   kernel Documentation/ABI/testing/{sysfs-bus-pci,sysfs-class-net}, drivers/net/ethernet/mellanox/mlx5/core/en_rep.c
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "lib/sriov/lookup.h"

namespace rail::sriov::testing {

struct PfSpec {
  std::string address;     // "0000:3b:00.1"
  std::string netdev;      // "ens1f1np1"
  std::string switch_id;   // "" legacy mode: no representors
  uint32_t port = 0;       // the uplink is port p<port>
  uint32_t pf_number = 0;  // its representors are pf<pf_number>vf<n>
  uint32_t vfs = 8;
  std::string vf_bus =
      "0000:3b:00";  // of the VFs; their functions follow `first_function`, eight to a device
  uint32_t first_function = 2;
  std::string representor_prefix;  // "" as the kernel names them without udev: <netdev>_<n>
  std::string controller;          // "c1": of another host, as on a DPU
  std::string representors_under;  // "" under this PF, else under the device with this address
  bool in_devlink = true;          // devlink lists its ports too
};

class Machine {
 public:
  Machine();
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void AddPf(const PfSpec& spec);
  // "0000:3b:00.3": VF `index` of the PF.
  static std::string VfAddress(const PfSpec& spec, uint32_t index);

  const std::string& root() const { return root_; }
  Sysfs sysfs() const {
    return Sysfs(root_, [this](const std::string& path, const std::string& value) {
      if (on_write) on_write(path, value);
    });
  }
  // What the kernel does after a write to a file of sysfs().
  std::function<void(const std::string& path, const std::string& value)> on_write;
  static constexpr uint32_t kFirstVfPort = 128;  // the index of VF 0 in devlink, as netdevsim counts
  Lookup::OpenDevlink OpenDevlink();
  // A kernel, or a driver, without devlink ports.
  void ForgetDevlink() { ports_.clear(); }
  std::map<std::string, std::vector<netlink::DevlinkPort>>& ports() { return ports_; }  // by handle

  // Single facts, for the cases that differ; paths under the root.
  void Write(const std::string& path, const std::string& text) const;
  void Link(const std::string& path, const std::string& target_under_root) const;
  void Remove(const std::string& path) const;
  // The netdev of a device: class/net/<name> and <device>/net/<name>.
  void AddNetdev(const std::string& name, const std::string& device_path) const;
  void RemoveNetdev(const std::string& name) const;
  // A file that the kernel shows and refuses to read, as phys_port_name of most links: reading it fails.
  void Unreadable(const std::string& path) const;

 private:
  std::string root_;
  std::map<std::string, std::vector<netlink::DevlinkPort>> ports_;
};

// devices/pci0000:00/<address>, where the real folder of a device is.
std::string DevicePath(const std::string& address);

}  // namespace rail::sriov::testing
