#include "lib/inspect/doctor/subjects.h"

#include <ranges>

#include "lib/base/text.h"

namespace rail::inspect {
namespace {

class Frontend : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    if (!config_.frontend.on() || facts_.bgpd_down) return;
    size_t up = 0;
    for (const v1::FrontendLink& link : facts_.frontend.frontend_links()) {
      Leak(link);
      Stray(link);
      if (!link.connected()) {
        Down(link);
        continue;
      }
      ++up;
      Told(link);
      Default(link);
    }
    if (up < 2 && !facts_.frontend.frontend_links().empty()) {
      Find(Severity::kCritical, "frontend-not-redundant", "front end",
           fmt::format("{} of {} sessions of the front end {} Established", up,
                       facts_.frontend.frontend_links().size(), up == 1 ? "is" : "are"),
           up == 0 ? "nobody has a route to this node's own address, and it has no default route"
                   : "the next link or leaf that fails takes this node off the network",
           "see to the sessions that are down: `railctl get node` says why each is");
    }
    if (!facts_.frontend.frontend_bfd_problem().empty()) {
      Find(Severity::kWarning, "frontend-without-bfd", "front end", facts_.frontend.frontend_bfd_problem(),
           "a leaf that dies without taking its link down is noticed by BGP's hold timer: 9 s instead of 1 s",
           "`sed -i 's/^bfdd=no/bfdd=yes/' /etc/frr/daemons`, then restart FRR; or set frontend.bfd of "
           "node.json "
           "to false");
    }
  }

 private:
  // `prefixes`: what a rail announces, or somebody else on this bgpd.
  void Leak(const v1::FrontendLink& link) {
    if (link.leaked().empty()) return;
    constexpr int kShown = 3;
    Find(
        Severity::kCritical, "frontend-leak", link.name(),
        fmt::format("the leaf of the front end is told {} prefixes that are no address of this node: {}{}",
                    link.leaked_size(), Join(link.leaked() | std::views::take(kShown), ", "),
                    link.leaked_size() > kShown ? ", ..." : ""),
        "a rail's addresses are not for the front end: its leaves would send packets for pods here, past the "
        "rails and their isolation",
        fmt::format("raild sets its filter right within 30 s; if this stays, "
                    "`vtysh -c 'show running-config' -c 'show route-map railcni-frontend_out4'` shows who "
                    "lets it out on {}",
                    link.name()));
  }

  void Down(const v1::FrontendLink& link) {
    Find(Severity::kWarning, "frontend-session-down", link.name(), link.bgp_problem(),
         "the front end's leaf on this link neither knows this node's address nor carries its traffic",
         fmt::format("`vtysh -c 'show bgp neighbors {}'`; `ip link show {}`; the leaf's port needs BGP "
                     "unnumbered, remote-as external, and router advertisements",
                     link.name(), link.name()));
  }

  void Told(const v1::FrontendLink& link) {
    if (link.not_told().empty()) return;
    Find(Severity::kCritical, "frontend-address-not-told", link.name(),
         "the leaf on this link is not told " + Join(link.not_told(), ", "),
         "it has no route to this node of its own: without the other links nobody reaches it",
         "raild announces it within 30 s; `railctl get node` says what keeps it from that (part \"front "
         "end\")");
  }

  void Stray(const v1::FrontendLink& link) {
    if (link.stray_default_routes().empty()) return;
    Find(Severity::kCritical, "frontend-stray-route", link.name(),
         fmt::format("the kernel's default route ({}) goes out here, and bgpd uses no path of this link",
                     Join(link.stray_default_routes(), ", ")),
         "zebra has left a next hop in the kernel: what the node sends over it is lost, half of its "
         "connections "
         "hang",
         "`vtysh -c 'clear bgp *'` makes zebra write the route anew: every session ends for a second; "
         "FRRouting from "
         "10.2 on does this, unless `no zebra nexthop kernel enable` is set, which raild does with "
         "bgp.manage");
  }

  // The kernel lacks what bgpd has chosen.
  void Unused(const v1::FrontendLink& link) {
    Find(Severity::kWarning, "frontend-default-route", link.name(),
         fmt::format("bgpd uses the default route ({}) of this link, and the kernel does not send out here",
                     Join(link.unused_default_paths(), ", ")),
         "zebra has lost a next hop: half of the bandwidth, and no way out when the others fail",
         fmt::format("raild ends the session after 5 s, which puts it back; if this stays, "
                     "`vtysh -c 'clear bgp {}'`, then `ip route show default` (and `ip -6`)",
                     link.name()));
  }

  void Default(const v1::FrontendLink& link) {
    if (!link.unused_default_paths().empty()) return Unused(link);
    if (link.missing_default_routes().empty()) return;
    Find(Severity::kWarning, "frontend-default-route", link.name(),
         fmt::format("the host's default route ({}) does not go out here, though the session is Established",
                     Join(link.missing_default_routes(), ", ")),
         "this link carries nothing of what the node sends: half of the bandwidth, and no way out when the "
         "others fail",
         "`ip route show default` and `vtysh -c 'show bgp ipv4 unicast 0.0.0.0/0'` (and ipv6): does the leaf "
         "announce it, is its AS path as long as the others', does `maximum-paths` of bgpd allow so many, "
         "does "
         "another route (static, DHCP) come before it?");
  }
};

}  // namespace

void ExamineFrontend(const NodeFacts& facts, std::vector<Finding>& found) {
  Frontend(facts, found).Run();
}

}  // namespace rail::inspect
