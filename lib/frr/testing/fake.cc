#include "lib/frr/testing/fake.h"

#include <algorithm>

#include "lib/frr/base_config.h"

namespace rail::frr::testing {

#define FAIL_IF_TOLD()                                                                            \
  if (default_ != nullptr && default_->failure_) return tl::make_unexpected(*default_->failure_); \
  if (failure_) return tl::make_unexpected(*failure_)

FakeBgp& FakeBgp::Instance(const std::string& vrf) {
  if (vrf.empty()) return *this;
  std::unique_ptr<FakeBgp>& instance = instances_[vrf];
  if (!instance) {
    instance = std::make_unique<FakeBgp>(options_);
    instance->default_ = this;
  }
  return *instance;
}

Result<std::vector<std::string>> FakeBgp::OurInstances(Deadline) {
  FAIL_IF_TOLD();
  std::vector<std::string> ours;
  for (const auto& [vrf, instance] : instances_) {
    if (IsOurVrf(vrf) && instance->asn_) ours.push_back(vrf);
  }
  return ours;
}

Status FakeBgp::RemoveInstance(const std::string& vrf, Deadline) {
  FAIL_IF_TOLD();
  if (!IsOurVrf(vrf)) return Fail(Code::kInvalid, "not ours");
  Instance(vrf).Restart();
  return {};
}

Status FakeBgp::AnnounceAll(const std::vector<Announcement>& announcements, Deadline) {
  FAIL_IF_TOLD();
  if (!asn_) return Fail(Code::kTransient, "no BGP instance yet");
  if (*asn_ != options_.asn) return Fail(Code::kInvalid, "another AS");
  for (const Announcement& announcement : announcements) {
    const IpAddress& address = announcement.address;
    if (!address.is_routed_unicast()) {
      return Fail(Code::kInvalid, "not the address of a pod");
    }
    if (foreign_.contains(address)) {
      return Fail(Code::kExists, "a network statement that is not ours for " + address.ToHostPrefix());
    }
  }
  for (const Announcement& announcement : announcements) {
    const auto [it, inserted] = announced_.try_emplace(announcement.address, announcement);
    if (!inserted && it->second == announcement) continue;
    it->second = announcement;
    ++version_;
  }
  return {};
}

Status FakeBgp::WithdrawAll(const std::vector<IpAddress>& addresses, Deadline) {
  FAIL_IF_TOLD();
  for (const IpAddress& address : addresses) version_ += announced_.erase(address);
  return {};
}

Result<std::vector<Announcement>> FakeBgp::Announced(Deadline) {
  FAIL_IF_TOLD();
  std::vector<Announcement> list;
  for (const auto& [address, announcement] : announced_) list.push_back(announcement);
  return list;
}

Result<bool> FakeBgp::InAdjRibOut(const IpAddress& address, const std::string& interface, Deadline) {
  FAIL_IF_TOLD();
  return IsSent(address, interface);
}

Result<std::set<std::string>> FakeBgp::UsedLinks(const IpPrefix& prefix, Deadline) {
  FAIL_IF_TOLD();
  std::set<std::string> links;
  if (const auto paths = learned_.find(prefix); paths != learned_.end()) {
    for (const auto& [interface, communities] : paths->second) links.insert(interface);
  }
  return links;
}

Result<std::optional<std::string>> FakeBgp::AnnouncedElsewhere(const IpAddress& address, Deadline) {
  FAIL_IF_TOLD();
  for (const auto& [prefix, paths] : learned_) {
    if (prefix.is_host() && prefix.address == address && !paths.empty())
      return std::to_string(options_.leaf_asn);
  }
  return std::nullopt;
}

bool FakeBgp::IsSent(const IpAddress& address, const std::string& interface) const {
  const auto state = states_.find(interface);
  const auto announcement = announced_.find(address);
  if (state == states_.end() || state->second != kEstablished || announcement == announced_.end() || !base_)
    return false;
  // The outbound route-map lets only this rail's addresses pass.
  return std::ranges::any_of(base_->rails, [&](const RailPeer& rail) {
    return rail.interface == interface && rail.rail_index == announcement->second.rail_index;
  });
}

Result<std::string> FakeBgp::SessionState(const std::string& interface, Deadline) {
  FAIL_IF_TOLD();
  if (interface.find(' ') != std::string::npos) return Fail(Code::kInvalid, "not a word");
  const auto state = states_.find(interface);
  if (state == states_.end()) return Fail(Code::kNotFound, "bgpd has no neighbor " + interface);
  return state->second;
}

Result<std::vector<Session>> FakeBgp::Sessions(Deadline) {
  FAIL_IF_TOLD();
  std::vector<Session> sessions = SessionsNow();
  for (const auto& [vrf, instance] : instances_) {
    for (const Session& session : instance->SessionsNow()) sessions.push_back(session);
  }
  return sessions;
}

std::vector<Session> FakeBgp::SessionsNow() const {
  std::vector<Session> sessions;
  for (const auto& [interface, state] : states_) {
    Session session{.interface = interface, .state = state};
    if (const auto ended = ends_.find(interface); ended != ends_.end() && state != kEstablished) {
      session = ended->second;
    } else if (state == kEstablished) {
      session.peer = *IpAddress::Parse("fe80::1");
      const auto known = leaf_ids_.try_emplace(interface, leaf_ids_.size() + 1).first;
      session.leaf =
          Leaf{kLeafAsn, *IpAddress::Parse("10.255.1." + std::to_string(one_leaf_ ? 1 : known->second)), ""};
      session.uptime_ms = uptime_ms_;
      session.end_of_rib_due = end_of_rib_due_;
      session.prefixes_received = static_cast<uint32_t>(std::ranges::count_if(
          learned_, [&](const auto& entry) { return entry.second.contains(interface); }));
      session.most_prefixes = session.prefixes_received;
      for (const auto& [address, announcement] : announced_) {
        session.prefixes_sent += IsSent(address, interface) ? 1 : 0;
      }
    }
    sessions.push_back(session);
  }
  return sessions;
}

Result<std::optional<IpAddress>> FakeBgp::Identifier(Deadline) {
  FAIL_IF_TOLD();
  return states_.empty() ? std::nullopt : std::optional(base_ ? base_->router_id : identifier_);
}

Result<uint64_t> FakeBgp::TableVersion(Deadline) {
  FAIL_IF_TOLD();
  return version_;
}

Result<std::vector<std::string>> FakeBgp::EnsureBase(const BaseConfig& config, Deadline) {
  FAIL_IF_TOLD();
  if (asn_ && *asn_ != options_.asn) return Fail(Code::kInvalid, "another AS");
  if (default_ != nullptr && !default_->asn_) return Fail(Code::kTransient, "no BGP instance yet");
  std::vector<std::string> lines;
  if (!asn_) lines.push_back("router bgp " + std::to_string(options_.asn));
  asn_ = options_.asn;
  if (!base_) base_ = BaseConfig{config.router_id, {}};
  for (const RailPeer& rail : config.rails) {
    if (std::ranges::find(base_->rails, rail) != base_->rails.end()) continue;
    base_->rails.push_back(rail);
    states_.try_emplace(rail.interface,
                        default_ != nullptr && default_->instances_come_up_ ? kEstablished : "Active");
    lines.push_back("neighbor " + rail.interface + " interface");
  }
  return lines;
}

Result<std::vector<std::string>> FakeBgp::EnsureFrontend(const Frontend& frontend, Deadline) {
  FAIL_IF_TOLD();
  std::vector<std::string> lines;
  if (!asn_ && frontend.links.empty()) return lines;
  if (!asn_) return Fail(Code::kTransient, "no BGP instance yet");
  if (*asn_ != options_.asn) return Fail(Code::kInvalid, "another AS");
  for (const IpAddress& address : frontend.addresses) {
    if (foreign_.contains(address))
      return Fail(Code::kExists, "a network statement that is not ours for " + address.ToHostPrefix());
  }
  for (const std::string& link : frontend_.links) {
    if (std::ranges::find(frontend.links, link) != frontend.links.end()) continue;
    states_.erase(link);
    lines.push_back("no neighbor " + link + " interface");
  }
  for (const std::string& link : frontend.links) {
    if (states_.try_emplace(link, "Active").second) lines.push_back("neighbor " + link + " interface");
  }
  if (lines.empty() && frontend != frontend_) lines.emplace_back("another front end");
  frontend_ = frontend;
  return lines;
}

Result<std::vector<IpPrefix>> FakeBgp::AdvertisedTo(const std::string& interface, Deadline) {
  FAIL_IF_TOLD();
  std::vector<IpPrefix> told;
  const auto state = states_.find(interface);
  if (state == states_.end() || state->second != kEstablished) return told;
  const auto host = [](const IpAddress& address) {
    return IpPrefix{address, static_cast<uint8_t>(address.bits())};
  };
  if (std::ranges::find(frontend_.links, interface) != frontend_.links.end()) {
    for (const IpAddress& address : frontend_.addresses) told.push_back(host(address));
  }
  for (const auto& [address, announcement] : announced_) {
    if (IsSent(address, interface)) told.push_back(host(address));
  }
  if (const auto leaks = leaks_.find(interface); leaks != leaks_.end())
    told.insert(told.end(), leaks->second.begin(), leaks->second.end());
  return told;
}

Result<BaseBefore> FakeBgp::LookBefore(const std::vector<std::string>& interfaces, Deadline) {
  FAIL_IF_TOLD();
  return BaseBefore{.known = !base_, .asn = asn_, .interfaces = interfaces};
}

Result<std::vector<std::string>> FakeBgp::RemoveOurs(const std::vector<std::string>&, const Removal& removal,
                                                     Deadline) {
  FAIL_IF_TOLD();
  std::vector<std::string> lines;
  for (const auto& [address, announcement] : announced_)
    lines.push_back("no network " + address.ToHostPrefix());
  for (auto& [vrf, instance] : instances_) {
    if (instance->asn_) lines.push_back("no router bgp vrf " + vrf);
    instance->Restart();
  }
  announced_.clear();
  if (!removal.base) return lines;
  if (feed_port_) lines.emplace_back("no bmp targets railcni");
  feed_port_.reset();
  if (!removal.before || !removal.before->known) return lines;
  for (const auto& [interface, state] : states_) lines.push_back("no neighbor " + interface + " interface");
  states_.clear();
  base_.reset();
  frontend_ = {};
  if (!removal.before->asn) {
    if (asn_) lines.push_back("no router bgp " + std::to_string(*asn_));
    asn_.reset();
  }
  return lines;
}

Status FakeBgp::ResetSession(const std::string& interface, Deadline) {
  FAIL_IF_TOLD();
  if (interface.find(' ') != std::string::npos) return Fail(Code::kInvalid, "not a word");
  const auto state = states_.find(interface);
  if (state == states_.end()) return {};
  state->second = "Idle";
  resets_.push_back(interface);
  return {};
}

Result<bool> FakeBgp::EnsureFeed(const std::vector<RailPeer>&, const FeedTarget& target, bool manage,
                                 Deadline) {
  FAIL_IF_TOLD();
  if (!asn_) return Fail(Code::kTransient, "no instance");
  if (feed_port_ == target.port && feed_address_ == target.address) return false;
  if (!manage) return Fail(Code::kNotFound, "it is not told to push");
  if (!options_.bmp_module)
    return Fail(Code::kUnsupported, "no BMP module: add `-M bmp` to bgpd_options in /etc/frr/daemons");
  feed_port_ = target.port;
  feed_address_ = target.address;
  return true;
}

#undef FAIL_IF_TOLD

void FakeBgp::Restart() {
  ++restarts_;
  for (auto& [vrf, instance] : instances_) instance->Restart();
  asn_.reset();
  base_.reset();
  frontend_ = {};
  feed_port_.reset();
  announced_.clear();
  foreign_.clear();
  states_.clear();
  ends_.clear();
  learned_.clear();
  version_ = 0;
}

void FakeBgp::StartAs(uint32_t asn) {
  asn_ = asn;
}

void FakeBgp::AddForeignNetwork(const IpAddress& address) {
  foreign_.insert(address);
  ++version_;
}

void FakeBgp::SetSession(const std::string& interface, const std::string& state) {
  states_[interface] = state;
  if (state == kEstablished) return;
  for (auto& [prefix, paths] : learned_) version_ += paths.erase(interface);
  std::erase_if(learned_, [](const auto& entry) { return entry.second.empty(); });
}

void FakeBgp::EndSession(const Session& how) {
  SetSession(how.interface, how.state);
  ends_[how.interface] = how;
}

void FakeBgp::RemoveNeighbor(const std::string& interface) {
  SetSession(interface, "Idle");
  states_.erase(interface);
  if (base_) std::erase_if(base_->rails, [&](const RailPeer& rail) { return rail.interface == interface; });
}

void FakeBgp::Learn(const IpPrefix& prefix, const std::vector<tenancy::LargeCommunity>& communities,
                    const std::string& interface) {
  learned_[prefix][interface] = communities;
  ++version_;
}

std::map<IpAddress, std::vector<tenancy::LargeCommunity>> FakeBgp::LearnedFrom(
    const std::string& interface) const {
  std::map<IpAddress, std::vector<tenancy::LargeCommunity>> routes;
  for (const auto& [prefix, paths] : learned_) {
    if (const auto path = paths.find(interface); prefix.is_host() && path != paths.end())
      routes[prefix.address] = path->second;
  }
  return routes;
}

void FakeBgp::Forget(const IpPrefix& prefix, const std::string& interface) {
  const auto it = learned_.find(prefix);
  if (it == learned_.end() || it->second.erase(interface) == 0) return;
  if (it->second.empty()) learned_.erase(it);
  ++version_;
}

}  // namespace rail::frr::testing
