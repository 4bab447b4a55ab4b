#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "lib/base/pci_address.h"
#include "lib/inspect/cabling.h"
#include "lib/inspect/doctor/subjects.h"
#include "lib/inspect/select.h"

namespace rail::inspect {
namespace {

using engine::RailView;

// "rail 3 plane 1"
std::string Text(const std::optional<tenancy::Plane>& plane) {
  return plane ? fmt::format("rail {} plane {}", plane->rail, plane->number) : "a rail without planes";
}

class Planes : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    InsideNics();
    OrderInPods();
    const Fabric fabric(view_);
    std::set<uint32_t> told;
    for (const Miscabled& each : FindMiscabled(fabric)) {
      if (!AcrossPlanes(each, fabric)) continue;
      if (each.node != fabric.own()) {
        Remote(each, fabric);
        continue;
      }
      told.insert({each.rail, each.other_rail});
      Own(each, fabric);
    }
    OneLeaf(told);
    Elsewhere();
  }

 private:
  // "rail0p1 (plane 1)"
  std::string Name(uint32_t index, const Fabric& fabric) const {
    const RailView* rail = ViewOf(index);
    const auto plane = fabric.PlaneOf(index);
    return (rail == nullptr ? fmt::format("rail index {}", index) : rail->rail.name) +
           (plane ? fmt::format(" (plane {})", plane->number) : "");
  }
  std::string Uplink(uint32_t index) const {
    const RailView* rail = ViewOf(index);
    return rail == nullptr ? fmt::format("the rail with index {}", index) : rail->rail.pf;
  }

  void InsideNics() {
    for (const config::Rail& rail : config_.rails) {
      if (rail.place.nic_planes == 1) continue;
      Find(Severity::kInfo, "planes-inside-nic", rail.name,
           fmt::format("the NIC of {} makes {} planes of one uplink by itself", rail.pf,
                       rail.place.nic_planes),
           "RailCNI sees one link, one session and one leaf: which plane carries a flow, and that one of "
           "them is down, it neither decides nor sees, and NCCL is told of one plane",
           fmt::format("`ethtool {}` and `devlink port show` show the planes' ports; for a session on each "
                       "plane give each its own uplink (rails[].plane)",
                       rail.pf));
    }
  }

  // NCCL sorts the devices that it joins to one by their PCI addresses, and pairs them with another node's in that order.
  void OrderInPods() {
    using Key = std::tuple<std::string, std::string, uint32_t>;  // namespace, pod, rail
    struct Port {
      uint32_t plane;
      const state::Attachment* attachment;
    };
    std::map<Key, std::vector<Port>> pods;
    for (const engine::AttachmentView& shown : view_.attachments) {
      const state::Attachment& a = shown.attachment;
      const config::Rail* rail = config_.FindRail(a.rail);
      if (rail == nullptr || !rail->place.rail || !IsPciAddress(a.device)) continue;
      pods[{a.pod_namespace, a.pod_name, rail->number()}].push_back({rail->place.plane, &a});
    }
    for (auto& [key, ports] : pods) {
      std::ranges::stable_sort(ports, {}, &Port::plane);
      const auto wrong = std::ranges::adjacent_find(ports, [](const Port& a, const Port& b) {
        return a.plane != b.plane &&
               PciAddress::Parse(b.attachment->device) < PciAddress::Parse(a.attachment->device);
      });
      if (wrong == ports.end()) continue;
      const Port& next = *std::next(wrong);
      Find(
          Severity::kWarning, "planes-out-of-order", inspect::Name(*next.attachment),
          fmt::format("plane {} of rail {} is {} and plane {} is {}: not in the order of their PCI addresses",
                      wrong->plane, std::get<2>(key), wrong->attachment->device, next.plane,
                      next.attachment->device),
          "NCCL joins the planes of a rail in the order of their PCI addresses, so it connects plane 0 here "
          "with plane 1 elsewhere, and that connection fails",
          "give the planes their uplinks in the order of the NIC's functions (rails[].pf), or set "
          "NCCL_IB_DEVICE_PCI_ORDER=0 where RDMA names are in order");
    }
  }

