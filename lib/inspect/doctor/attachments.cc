#include "lib/inspect/doctor/subjects.h"

#include <map>

#include "lib/base/text.h"
#include "lib/engine/attach/differences.h"
#include "lib/engine/attach/tenant_vlans.h"
#include "lib/engine/repair/representors.h"
#include "lib/inspect/inside.h"
#include "lib/inspect/select.h"

namespace rail::inspect {
namespace {

constexpr int64_t kAddIsLong = 120000;  // ms; a verb has 30 s
constexpr size_t kMostDeviations = 4;   // that a finding lists; `railctl check` lists all

class Attachments : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    Unseen();
    NotLookedInto();
    NicsReset();
    for (const engine::AttachmentView& shown : view_.attachments) {
      const state::Attachment& a = shown.attachment;
      const std::string name = Name(a);
      if (!shown.pending.empty()) {
        Find(Severity::kWarning, "pending-work", name, "undo work is left: " + shown.pending,
             "what it holds (device, address, port) cannot be given to another pod",
             "raild tries again by itself; the reason above is what keeps it from ending");
        OfAspect(shown.pending_step);
      } else if (a.phase == state::Phase::kDeleting) {
        Find(Severity::kInfo, "delete-unfinished", name, "its DEL has begun and is not done",
             "what it holds (device, address, port) cannot be given to another pod",
             "raild finishes it by itself");
      } else if (a.phase == state::Phase::kAdding && facts_.now_ms - a.created_ms > kAddIsLong) {
        Find(
            Severity::kWarning, "add-died", name,
            fmt::format("its ADD began {} min ago and has not ended", (facts_.now_ms - a.created_ms) / 60000),
            "its device and addresses stay taken",
            "raild undoes it once the pod's namespace is gone; a DEL does so at once");
      } else if (a.phase == state::Phase::kReady) {
        Ready(shown, name);
      }
    }
  }

 private:
  void Unseen() {
    size_t unseen = 0;
    const engine::AttachmentView* example = nullptr;
    for (const engine::AttachmentView& shown : view_.attachments) {
      if (shown.namespace_unseen.empty()) continue;
      ++unseen;
      example = &shown;
    }
    if (example == nullptr) return;
    const bool all = unseen == view_.attachments.size();
    Find(all ? Severity::kCritical : Severity::kWarning, "namespaces-not-visible", "raild",
         fmt::format("the network namespaces of {} of {} attachments cannot be seen from raild, {} ({}): {}",
                     unseen, view_.attachments.size(), example->attachment.netns_path,
                     Name(example->attachment), example->namespace_unseen),
         "raild sweeps none of them, looks into none of them, and puts no lost device back into one",
         "mount the host's folder into raild's container as the DaemonSet among the manifests does");
  }

  void NotLookedInto() {
    const PodsFacts& pods = facts_.pods;
    if (pods.not_looked == 0) return;
    Find(Severity::kInfo, "pods-not-looked-into", "pods",
         fmt::format("{} of {} pods were not looked into: {}", pods.not_looked, pods.looked + pods.not_looked,
                     pods.error ? pods.error->message : "there was no time"),
         "an address, a route or a link that is missing inside one of them is not among these findings",
         "`railctl check -n NAMESPACE` looks into the pods of one namespace");
  }

  void Inside(const state::Attachment& a, const std::string& name) {
    const auto found = facts_.pods.differ.find(a.id);
    if (found == facts_.pods.differ.end()) return;
    const std::vector<podnet::Deviation>& deviations = found->second;
    std::string what;
    for (size_t i = 0; i < std::min(deviations.size(), kMostDeviations); ++i)
      what += (i == 0 ? "inside the pod, " : "; ") + deviations[i].what;
    if (deviations.size() > kMostDeviations)
      what += fmt::format("; and {} more (`railctl check`)", deviations.size() - kMostDeviations);
    const bool cuts = std::ranges::any_of(deviations, &podnet::Deviation::cuts);
    const std::string command = CommandFor(a, deviations);
    Find(cuts ? Severity::kCritical : Severity::kWarning, "attachment-differs", name, std::move(what),
         cuts ? "the pod is cut off on this rail, wholly or in part: something in it has changed what its "
                "ADD had made"
              : "packets of the pod are lost, slow, or leave by another rail: something in it has changed "
                "what its ADD had made",
         (command.empty() ? "" : command + ", or ") +
             "delete the pod: its successor is whole. raild changes nothing inside a pod, which is its "
             "tenant's");
  }

