// The keys of frr-provider's network configuration.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "lib/cni/error.h"
#include "lib/cni/request.h"

namespace rail::frr_provider {

enum class OnTimeout { kFail, kWarn };

enum class WaitFor { kSession, kAdjRibOut };

// A rail's session is there before its pods; that of a tenant starts with the tenant's first pod on the node.
inline constexpr std::chrono::milliseconds kWait{2000}, kVrfWait{10'000};

struct Config {
  // "rail": the rail of the pod's addresses, where no ovs-provider stands before; "": it is worked out.
  std::string rail;
  // "wait_for": what ADD waits for once bgpd has the addresses. "session": the rail's session is Established; "adj-rib-out": the
  // addresses are in its Adj-RIB-Out, too.
  WaitFor wait_for = WaitFor::kSession;
  // "wait_ms", 0..20000: for how long; 0: it does not wait. nullopt: kWait, in mode `vrf` kVrfWait.
  std::optional<std::chrono::milliseconds> wait;
  OnTimeout on_timeout = OnTimeout::kFail;  // "on_timeout": "fail" | "warn"
};

// Errors: code 7, naming the key.
cni::Outcome<Config> ParseConfig(const cni::Request& request);

}  // namespace rail::frr_provider
