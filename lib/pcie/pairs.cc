#include "lib/pcie/pairs.h"

#include <algorithm>
#include <optional>

namespace rail::pcie {
namespace {

const Gpu* GpuOf(const Machine& machine, const std::string& id) {
  const std::string whole = id.substr(0, id.find("::"));
  if (const Gpu* gpu = machine.FindGpu(whole)) return gpu;
  const auto it = std::ranges::find(machine.gpus, whole, &Gpu::uuid);
  return whole.empty() || it == machine.gpus.end() ? nullptr : &*it;
}

}  // namespace

std::map<PodName, std::vector<std::string>> GpusOfPods(const std::vector<PodDevices>& pods,
                                                       const Machine& machine) {
  std::map<PodName, std::vector<std::string>> gpus;
  for (const PodDevices& pod : pods) {
    for (const PodDevices::Device& device : pod.devices) {
      const Gpu* gpu = GpuOf(machine, device.id);
      if (gpu == nullptr) continue;
      auto& own = gpus[{pod.pod_namespace, pod.pod}];
      if (std::ranges::count(own, gpu->path.address) == 0) own.push_back(gpu->path.address);
    }
  }
  for (auto& [pod, own] : gpus) std::ranges::sort(own);
  return gpus;
}

std::vector<BadPair> BadPairs(const Machine& machine, const std::vector<std::string>& gpus,
                              const std::vector<std::string>& devices) {
  std::vector<BadPair> bad;
  for (const std::string& address : gpus) {
    const Gpu* gpu = machine.FindGpu(address);
    if (gpu == nullptr) continue;
    std::optional<std::pair<Relation, std::string>> own;
    for (const std::string& device : devices) {
      const Nic* nic = machine.FindNic(device);
      if (nic == nullptr || !nic->path) continue;
      const Relation relation = Relate(gpu->path, *nic->path);
      if (!own || relation < own->first) own = {relation, device};
    }
    if (!own) continue;
    std::optional<std::pair<Relation, const Nic*>> best;
    for (const Nic& nic : machine.nics) {
      if (!nic.path) continue;
      const Relation relation = Relate(gpu->path, *nic.path);
      if (!best || relation < best->first) best = {relation, &nic};
    }
    if (best && best->first < own->first)
      bad.push_back({address, own->second, own->first, best->second, best->first});
  }
  return bad;
}

std::vector<std::string> GpusWithoutNic(const Machine& machine) {
  std::vector<std::string> alone;
  if (std::ranges::none_of(machine.nics, [](const Nic& nic) { return nic.path.has_value(); })) return alone;
  for (const Gpu& gpu : machine.gpus) {
    const bool own = std::ranges::any_of(machine.nics, [&](const Nic& nic) {
      return nic.path && Relate(gpu.path, *nic.path) == Relation::kSameSwitch;
    });
    if (!own) alone.push_back(gpu.path.address);
  }
  return alone;
}

}  // namespace rail::pcie
