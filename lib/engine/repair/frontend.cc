#include "lib/engine/repair/frontend.h"

#include <algorithm>

#include "lib/base/log.h"
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
void Told(const config::NodeConfig& config, Connections& connections, FrontendLink& link) {
  const auto bgp = connections.Bgp();
  if (!bgp || link.state != frr::kEstablished) return;
  const auto told = (*bgp)->AdvertisedTo(link.name, connections.CallDeadline());
  if (!told) return;
  for (const IpAddress& address : config.frontend.addresses) {
    if (std::ranges::find(*told, HostPrefix(address)) == told->end()) link.not_told.push_back(address);
  }
  for (const IpPrefix& prefix : *told) {
    if (!IsOwn(config, prefix)) link.leaked.push_back(prefix);
  }
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

FrontendView LookAtFrontend(const config::NodeConfig& config, Connections& connections,
                            const std::map<std::string, frr::Session>& sessions) {
  FrontendView view;
  const config::Frontend& wanted = config.frontend;
  if (!wanted.on()) return view;
  view.addresses = wanted.addresses;
  for (const std::string& name : wanted.links) {
    FrontendLink link{.name = name};
    const auto found = sessions.find(name);
    const frr::Session* session = found == sessions.end() ? nullptr : &found->second;
    if (session != nullptr) {
      link.state = session->state;
      link.received = session->prefixes_received;
      link.sent = session->prefixes_sent;
    }
    const auto down = frr::WhyDown(session, {.bridge = name, .asn = config.bgp.asn});
    if (down) link.problem = down->what;
    Told(config, connections, link);
    view.links.push_back(std::move(link));
  }
  for (const IpPrefix& prefix : wanted.accept) {
    const bool v6 = prefix.address.is_v6();
    const bool has_family = std::ranges::any_of(
        wanted.addresses, [&](const IpAddress& address) { return address.is_v6() == v6; });
    if (prefix.length > 0 || !has_family) continue;
    const auto out = connections.OutLinks(prefix);
    if (!out) continue;
    for (FrontendLink& link : view.links) {
      if (out->contains(link.name)) {
        link.default_routes.emplace_back(v6 ? "ipv6" : "ipv4");
      } else if (link.state == frr::kEstablished) {
        link.no_default.emplace_back(v6 ? "ipv6" : "ipv4");
      }
    }
  }
  if (wanted.bfd && !connections.DaemonRuns("bfdd"))
    view.bfd_problem = "frontend.bfd is true, and bfdd does not answer in " + config.frr.run_dir;
  return view;
}

bool IsWhole(const FrontendView& view) {
  return view.bfd_problem.empty() && std::ranges::all_of(view.links, [](const FrontendLink& link) {
           return link.state == frr::kEstablished && link.not_told.empty() && link.leaked.empty() &&
                  link.no_default.empty();
         });
}

}  // namespace rail::engine
