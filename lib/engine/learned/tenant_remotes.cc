#include "lib/engine/learned/tenant_remotes.h"

#include <algorithm>
#include <set>

#include "lib/base/text.h"

namespace rail::engine {

std::vector<BgpInstance> InstancesOf(const config::NodeConfig& config, const Record& record) {
  std::vector<BgpInstance> all(1);
  if (config.tenancy.mode != config::TenancyMode::kVrf) {
    for (const config::Rail& rail : config.rails)
      all[0].peers.push_back({rail.name, rail.index, rail.bridge});
    return all;
  }
  for (const config::Rail& rail : config.rails) {
    for (const TenantVlan& one : VlansPresent(config, record, rail)) {
      all.push_back({.vrf = VrfName(rail, one.vlan),
                     .peers = {{rail.name, rail.index, VlanPortName(rail, one.vlan)}},
                     .tenant = one,
                     .rail = &rail});
    }
  }
  return all;
}

TenantRemotes::TenantRemotes(const config::NodeConfig& config, Deadline now) : config_(config) {
  if (!by_tenant()) all_.emplace(config::kNoVlan, std::make_unique<Remotes>(config, now));
}

void TenantRemotes::SetInstances(const std::vector<BgpInstance>& instances, Deadline now) {
  if (!by_tenant()) return;
  std::map<uint16_t, std::set<Remotes::Feed>> rails;
  std::map<uint16_t, tenancy::TenantId> tenants;
  feeds_.clear();
  for (const BgpInstance& instance : instances) {
    if (instance.rail == nullptr) continue;
    const auto place = static_cast<Remotes::Feed>(instance.rail - config_.rails.data());
    rails[instance.tenant.vlan].insert(place);
    tenants[instance.tenant.vlan] = instance.tenant.id;
    feeds_[instance.vrf] = {instance.tenant.vlan, place};
  }
  // Another tenant in a VLAN is another table.
  const size_t gone = std::erase_if(all_, [&](const auto& known) {
    const auto tenant = tenants.find(known.first);
    return tenant == tenants.end() || tenant->second != tenants_.at(known.first);
  });
  news_ = news_ || gone > 0;
  std::erase_if(open_, [&](const std::string& vrf) {
    const auto feed = feeds_.find(vrf);
    return feed == feeds_.end() || !all_.contains(feed->second.first);
  });
  tenants_ = std::move(tenants);
  for (const auto& [vlan, on] : rails) {
    std::unique_ptr<Remotes>& remotes = all_[vlan];
    if (!remotes) {
      remotes = std::make_unique<Remotes>(config_, now,
                                          Remotes::Scope{vlan, tenants_.at(vlan), as_paths_, started_});
      const auto own = own_.find(tenants_.at(vlan));
      remotes->SetAliases(aliases_);
      remotes->SetMark(mark_, now);
      if (own != own_.end()) remotes->SetOwn(own->second);
      news_ = true;
    }
    remotes->SetRails(on, now);
  }
  news_ = news_ || !started_;  // where no tenant is, all is learned
  started_ = true;
}

TenantRemotes::At TenantRemotes::Of(const std::string& vrf) const {
  if (!by_tenant()) return {all_.begin()->second.get(), 0};
  const auto feed = feeds_.find(vrf);
  if (feed == feeds_.end()) return {};
  return {all_.at(feed->second.first).get(), feed->second.second};
}

void TenantRemotes::SetLeaves(const std::map<std::string, frr::Session>& sessions) {
  outdated_ = true;  // by its leaf a table says what has come back without communities
  for (const auto& [vlan, remotes] : all_) remotes->SetLeaves(sessions);
}

void TenantRemotes::SetEndOfRibDue(const std::map<std::string, frr::Session>& sessions, Deadline now) {
  if (!by_tenant()) {
    std::map<IpAddress, bool> due;  // one leaf may have two sessions
    for (const config::Rail& rail : config_.rails) {
      const auto session = sessions.find(rail.bridge);
      if (session != sessions.end() && session->second.peer)
        due[*session->second.peer] |= session->second.end_of_rib_due;
    }
    for (const auto& [leaf, end_of_rib] : due) all_.begin()->second->SetEndOfRibDue(leaf, end_of_rib, now);
    return;
  }
  for (const auto& [vrf, feed] : feeds_) {
    const auto session = sessions.find(VlanPortName(config_.rails[feed.second], feed.first));
    if (session == sessions.end() || !session->second.peer) continue;
    all_.at(feed.first)
        ->SetEndOfRibDue(*session->second.peer, session->second.end_of_rib_due, now, feed.second);
  }
}

void TenantRemotes::SetOwn(const std::map<tenancy::TenantId, std::map<IpAddress, OwnAddress>>& own) {
  if (!by_tenant()) {
    std::map<IpAddress, OwnAddress> of_all;
    for (const auto& [tenant, addresses] : own) of_all.insert(addresses.begin(), addresses.end());
    return all_.begin()->second->SetOwn(std::move(of_all));
  }
  own_ = own;
  for (const auto& [vlan, remotes] : all_) {
    const auto its = own.find(tenants_.at(vlan));
    remotes->SetOwn(its == own.end() ? std::map<IpAddress, OwnAddress>() : its->second);
  }
}

bool TenantRemotes::IsLeaf(const std::string& vrf, const bmp::Peer& peer) const {
  const At at = Of(vrf);
  return at.remotes != nullptr && at.remotes->IsLeaf(peer, at.feed);
}

bool TenantRemotes::missed(const std::string& vrf) const {
  const At at = Of(vrf);
  return at.remotes != nullptr && at.remotes->missed(at.feed);
}

bool TenantRemotes::in_doubt(const std::string& vrf) const {
  const At at = Of(vrf);
  return at.remotes != nullptr && at.remotes->in_doubt(at.feed);
}

void TenantRemotes::FeedOpened(const std::string& vrf, Deadline now, bool settling) {
  const At at = Of(vrf);
  if (at.remotes == nullptr) return;
  at.remotes->FeedOpened(now, settling, at.feed);
  open_.insert(vrf);
}

void TenantRemotes::FeedClosed(const std::string& vrf, Deadline now) {
  const At at = Of(vrf);
  open_.erase(vrf);
  if (at.remotes != nullptr) at.remotes->FeedClosed(now, at.feed);
}

void TenantRemotes::Take(const std::string& vrf, const bmp::Message& message, Deadline now, int64_t unix_ms) {
  const At at = Of(vrf);
  if (at.remotes != nullptr) at.remotes->Take(message, now, unix_ms, at.feed);
}

bool TenantRemotes::AwaitsEndOfRib() const {
  return std::ranges::any_of(all_, [](const auto& one) { return one.second->AwaitsEndOfRib(); });
}

void TenantRemotes::Settle(Deadline now) {
  for (const auto& [vlan, remotes] : all_) remotes->Settle(now);
}

std::optional<Deadline> TenantRemotes::next_settle() const {
  std::optional<Deadline> next;
  for (const auto& [vlan, remotes] : all_) next = Earlier(next, remotes->next_settle());
  return next;
}

bool TenantRemotes::complete() const {
  return (started_ || !by_tenant()) &&
         std::ranges::all_of(all_, [](const auto& one) { return one.second->complete(); });
}

bool TenantRemotes::ambiguous() const {
  return std::ranges::any_of(all_, [](const auto& one) { return one.second->ambiguous(); });
}

void TenantRemotes::NotAmbiguous() {
  for (const auto& [vlan, remotes] : all_) remotes->NotAmbiguous();
}

void TenantRemotes::SetAliases(const TenantAliases& aliases) {
  aliases_ = aliases;
  for (const auto& [vlan, remotes] : all_) remotes->SetAliases(aliases);
}

void TenantRemotes::SetMark(std::optional<tenancy::ClusterMark> mark, Deadline now) {
  mark_ = mark;
  for (const auto& [vlan, remotes] : all_) remotes->SetMark(mark, now);
}

std::string TenantRemotes::other_cluster() const {
  for (const auto& [vlan, remotes] : all_) {
    if (std::string other = remotes->other_cluster(); !other.empty()) return other;
  }
  return "";
}

std::string TenantRemotes::problem() const {
  std::string text;
  for (const auto& [vlan, remotes] : all_) {
    const std::string part = remotes->problem();
    if (!part.empty()) Append(text, "; ", part);
  }
  return text;
}

bool TenantRemotes::TakeSessionNews() {
  bool news = false;
  for (const auto& [vlan, remotes] : all_) news = remotes->TakeSessionNews() || news;
  return news;
}

bool TenantRemotes::TakeNews() {
  bool news = std::exchange(news_, false);
  for (const auto& [vlan, remotes] : all_) news = remotes->TakeNews() || news;
  outdated_ = outdated_ || news;
  return news;
}

const RemoteTable& TenantRemotes::table() {
  if (!by_tenant()) return all_.begin()->second->table();
  const bool news =
      news_ || std::ranges::any_of(all_, [](const auto& one) { return one.second->has_news(); });
  if (std::exchange(outdated_, false) || news) Join();
  return joined_;
}

// A tenant's set is shared with its table, so this costs what tenants are there, not their addresses. Doubts and seats, which may be
// many, are put together only when those of a tenant have changed.
void TenantRemotes::Join() {
  RemoteTable before = std::exchange(joined_, {});
  std::vector<std::shared_ptr<const Doubts>> doubts;
  std::vector<std::shared_ptr<const Seats>> seats;
  for (const auto& [vlan, remotes] : all_) {
    const RemoteTable& one = remotes->table();
    joined_.by_tenant.insert(one.by_tenant.begin(), one.by_tenant.end());
    joined_.known += one.known;
    joined_.contested += one.contested;
    if (!joined_.example) joined_.example = one.example;
    joined_.elsewhere.insert(one.elsewhere.begin(), one.elsewhere.end());
    doubts.push_back(one.doubts);
    for (const auto& [leaf, stripped] : one.stripped) {
      Stripped& together = joined_.stripped[leaf];
      if (together.addresses == 0) together.example = stripped.example;
      together.addresses += stripped.addresses;
    }
    seats.push_back(one.seats);
  }
  joined_.doubts = std::move(before.doubts);
  joined_.seats = std::move(before.seats);
  if (doubts != doubts_) {
    Doubts together;
    for (const auto& one : doubts) {
      together.replaced.insert(one->replaced.begin(), one->replaced.end());
      together.without_tenant.insert(one->without_tenant.begin(), one->without_tenant.end());
    }
    joined_.doubts = std::make_shared<const Doubts>(std::move(together));
    doubts_ = std::move(doubts);
  }
  if (seats != seats_) {
    std::set<Seat> together;
    for (const auto& one : seats) together.insert(one->begin(), one->end());
    joined_.seats = std::make_shared<const Seats>(together.begin(), together.end());
    seats_ = std::move(seats);
  }
  joined_.as_paths = as_paths_->snapshot();
}

}  // namespace rail::engine
