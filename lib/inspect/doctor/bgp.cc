#include "lib/base/text.h"
#include "lib/frr/session_down.h"
#include "lib/inspect/doctor/subjects.h"
#include "lib/inspect/topology.h"

namespace rail::inspect {
namespace {

using Cause = frr::SessionDown::Cause;

class Bgp : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    for (const config::Rail& rail : facts_.start ? std::vector<config::Rail>() : config_.rails) {
      const engine::RailView* view = ViewOf(rail.name);
      if (view == nullptr) continue;
      const auto it = facts_.rails.find(rail.name);
      if (!facts_.bgpd_down && !view->seen.by_vlan())
        Session(*view, it == facts_.rails.end() ? nullptr : &it->second);
      if (!facts_.bgpd_down) Prefixes(*view);
      Stripped(*view);
      if (it != facts_.rails.end()) Mtu(rail, it->second.leaf);
    }
    if (facts_.zebra_down) {
      Find(Severity::kCritical, "zebra-down", "zebra", "zebra does not answer: " + facts_.zebra_down->message,
           "nobody advertises this node to the leaves: sessions stay while their links do, and a leaf that "
           "has forgotten the node does not come back",
           "`systemctl restart frr`, or let FRR's watchfrr start it again; bgpd finds it within 10 s; is "
           "frr.run_dir in node.json its folder?");
    }
    Version();
    if (facts_.bgpd_down) {
      Find(Severity::kCritical, "bgpd-down", "bgpd", "bgpd does not answer: " + facts_.bgpd_down->message,
           "addresses are neither told nor learned",
           "systemctl status frr; is frr.run_dir in node.json its folder?");
      return;
    }
    if (facts_.bgp_identifier && facts_.bgp_identifier->is_unspecified()) {
      const std::string id = config_.bgp.router_id.ToString();
      Find(Severity::kCritical, "bgp-identifier-missing", "bgpd",
           "bgpd has the BGP identifier 0.0.0.0: it has none in its configuration, and the node no IPv4 "
           "address to take one from",
           "every leaf refuses a session with it",
           config_.bgp.manage ? "raild sets bgp.router_id of node.json, " + id +
                                    ", within 30 s; `railctl get node` says what keeps it from that"
                              : fmt::format("bgp.manage is false: `vtysh -c 'configure terminal' -c 'router "
                                            "bgp {}' -c 'bgp router-id {}'`, then `write memory`",
                                            config_.bgp.asn, id));
    }
    if (!view_.bmp_up && !facts_.start && !JustBegun()) {
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
  // zebra/rtadv.c of FRRouting 10.3: a timer keeps the interface that has gone. 10.2 has no such timer, 10.4 ends it with the interface.
  void Version() {
    if (facts_.frr_version != "10.3" && !facts_.frr_version.starts_with("10.3.")) return;
    Find(Severity::kWarning, "frr-version-crashes", "zebra",
         "zebra is of FRRouting " + facts_.frr_version +
             ", which ends by a segmentation fault when an interface with an unnumbered neighbor is deleted "
             "and made again",
         "`raild --remove` deletes the rails' bridges, and in mode vrf raild deletes the port of each tenant "
         "that leaves a rail: until zebra runs again, nobody advertises this node to its leaves",
         "install another version: 8.4 to 10.2, or 10.4 and newer");
  }

  void Prefixes(const engine::RailView& view) {
    const uint64_t most = config_.bgp.max_prefixes;
    const std::string what = fmt::format("the leaf sends {} prefixes of one family; bgp.max_prefixes is {}",
                                         view.most_prefixes, most);
    const std::string fix =
        std::string("`vtysh -c 'show bgp ") + (view.seen.by_vlan() ? "vrf all " : "") +
        "summary'`: is it what the fabric shall pass on? Then raise bgp.max_prefixes in node.json and "
        "restart raild; else filter it on the leaf, and list the rail's prefixes in rails[].accept";
    if (view.most_prefixes > most) {
      Find(Severity::kCritical, "prefixes-above-limit", view.rail.name, what,
           "the session stays, and all of it is learned: it takes memory of bgpd and raild, and rules of the "
           "switch",
           fix);
    } else if (uint64_t{view.most_prefixes} * 100 > most * frr::kNearMaxPrefixes) {
      Find(Severity::kWarning, "prefixes-near-limit", view.rail.name, what,
           "the fabric sends nearly as much as this node expects at most", fix);
    }
  }

  void Stripped(const engine::RailView& view) {
    if (view.seen.stripped() == 0) return;
    Find(Severity::kCritical, "leaf-strips-communities", view.rail.name,
         fmt::format("the leaf sends {} addresses of this node's pods back without their large communities, "
                     "{} for one",
                     view.seen.stripped(), view.stripped_example ? view.stripped_example->ToString() : ""),
         "what it passes on is of no tenant: no node behind it reaches this node's pods, and this node "
         "learns none of theirs",
         "on the leaf: `send-community all` for its neighbors, and no route-map that removes or replaces "
         "large communities; `vtysh -c 'show bgp ipv4 unicast ADDRESS'` there shows whether they have come");
  }

  void Mtu(const config::Rail& rail, const LeafFacts& leaf) {
    if (!leaf.small || leaf.full) return;
    Find(Severity::kCritical, "leaf-mtu-too-small", rail.name,
         fmt::format("the leaf answers packets of {} bytes and not of {}", leaf.small_size, leaf.full_size),
         "it drops what pods send in full size: connections come up and hang with the first large message",
         fmt::format(
             "on the leaf: raise the MTU of this node's port, and of the fabric's, to {} at least; `ping -6 "
             "-M do -s {} -I {} LEAF` shows whether it takes them (LEAF: `ip -6 neigh show dev {}`)",
             leaf.full_size, leaf.full_size - 48, rail.bridge, rail.bridge));
  }

  void Session(const engine::RailView& view, const RailFacts* seen) {
    const config::Rail& rail = view.rail;
    const std::optional<frr::Session> session = SessionOn(view, rail.bridge);
    const bool carrier = seen == nullptr || !seen->uplink.there || seen->uplink.carrier;
    const bool up = session ? session->established() : view.seen.bgp_state() == frr::kEstablished;
    const auto down = up ? std::nullopt
                         : frr::WhyDown(session ? &*session : nullptr,
                                        {.bridge = rail.bridge, .asn = config_.bgp.asn, .carrier = carrier});
    const bool has_bridge = seen != nullptr && seen->bridge;
    const bool unheard = down && down->cause == Cause::kLeafUnheard;
    if (down && !(unheard && has_bridge)) {
      const auto [id, fix] = Remedy(*down, rail);
      const std::string& leaf = view.seen.lldp().system_name();
      const std::string where =
          leaf.empty() ? "" : fmt::format("; by LLDP the cable is in {}{}", leaf, PortText(view));
      Find(Severity::kCritical, id, rail.name, down->what + where,
           "addresses of this node's pods are not told on this rail, and none is learned", fix);
    }
    // The kernel's entry for the leaf may be due for a new solicitation when raild looks for the first time.
    const bool unknown = view.seen.leaf_mac().empty() && !JustBegun();
    if (has_bridge && (unheard || unknown)) {
      Find(Severity::kCritical, "no-leaf-neighbour", rail.name,
           "the leaf has not been heard on " + rail.bridge + (unheard ? ": " + down->what : ""),
           unheard ? "bgpd learns the leaf's address from its router advertisements: there is no session "
                     "without them"
                   : "packets to pods elsewhere have no destination MAC: they are dropped in table 4",
           "`ip -6 neigh show dev " + rail.bridge +
               "`; the leaf must send router advertisements on this port");
    }
  }

  struct Mend {
    const char* id;
    std::string fix;
  };
  // A rule for port 179 that has dropped nothing is not what is in the way.
  Mend LeafSilent(const config::Rail& rail) const {
    std::string others;
    for (const netlink::DropRule& rule : facts_.drop_rules) {
      const bool here = rule.links.empty() || std::ranges::find(rule.links, rail.bridge) != rule.links.end();
      if (rule.packets == 0U || !here) continue;
      if (rule.names_bgp) {
        return {"firewall-drops-bgp", "this node's own firewall drops BGP: " + rule.ToText() +
                                          "; `nft -a list chain " + rule.family + " " + rule.table + " " +
                                          rule.chain + "` shows it: take TCP port 179 on " + rail.bridge +
                                          " out of it"};
      }
      if (rule.packets) Append(others, ", ", rule.ToText());
    }
    return {"leaf-silent",
            "`tcpdump -ni " + rail.bridge +
                " tcp port 179`: with answers to the SYNs a firewall of this node drops them (" +
                (others.empty() ? "none of its rules has counted a packet"
                                : "what has dropped packets: " + others) +
                "); without, one of the leaf does (its counters for TCP port 179), or a password that this "
                "node's side does not have"};
  }
  Mend Remedy(const frr::SessionDown& down, const config::Rail& rail) const {
    const std::string here = std::to_string(config_.bgp.asn);
    const std::string last = "`vtysh -c 'show bgp neighbors " + rail.bridge + "'`";
    switch (down.cause) {
      case Cause::kShutDownHere:
        return {"bgp-shutdown-here", "on this node: `vtysh -c 'configure terminal' -c 'router bgp " + here +
                                         "' -c 'no neighbor " + rail.bridge + " shutdown'`"};
      case Cause::kLeafRefuses:
        return {"leaf-refuses-bgp",
                "on the leaf: does bgpd run (`systemctl status frr`), and does it listen on this port's "
                "link-local address? A firewall that rejects looks the same"};
      case Cause::kLeafSilent: return LeafSilent(rail);
      case Cause::kLeafRejects:
        return {"leaf-rejects-bgp",
                "on the leaf: configure a neighbor on this node's port (unnumbered, remote-as external), or "
                "take its `shutdown` away; `show bgp summary` there says which"};
      case Cause::kWrongAs:
        return {"bgp-wrong-as", "this node is AS " + here +
                                    " (bgp.asn of node.json) and takes a leaf of any other AS: on the leaf, "
                                    "let the neighbor of this port be `remote-as external` or `remote-as " +
                                    here + "`; " + last};
      case Cause::kPrefixes:
        return {"bgp-max-prefixes",
                "whoever has ended the session has a `maximum-prefix` without warning-only for it: raise it "
                "there, or filter what the fabric passes on; " +
                    last + " says on which side"};
      case Cause::kHoldTimer:
        return {"bgp-hold-timer",
                "on the leaf: is bgpd stopped or overloaded (`show processes cpu`, `systemctl status frr`)? "
                "Does the link lose frames (`ethtool -S " +
                    rail.pf + "`)?"};
      case Cause::kNoNeighbor:
        return {"bgp-session-down",
                config_.bgp.manage
                    ? "raild adds it within 30 s; `railctl get node` says what keeps it from that"
                    : "bgp.manage is false: add `neighbor " + rail.bridge +
                          " interface remote-as external` to bgpd's configuration"};
      case Cause::kNoCarrier:
      case Cause::kLeafUnheard:
        return {"bgp-session-down",
                "it comes back with the link: see to rail " + rail.name + "'s uplink, " + rail.pf};
      case Cause::kOther: break;
    }
    return {"bgp-session-down",
            last + " says more; is the leaf's side configured (unnumbered, remote-as external)?"};
  }
};

}  // namespace

void ExamineBgp(const NodeFacts& facts, std::vector<Finding>& found) {
  Bgp(facts, found).Run();
}

}  // namespace rail::inspect
