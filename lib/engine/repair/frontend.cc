#include "lib/engine/repair/frontend.h"

#include <linux/rtnetlink.h>

#include <algorithm>

#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/base/utf8.h"
#include "lib/engine/repair/origin.h"
#include "lib/frr/session_down.h"

namespace rail::engine {
namespace {

constexpr const char* kLoopback = "lo";
// zebra has put a path of bgpd into the kernel long before, and another session has come up.
constexpr std::chrono::seconds kUnusedFor{5};
constexpr std::chrono::minutes kBetweenResets{1};
// A route of the front end is in the kernel some 100 ms after its session has come up.
constexpr std::chrono::seconds kBetweenLooks{1};
// For how long after a change the front end may still be on its way: a session, its routes, their next hops.
constexpr std::chrono::seconds kSettles{15};

IpPrefix HostPrefix(const IpAddress& address) {
  return {address, static_cast<uint8_t>(address.bits())};
}

bool IsOwn(const config::NodeConfig& config, const IpPrefix& prefix) {
  return prefix.is_host() &&
         std::ranges::find(config.frontend.addresses, prefix.address) != config.frontend.addresses.end();
}

// What the session on the link sends, compared with what it is to send.
void Told(const config::NodeConfig& config, Connections& connections, v1::FrontendLink& link) {
  const auto bgp = connections.Bgp();
  if (!bgp || !link.connected()) return;
  const auto told = (*bgp)->AdvertisedTo(link.name(), connections.CallDeadline());
  if (!told) return;
  for (const IpAddress& address : config.frontend.addresses) {
    if (std::ranges::find(*told, HostPrefix(address)) == told->end()) link.add_not_told(address.ToString());
  }
  for (const IpPrefix& prefix : *told) {
    if (!IsOwn(config, prefix)) link.add_leaked(prefix.ToString());
  }
}

// Whether the kernel has the default route as bgpd has chosen it. Without bgpd's answer, whether the kernel has it is all that is known.
void LookAtDefault(const IpPrefix& prefix, const char* family, Connections& connections,
                   v1::NodeInfo& frontend) {
  const auto exits = connections.ExitsOf(prefix);
  if (!exits) return;
  const auto used = [&]() -> Result<std::set<std::string>> {
    RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
    return bgp->UsedLinks(prefix, connections.CallDeadline());
  }();
  // A route of somebody else (static, DHCP) comes before BGP's: where it goes says nothing of zebra.
  const bool is_bgps = exits->links.empty() || exits->protocol == RTPROT_BGP;
  for (v1::FrontendLink& link : *frontend.mutable_frontend_links()) {
    const bool is_used = used && used->contains(link.name());
    if (exits->links.contains(link.name())) {
      link.add_default_routes(family);
      if (used && !is_used && is_bgps) link.add_stray_default_routes(family);
    } else {
      if (link.connected()) link.add_missing_default_routes(family);
      if (is_used && is_bgps) link.add_unused_default_paths(family);
    }
  }
}

std::string ProblemOf(const v1::FrontendLink& link) {
  if (!link.leaked().empty()) return "LEAKED: " + Join(link.leaked(), ",");
  if (!link.stray_default_routes().empty())
    return "the kernel sends " + Join(link.stray_default_routes(), ",") + " here, bgpd has no path";
  if (link.bgp_problem().empty() && !link.not_told().empty())
    return "not told: " + Join(link.not_told(), ",");
  if (!link.unused_default_paths().empty())
    return "bgpd has a path for " + Join(link.unused_default_paths(), ",") + ", the kernel does not use it";
  return link.bgp_problem();
}

v1::FrontendLink LookAt(const std::string& name, const frr::Session* session,
                        const config::NodeConfig& config, Connections& connections) {
  v1::FrontendLink link;
  link.set_name(name);
  link.set_addresses(static_cast<uint32_t>(config.frontend.addresses.size()));
  if (session != nullptr) {
    link.set_bgp_state(ValidUtf8(session->state));
    link.set_connected(session->established());
    link.set_prefixes_received(session->prefixes_received);
    link.set_prefixes_sent(session->prefixes_sent);
  }
  const auto down = frr::WhyDown(session, {.bridge = name, .asn = config.bgp.asn});
  if (down) link.set_bgp_problem(ValidUtf8(down->what));
  Told(config, connections, link);
  if (!down) link.set_told(link.addresses() - static_cast<uint32_t>(link.not_told_size()));
  return link;
}

}  // namespace

Status FrontendRepair::Ensure(Connections& connections, size_t& sent) {
  const config::Frontend& wanted = config_.frontend;
  if (!wanted.on() && tidied_) return {};
  // An address that is announced before the node has it would draw packets that nobody takes.
  RAIL_TRY(Loopback(connections, sent));
  if (wanted.on()) RAIL_TRY(NextHops(connections, sent));
  RAIL_ASSIGN(frr::Bgp * bgp, connections.Bgp());
  const auto bfd = !wanted.bfd                      ? frr::Frontend::Bfd::kOff
                   : connections.DaemonRuns("bfdd") ? frr::Frontend::Bfd::kOn
                                                    : frr::Frontend::Bfd::kUnchanged;
  RAIL_ASSIGN(
      const std::vector<std::string> lines,
      bgp->EnsureFrontend({wanted.links, wanted.addresses, wanted.accept, bfd}, connections.CallDeadline()));
  if (!lines.empty()) log::Info("bgpd: {} lines of the front end sent", lines.size());
  sent += lines.size();
  tidied_ = !wanted.on();
  stood_ = bfd != frr::Frontend::Bfd::kUnchanged;
  return {};
}

// Records an address before it adds it: one that was there before stays when RailCNI goes.
Status FrontendRepair::Loopback(Connections& connections, size_t& sent) {
  OriginRecord record;
  if (deps_.origin) {
    RAIL_ASSIGN(record, deps_.origin->Read());
  }
  const std::vector<IpPrefix>& added = record.loopback;
  if (!config_.frontend.on() && added.empty()) return {};
  RAIL_ASSIGN(netlink::Netlink * host, connections.Netlink());
  RAIL_ASSIGN(const netlink::Link loopback, host->GetLink(kLoopback));
  RAIL_ASSIGN(const auto present, host->ListAddresses(loopback.index));
  const auto is_there = [&](const IpPrefix& prefix) {
    return std::ranges::find(present, prefix, &netlink::Address::prefix) != present.end();
  };
  for (const IpAddress& address : config_.frontend.addresses) {
    const IpPrefix prefix = HostPrefix(address);
    if (is_there(prefix)) continue;
    if (deps_.origin) RAIL_TRY(deps_.origin->LoopbackAdded(prefix));
    RAIL_TRY(host->AddAddress({.link = loopback.index, .prefix = prefix}));
    log::Info("front end: {} added to {}", prefix.ToString(), kLoopback);
    ++sent;
  }
  for (const IpPrefix& prefix : added) {
    if (IsOwn(config_, prefix)) continue;
    Status gone = host->DeleteAddress({.link = loopback.index, .prefix = prefix});
    if (!gone && gone.error().code != Code::kNotFound) return gone;
    RAIL_TRY(deps_.origin->LoopbackGone(prefix));
    log::Info("front end: {} removed from {}, node.json no longer has it", prefix.ToString(), kLoopback);
    ++sent;
  }
  return {};
}

// A host's bgpd may run without a zebra that answers now; the next audit comes.
Status FrontendRepair::NextHops(Connections& connections, size_t& sent) {
  const auto changed = connections.OwnNextHops(
      [this]() -> Status { return deps_.origin ? deps_.origin->NextHops() : Status(); });
  if (!changed && changed.error().code == Code::kTransient) return {};
  RAIL_TRY(changed);
  if (!*changed) return {};
  log::Info("zebra: routes have next hops of their own, because this version loses those that routes share");
  ++sent;
  return {};
}

bool FrontendRepair::Look(Connections& connections, const std::map<std::string, frr::Session>& sessions) {
  if (!config_.frontend.on()) return false;
  looked_ = deps_.now();
  v1::NodeInfo seen = LookAtFrontend(config_, connections, sessions);
  if (config_.bgp.manage) MendPaths(seen, connections);
  if (seen.SerializeAsString() == seen_.SerializeAsString()) return false;
  changed_ = deps_.now();
  seen_ = std::move(seen);
  return true;
}

bool FrontendRepair::MayChange() const {
  return config_.frontend.on() && !IsWhole(seen_) && deps_.now() - changed_ < kSettles;
}

std::optional<Deadline> FrontendRepair::next() const {
  const auto next = MayChange() ? looked_ : next_mend();
  if (!next) return std::nullopt;
  return std::max(*next, looked_ + kBetweenLooks);
}

void FrontendRepair::MendPaths(const v1::NodeInfo& seen, Connections& connections) {
  const Deadline now = deps_.now();
  for (const v1::FrontendLink& link : seen.frontend_links()) {
    Unused& unused = unused_[link.name()];
    if (link.unused_default_paths().empty()) {
      unused.since.reset();
      continue;
    }
    if (!unused.since) unused.since = now;
    if (now < NextReset(unused)) continue;
    if (!IsCarriedElsewhere(seen, link)) {
      unused.since = now;
      continue;
    }
    unused.reset = now;
    const auto bgp = connections.Bgp();
    if (!bgp || !(*bgp)->ResetSession(link.name(), connections.CallDeadline())) continue;
    log::Warning("front end: the session on {} ended, because bgpd's path there is not in the kernel",
                 link.name());
  }
}

std::optional<Deadline> FrontendRepair::next_mend() const {
  std::optional<Deadline> next;
  for (const auto& [link, unused] : unused_) {
    if (unused.since) next = Earlier(next, NextReset(unused));
  }
  return next;
}

Deadline FrontendRepair::NextReset(const Unused& unused) {
  const Deadline old_enough = *unused.since + kUnusedFor;
  return unused.reset ? std::max(old_enough, *unused.reset + kBetweenResets) : old_enough;
}

// A link whose session ends carries nothing for a moment: the node's only way out is not ended.
bool FrontendRepair::IsCarriedElsewhere(const v1::NodeInfo& seen, const v1::FrontendLink& link) {
  return std::ranges::all_of(link.unused_default_paths(), [&](const std::string& family) {
    return std::ranges::any_of(seen.frontend_links(), [&](const v1::FrontendLink& other) {
      return std::ranges::find(other.default_routes(), family) != other.default_routes().end();
    });
  });
}

v1::NodeInfo LookAtFrontend(const config::NodeConfig& config, Connections& connections,
                            const std::map<std::string, frr::Session>& sessions) {
  v1::NodeInfo frontend;
  const config::Frontend& wanted = config.frontend;
  if (!wanted.on()) return frontend;
  for (const IpAddress& address : wanted.addresses) frontend.add_frontend_addresses(address.ToHostPrefix());
  for (const std::string& name : wanted.links) {
    const auto found = sessions.find(name);
    *frontend.add_frontend_links() =
        LookAt(name, found == sessions.end() ? nullptr : &found->second, config, connections);
  }
  for (const IpPrefix& prefix : wanted.accept) {
    const bool v6 = prefix.address.is_v6();
    const bool has_family = std::ranges::any_of(
        wanted.addresses, [&](const IpAddress& address) { return address.is_v6() == v6; });
    if (prefix.length > 0 || !has_family) continue;
    LookAtDefault(prefix, v6 ? "ipv6" : "ipv4", connections, frontend);
  }
  for (v1::FrontendLink& link : *frontend.mutable_frontend_links()) link.set_problem(ProblemOf(link));
  if (wanted.bfd && !connections.DaemonRuns("bfdd"))
    frontend.set_frontend_bfd_problem("frontend.bfd is true, and bfdd does not answer in " +
                                      config.frr.run_dir);
  return frontend;
}

bool IsWhole(const v1::NodeInfo& frontend) {
  return frontend.frontend_bfd_problem().empty() &&
         std::ranges::all_of(frontend.frontend_links(), [](const v1::FrontendLink& link) {
           return link.connected() && link.problem().empty() && link.missing_default_routes().empty() &&
                  link.stray_default_routes().empty();
         });
}

}  // namespace rail::engine
