// What a network asks of its VFs: the keys of sriov-cni's configuration, and rdma_name.
#pragma once

#include "lib/base/strict_json.h"
#include "lib/device/device.h"

namespace rail::ovs_provider {

// Problems go to `errors`.
device::Settings ParseDeviceSettings(JsonObject& object, JsonErrors& errors);

}  // namespace rail::ovs_provider
