// A NIC's eSwitch, its ports and its parameters, as devlink(8) shows and sets them.
//
// Use:      RAIL_ASSIGN(auto devlink, KernelDevlink::Open());
//           RAIL_ASSIGN(std::vector<DevlinkPort> ports, devlink->ListPorts({"pci", "0000:3b:00.0"}));
//           RAIL_TRY(devlink->SetEswitchMode({"pci", "0000:3b:00.0"}, EswitchMode::kSwitchdev));
// Threads:  one at a time
// Owns:     its socket, which stays in the namespace in which it was opened
// Source:   kernel include/uapi/linux/devlink.h, Documentation/networking/devlink/; devlink-port(8), devlink-dev(8)
// Errors of every function: kNotFound no such device or parameter; kUnsupported by the kernel or the driver; kPermission.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/error.h"

namespace rail::netlink {

// A NIC's name in devlink: pci/0000:3b:00.0.
struct DevlinkHandle {
  std::string bus;
  std::string device;
  std::string ToString() const { return bus + "/" + device; }
  auto operator<=>(const DevlinkHandle&) const = default;
};

struct DevlinkPort {
  enum class Flavour { kOther, kPhysical, kPciPf, kPciVf, kPciSf };
  uint32_t index = 0;  // of the device
  Flavour flavour = Flavour::kOther;
  uint32_t controller = 0;  // 0: this host; other numbers occur on a DPU
  uint16_t pf = 0;
  uint16_t vf = 0;
  std::string netdev;  // the representor's name; "" when it has none, or in another namespace
};

enum class EswitchMode { kLegacy, kSwitchdev };

class Devlink {
 public:
  virtual ~Devlink() = default;
  virtual Result<std::vector<DevlinkPort>> ListPorts(const DevlinkHandle& device) = 0;  // [] no such device
  virtual Result<EswitchMode> GetEswitchMode(const DevlinkHandle& device) = 0;
  virtual Status SetEswitchMode(const DevlinkHandle& device, EswitchMode mode) = 0;  // safe to repeat
  // The present value (cmode runtime) of a parameter of type string.
  virtual Result<std::string> GetParam(const DevlinkHandle& device, const std::string& name) = 0;
  virtual Status SetParam(const DevlinkHandle& device, const std::string& name, const std::string& value) = 0;
};

}  // namespace rail::netlink
