// What the paths of an address say together, beside the claims of this node's own pods.
#include <algorithm>
#include <utility>

#include "lib/engine/attach/tenant_move.h"
#include "lib/engine/learned/remotes.h"

namespace rail::engine {

// Fresh paths overrule stale ones. While an address is leaving, its node tells of the new tenant over one leaf after the other: until it
// has told all of them, the paths name two tenants, and the new one counts.
Remotes::Claim Remotes::ClaimOf(const IpAddress& address, const Paths& paths) const {
  Claim claim;
  const AsPaths& ways = scope_.as_paths->snapshot();
  const Path* best = nullptr;
  const auto over_its_rail = [&](const Path& path) { return path.rail && IsOverRail(path.peer, *path.rail); };
  const bool fresh = std::ranges::any_of(paths, [](const Path& path) { return !path.stale; });
  for (const Path& path : paths) {
    if (fresh && path.stale) continue;
    claim.tenants.insert(path.tenant);
    if (path.rail && (!claim.rail || *path.rail < *claim.rail)) claim.rail = path.rail;
    const auto rank = [&](const Path& each) {
      return std::pair(!over_its_rail(each), ways.Hops(each.as_path));
    };
    if (path.as_path != 0 && (best == nullptr || rank(path) < rank(*best))) best = &path;
  }
  if (best != nullptr) claim.as_path = best->as_path;
  const LeavingNow::Leaving* leaving = leaving_.Find(address);
  if (leaving == nullptr || !claim.tenants.contains(leaving->to)) return claim;
  const bool one_nodes = std::ranges::all_of(paths, [&](const Path& path) {
    return (fresh && path.stale) || ways.Origin(path.as_path) == leaving->node;
  });
  if (one_nodes) {
    claim.tenants = {leaving->to};
    claim.leaving = leaving->from;
  }
  return claim;
}

void Remotes::Changed(const IpAddress& address, const Claim& before, const Claim& after) {
  CompareWithOwn(address);
  if (after.leaving.is_none() && leaving_.End(address)) table_.leaving.reset();
  if (before == after) return;
  news_ = true;
  for (const tenancy::TenantId tenant : before.tenants) {
    if (after.tenants.contains(tenant)) continue;
    sets_.Erase(tenant, address);
  }
  Enter(address, after);
}

// A pod of this node has a claim, too: its address reaches no other tenant on any bridge. What others claim of it is in own_.
void Remotes::Enter(const IpAddress& address, const Claim& claim) {
  const OwnAddress* own = own_.Find(address);
  const bool contested = claim.tenants.size() > 1 || (own != nullptr && !claim.tenants.contains(own->tenant));
  for (const tenancy::TenantId tenant : claim.tenants) {
    sets_.Set(tenant, {.address = address,
                       .rail = claim.rail.value_or(0),
                       .contested = contested,
                       .as_path = claim.as_path});
  }
  sets_.Claimed(address, own == nullptr ? claim.tenants : std::set<tenancy::TenantId>());
}

void Remotes::SetOwn(std::map<IpAddress, OwnAddress> own) {
  for (const IpAddress& address : own_.Set(std::move(own))) {
    CompareWithOwn(address);
    const bool returned =
        std::ranges::any_of(peers_, [&](const auto& peer) { return peer.returned.contains(address); });
    news_ = news_ || returned || own_.IsElsewhere(address);
    const auto paths = paths_.find(address);
    if (paths == paths_.end()) continue;
    Enter(address, ClaimOf(address, paths->second));
    news_ = true;
  }
}

// A stale path claims nothing: the pod may have moved here from where the path led. Without cross_rail, a tenant's address of
// another rail meets this one nowhere.
void Remotes::CompareWithOwn(const IpAddress& address) {
  Elsewhere now;
  const OwnAddress* own = own_.Find(address);
  const auto paths = paths_.find(address);
  if (own != nullptr && paths != paths_.end()) {
    for (const Path& path : paths->second) {
      const bool meets = path.tenant != own->tenant || config_.tenancy.cross_rail || path.rail == own->rail;
      if (path.stale || !meets) continue;
      now.tenants.insert(path.tenant);
      now.paths.insert(Heard(path.peer, path.as_path));
    }
  }
  // Without tenancy, pods have no tenant on any node.
  if (own != nullptr && !own->tenant.is_none()) {
    for (PeerIndex i = 0; i < peers_.size(); ++i) {
      const auto bare = peers_[i].bare.find(address);
      if (bare == peers_[i].bare.end()) continue;
      now.without_tenant = true;
      now.paths.insert(Heard(i, bare->second));
    }
  }
  news_ = own_.SetElsewhere(address, std::move(now)) || news_;
}

// Nodes announce with few different AS paths, and a fabric passes on as many.
uint32_t Remotes::KeepAsPath(const std::vector<uint32_t>& path) {
  // bgpd 8.4 puts its own AS in front of the path that it has received.
  const bool own_in_front = path.size() > 1 && path.front() == config_.bgp.asn;
  const std::vector<uint32_t> heard(path.begin() + (own_in_front ? 1 : 0), path.end());
  const uint32_t kept = scope_.as_paths->Keep(heard);
  if (kept == 0 && !heard.empty()) {
    Complain(Complaint::kTooMuch,
             "more than " + std::to_string(AsPathsKeeper::kMost) +
                 " AS paths have been announced: of new ones neither the way nor the leaf is known "
                 "before raild starts again");
  }
  return kept;
}

// A stale path says nothing: the node may have been cabled anew.
void Remotes::CountSeat(const Path& path) {
  const uint32_t leaf = scope_.as_paths->snapshot().Leaf(path.as_path);
  if (path.stale || !path.rail || leaf == 0) return;
  size_t& paths = seats_[{scope_.as_paths->snapshot().Origin(path.as_path), *path.rail, leaf, path.plane}];
  if (paths++ > 0) return;
  table_.seats.reset();
  news_ = true;
}

void Remotes::UncountSeat(const Path& path) {
  if (path.stale || !path.rail) return;
  const AsPaths& ways = scope_.as_paths->snapshot();
  const auto seat = seats_.find({ways.Origin(path.as_path), *path.rail, ways.Leaf(path.as_path), path.plane});
  if (seat == seats_.end() || --seat->second > 0) return;
  seats_.erase(seat);
  table_.seats.reset();
  news_ = true;
}

HeardPath Remotes::Heard(PeerIndex peer, uint32_t as_path) const {
  return {peers_[peer].peer.address, scope_.as_paths->snapshot().Numbers(as_path)};
}

std::optional<IpAddress> Remotes::LeafOf(uint32_t rail) const {
  const auto found = std::ranges::find(config_.rails, rail, &config::Rail::index);
  if (found == config_.rails.end()) return std::nullopt;
  const auto& leaf = leaves_.of(static_cast<size_t>(found - config_.rails.begin()));
  return leaf ? std::optional(leaf->address) : std::nullopt;
}

bool Remotes::IsOverRail(PeerIndex peer, uint32_t rail) const {
  if (by_rail()) return config_.rails[peers_[peer].feed].index == rail;
  return LeafOf(rail) == peers_[peer].peer.address;
}

void Remotes::SetBare(PeerIndex peer, const IpAddress& address, uint32_t as_path, bool looped) {
  PeerState& state = peers_[peer];
  if (looped) {
    const bool known = state.bare.erase(address) > 0;
    const bool counts = state.returned.size() < kMaxRefused && state.returned.insert(address).second;
    if (known) table_.doubts.reset();
    news_ = news_ || known || (counts && own_.Find(address) != nullptr);
  } else {
    const auto known = state.bare.find(address);
    if (known != state.bare.end() ? known->second == as_path : state.bare.size() >= kMaxRefused) return;
    state.returned.erase(address);
    state.bare[address] = as_path;
    DoubtsChanged();
  }
  CompareWithOwn(address);
}

void Remotes::RemoveBare(PeerIndex peer, const IpAddress& address) {
  news_ = peers_[peer].returned.erase(address) > 0 || news_;
  if (peers_[peer].bare.erase(address) == 0) return;
  DoubtsChanged();
  CompareWithOwn(address);
}

// What is not kept through the end of a peer's session.
void Remotes::Forget(PeerIndex peer) {
  peers_[peer].refused.clear();
  peers_[peer].others.clear();
  if (!peers_[peer].returned.empty()) news_ = true;
  peers_[peer].returned.clear();
  const auto bare = std::exchange(peers_[peer].bare, {});
  if (!bare.empty()) DoubtsChanged();
  for (const auto& [address, as_path] : bare) CompareWithOwn(address);
}

// A leaf passes on its best route alone. When one of another AS and tenant takes its place, the first may be there still. A node
// whose namespace gets another tenant announces anew what is its own.
void Remotes::NoteReplaced(const IpAddress& address, const Path& before, const Path& after) {
  if (before.stale || before.tenant == after.tenant) return;
  const HeardPath path = Heard(before.peer, before.as_path);
  if (path.origin() == Heard(after.peer, after.as_path).origin()) return;
  if (doubts_.replaced.size() >= kMaxRefused && !doubts_.replaced.contains(address)) return;
  doubts_.replaced[address] = {before.tenant, path};
  DoubtsChanged();
}

// A node moves its pods at its own time, and its leaf's word takes its own. Another node's word, or no word of where the path begins, is
// no move.
void Remotes::BeginLeaving(const IpAddress& address, const Claim& claim, const Path& before,
                           const Path& after, Deadline now) {
  if (before.stale || before.tenant == after.tenant || claim.tenants != std::set{before.tenant}) return;
  const uint32_t origin = scope_.as_paths->snapshot().Origin(before.as_path);
  if (origin == 0) return;  // ClaimOf compares it with every path's
  leaving_.Begin(address, {before.tenant, after.tenant, origin, now + kTwoIds});
  table_.leaving.reset();
}

void Remotes::EndLeaving(Deadline now) {
  while (const auto address = leaving_.TakeDue(now)) {
    const auto paths = paths_.find(*address);
    if (paths == paths_.end()) continue;
    const Claim before = ClaimOf(*address, paths->second);
    leaving_.End(*address);
    table_.leaving.reset();
    Changed(*address, before, ClaimOf(*address, paths->second));
  }
}

const RemoteTable& Remotes::table() {
  sets_.Refresh(table_.by_tenant);
  if (!table_.leaving) table_.leaving = std::make_shared<const LeavingAddresses>(leaving_.Snapshot());
  table_.known = paths_.size();
  const TenantSets::Contested& contested = sets_.contested();
  table_.contested = contested.size();
  table_.example.reset();
  if (!contested.empty()) table_.example = {contested.begin()->first, contested.begin()->second};
  table_.elsewhere = own_.Elsewheres();
  table_.as_paths = scope_.as_paths->snapshot();
  if (!table_.seats) {
    Seats seats;
    seats.reserve(seats_.size());
    for (const auto& [seat, paths] : seats_) seats.push_back(seat);
    table_.seats = std::make_shared<const Seats>(std::move(seats));
  }
  table_.stripped.clear();
  for (const PeerState& peer : peers_) {
    for (const IpAddress& address : peer.returned) {
      const OwnAddress* own = own_.Find(address);
      if (own == nullptr || own->tenant.is_none()) continue;
      // What its own rail's leaf has stripped comes back over the other rails as it is.
      const std::optional<IpAddress> first = LeafOf(own->rail);
      const bool was_bare =
          first && *first != peer.peer.address && std::ranges::any_of(peers_, [&](const PeerState& other) {
            return other.peer.address == *first && other.returned.contains(address);
          });
      if (was_bare) continue;
      Stripped& stripped = table_.stripped[peer.peer.address];
      if (stripped.addresses++ == 0) stripped.example = address;
    }
  }
  if (!table_.doubts) {
    Doubts doubts = doubts_;
    for (PeerIndex i = 0; i < peers_.size(); ++i) {
      for (const auto& [address, as_path] : peers_[i].bare)
        doubts.without_tenant.emplace(OwnKey{scope_.tenant, address}, Heard(i, as_path));
    }
    table_.doubts = std::make_shared<const Doubts>(std::move(doubts));
  }
  return table_;
}

}  // namespace rail::engine
