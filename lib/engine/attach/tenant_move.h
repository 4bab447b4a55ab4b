// Moves attachments into the tenant that their namespace has now: node.json or the namespace's label has changed.
//
// Use:      const auto moves = TenantMoves(*record, rail.name, config, deps.tenants);
//           if (!moves.empty()) { RAIL_ASSIGN(FileLock joining, RecordMoves(moves, rail.name, connections, store)); ... rules ... }
// Threads:  as the store and the connections
// Source:   README.md of this folder ("A namespace that changes its tenant")
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "lib/engine/attach/connections.h"
#include "lib/engine/attach/record.h"
#include "lib/tenancy/tenancy.h"

namespace rail::engine {

// For how long after a move an address is in both tenants: in the one that it has left, and in the new one. README.md says why.
inline constexpr std::chrono::seconds kTwoIds{10};

struct TenantMove {
  state::Attachment attachment;
  tenancy::Tenant to;
};

// Where the attachment belongs now, if that is not where it is. Nothing: it stays, in mode `vrf` until it is attached anew; also where nobody can say where it belongs (the
// namespace is gone, its label cannot be a tenant), and where its namespace has another UID now than at its ADD: then it is of another
// namespace, which had the same name. `steps`: those of the attachment.
std::optional<tenancy::Tenant> MovesTo(const state::Attachment& attachment,
                                       const std::vector<state::Step>& steps,
                                       const config::NodeConfig& config, const tenancy::LoadMap& tenants);

// All attachments of `rail` that must move.
std::vector<TenantMove> TenantMoves(const Record& record, const std::string& rail,
                                    const config::NodeConfig& config, const tenancy::LoadMap& tenants);

// Writes the moves into the record, from which rules and announcements follow. While the result is held, nobody removes the rule
// that the pods of a tenant have in common: hold it until the rules are in the switch. Attachments that have gone, or whose DEL has
// begun, are left out. Errors: kBusy such a rule is being removed; of the record: then some are written, and the next call goes on.
Result<FileLock> RecordMoves(const std::vector<TenantMove>& moves, const std::string& rail,
                             Connections& connections, state::Store& store);

}  // namespace rail::engine
