#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "lib/inspect/doctor_subjects.h"
#include "lib/inspect/select.h"
#include "lib/sriov/lookup.h"

namespace rail::inspect {
namespace {

class Planes : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    InsideNics();
    OrderInPods();
  }

 private:
  void InsideNics() {
    for (const config::Rail& rail : config_.rails) {
      if (rail.place.nic_planes == 1) continue;
      Find(Severity::kInfo, "planes-inside-nic", rail.name,
           fmt::format("the NIC of {} makes {} planes of one uplink by itself", rail.pf,
                       rail.place.nic_planes),
           "RailCNI sees one link, one session and one leaf: which plane carries a flow, and that one of "
           "them is down, it neither decides nor "
           "sees, and NCCL is told of one plane",
           fmt::format("the planes' ports are seen by `ethtool {}` and `devlink port show`; for a session on "
                       "each plane give each its own "
                       "uplink (rails[].plane)",
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
      if (rail == nullptr || !rail->place.rail || !sriov::IsPciAddress(a.device)) continue;
      pods[{a.pod_namespace, a.pod_name, rail->number()}].push_back({rail->place.plane, &a});
    }
    for (auto& [key, ports] : pods) {
      std::ranges::sort(ports, {}, &Port::plane);
      const auto wrong = std::ranges::adjacent_find(
          ports, [](const Port& a, const Port& b) { return b.attachment->device < a.attachment->device; });
      if (wrong == ports.end()) continue;
      const Port& next = *std::next(wrong);
      Find(
          Severity::kWarning, "planes-out-of-order", Name(*next.attachment),
          fmt::format("plane {} of rail {} is {} and plane {} is {}: not in the order of their PCI addresses",
                      wrong->plane, std::get<2>(key), wrong->attachment->device, next.plane,
                      next.attachment->device),
          "NCCL joins the planes of a rail in the order of their PCI addresses, so it connects plane 0 here "
          "with plane 1 elsewhere, and "
          "that connection fails",
          "give the planes their uplinks in the order of the NIC's functions (rails[].pf), or set "
          "NCCL_IB_DEVICE_PCI_ORDER=0 where RDMA "
          "names are in order");
    }
  }
};

}  // namespace

void ExaminePlanes(const NodeFacts& facts, std::vector<Finding>& found) {
  Planes(facts, found).Run();
}

}  // namespace rail::inspect