  void Gids(const state::Attachment& a, const std::string& name) {
    const auto moved = facts_.pods.moved_gids.find(a.id);
    if (moved == facts_.pods.moved_gids.end()) return;
    Find(Severity::kWarning, "gid-moved", name, Join(moved->second, "; "),
         "a program that has opened the old index, or is told it (NCCL_IB_GID_INDEX, UCX_IB_GID_INDEX, "
         "perftest's -x), sends from an entry that is empty or another's: it fails, and so does each new try",
         "leave these variables unset, as the settings in /etc/railcni do, and start the job's processes "
         "anew. This stays until the pod is deleted: `gids` there is of its ADD");
  }

  // Several pods of a rail that have lost their devices have lost them to one cause.
  void NicsReset() {
    std::map<std::string, size_t> lost;  // by rail
    for (const engine::AttachmentView& shown : view_.attachments) {
      if (shown.device_lost) ++lost[shown.attachment.rail];
    }
    for (const auto& [rail, pods] : lost) {
      const config::Rail* of = config_.FindRail(rail);
      if (pods < 2 || of == nullptr) continue;
      Find(
          Severity::kCritical, "nic-reset", rail,
          fmt::format(
              "{} pods have lost their devices of this rail: its NIC {} was reset, or its VFs were made anew",
              pods, of->pf),
          "these pods are cut off on this rail, and their addresses are not announced",
          "raild puts the devices back when they are there again; `dmesg` says why the NIC was reset, "
          "`railctl get node` what keeps raild from it");
    }
  }

  // Why its port carries no packets; "" when it may carry them, or when that is unknown.
  std::string PortProblem(const state::Attachment& a) const {
    if (a.adopted && a.representor.empty()) return "";  // frr-provider alone has no port
    const auto rail = facts_.rails.find(a.rail);
    if (rail == facts_.rails.end()) return {};
    const auto link = rail->second.representors.find(a.representor);
    if (!facts_.links_unknown && link != rail->second.representors.end() && !link->second.there)
      return "there is no link " + a.representor + ", its representor";
    if (!rail->second.bridge) return {};
    const auto& ports = rail->second.bridge->ports;
    const auto port = std::ranges::find(ports, a.representor, &ovs::Port::name);
    if (port == ports.end() || port->ofport > 0) return {};
    return "Open vSwitch could not open its port " + port->name +
           (port->error.empty() ? "" : ": " + port->error);
  }

  void Representor(const state::Attachment& a, const std::string& name) {
    const auto rail = facts_.rails.find(a.rail);
    if (facts_.links_unknown || rail == facts_.rails.end()) return;
    const auto link = rail->second.representors.find(a.representor);
    if (link == rail->second.representors.end() || !link->second.there) return;
    netlink::Link seen;
    seen.name = a.representor;
    seen.up = link->second.up;
    seen.carrier = link->second.carrier;
    const std::string problem = engine::RepresentorProblem(seen);
    if (problem.empty()) return;
    Find(Severity::kCritical, link->second.up ? "representor-without-carrier" : "representor-down", name,
         "its representor " + problem,
         "nothing reaches the pod on this rail, and nothing that it sends is heard",
         engine::RepresentorRemedy(a.representor, link->second.up));
  }

