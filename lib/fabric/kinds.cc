#include "lib/fabric/kinds.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace rail::fabric {
namespace {

using enum Kind::Of;
constexpr auto kCritical = v1::Finding::CRITICAL;
constexpr auto kWarning = v1::Finding::WARNING;
constexpr int64_t kNews = 3'000;     // what travels through the fabric
constexpr int64_t kMoving = 15'000;  // a namespace that changes its tenant is in both for 10 s

// The order is that of the same severity on one rail: what explains more is first.
const std::vector<Kind>& Table() {
  static const std::vector<Kind> table = {
      // Links: whose fault a rail without a way to its leaf is.
      {"fleet-down", kFabric, kCritical, 0, "fleet", "fleets",
       "Nothing smaller explains it: no rail of any node has a way to its leaf.",
       "Look at what all leaves share: power, their last change, the nodes' last rollout."},
      {"unit-down", kFabric, kCritical, 0, "unit", "units",
       "All rails of all of its nodes have no way to their leaves, and other units have.",
       "Look at the unit's power and at the last change to its leaves, not at single cables."},
      {"rail-down", kFabric, kCritical, 0, "rail", "rails",
       "All nodes have no way to their leaf on this rail, and have one on other rails.",
       "Look at what the leaves of this rail share: their last change, their configuration, power."},
      {"leaf-down", kFabric, kCritical, 0, "leaf", "leaves",
       "All nodes behind the leaf have no way to it, and their other rails have one.",
       "Look at the leaf first: whether it runs, its bgpd, its last change. The nodes need nothing."},
      {"leaf-partly-down", kFabric, kCritical, 0, "leaf", "leaves",
       "Half of the leaf's nodes or more have no way to it, and others have: ports that share a line card, a "
       "group of cables, or a setting of some ports.",
       "Compare the leaf's ports of these nodes with those of the others."},
      {"node-links-down", kFabric, kCritical, 0, "node", "nodes",
       "All rails of the node have no way to their leaves, and other nodes behind the same leaves have.",
       "Run `railctl doctor` on the node; look at its power, its NICs, its bgpd. The leaves need nothing."},
      {"cable-down", kFabric, kCritical, 0, "cable", "cables",
       "One rail of the node has no carrier; the leaf's other nodes and the node's other rails have.",
       "Look at the cable, at the leaf's port and at the NIC's port. `railctl doctor` on the node says which "
       "end is off."},
      {"session-down", kFabric, kCritical, 0, "session", "sessions",
       "The link is up and BGP is not, between this node and this leaf alone.",
       "Run `railctl doctor` on the node: it says which side ends the session and why."},
      {"links-down", kFabric, kCritical, 0, "rail", "rails",
       "Many rails have no way to their leaves; they share no leaf, no node and no unit of their own.",
       "Look at what was done to all of them: cabling work, a change of ports, a rollout that has begun."},
      // Between leaves.
      {"spines-down", kFabric, kCritical, kNews, "group of spines", "groups of spines",
       "Leaves have their nodes' addresses alone, and none of pods behind other leaves.",
       "Look at the spines and at the leaves' sessions with them. The nodes need nothing."},
      {"spine-down", kFabric, kCritical, kNews, "spine", "spines",
       "Some leaves of one unit have their nodes' addresses alone; the unit's others have all: a spine, or "
       "links, that these leaves share.",
       "Look at the spine that these leaves share, and at their sessions with it."},
      {"leaf-without-spines", kFabric, kCritical, kNews, "leaf", "leaves",
       "The leaf has its own nodes' addresses alone; other leaves have those of all.",
       "Look at the leaf's links to the spines and at its sessions there."},
      {"units-apart", kFabric, kCritical, kNews, "pair of units", "pairs of units",
       "Nodes of one unit have not learned a single address of the other's pods, and have learned all else.",
       "Look at the spines between the two units, and at route filters there."},
      {"not-announced-further", kFabric, kCritical, kNews, "node", "nodes",
       "The node announces addresses that no other node has learned, though its sessions are up.",
       "Look at its leaves: whether they take its routes, keep large communities and pass them on. `railctl "
       "doctor` on the node says what its leaves return."},
      {"not-learned", kFabric, kCritical, kNews, "node that has not learned all",
       "nodes that have not learned all", "The node has learned fewer addresses than the others announce.",
       "Run `railctl doctor` on the node, and `railctl trace` to an address that it lacks; compare `railctl "
       "get remotes` of it and of a neighbour."},
      // Cables.
      {"rails-swapped", kFabric, kWarning, kNews, "node", "nodes",
       "Two rails of the node have each other's leaves, by the nodes that share them.",
       "Swap the two cables, at one end."},
      {"rails-on-one-leaf", kFabric, kWarning, kNews, "node", "nodes",
       "Two rails of the node lead to one leaf, where other nodes have only one.",
       "Put the cable into the leaf of its own rail."},
      {"rail-on-other-leaf", kFabric, kWarning, kNews, "node", "nodes",
       "Most nodes have this leaf on another rail.", "Put the cable into the leaf of its own rail."},
      {"leaf-in-two-units", kFabric, kWarning, kNews, "node", "nodes",
       "The node shares one leaf with nodes of another unit than its other leaves.",
       "Put the cable into its own unit's leaf of this rail."},
      // Addresses and tenants.
      {"address-of-two-tenants", kFabric, kCritical, kNews, "address", "addresses",
       "Two tenants have one address: other nodes send nothing to it, and drop what it sends.",
       "Find out whose the address is by the IPAM of both, and delete the other pod."},
      {"address-twice", kFabric, kCritical, kNews, "address", "addresses",
       "Two pods have one address: other nodes reach one of them or the other.",
       "Find out why the IPAM gave it twice (blocks of two nodes that overlap, a copied node.json), and "
       "delete one pod."},
      {"address-announced-elsewhere", kFabric, kCritical, kNews, "address", "addresses",
       "Somebody outside of the fleet that is seen announces a pod's address.",
       "`railctl get attachments -o json` on the node says which AS; look there. A node of the fleet that is "
       "away may be it."},
      {"namespace-in-two-tenants", kFabric, kCritical, kMoving, "namespace", "namespaces",
       "Pods of one namespace are in different tenants, by node: they do not reach each other.",
       "Compare the namespace's label, and `tenancy` of node.json, on the nodes that differ from most."},
      {"tenant-of-two-ids", kFabric, kCritical, kMoving, "tenant", "tenants",
       "Nodes make different ids of one tenant's name: their pods do not reach each other.",
       "Compare `cluster` and `bgp.community_asn` of node.json on these nodes."},
      // Nodes that do not answer.
      {"nodes-away", kFabric, kWarning, 0, "node", "nodes",
       "raild does not answer: raild, the node, or the network to it. Nothing else is known of its pods: "
       "they "
       "may run as before.",
       "Look whether the node answers at all; then `systemctl status raild` or the DaemonSet's pod there."},
      {"nodes-unheard", kFabric, kWarning, 0, "node", "nodes",
       "raild has not answered since railfabric's start, so nothing is known of the node.",
       "Look whether raild runs there, serves its address to the network, and trusts railfabric's "
       "certificate."},
      // What rails show.
      {"rail-foreign-flows", kRail, kCritical, 0, "rail with others' rules", "rails with others' rules",
       "OpenFlow rules that are not RailCNI's can bypass the isolation.",
       "Find out who writes to the bridge (`railctl doctor` on the node shows the rules), and stop it."},
      {"rail-without-bridge", kRail, kCritical, 0, "rail without its bridge", "rails without their bridge",
       "Open vSwitch has no bridge for the rail.", "Look at Open vSwitch on the node with `railctl doctor`."},
      {"rail-without-carrier", kLink, kCritical, 0, "rail without a carrier", "rails without a carrier",
       "The uplink has no carrier.", "Look at the cable and at both ports."},
      {"rail-without-session", kLink, kCritical, 0, "rail without a session", "rails without a session",
       "BGP with the leaf is not Established.", "Run `railctl doctor` on the node."},
      {"rail-without-leaf", kLink, kCritical, 0, "rail that does not know its leaf's MAC address",
       "rails that do not know their leaf's MAC address", "The leaf's MAC address is not known.",
       "Run `railctl doctor` on the node."},
      {"rail-record-lost", kRail, kCritical, 0, "rail with pods that the record has lost",
       "rails with pods that the record has lost", "Pods live that state.db does not know.",
       "Run `railctl doctor` on the node: `record-lost` says how to bring the record back."},
      {"leaf-strips-communities", kRail, kCritical, kNews, "rail whose leaf strips communities",
       "rails whose leaf strips communities",
       "The leaf returns the node's addresses without large communities: no node learns a pod through it.",
       "Let the leaf send large communities to nodes and spines."},
      {"vf-of-two-owners", kRail, kCritical, 0, "rail with devices of two owners",
       "rails with devices of two owners", "Another DRA driver publishes devices that raild publishes, too.",
       "Let one of them offer the rail's devices."},
      {"pods-without-device", kEffect, kCritical, 0, "rail with pods that have lost their device",
       "rails with pods that have lost their device", "A NIC was reset, or has made its VFs anew.",
       "Run `railctl doctor` on the node: raild puts devices back as soon as they exist."},
      {"pods-without-rules", kEffect, kCritical, kNews, "rail with pods that lack rules",
       "rails with pods that lack rules", "Ready pods lack OpenFlow rules: they are cut off.",
       "Run `railctl doctor` on the node."},
      {"rail-unseen", kRail, kWarning, kNews, "rail whose bridge raild cannot look at",
       "rails whose bridges raild cannot look at", "raild cannot look at the bridge and its rules.",
       "Run `railctl doctor` on the node."},
      {"rail-rules-differ", kEffect, kWarning, kNews, "rail with other rules than it should have",
       "rails with other rules than they should have", "The bridge has not the rules that it should have.",
       "Run `railctl doctor` on the node, if it stays."},
      {"rates-refused", kRail, kWarning, 0, "rail where rates do not hold", "rails where rates do not hold",
       "The NIC refuses `rates` of node.json.",
       "Run `railctl doctor` on the node; compare NICs and firmware."},
      {"lossless-differs", kRail, kWarning, 0, "rail that is not lossless as it should be",
       "rails that are not lossless as they should be", "The uplink differs from `lossless` of node.json.",
       "Run `railctl doctor` on the node: `lossless-...` says what differs."},
      {"devices-unhealthy", kEffect, kWarning, kNews, "rail with unhealthy devices",
       "rails with unhealthy devices", "The kubelet has devices of the rail as unhealthy.",
       "Run `railctl doctor` on the node."},
      {"undo-pending", kRail, kWarning, kNews, "rail with undo work that fails",
       "rails with undo work that fails", "What a DEL has left cannot be undone.",
       "`railctl get attachments -o json` on the node says why."},
      // What nodes show.
      {"bmp-down", kNode, kCritical, kNews, "node that learns nothing new", "nodes that learn nothing new",
       "bgpd does not push what it learns (BMP).", "Run `railctl doctor` on the node."},
      {"tenants-not-known", kNode, kCritical, kNews, "node without the list of namespaces",
       "nodes without the list of namespaces",
       "The node has never had the list of namespaces: no pod can be attached.",
       "Look at the API server, and at raild's token and rights."},
      {"api-server-away", kNode, kWarning, 0, "node that does not follow the API server",
       "nodes that do not follow the API server", "The list of namespaces does not follow the API server.",
       "Look at the API server, and at the network and the certificates between it and the nodes."},
      {"part-failing", kNode, kWarning, kNews, "part of raild that fails", "parts of raild that fail",
       "raild cannot repair a part of the node.", "Run `railctl doctor` on the node."},
  };
  return table;
}

}  // namespace

std::span<const Kind> Kinds() {
  return Table();
}

const Kind& KindOf(std::string_view id) {
  const auto at = std::ranges::find(Table(), id, &Kind::id);
  if (at == Table().end()) std::abort();  // an id that is written here and not there: the tests find it
  return *at;
}

}  // namespace rail::fabric
