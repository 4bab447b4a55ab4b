// The guard of a representor: it refuses what the pod may not send, before Open vSwitch looks at it.
//
// Use:      RAIL_TRY(guard.Close("rep0"));                     // refuses everything
//           RAIL_TRY(guard.Allow("rep0", {.mac = ..., .gateway = ..., .addresses = {...}}));
//           RAIL_ASSIGN(const Refused refused, guard.Count("rep0"));
//           RAIL_TRY(guard.Open("rep0"));                      // refuses nothing
// Threads:  one at a time
// Source:   README.md of this folder
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/address.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"

namespace rail::guard {

inline constexpr size_t kMostAddresses = 16;       // of one family
inline constexpr size_t kMostDestinations = 4000;  // of both families that a pod may speak to at a time

// What a pod may send: IPv4 and IPv6 without a tag, from its own addresses, to the gateway.
struct Allowed {
  MacAddress mac;
  MacAddress gateway;
  std::vector<IpAddress> addresses;  // at most kMostAddresses of a family
  bool operator==(const Allowed&) const = default;
};

// Why a frame is refused, in the order in which the guard asks. The numbers are those of the program's counters.
enum class Reason : uint32_t {
  kMalformed,     // shorter than its headers, or of another version than its EtherType says
  kTagged,        // 802.1Q, 802.1ad
  kEtherType,     // neither IPv4 nor IPv6: ARP, too
  kGateway,       // not to the gateway's MAC
  kMac,           // not from the pod's MAC
  kAddress,       // not from an address of the pod
  kDestinations,  // to a new address, while kMostDestinations others are remembered
};
inline constexpr size_t kReasons = 7;
const char* Name(
    Reason reason);  // "malformed", "tagged", "ethertype", "gateway", "mac", "address", "destinations"

// Frames since the last Close, by Reason.
struct Refused {
  std::array<uint64_t, kReasons> frames{};
  uint64_t of(Reason reason) const { return frames[static_cast<size_t>(reason)]; }
};

// Errors of every function: kNotFound no such link; kExists the link has another XDP program (the message names it); kUnsupported the
// kernel has no BPF or no generic XDP; kPermission without CAP_BPF and CAP_NET_ADMIN.
class Guard {
 public:
  virtual ~Guard() = default;

  // A link gets its guard by Close or Allow, whichever comes first, and keeps it. Both are safe to repeat.
  // Refuses everything until Allow; forgets what it has counted, and who was spoken to.
  virtual Status Close(const std::string& representor) = 0;
  // Right after a Close of the link by the same Guard it does not look at the link, and so waits for nobody who changes links. Errors:
  // also kInvalid more than kMostAddresses.
  virtual Status Allow(const std::string& representor, const Allowed& allowed) = 0;
  // Whether the link has a guard of this version that allows just that. No error where there is none.
  virtual Result<bool> Holds(const std::string& representor, const Allowed& allowed) = 0;
  // Zeros where there is no guard of ours.
  virtual Result<Refused> Count(const std::string& representor) = 0;
  // Forgets destinations to which the pod has sent nothing for `idle`, and returns how many are left. Frames that a NIC forwards by
  // itself do not count as sent. Errors: also kNotFound there is no guard of ours.
  virtual Result<size_t> Forget(const std::string& representor, Clock::duration idle) = 0;
  // Lets everything pass, as if there were no guard. Safe to repeat: a link that is gone, or has no guard of ours, is no error.
  virtual Status Open(const std::string& representor) = 0;
  // Takes the guards of all links of the namespace away, and returns those links. Safe to repeat.
  virtual Result<std::vector<std::string>> RemoveAll() = 0;
};

}  // namespace rail::guard
