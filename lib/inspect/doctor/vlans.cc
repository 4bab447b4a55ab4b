#include "lib/engine/attach/tenant_vlans.h"
#include "lib/frr/session_down.h"
#include "lib/inspect/doctor/subjects.h"

namespace rail::inspect {
namespace {

// Mode `vrf`: what a tenant needs on a rail beside its pods' ports and rules.
class Vlans : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    if (facts_.start) return;
    for (const engine::RailView& rail : view_.rails) {
      const auto seen = facts_.rails.find(rail.rail.name);
      if (seen == facts_.rails.end()) continue;
      for (const v1::RailVlan& vlan : rail.seen.vlans()) Vlan(rail, vlan, seen->second);
    }
  }

 private:
  void Vlan(const engine::RailView& shown, const v1::RailVlan& vlan, const RailFacts& seen) {
    const config::Rail& rail = shown.rail;
    const std::string subject = fmt::format("VLAN {} of rail {}", vlan.vlan(), rail.name);
    const std::string whose = fmt::format("VLAN {} of tenant {}", vlan.vlan(), vlan.tenant().name());
    const std::string by_raild = "raild makes it: `railctl get node` says what keeps it from doing so";
    if (facts_.vrfs && !facts_.vrfs->contains(vlan.vrf())) {
      Find(Severity::kCritical, "vlan-vrf-missing", subject,
           "the kernel has no VRF " + vlan.vrf() + " for " + whose,
           "the tenant has no table of its own, so none of its addresses is told or learned on this rail",
           by_raild + "; `modprobe vrf` shows whether the kernel has VRFs");
      OfRail(rail.name);
    }
    if (seen.bridge) Port(rail, vlan, *seen.bridge, subject, whose, by_raild);
    if (!facts_.bgpd_down) Session(shown, vlan, seen, subject, whose);
  }

  void Port(const config::Rail& rail, const v1::RailVlan& vlan, const ovs::Bridge& bridge,
            const std::string& subject, const std::string& whose, const std::string& by_raild) {
    const auto port = std::ranges::find(bridge.ports, vlan.port(), &ovs::Port::name);
    const bool there = port != bridge.ports.end();
    if (there && port->ofport > 0 && engine::VlanOfPort(rail, *port)) return;
    std::string what = "bridge " + rail.bridge + " has no port " + vlan.port() + " for " + whose;
    if (there && port->ofport < 1)
      what = "Open vSwitch could not open " + vlan.port() + " for " + whose + ": " + port->error;
    if (there && port->ofport > 0)
      what = "port " + vlan.port() + " of " + rail.bridge + " does not have the mark of " + whose +
             " (external_ids:" + engine::kVlanKey + ")";
    Find(Severity::kCritical, "vlan-port-missing", subject, what,
         "the node and the leaf cannot speak of the tenant: what its pods send to other nodes is dropped in "
         "table 4",
         by_raild);
    OfRail(rail.name);
  }

  void Session(const engine::RailView& shown, const v1::RailVlan& vlan, const RailFacts& seen,
               const std::string& subject, const std::string& whose) {
    const config::Rail& rail = shown.rail;
    const std::optional<frr::Session> session = SessionOn(shown, vlan.port());
    const bool carrier = !seen.uplink.there || seen.uplink.carrier;
    const auto down = frr::WhyDown(session ? &*session : nullptr,
                                   {.bridge = vlan.port(), .asn = config_.bgp.asn, .carrier = carrier});
    if (!down) {
      if (!vlan.leaf_mac().empty() || !vlan.port_works()) return;
      Find(Severity::kCritical, "vlan-session-down", subject,
           "the leaf's MAC address in " + whose + " is not known, though its session is Established",
           "what the tenant's pods send to other nodes is dropped in table 4",
           "`ip -6 neigh show dev " + vlan.port() + "`");
      return OfRail(rail.name);
    }
    Find(Severity::kCritical, "vlan-session-down", subject, whose + ": " + down->what,
         "addresses of the tenant's pods on this node are not told on this rail, and none is learned; other "
         "tenants are not concerned",
         Remedy(down->cause, rail, vlan));
    OfRail(rail.name);
  }

  std::string Remedy(frr::SessionDown::Cause cause, const config::Rail& rail,
                     const v1::RailVlan& vlan) const {
    using Cause = frr::SessionDown::Cause;
    const std::string on_leaf = fmt::format(
        "on the leaf: has this node's port a subinterface with VLAN {}, up, in the tenant's VRF, and has "
        "that VRF's BGP a neighbor on it (unnumbered, remote-as external)?",
        vlan.vlan());
    const std::string here = fmt::format("`vtysh -c 'show bgp vrf {} neighbors {}'` on this node says more",
                                         vlan.vrf(), vlan.port());
    switch (cause) {
      case Cause::kShutDownHere:
        return fmt::format(
            "on this node: `vtysh -c 'configure terminal' -c 'router bgp {} vrf {}' -c 'no neighbor {} "
            "shutdown'`",
            config_.bgp.asn, vlan.vrf(), vlan.port());
      case Cause::kNoNeighbor:
        return "raild adds it within 30 s; `railctl get node` says what keeps it from that";
      case Cause::kNoCarrier:
        return "it comes back with the link: see to rail " + rail.name + "'s uplink, " + rail.pf;
      case Cause::kLeafUnheard:
        return on_leaf + " It must send router advertisements there; `tcpdump -ni " + vlan.port() + " icmp6`";
      default: return on_leaf + " " + here;
    }
  }
};

}  // namespace

void ExamineVlans(const NodeFacts& facts, std::vector<Finding>& found) {
  Vlans(facts, found).Run();
}

}  // namespace rail::inspect
