// The tenants of the pods of a rail's bridge: pods move between them, and a tenant that nobody is in any more is closed.
#include <algorithm>

#include "lib/base/log.h"
#include "lib/engine/attach/tenant_move.h"
#include "lib/engine/repair/switch.h"

namespace rail::engine {

using state::Attachment;
using state::Phase;

void SwitchRepair::TenantsChanged() {
  const auto record = record_.Read();
  if (!record) return;  // the next round reports it
  const bool moves = std::ranges::any_of(config_.rails, [&](const config::Rail& rail) {
    return !TenantMoves(**record, rail.name, config_, deps_.tenants).empty();
  });
  if (moves) return RecordChanged();
  Publish();
}

// Record first: what a crash leaves between record, rules and announcements, the next start makes good. But not while the switch is
// silent: bgpd would announce for a tenant whose rules the pod does not have, and nobody would call the pod one that has not moved.
Result<FileLock> SwitchRepair::MoveAttachments(Connections& connections, const config::Rail& rail) {
  RAIL_ASSIGN(const RecordPtr record, record_.Read());
  const std::vector<TenantMove> moves = TenantMoves(*record, rail.name, config_, deps_.tenants);
  if (moves.empty()) return FileLock();
  RAIL_ASSIGN(ovs::OpenFlow * bridge, connections.OpenFlow(rail.bridge));
  RAIL_ASSIGN(
      [[maybe_unused]] const uint64_t answered,
      bridge->Count(ovs::CookieMatch::Exact(ovs::CookieKind::kPipeline, 0), connections.CallDeadline()));
  moved_ = true;
  RAIL_ASSIGN(FileLock joining, RecordMoves(moves, rail.name, connections, record_.store()));
  for (const TenantMove& move : moves) {
    log::Info("attachment {} of namespace {}: from tenant {} to {}", move.attachment.key.ToString(),
              move.attachment.pod_namespace, move.attachment.tenant, move.to.name);
  }
  return joining;
}

// Who leaves a tenant is in the record that the round has read or written.
void SwitchRepair::Publish() {
  if (const auto record = record_.Read()) leaving_.See(**record, deps_.now(), UnixMs());
  node_status_.Changed();
}

bool SwitchRepair::EndLeaving() {
  const std::vector<int64_t> due = leaving_.TakeDue(deps_.now());
  Status ended;
  for (const int64_t id : due) {
    const Status left = record_.store().SetLeft(id);
    if (!left && left.error().code != Code::kNotFound) ended = left;
  }
  if (!due.empty() && (!ended || node_status_.Knows(Part::kLeftTenants)))
    node_status_.Note(Part::kLeftTenants, ended);
  return !due.empty();
}

Result<ClosedTenants> SwitchRepair::CloseTenants(Connections& connections, const config::Rail& rail) {
  ClosedTenants closed;
  RAIL_ASSIGN(closed.lock, connections.LockTenants(rail.name, FileLock::Kind::kAlone));
  RAIL_ASSIGN(const RecordPtr record, record_.Read());
  for (const Attachment& attachment : record->attachments) {
    if (attachment.rail != rail.name || attachment.phase == Phase::kDeleting ||
        attachment.tenant_id.is_none())
      continue;
    closed.in_use.insert(ovs::Cookie(ovs::CookieKind::kCompare, attachment.tenant_id.low));
  }
  return closed;
}

}  // namespace rail::engine
