// The settings of SR-IOV virtual functions, read and changed through their PF.
//
// Use:      RAIL_ASSIGN(auto vfs, KernelVfs::Open());                 // of the calling thread's namespace: the PF's
//           RAIL_ASSIGN(VfState state, vfs->Get(pf.index, 3));
//           RAIL_TRY(vfs->Set(pf.index, 3, {.trust = false}));
// Threads:  one at a time
// Owns:     its socket
// Source:   rtnetlink(7); kernel include/uapi/linux/if_link.h (IFLA_VFINFO_LIST); ip-link(8), "vf"
// Errors of every function: kNotFound no such link or VF; kUnsupported by the driver (the message says what); kInvalid;
//         kPermission.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/base/address.h"
#include "lib/base/error.h"

namespace rail::netlink {

enum class VfLinkState { kAuto, kEnable, kDisable };  // the kernel's numbers

struct VfVlan {
  uint16_t id = 0;       // 0: none
  uint8_t qos = 0;       // 0..7
  bool service = false;  // 802.1ad instead of 802.1Q
  bool operator==(const VfVlan&) const = default;
};

struct VfRates {
  uint32_t min = 0;  // Mbit/s; 0: none guaranteed
  uint32_t max = 0;  // Mbit/s; 0: no limit
  bool operator==(const VfRates&) const = default;
};

struct VfState {
  MacAddress mac;  // assigned by the administrator; zero: none assigned
  VfVlan vlan;
  VfRates rates;
  std::optional<bool> spoofchk;  // nothing: the driver does not report it
  std::optional<bool> trust;
  std::optional<VfLinkState> link_state;
  bool operator==(const VfState&) const = default;
};

// Set sets the fields that have a value, in this order. The others stay as they are.
struct VfChange {
  std::optional<VfVlan> vlan;
  std::optional<MacAddress> mac;
  std::optional<VfRates> rates;
  std::optional<bool> spoofchk;
  std::optional<bool> trust;
  std::optional<VfLinkState> link_state;
};

class Vfs {
 public:
  virtual ~Vfs() = default;
  virtual Result<VfState> Get(int pf, uint32_t vf) = 0;
  // Sends one request for each field. Stops at the first that is refused; the error names it. Safe to repeat.
  virtual Status Set(int pf, uint32_t vf, const VfChange& change) = 0;
};

}  // namespace rail::netlink
