#include "lib/engine/repair/vlan_ports.h"

#include <algorithm>
#include <utility>

#include "lib/base/log.h"

namespace rail::engine {

Result<std::optional<netlink::Neighbour>> LeafOn(netlink::Netlink& host, const netlink::Link& link,
                                                 const frr::Session* session) {
  RAIL_ASSIGN(const std::vector<netlink::Neighbour> neighbours, host.ListNeighbours(link.index));
  const std::optional<IpAddress> peer = session == nullptr ? std::nullopt : session->peer;
  for (const netlink::Neighbour& neighbour : neighbours) {
    if (!neighbour.usable || neighbour.mac.is_zero()) continue;
    if (peer ? neighbour.address == *peer : neighbour.router) return neighbour;
  }
  return std::nullopt;
}

Status VlanPorts::Look(netlink::Netlink& host, const config::Rail& rail, const Known& known) {
  std::map<uint16_t, MacAddress> leaves;
  for (const pipeline::VlanPort& port : ports_) leaves[port.vlan] = port.leaf_mac;
  std::vector<pipeline::VlanPort> now;
  Status looked;
  for (const auto& [name, port] : known.ports) {
    const auto vlan = VlanOfPort(rail, port);
    if (!vlan || port.ofport < 1) continue;
    pipeline::VlanPort& one =
        now.emplace_back(pipeline::VlanPort{*vlan, static_cast<uint16_t>(port.ofport), leaves[*vlan]});
    const auto link = host.GetLink(name);
    if (!link) continue;  // it has just been made; an event of the link brings the next look
    const auto session = known.learned.sessions.find(name);
    const auto leaf =
        LeafOn(host, *link, session == known.learned.sessions.end() ? nullptr : &session->second);
    if (!leaf) {
      looked = tl::make_unexpected(leaf.error());
    } else if (*leaf) {
      if (one.leaf_mac != (*leaf)->mac) {
        log::Info("rail {}, VLAN {}: the leaf is {} at {}", rail.name, *vlan, (*leaf)->address.ToString(),
                  (*leaf)->mac.ToString());
      }
      one.leaf_mac = (*leaf)->mac;
    }
  }
  std::ranges::sort(now, {}, &pipeline::VlanPort::vlan);
  ports_ = std::move(now);
  seen_.clear();
  without_leaf_.clear();
  std::map<uint16_t, Deadline> since = std::exchange(present_since_, {});
  for (const TenantVlan& one : known.present) {
    const auto before = since.find(one.vlan);
    const Deadline begin = before == since.end() ? known.now : before->second;
    present_since_[one.vlan] = begin;
    v1::RailVlan view;
    view.set_vlan(one.vlan);
    SetTenant(*view.mutable_tenant(), one.tenant, one.id);
    view.set_port(VlanPortName(rail, one.vlan));
    view.set_vrf(VrfName(rail, one.vlan));
    if (const auto port = std::ranges::find(ports_, one.vlan, &pipeline::VlanPort::vlan);
        port != ports_.end()) {
      view.set_port_works(true);
      view.set_leaf_mac(TextOf(port->leaf_mac));
    }
    if (view.leaf_mac().empty()) without_leaf_.insert(one.vlan);
    const auto session = known.learned.sessions.find(view.port());
    const bool whole =
        !view.leaf_mac().empty() && session != known.learned.sessions.end() && session->second.established();
    if (whole || known.now - begin >= kForming) seen_.push_back(std::move(view));
  }
  RAIL_TRY(looked);
  for (const v1::RailVlan& one : seen_) {
    const std::string of = "VLAN " + std::to_string(one.vlan()) + " of tenant " + one.tenant().name();
    if (!one.port_works())
      return Fail(Code::kTransient, of + " has no port " + one.port() + " on " + rail.bridge + " yet");
    if (one.leaf_mac().empty()) {
      return Fail(Code::kTransient, "no neighbour on " + one.port() + " is a router yet (" + of +
                                        "): has the leaf's port a subinterface in this VLAN, in the tenant's "
                                        "VRF, with BGP unnumbered?");
    }
  }
  return {};
}

}  // namespace rail::engine
