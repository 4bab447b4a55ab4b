// Files of sysfs under a root, so that code can read a recorded tree like a machine's own.
//
// Use:      Sysfs sysfs("/sys");
//           auto driver = sysfs.Target("bus/pci/devices/0000:3b:00.2/driver");    // "mlx5_core"
//           auto text = sysfs.Read("class/net/ens1f0np0/phys_switch_id");         // nothing on EOPNOTSUPP
// Threads:  values
// Source:   kernel Documentation/ABI/testing/{sysfs-bus-pci,sysfs-class-net}
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/error.h"

namespace rail::sriov {

class Sysfs {
 public:
  // What a recorded tree does after a write, as the kernel would.
  using Written = std::function<void(const std::string& path, const std::string& value)>;
  explicit Sysfs(std::string root, Written written = {})
      : root_(std::move(root)), written_(std::move(written)) {}

  // The file's text without the newline; nothing when the file does not exist or its driver refuses to read it.
  std::optional<std::string> Read(const std::string& path) const;
  std::optional<uint32_t> ReadNumber(const std::string& path) const;
  // The last part of the symbolic link's target.
  std::optional<std::string> Target(const std::string& path) const;
  // The folder's path without symbolic links, to compare it with another one.
  std::optional<std::string> Real(const std::string& path) const;
  bool Exists(const std::string& path) const;
  std::vector<std::string> List(const std::string& path) const;  // sorted; [] when there is no such folder

  // Errors: kNotFound, kBusy, kPermission, kInvalid, as the file's driver reports. Where sysfs is read-only, as in a container, the
  //         message says which mounts are missing.
  Status Write(const std::string& path, const std::string& value) const;

 private:
  std::string At(const std::string& path) const { return root_ + "/" + path; }

  std::string root_;
  Written written_;
};

}  // namespace rail::sriov
