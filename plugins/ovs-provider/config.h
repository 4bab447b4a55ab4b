// The keys of ovs-provider's network configuration.
#pragma once

#include <string>

#include "lib/base/strict_json.h"
#include "lib/cni/error.h"
#include "lib/cni/request.h"
#include "lib/cni/result.h"
#include "lib/device/device.h"

namespace rail::ovs_provider {

struct Config {
  std::string rail;         // "rail": a rail of node.json
  device::Settings device;  // its MAC address: runtimeConfig.mac
};

// Errors: code 7, naming the key.
cni::Outcome<Config> ParseConfig(const cni::Request& request);

// What a network asks of its VFs: the keys of sriov-cni's configuration, and rdma_name. Problems go to `errors`.
device::Settings ParseDeviceSettings(JsonObject& object, JsonErrors& errors);

// Checks the addresses that the IPAM plugin "static" has given. It gives whatever it is asked for, and a pod's author can ask
// (args.cni.ips, CNI_ARGS). Only the addresses in the network's own "ipam.addresses" are allowed. If the network has none, those
// in runtimeConfig.ips are allowed: the network lets pods choose them by declaring the capability.
// Errors: kInvalid, naming the address.
Status CheckStaticAddresses(const cni::Request& request, const cni::AddResult& given);

// Call it before anything is done, also before a port is adopted. Refuses what a pod's author asks IPAM for. An address (IP and
// GATEWAY in CNI_ARGS, args.cni.ips): whereabouts and nv-ipam give it as it is, whoever has it and whatever their ranges are, so a
// pod could take another tenant's. The network lets pods choose by declaring the capability "ips"; then there is a
// runtimeConfig.ips, which a pod cannot write. The cni-args that nv-ipam takes from a pod (nvidia-k8s-ipam, pkg/cni/types) before
// it looks at the network's configuration: with them a pod could choose its pool, or be the pool's gateway. A MAC address: so too, by
// the capability "mac", but never where another plugin has made the interface, which would have taken it already. Errors: kInvalid,
// naming the key.
Status CheckPodsWishes(const cni::Request& request);

}  // namespace rail::ovs_provider
