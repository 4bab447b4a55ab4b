#include "lib/engine/attach/tenant_step.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"
#include "lib/engine/attach/attachment.h"

namespace rail::engine {

std::string DetailOf(const TenantStep& joined) {
  nlohmann::json detail = {{"bridge", joined.bridge}};
  if (joined.vlan != config::kNoVlan) detail["vlan"] = joined.vlan;
  if (!joined.namespace_uid.empty()) detail["namespace_uid"] = joined.namespace_uid;
  return DumpJson(detail);
}

Result<TenantStep> TenantStepOf(const std::vector<state::Step>& steps) {
  const auto step = std::ranges::find(steps, step::kTenant, &state::Step::kind);
  if (step == steps.end()) return Fail(Code::kNotFound, "the pod has joined no tenant");
  RAIL_ASSIGN(const nlohmann::json detail, ParseJson(step->detail));
  JsonErrors errors;
  JsonObject object(detail, "", errors);
  TenantStep joined{
      .bridge = object.String("bridge"),
      .vlan = static_cast<uint16_t>(object.UintOr("vlan", config::kNoVlan, 1, config::kLastVlan)),
      .namespace_uid = object.StringOr("namespace_uid", "")};
  RAIL_TRY(errors.ToStatus("the record of step tenant"));
  return joined;
}

}  // namespace rail::engine
