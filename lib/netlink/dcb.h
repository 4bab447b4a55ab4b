// How a link treats priorities (data center bridging): PFC, traffic classes, the table of applications, and what its neighbor says.
//
// Use:      RAIL_ASSIGN(auto dcb, KernelDcb::Open());
//           RAIL_ASSIGN(DcbState state, dcb->Get("ens1f0np0"));
//           RAIL_TRY(dcb->SetPfc("ens1f0np0", 1U << 3));
// Threads:  one at a time
// Owns:     its socket, which stays in the namespace in which it was opened
// Source:   kernel include/uapi/linux/dcbnl.h, net/dcb/dcbnl.c; dcb(8); IEEE 802.1Q-2018 clauses 36 to 38
// Errors of every function: kNotFound no such link; kUnsupported by the kernel or the driver; kPermission; kInvalid.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/error.h"

namespace rail::netlink {

inline constexpr size_t kPriorities = 8;

// An entry of the table of applications: packets with `protocol` in what `selector` names have `priority`.
struct DcbApp {
  static constexpr uint8_t kDscp = 5;  // IEEE_8021QAZ_APP_SEL_DSCP: `protocol` is a DSCP
  uint8_t selector = 0;
  uint8_t priority = 0;  // 0..7
  uint16_t protocol = 0;
  auto operator<=>(const DcbApp&) const = default;
};

struct DcbPfc {
  uint8_t enabled = 0;   // bit N: priority N pauses
  uint8_t capacity = 0;  // how many priorities may
  uint8_t mbc = 0;       // MACsec bypass capability
  uint16_t delay = 0;    // what the driver reserves for a link's round trip; its unit is the driver's
  std::array<uint64_t, kPriorities> requests{};     // pause frames sent, by priority
  std::array<uint64_t, kPriorities> indications{};  // received
};

struct DcbEts {
  std::array<uint8_t, kPriorities> traffic_class{};  // by priority
};

struct DcbState {
  std::optional<DcbPfc> pfc;  // nothing: the driver does not say
  std::optional<DcbEts> ets;
  std::vector<DcbApp> apps;  // ordered
  std::optional<uint8_t>
      peer_pfc;  // what the neighbor says of its own PFC (DCBX); nothing: it does not, or nobody listens
};

class Dcb {
 public:
  virtual ~Dcb() = default;
  virtual Result<DcbState> Get(const std::string& link) = 0;
  // The priorities that pause, all others do not. Safe to repeat.
  virtual Status SetPfc(const std::string& link, uint8_t enabled) = 0;
  // Adds an entry; others of the same protocol stay. Safe to repeat.
  virtual Status AddApp(const std::string& link, const DcbApp& app) = 0;
  // Safe to repeat.
  virtual Status DeleteApp(const std::string& link, const DcbApp& app) = 0;
};

}  // namespace rail::netlink