  void Ready(const engine::AttachmentView& shown, const std::string& name) {
    if (shown.device_lost) {
      Find(Severity::kCritical, "device-lost", name,
           "its device " + shown.attachment.device +
               " is not in the pod any more: its NIC was reset or has made it anew",
           "the pod is cut off on this rail, and its addresses are not announced",
           "raild puts the device back when it is there again; programs that had opened its RDMA device must "
           "open it anew. `railctl get node` says what keeps raild from it");
      return;
    }
    const std::string problem = PortProblem(shown.attachment);
    if (!problem.empty()) {
      Find(Severity::kCritical, "port-not-working", name, problem,
           "nothing reaches the pod on this rail, and nothing that it sends is heard",
           "`ip link show " + shown.attachment.representor +
               "`; if its VF was made anew, the pod's interface went with it: delete the pod, its successor "
               "gets another");
    } else {
      Representor(shown.attachment, name);
    }
    if (problem.empty() && !shown.rules_in_place && shown.rules_unknown_since_ms == 0 && !facts_.start &&
        !JustBegun()) {
      Find(Severity::kCritical, "rules-missing", name, "not all of its rules are on the bridge",
           "the pod is cut off, in one direction at least",
           "`railctl check` says which; raild puts them back");
    }
    Inside(shown.attachment, name);
    Gids(shown.attachment, name);
    if (config_.tenancy.mode != config::TenancyMode::kOff) Tenant(shown, name);
    for (const engine::AddressElsewhere& elsewhere : shown.elsewhere) Elsewhere(elsewhere, shown, name);
    if (!shown.withdrawn.empty()) {
      Find(Severity::kWarning, "withdrawn", name, "raild has withdrawn its addresses: " + shown.withdrawn,
           "no other node sends anything to the pod on this rail; its interfaces of other rails go on",
           "raild announces them again by itself, as soon as that is right again");
    } else if (!shown.attachment.announced) {
      Find(Severity::kWarning, "not-announced", name, "its addresses are not announced",
           "it is reached from this node's bridge alone",
           "put frr-provider into the network's plugins and attach the pod anew");
    }
  }

  void Elsewhere(const engine::AddressElsewhere& elsewhere, const engine::AttachmentView& shown,
                 const std::string& name) {
    const config::Rail* rail = config_.FindRail(shown.attachment.rail);
    const bool has_vrf = shown.vlan != config::kNoVlan && rail != nullptr;
    const std::string look = "`vtysh -c 'show bgp " +
                             (has_vrf ? "vrf " + engine::VrfName(*rail, shown.vlan) + " " : "") +
                             (elsewhere.address.is_v6() ? "ipv6" : "ipv4") + " unicast " +
                             elsewhere.address.ToHostPrefix() + "'` shows the paths";
    Find(Severity::kCritical, "own-address-announced-elsewhere", name, elsewhere.ToText(),
         elsewhere.other_tenant
             ? "pods of this node still reach it; the isolation keeps every other node from it"
             : "what other nodes send to it arrives at one pod or the other",
         std::string(elsewhere.other_tenant ? "IPAM has given the address twice, or somebody announces what "
                                              "is not his: one of the two must go; "
                                            : "IPAM has given the address twice (two clusters or two stores "
                                              "with one range?): delete one of the two pods; ") +
             look);
  }

  void Tenant(const engine::AttachmentView& shown, const std::string& name) {
    const state::Attachment& attachment = shown.attachment;
    if (attachment.tenant_id.is_none()) {
      return Find(
          Severity::kCritical, "no-tenant", name, "the pod has no tenant", "it reaches nobody",
          "put tenant-isolation into the network's plugins after ovs-provider and attach the pod anew");
    }
    if (config_.tenancy.mode == config::TenancyMode::kVrf && shown.vlan == config::kNoVlan) {
      return Find(
          Severity::kCritical, "tenant-vlan-changed", name,
          "its tenant " + attachment.tenant +
              " has no VLAN in node.json any more, or another than the pod was attached in",
          "the pod is cut off, and no further pod of its tenant is attached here; other tenants go on",
          "set tenancy.vlans of node.json back, or delete the pod");
    }
    const auto tenants = [this] { return facts_.tenants; };
    for (const std::string& differs : engine::TenantDiffers(attachment, shown.moves_to, config_, tenants)) {
      Find(Severity::kWarning, "tenant-changed", name, differs,
           "it reaches pods of its old tenant, and pods of its namespace that are attached from now on do "
           "not reach it",
           "if this stays for more than some seconds: `railctl get node` says what raild could not do; a pod "
           "that raild does not move (it is of an earlier namespace of that name) is put right by deleting "
           "it");
    }
  }
};

}  // namespace

void ExamineAttachments(const NodeFacts& facts, std::vector<Finding>& found) {
  Attachments(facts, found).Run();
}

}  // namespace rail::inspect
