#include "lib/engine/repair/frontend.h"

#include <algorithm>

#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/base/utf8.h"
#include "lib/engine/repair/origin.h"
#include "lib/frr/session_down.h"

namespace rail::engine {
namespace {

constexpr const char* kLoopback = "lo";

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

std::string ProblemOf(const v1::FrontendLink& link) {
  if (!link.leaked().empty()) return "LEAKED: " + Join(link.leaked(), ",");
  if (link.bgp_problem().empty() && !link.not_told().empty())
    return "not told: " + Join(link.not_told(), ",");
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
  link.set_problem(ProblemOf(link));
  return link;
}

}  // namespace

Status FrontendRepair::Ensure(Connections& connections, size_t& sent) {
  const config::Frontend& wanted = config_.frontend;
  if (!wanted.on() && tidied_) return {};
  // An address that is announced before the node has it would draw packets that nobody takes.
  RAIL_TRY(Loopback(connections, sent));
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
  std::vector<IpPrefix> added;
  if (deps_.origin) {
    RAIL_ASSIGN(added, deps_.origin->Loopback());
  }
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
    const auto out = connections.OutLinks(prefix);
    if (!out) continue;
    for (v1::FrontendLink& link : *frontend.mutable_frontend_links()) {
      if (out->contains(link.name())) {
        link.add_default_routes(v6 ? "ipv6" : "ipv4");
      } else if (link.connected()) {
        link.add_missing_default_routes(v6 ? "ipv6" : "ipv4");
      }
    }
  }
  if (wanted.bfd && !connections.DaemonRuns("bfdd"))
    frontend.set_frontend_bfd_problem("frontend.bfd is true, and bfdd does not answer in " +
                                      config.frr.run_dir);
  return frontend;
}

bool IsWhole(const v1::NodeInfo& frontend) {
  return frontend.frontend_bfd_problem().empty() &&
         std::ranges::all_of(frontend.frontend_links(), [](const v1::FrontendLink& link) {
           return link.connected() && link.problem().empty() && link.missing_default_routes().empty();
         });
}

}  // namespace rail::engine
