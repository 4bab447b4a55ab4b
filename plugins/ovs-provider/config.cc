#include "plugins/ovs-provider/config.h"

#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"
#include "plugins/ovs-provider/device_settings.h"

namespace rail::ovs_provider {

// Keys that are not ours are not looked at: the runtime, Multus and IPAM put theirs beside them.
cni::Outcome<Config> ParseConfig(const cni::Request& request) {
  JsonErrors errors;
  JsonObject object(*request.config, "", errors);
  Config config{.rail = object.String("rail"), .device = ParseDeviceSettings(object, errors)};
  if (const nlohmann::json* ipam = object.Object("ipam")) {
    JsonObject(*ipam, "ipam", errors).String("type");
  }
  RAIL_TRY(errors.ToStatus("ovs-provider's configuration"));
  return config;
}

}  // namespace rail::ovs_provider
