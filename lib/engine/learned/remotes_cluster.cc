// What is of which cluster: other names of this one, and another of the same name.
#include <algorithm>

#include "lib/engine/learned/remotes.h"

namespace rail::engine {

tenancy::TenantId Remotes::Known(tenancy::TenantId announced) const {
  const auto alias = aliases_.find(announced);
  return alias == aliases_.end() ? announced : alias->second;
}

void Remotes::SetMark(std::optional<tenancy::ClusterMark> mark, Deadline now) {
  if (!mark || mark == mark_) return;
  // What was another cluster's by the mark before has not been kept.
  for (FeedState& feed : feeds_) feed.missed = feed.missed || (mark_ && !feed.closed);
  mark_ = mark;
  std::vector<std::pair<IpAddress, Path>> foreign;
  for (const auto& [address, paths] : paths_) {
    for (const Path& path : paths) {
      if (IsForeign(path.mark)) foreign.emplace_back(address, path);
    }
  }
  for (const auto& [address, path] : foreign) {
    NoteForeign(path.peer, address, path.tenant);
    RemovePath(address, path.peer, Said::kAnnouncedForNobody, now);
  }
}

bool Remotes::IsForeign(std::optional<tenancy::ClusterMark> mark) const {
  return mark && mark_ && *mark != *mark_;
}

void Remotes::NoteForeign(PeerIndex peer, const IpAddress& address, tenancy::TenantId tenant) {
  std::map<IpAddress, tenancy::TenantId>& foreign = peers_[peer].foreign;
  if (foreign.size() < kMaxRefused) foreign.insert_or_assign(address, tenant);
}

// In mode `vrf` what an unknown id was on has not been kept.
void Remotes::SetAliases(const TenantAliases& aliases) {
  if (aliases == aliases_) return;
  aliases_ = aliases;
  for (FeedState& feed : feeds_) feed.missed = feed.missed || (by_rail() && !feed.closed);
  for (auto& [address, paths] : paths_) {
    const auto differs = [&](const Path& path) { return Known(path.tenant) != path.tenant; };
    if (std::ranges::none_of(paths, differs)) continue;
    const Claim before = ClaimOf(address, paths);
    for (Path& path : paths) path.tenant = Known(path.tenant);
    Changed(address, before, ClaimOf(address, paths));
  }
}

std::string Remotes::other_cluster() const {
  if (std::ranges::all_of(peers_, [](const PeerState& peer) { return peer.foreign.empty(); })) return "";
  std::set<tenancy::TenantId> here;
  for (const auto& [address, own] : own_) here.insert(own.tenant);
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
