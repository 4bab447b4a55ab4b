// The keys of ovs-provider's network configuration.
#pragma once

#include <string>

#include "lib/cni/error.h"
#include "lib/cni/request.h"
#include "lib/cni/result.h"
#include "lib/device/device.h"

namespace rail::ovs_provider {

struct Config {
  std::string rail;  // "rail": a rail of node.json
  device::Settings device;
};

// Errors: code 7, naming the key.
cni::Outcome<Config> ParseConfig(const cni::Request& request);

// The IPAM plugin "static" hands out whatever it is asked for, and a pod's author can ask (args.cni.ips, CNI_ARGS): only the
// network's own "ipam.addresses" count; where it has none, those of runtimeConfig.ips, which the network lets pods choose by
// declaring the capability. Others give from ranges of their own. Errors: kInvalid, naming the address.
Status CheckStaticAddresses(const cni::Request& request, const cni::AddResult& given);

// Before IPAM is asked: what nv-ipam takes from a pod's cni-args (nvidia-k8s-ipam, pkg/cni/types) before it looks at the network's
// configuration would let a pod choose its pool, or be the pool's gateway. Errors: kInvalid, naming the key.
Status CheckPodsWishes(const cni::Request& request);

}  // namespace rail::ovs_provider
