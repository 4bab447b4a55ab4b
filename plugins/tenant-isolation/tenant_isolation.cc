#include "plugins/tenant-isolation/tenant_isolation.h"

#include "lib/cni/previous.h"
#include "lib/engine/attach/differences.h"
#include "lib/engine/attach/tenant_addresses.h"
#include "lib/engine/attach/tenant_rates.h"

namespace rail::tenant_isolation {
namespace {

using cni::CniFail;
using cni::Outcome;
using cni::Request;
using engine::Deps;
using engine::Node;
using engine::VerbContext;
using state::Attachment;

Status HasNamespace(const Request& request) {
  if (!request.pod.pod_namespace.empty()) return {};
  return Fail(Code::kInvalid,
              "CNI_ARGS holds no K8S_POD_NAMESPACE, so the pod's tenant is not known; it stays cut off "
              "(tenancy.mode \"off\" in node.json is for clusters without tenants)");
}

Outcome<std::string> Add(const Deps& deps, const Request& request) {
  RAIL_ASSIGN(std::string result, cni::PassOn(request));
  RAIL_ASSIGN(const auto context, VerbContext::Open(deps));
  context->connections.LetCallsTake(engine::kAddCallTime);
  if (context->config.tenancy.mode == config::TenancyMode::kOff) return result;
  RAIL_ASSIGN(Attachment attachment, engine::RecordedAttachment(*context, request));
  RAIL_TRY(HasNamespace(request));
  RAIL_TRY(engine::KeepsMode(*context));
  Node node = context->node();
  RAIL_ASSIGN(const tenancy::Tenant tenant,
              tenancy::TenantOf(context->config, request.pod.pod_namespace, deps.tenants));
  RAIL_TRY(engine::KeepsVlans(*context, tenant.name));
  if (Status joined = engine::JoinTenant(node, attachment, tenant); !joined) {
    engine::UndoFailedAdd(node, attachment, engine::kTenantIsolation);
    return tl::make_unexpected(cni::CniError(joined.error()));
  }
  return result;
}

Outcome<void> Del(const Deps& deps, const Request& request) {
  engine::UndoOwn(deps, request, [](const Attachment&) { return engine::kTenantIsolation; });
  return {};
}

Outcome<void> Check(const Deps& deps, const Request& request) {
  RAIL_TRY(cni::PreviousResult(request));
  RAIL_ASSIGN(const auto context, VerbContext::Open(deps, VerbContext::Use::kQuiet));
  if (context->config.tenancy.mode == config::TenancyMode::kOff) return {};
  RAIL_TRY(engine::KeepsMode(*context));
  RAIL_ASSIGN(const engine::Recorded recorded, engine::RecordedWithSteps(*context, request));
  const Attachment& attachment = recorded.attachment;
  RAIL_TRY(HasNamespace(request));
  std::vector<std::string> problems;
  if (!recorded.Has(engine::step::kTenant) || attachment.tenant_id.is_none()) {
    problems.emplace_back("its ADD has not finished: the pod has no tenant and is cut off");
  } else {
    problems = engine::TenantDiffers(attachment, recorded.steps, context->config, deps.tenants);
  }
  Node node = context->node();
  RAIL_ASSIGN(const std::vector<ovs::Rule> wanted, engine::TenantRulesOf(node, attachment));
  RAIL_ASSIGN(const engine::Differences missing, engine::RulesDiffer(node, attachment, wanted));
  problems.insert(problems.end(), missing.begin(), missing.end());
  RAIL_ASSIGN(const engine::Differences rates, engine::RatesDiffer(node, attachment));
  problems.insert(problems.end(), rates.begin(), rates.end());
  RAIL_TRY(engine::Problems(problems));
  return {};
}

Outcome<void> Gc(const Deps& deps, const Request& request) {
  RAIL_TRY(engine::CollectGarbage(deps, request, engine::kTenantIsolation));
  return {};
}

Outcome<void> ReadyForAdd(const Deps& deps, const Request&) {
  const auto not_ready = [](const Error& error) {
    return CniFail(50, "tenant-isolation cannot place pods in their tenants", error.message);
  };
  auto context = VerbContext::Open(deps, VerbContext::Use::kQuiet);
  if (!context) return not_ready(context.error());
  if (const Status keeps = engine::KeepsMode(**context); !keeps) return not_ready(keeps.error());
  return {};
}

}  // namespace

cni::Plugin MakePlugin(const engine::Deps& deps) {
  return {.name = "tenant-isolation",
          .about = "RailCNI tenant-isolation: puts a pod into its namespace's tenant",
          .check_config = [](const Request&) -> Outcome<void> { return {}; },
          .add = [deps](const Request& request) { return Add(deps, request); },
          .del = [deps](const Request& request) { return Del(deps, request); },
          .check = [deps](const Request& request) { return Check(deps, request); },
          .gc = [deps](const Request& request) { return Gc(deps, request); },
          .status = [deps](const Request& request) { return ReadyForAdd(deps, request); }};
}

}  // namespace rail::tenant_isolation