  void Own(const Miscabled& each, const Fabric& fabric) {
    const std::string rail = Name(each.rail, fabric);
    const std::string other = Name(each.other_rail, fabric);
    const RailView* view = ViewOf(each.rail);
    const std::string subject = view == nullptr ? rail : view->rail.name;
    const std::string leaf = LeafText(view_, each.leaf) + (view == nullptr ? "" : PortText(*view));
    if (each.kind == Miscabled::Kind::kUndecided) {
      Find(Severity::kWarning, "leaf-in-two-planes", subject,
           fmt::format("addresses of {} of the node AS {} come straight from {}, the leaf of {} here", other,
                       each.other, leaf, rail),
           "one of the two nodes has its cables in the wrong plane; as many nodes say this as that",
           fmt::format("compare with the plan: which plane is {}? `railctl get topology` shows both nodes",
                       leaf));
      return;
    }
    const bool swapped = each.kind == Miscabled::Kind::kSwapped;
    Find(Severity::kCritical, "rail-in-other-plane", subject,
         fmt::format("{} leads to {}, which {} on {}{}", rail, leaf, OthersText(each), other,
                     swapped ? ", and the other way round" : ""),
         "planes are networks of their own: pods reach nobody on this rail whose cable is in the right plane",
         swapped ? fmt::format("swap the cables of {} and {} at one end", Uplink(each.rail),
                               Uplink(each.other_rail))
                 : fmt::format("plug the cable of {} into the leaf of {}", Uplink(each.rail), rail));
  }

  void Remote(const Miscabled& each, const Fabric& fabric) {
    Find(Severity::kWarning, "remote-on-other-leaf", fmt::format("AS {}", each.node),
         fmt::format("the node AS {} has {} behind {}, which {} on {}", each.node, Name(each.rail, fabric),
                     LeafText(view_, each.leaf), OthersText(each), Name(each.other_rail, fabric)),
         "planes are networks of their own: its pods are not reached there on that rail",
         "run `railctl doctor` on that node (bgp.asn of its node.json is the AS number); its finding names "
         "the cable");
  }

  // By router ids: the leaves of a rail may have one AS in all planes.
  void OneLeaf(const std::set<uint32_t>& told) {
    for (const RailView& one : view_.rails) {
      for (const RailView& other : view_.rails) {
        const auto a = tenancy::PlaneOf(one.rail);
        const auto b = tenancy::PlaneOf(other.rail);
        if (one.rail.index >= other.rail.index || !a || !b || a->number == b->number) continue;
        const bool same = one.leaf && other.leaf && one.leaf->heard && other.leaf->heard &&
                          one.leaf->leaf.router_id == other.leaf->leaf.router_id;
        if (!same || told.contains(one.rail.index) || told.contains(other.rail.index)) continue;
        Find(
            Severity::kWarning, "leaf-in-two-planes", other.rail.name,
            fmt::format("{} is the leaf of {} (plane {}{}) and of {} (plane {}{})", LeafText(one.leaf->leaf),
                        one.rail.name, a->number, PortText(one), other.rail.name, b->number, PortText(other)),
            "planes are there so that one that fails leaves the others: these two end with one switch",
            fmt::format("plug one of {} and {} into a leaf of its own plane; if that leaf is meant to serve "
                        "both, they are no planes (rails[].plane of node.json)",
                        one.rail.pf, other.rail.pf));
      }
    }
  }

  void Elsewhere() {
    std::map<uint32_t, std::vector<const engine::Seat*>> unlike;
    const engine::Seats none;
    const engine::Seats& all = view_.seats ? *view_.seats : none;
    for (const engine::Seat& seat : all) {
      const RailView* rail = ViewOf(seat.rail);
      if (rail != nullptr && seat.plane && seat.node != view_.asn &&
          tenancy::PlaneOf(rail->rail) != seat.plane)
        unlike[seat.rail].push_back(&seat);
    }
    for (const auto& [index, seats] : unlike) {
      const RailView& rail = *ViewOf(index);
      std::set<uint32_t> nodes;
      for (const engine::Seat* seat : seats) nodes.insert(seat->node);
      Find(Severity::kWarning, "planes-unlike-elsewhere", rail.rail.name,
           fmt::format("the uplink with index {} is {} here, and {} of the node AS {}{}", index,
                       Text(tenancy::PlaneOf(rail.rail)), Text(seats.front()->plane), seats.front()->node,
                       nodes.size() > 1 ? fmt::format(" and of {} more", nodes.size() - 1) : ""),
           "NCCL connects equal rails and equal planes, by what each node says: pods of the two nodes do not "
           "connect there",
           "give every node's node.json the same rails[].index, rails[].rail and rails[].plane");
    }
  }
};

}  // namespace

void ExaminePlanes(const NodeFacts& facts, std::vector<Finding>& found) {
  Planes(facts, found).Run();
}

}  // namespace rail::inspect
