// The keys of ovs-provider's network configuration.
#pragma once

#include <string>

#include "lib/cni/error.h"
#include "lib/cni/request.h"
#include "lib/device/device.h"

namespace rail::ovs_provider {

struct Config {
  std::string rail;  // "rail": a rail of node.json
  device::Settings device;
};

// Errors: code 7, naming the key.
cni::Outcome<Config> ParseConfig(const cni::Request& request);

}  // namespace rail::ovs_provider
