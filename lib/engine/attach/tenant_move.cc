#include "lib/engine/attach/tenant_move.h"

#include "lib/base/clock.h"
#include "lib/engine/attach/attachment.h"
#include "lib/engine/attach/tenant_step.h"

namespace rail::engine {
namespace {

using state::Attachment;
using state::Phase;

// An attachment of the record's first format has an id of 56 bits, which no name makes any more. It stays with those that share it.
bool IsOfFormatOne(const Attachment& attachment, const tenancy::Tenant& now) {
  return attachment.tenant_id.high == 0 && attachment.tenant == now.name;
}

// The namespace was deleted and made anew while the pod lived on: the label is not about this pod.
bool IsOfAnEarlierNamespace(const Attachment& attachment, const std::vector<state::Step>& steps,
                            const tenancy::LoadMap& tenants) {
  const auto map = tenants();
  if (!map) return false;
  const auto found = (*map)->namespaces.find(attachment.pod_namespace);
  if (found == (*map)->namespaces.end()) return false;
  const auto joined = TenantStepOf(steps);
  if (!joined) return true;
  if (!joined->namespace_uid.empty()) return joined->namespace_uid != found->second.uid;
  // An earlier version has recorded it: all that is left are the clocks of two machines.
  return attachment.created_ms < found->second.created_ms;
}

}  // namespace

std::optional<tenancy::Tenant> MovesTo(const Attachment& attachment, const std::vector<state::Step>& steps,
                                       const config::NodeConfig& config, const tenancy::LoadMap& tenants) {
  // Mode `vrf`: in the other tenant its address may be another pod's, and the pod itself would keep it.
  if (config.tenancy.mode != config::TenancyMode::kNamespace || attachment.phase == Phase::kDeleting ||
      attachment.tenant_id.is_none() || attachment.pod_namespace.empty())
    return std::nullopt;
  auto now = tenancy::TenantOf(config, attachment.pod_namespace, tenants);
  if (!now || now->id == attachment.tenant_id || IsOfFormatOne(attachment, *now)) return std::nullopt;
  if (config.kubernetes.tenants && IsOfAnEarlierNamespace(attachment, steps, tenants)) return std::nullopt;
  return std::move(*now);
}

std::vector<TenantMove> TenantMoves(const Record& record, const std::string& rail,
                                    const config::NodeConfig& config, const tenancy::LoadMap& tenants) {
  std::vector<TenantMove> moves;
  for (const Attachment& attachment : record.attachments) {
    if (attachment.rail != rail || !record.Has(attachment.id, step::kTenant)) continue;
    if (auto to = MovesTo(attachment, record.steps.at(attachment.id), config, tenants))
      moves.push_back({attachment, std::move(*to)});
  }
  return moves;
}

Result<FileLock> RecordMoves(const std::vector<TenantMove>& moves, const std::string& rail,
                             Connections& connections, state::Store& store) {
  RAIL_ASSIGN(FileLock joining, connections.LockTenants(rail, FileLock::Kind::kShared));
  for (const TenantMove& move : moves) {
    const Status moved = store.MoveTenant(move.attachment.id, move.to.name, move.to.id, UnixMs());
    if (moved || moved.error().code == Code::kNotFound || moved.error().code == Code::kBusy) continue;
    return FailWrapped(moved.error(),
                       "move " + move.attachment.key.ToString() + " to tenant " + move.to.name);
  }
  return joining;
}

}  // namespace rail::engine
