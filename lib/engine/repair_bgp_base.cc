// What BgpRepair keeps in bgpd besides announcements: the base configuration and the front end.
#include <utility>

#include "lib/base/log.h"
#include "lib/engine/origin.h"
#include "lib/engine/repair_bgp.h"

namespace rail::engine {
namespace {

// For how long after a change the front end may still be on its way: a session, its routes, their next hops.
constexpr std::chrono::seconds kFrontendSettles{15};

}  // namespace

// What bgpd has before raild writes to it for the first time.
Status BgpRepair::RecordOrigin(Connections& connections) {
  if (!deps_.origin) return {};
  std::vector<std::string> interfaces;
  for (const config::Rail& rail : config_.rails) interfaces.push_back(rail.bridge);
  for (const std::string& link : config_.frontend.links) interfaces.push_back(link);
  return deps_.origin->Bgp(interfaces, [&]() -> Result<frr::BaseBefore> {
    RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
    return bgp->LookBefore(interfaces, connections.CallDeadline());
  });
}

Status BgpRepair::BgpBase(Connections& connections, const std::vector<config::Rail>& rails) {
  RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
  RAIL_TRY(RecordOrigin(connections));
  frr::BaseConfig base{.router_id = config_.bgp.router_id,
                       .rails = {},
                       .max_prefixes = config_.bgp.max_prefixes,
                       .frontend = config_.frontend.on()};
  for (const config::Rail& rail : rails) base.rails.push_back({rail.name, rail.index, rail.bridge});
  RAIL_ASSIGN(const std::vector<std::string> sent, bgp->EnsureBase(base, connections.CallDeadline()));
  if (!sent.empty()) log::Info("bgpd: {} lines of the base configuration sent", sent.size());
  node_status_.Repaired("bgp configuration", sent.size());
  mended_ = mended_ || !sent.empty();
  return {};
}

void BgpRepair::FrontendBase(Connections& connections,
                             const std::function<void(const std::string&, const Status&)>& note) {
  size_t sent = 0;
  const Status done = [&]() -> Status {
    RAIL_TRY(RecordOrigin(connections));
    return frontend_.Ensure(connections, sent);
  }();
  if (config_.frontend.on() || !done) note("front end", done);
  if (sent > 0) node_status_.Repaired("front end", sent);
  mended_ = mended_ || sent > 0;
}

void BgpRepair::LookAtFrontend(Connections& connections, bool& changed) {
  if (!config_.frontend.on()) return;
  FrontendView seen = engine::LookAtFrontend(config_, connections, sessions_);
  if (seen == seen_frontend_) return;
  frontend_changed_ = deps_.now();
  seen_frontend_ = seen;
  changed = true;
  node_status_.SetFrontend(std::move(seen));
}

bool BgpRepair::FrontendMayChange() const {
  return config_.frontend.on() && !IsWhole(seen_frontend_) &&
         deps_.now() - frontend_changed_ < kFrontendSettles;
}

}  // namespace rail::engine
