// Files of sysfs under a root, so that a recorded tree is looked at like a machine.
//
// Use:      Sysfs sysfs("/sys");
//           auto driver = sysfs.Target("bus/pci/devices/0000:3b:00.2/driver");    // "mlx5_core"
//           auto text = sysfs.Read("class/net/ens1f0np0/phys_switch_id");         // nothing: EOPNOTSUPP is a plain no
// Threads:  values
// Source:   kernel Documentation/ABI/testing/{sysfs-bus-pci,sysfs-class-net}
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/error.h"

namespace rail::sriov {

class Sysfs {
 public:
  explicit Sysfs(std::string root) : root_(std::move(root)) {}

  // What the file says, without the newline; nothing when it is not there or its driver refuses to say.
  std::optional<std::string> Read(const std::string& path) const;
  std::optional<uint32_t> ReadNumber(const std::string& path) const;
  // The last part of what the link leads to.
  std::optional<std::string> Target(const std::string& path) const;
  // The folder itself, whatever links lead to it; to be compared with another one.
  std::optional<std::string> Real(const std::string& path) const;
  bool Exists(const std::string& path) const;
  std::vector<std::string> List(const std::string& path) const;  // in order; [] when there is none

  // Errors: kNotFound, kBusy, kPermission, kInvalid, as the file's driver says.
  Status Write(const std::string& path, const std::string& value) const;

 private:
  std::string At(const std::string& path) const { return root_ + "/" + path; }

  std::string root_;
};

}  // namespace rail::sriov
