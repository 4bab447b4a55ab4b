// The keys of frr-provider's network configuration.
#pragma once

#include <chrono>

#include "lib/cni/error.h"
#include "lib/cni/request.h"

namespace rail::frr_provider {

enum class OnTimeout { kFail, kWarn };

struct Config {
  // "wait_ms", 0..20000: how long ADD waits for the address to be in the Adj-RIB-Out of its rail's established session;
  // 0: it does not wait, the address has been handed to bgpd.
  std::chrono::milliseconds wait{2000};
  OnTimeout on_timeout = OnTimeout::kFail;  // "on_timeout": "fail" | "warn"
};

// Errors: code 7, naming the key.
cni::Outcome<Config> ParseConfig(const cni::Request& request);

}  // namespace rail::frr_provider
