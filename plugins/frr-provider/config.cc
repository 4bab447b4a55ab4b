#include "plugins/frr-provider/config.h"

#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"

namespace rail::frr_provider {

cni::Outcome<Config> ParseConfig(const cni::Request& request) {
  JsonErrors errors;
  JsonObject object(*request.config, "", errors);
  Config config;
  config.wait = std::chrono::milliseconds(object.UintOr("wait_ms", 2000, 0, 20000));
  const std::string on_timeout = object.StringOr("on_timeout", "fail");
  if (on_timeout == "warn") {
    config.on_timeout = OnTimeout::kWarn;
  } else if (on_timeout != "fail") {
    errors.Add("on_timeout", "must be \"fail\" or \"warn\", not \"" + on_timeout.substr(0, 64) + "\"");
  }
  RAIL_TRY(errors.ToStatus("frr-provider's configuration"));
  return config;
}

}  // namespace rail::frr_provider
