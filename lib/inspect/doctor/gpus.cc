#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "lib/inspect/doctor/subjects.h"
#include "lib/inspect/select.h"

namespace rail::inspect {
namespace {

class Gpus : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    const Machinery& seen = facts_.machinery;
    if (seen.machine.gpus.empty()) return;
    WithoutNic(seen.machine);
    if (!seen.gpus_of_pods) {
      Find(Severity::kInfo, "pod-gpus-not-known", "kubelet",
           "which pod has which GPU is not known: " + seen.gpus_of_pods.error().message,
           "a pod whose GPU and NIC are far from each other is not found",
           "does the kubelet run, and does raild see /var/lib/kubelet/pod-resources (manifests/base mounts "
           "it)?");
      return;
    }
    for (const auto& [pod, gpus] : *seen.gpus_of_pods) Pod(pod, gpus);
  }

 private:
  void WithoutNic(const pcie::Machine& machine) {
    const std::vector<std::string> alone = pcie::GpusWithoutNic(machine);
    if (alone.empty()) return;
    Find(Severity::kInfo, "gpus-without-nic", "GPUs",
         fmt::format("{} of {} GPUs have no rail's NIC below their own PCIe switch, as {}", alone.size(),
                     machine.gpus.size(), alone.front()),
         "NCCL's PXN moves data over NVLink to the GPU beside a NIC at the sender only: what these GPUs "
         "receive comes through the CPU, so a ring through them has what the CPU passes on, not the NIC's "
         "rate",
         "it is how the server is built; try NCCL_NET_GDR_LEVEL=SYS and measure (`railctl libs POD` prints "
         "it)");
  }

  void Pod(const pcie::PodName& name, const std::vector<std::string>& gpus) {
    std::map<std::string, const state::Attachment*> devices;
    for (const engine::AttachmentView& shown : view_.attachments) {
      const state::Attachment& a = shown.attachment;
      if (a.pod_namespace == name.first && a.pod_name == name.second) devices[a.device] = &a;
    }
    std::vector<std::string> own;
    for (const auto& [device, attachment] : devices) own.push_back(device);
    std::set<std::string> told;
    for (const pcie::BadPair& bad : pcie::BadPairs(facts_.machinery.machine, gpus, own)) {
      if (!told.insert(bad.own).second) continue;  // a pod's other GPUs have the same remedy
      const std::string free = FreeVf(*bad.better);
      Find(Severity::kWarning, "gpu-far-from-nic", Name(*devices.at(bad.own)),
           fmt::format(
               "no VF of the pod is nearer to its GPU {} than {}: they are {}; a VF of {} would be {}: {}",
               bad.gpu, bad.own, pcie::Words(bad.now), bad.better->rail, pcie::Words(bad.possible),
               free.empty() ? "all of them are taken" : free + " is free"),
           "what the GPU sends and receives goes through the CPU, by default also through its memory "
           "(NCCL_NET_GDR_LEVEL): a fraction of the NIC's rate",
           fmt::format(
               "let the pod ask for the network of {}; the kubelet's Topology Manager (single-numa-node) or "
               "a claim with matchAttribute resource.kubernetes.io/pcieRoot keeps GPU and NIC together",
               bad.better->rail));
    }
  }

  std::string FreeVf(const pcie::Nic& nic) const {
    for (const std::string& vf : nic.vfs) {
      const bool taken = std::ranges::any_of(
          view_.attachments, [&](const engine::AttachmentView& a) { return a.attachment.device == vf; });
      if (!taken) return vf;
    }
    return {};
  }
};

}  // namespace

void ExamineGpus(const NodeFacts& facts, std::vector<Finding>& found) {
  Gpus(facts, found).Run();
}

}  // namespace rail::inspect
