#include "plugins/frr-provider/config.h"

#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"

namespace rail::frr_provider {

cni::Outcome<Config> ParseConfig(const cni::Request& request) {
  JsonErrors errors;
  JsonObject object(*request.config, "", errors);
  Config config;
  config.rail = object.StringOr("rail", "");
  if (object.Has("rail") && config.rail.empty())
    errors.Add("rail", "must be the name of a rail of node.json");
  const std::string wait_for = object.StringOr("wait_for", "session");
  if (wait_for == "adj-rib-out") {
    config.wait_for = WaitFor::kAdjRibOut;
  } else if (wait_for != "session") {
    errors.Add("wait_for", "must be \"session\" or \"adj-rib-out\", not \"" + wait_for.substr(0, 64) + "\"");
  }
  const std::chrono::milliseconds wait(object.UintOr("wait_ms", 0, 0, 20000));
  if (object.Has("wait_ms")) config.wait = wait;
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
