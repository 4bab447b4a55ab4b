#include "lib/inspect/doctor_subjects.h"

namespace rail::inspect {
namespace {

class Bgp : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    for (const config::Rail& rail : facts_.start ? std::vector<config::Rail>() : config_.rails) {
      const auto it = facts_.rails.find(rail.name);
      Leaf(rail, it != facts_.rails.end() && it->second.bridge);
    }
    if (facts_.bgpd_down) {
      Find(Severity::kCritical, "bgpd-down", "bgpd", "bgpd does not answer: " + facts_.bgpd_down->message,
           "addresses are neither told nor learned",
           "systemctl status frr; is frr.run_dir in node.json its folder?");
      return;
    }
    if (!view_.bmp_up && !facts_.start) {
      Find(Severity::kCritical, "bmp-missing", "bgpd", "bgpd does not push what it learns (BMP)",
           "pods that are new elsewhere cannot be reached from this node; those that it knows stay reachable",
           "add `-M bmp` to bgpd_options in /etc/frr/daemons, then restart FRR; if it is there, `railctl get "
           "node` says what is in the way");
    }
    if (view_.bmp_ambiguous) {
      Find(
          Severity::kWarning, "bmp-sessions-alike", "bgpd",
          "two BGP sessions have a leaf of the same address, AS and identifier: BMP does not tell them apart",
          "pods that have gone elsewhere are forgotten up to 30 s late, and each time bgpd pushes its whole "
          "table again",
          "give each port of the leaf a link-local address of its own");
    }
  }

 private:
  const engine::RailView* ViewOf(const std::string& rail) const {
    const auto it = std::ranges::find_if(view_.rails, [&](const auto& r) { return r.rail.name == rail; });
    return it == view_.rails.end() ? nullptr : &*it;
  }

  void Prefixes(const engine::RailView& view) {
    const uint64_t most = config_.bgp.max_prefixes;
    const std::string what = fmt::format("the leaf sends {} prefixes of one family; bgp.max_prefixes is {}",
                                         view.most_prefixes, most);
    const std::string fix =
        "`vtysh -c 'show bgp summary'`: is it what the fabric shall pass on? Then raise bgp.max_prefixes in "
        "node.json "
        "and restart raild; else filter it on the leaf, and list the rail's prefixes in rails[].accept";
    if (view.most_prefixes > most) {
      Find(Severity::kCritical, "prefixes-above-limit", view.rail.name, what,
           "the session stays, and all of it is learned: it takes memory of bgpd and raild, and rules of the "
           "switch",
           fix);
    } else if (view.most_prefixes * 100 > most * frr::kNearMaxPrefixes) {
      Find(Severity::kWarning, "prefixes-near-limit", view.rail.name, what,
           "the fabric sends nearly as much as this node expects at most", fix);
    }
  }

  void Leaf(const config::Rail& rail, bool has_bridge) {
    const engine::RailView* view = ViewOf(rail.name);
    if (view == nullptr) return;
    if (!facts_.bgpd_down && view->bgp_state != "Established") {
      Find(Severity::kCritical, "bgp-session-down", rail.name,
           view->bgp_state.empty() ? "bgpd has no session on " + rail.bridge
                                   : "the BGP session on " + rail.bridge + " is " + view->bgp_state,
           "addresses of this node's pods are not told on this rail, and none is learned",
           "`vtysh -c 'show bgp neighbors " + rail.bridge +
               "'` says the last error; is the leaf's side configured "
               "(unnumbered, remote-as external)?");
    }
    if (!facts_.bgpd_down) Prefixes(*view);
    if (view->leaf_mac.is_zero() && has_bridge) {
      Find(Severity::kCritical, "no-leaf-neighbour", rail.name,
           "the leaf has not been heard on " + rail.bridge,
           "packets to pods elsewhere have no destination MAC: they are dropped in table 4",
           "`ip -6 neigh show dev " + rail.bridge +
               "`; the leaf must send router advertisements on this port");
    }
  }
};

}  // namespace

void ExamineBgp(const NodeFacts& facts, std::vector<Finding>& found) {
  Bgp(facts, found).Run();
}

}  // namespace rail::inspect
