#include "lib/pcie/pairs.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "lib/base/pci_address.h"

namespace rail::pcie {
namespace {

constexpr std::string_view kMigOfOldDrivers = "MIG-GPU-";

// Whether nothing, or a part's or a replica's number, follows.
bool Ends(std::string_view rest) {
  return rest.empty() || rest.front() == ':' || rest.front() == '-' || rest.front() == '/';
}

// NVIDIA's DRA driver names a whole GPU by the minor number of its device file.
bool IsClaimed(const PodDevices::Device& device, const Gpu& gpu) {
  return gpu.minor && device.resource == "gpu.nvidia.com" && device.id == "gpu-" + std::to_string(*gpu.minor);
}

const Gpu* GpuOf(const Machine& machine, const PodDevices::Device& device) {
  const std::string& id = device.id;
  if (const Gpu* gpu = machine.FindGpu(PciAddressIn(id))) return gpu;
  std::string_view rest = id;
  if (rest.starts_with(kMigOfOldDrivers)) rest.remove_prefix(std::string_view("MIG-").size());
  const auto it = std::ranges::find_if(machine.gpus, [&](const Gpu& gpu) {
    return IsClaimed(device, gpu) ||
           (!gpu.uuid.empty() && rest.starts_with(gpu.uuid) && Ends(rest.substr(gpu.uuid.size())));
  });
  return it == machine.gpus.end() ? nullptr : &*it;
}

}  // namespace

std::string PciAddressIn(std::string id) {
  std::ranges::transform(id, id.begin(), [](unsigned char c) { return std::tolower(c); });
  if (const auto address = PciAddress::ParseLabel(id)) return address->ToString();
  const size_t colon = id.find(':');
  if (colon == std::string::npos) return {};
  const size_t zeros = std::min(id.find_first_not_of('0'), colon);
  constexpr size_t kDomain = 4;
  if (zeros > 0 && colon > kDomain) id.erase(0, std::min(zeros, colon - kDomain));
  const size_t whole = id.find(':') + std::string_view(":1b:00.0").size();
  if (whole > id.size() || !Ends(std::string_view(id).substr(whole))) return {};
  return id.substr(0, whole);
}

std::map<PodName, std::vector<std::string>> GpusOfPods(const std::vector<PodDevices>& pods,
                                                       const Machine& machine) {
  std::map<PodName, std::vector<std::string>> gpus;
  for (const PodDevices& pod : pods) {
    for (const PodDevices::Device& device : pod.devices) {
      const Gpu* gpu = GpuOf(machine, device);
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
