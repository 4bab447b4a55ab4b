// What is of which cluster: other names of this one, and another of the same name.
#include <algorithm>

#include "lib/engine/learned/remotes.h"

namespace rail::engine {

void Remotes::SetMark(std::optional<tenancy::ClusterMark> mark, Deadline now) {
  const bool had_one = names_.has_mark();
  if (!names_.SetMark(mark)) return;
  // What was another cluster's by the mark before has not been kept.
  if (had_one) peers_.Missed();
  std::vector<std::pair<IpAddress, Path>> foreign;
  for (const auto& [address, paths] : paths_) {
    for (const Path& path : paths) {
      if (names_.IsForeign(path.mark)) foreign.emplace_back(address, path);
    }
  }
  for (const auto& [address, path] : foreign) {
    NoteForeign(path.peer, address, path.tenant);
    RemovePath(address, path.peer, Said::kAnnouncedForNobody, now);
  }
}

void Remotes::NoteForeign(PeerIndex peer, const IpAddress& address, tenancy::TenantId tenant) {
  std::map<IpAddress, tenancy::TenantId>& foreign = peers_[peer].foreign;
  if (foreign.size() < kMaxRefused) foreign.insert_or_assign(address, tenant);
}

// In mode `vrf` what an unknown id was on has not been kept.
void Remotes::SetAliases(const TenantAliases& aliases) {
  if (!names_.SetAliases(aliases)) return;
  if (by_rail()) peers_.Missed();
  for (auto& [address, paths] : paths_) {
    const auto differs = [&](const Path& path) { return names_.Known(path.tenant) != path.tenant; };
    if (std::ranges::none_of(paths, differs)) continue;
    const Claim before = ClaimOf(address, paths);
    for (Path& path : paths) path.tenant = names_.Known(path.tenant);
    Changed(address, before, ClaimOf(address, paths));
  }
}

std::string Remotes::other_cluster() const {
  if (std::ranges::all_of(peers_, [](const PeerState& peer) { return peer.foreign.empty(); })) return "";
  const std::set<tenancy::TenantId> here = own_.Tenants();
  for (const PeerState& peer : peers_) {
    const auto found = std::ranges::find_if(
        peer.foreign, [&](const auto& foreign) { return here.contains(foreign.second); });
    if (found == peer.foreign.end()) continue;
    return "the leaf " + peer.peer.ToString() + " announces " + found->first.ToString() +
           " for a tenant of this node, and it is of another cluster that is named " + config_.cluster.name +
           " as well";
  }
  return "";
}

}  // namespace rail::engine
