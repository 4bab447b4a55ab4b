#include "cmd/raild/workers/rail_devices.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "lib/base/folder.h"
#include "lib/base/strict_json.h"
#include "lib/base/text.h"
#include "lib/base/whole_file.h"
#include "lib/sriov/lookup.h"

namespace rail::raild {
namespace {

constexpr const char* kPci = "bus/pci/devices/";

// The folder of a device that is there: a VF by its address, anything else by the name of its link.
std::string FolderOf(const std::string& id, const sriov::Sysfs& sysfs) {
  const std::string pci = kPci + id;
  return sysfs.Exists(pci) ? pci : "class/net/" + id + "/device";
}

// The attachment that has the device; nullptr: none on record.
const engine::AttachmentView* HolderOf(const engine::NodeView& view, const std::string& id) {
  const auto holds = [&](const engine::AttachmentView& each) { return each.attachment.device == id; };
  const auto holder = std::ranges::find_if(view.attachments, holds);
  return holder == view.attachments.end() ? nullptr : &*holder;
}

kubelet::Seen See(const std::string& id, const DeviceFacts& facts) {
  kubelet::Seen seen{.id = id, .fault = facts.problem};
  const engine::AttachmentView* holder = HolderOf(facts.view, id);
  if (holder == nullptr) {
    const Status free = facts.can_attach(id);
    if (!free) seen.fault = free.error().message;
    return seen;
  }
  const PodName pod(holder->attachment.pod_namespace, holder->attachment.pod_name);
  const std::string name = "pod " + pod.first + "/" + pod.second;
  if (holder->device_lost) {
    seen.fault = name + " has lost it: its NIC was reset, or has made its VFs anew";
    seen.at_once = true;
  } else if (facts.given && !pod.second.empty()) {
    const auto given = facts.given->find(id);
    if (given == facts.given->end() || given->second != pod)
      seen.fault = name + " has it still, and the kubelet does not know";
  }
  return seen;
}

}  // namespace

std::vector<std::string> DevicesOf(const config::Rail& rail, const sriov::Sysfs& sysfs) {
  std::vector<std::string> ids;
  for (const config::DeviceEntry& entry : rail.devices) ids.push_back(entry.device);
  const sriov::Lookup lookup(sysfs, {});
  const auto pfs = lookup.FindPfs(rail.pf);
  if (!pfs) return ids;  // no PCI device
  for (const sriov::Pf& pf : *pfs) {
    for (std::string& vf : lookup.VfsOf(pf)) {
      if (std::ranges::find(ids, vf) == ids.end()) ids.push_back(std::move(vf));
    }
  }
  return ids;
}

std::vector<kubelet::Seen> SeeDevices(const std::vector<std::string>& ids, const DeviceFacts& facts,
                                      const sriov::Sysfs& sysfs) {
  std::vector<kubelet::Seen> all;
  for (const std::string& id : ids) {
    kubelet::Seen& seen = all.emplace_back(See(id, facts));
    const auto node = sysfs.ReadNumber(FolderOf(id, sysfs) + "/numa_node");  // "-1": none
    if (node) seen.numa = static_cast<int>(*node);
  }
  return all;
}

std::vector<std::string> PreferFree(const engine::NodeView& view, const std::vector<std::string>& available,
                                    const std::vector<std::string>& must_include, size_t size) {
  std::vector<std::string> chosen = must_include;
  for (const bool held : {false, true}) {
    for (const std::string& id : available) {
      if (chosen.size() >= size) return chosen;
      const bool is_there = std::ranges::find(chosen, id) != chosen.end();
      if (!is_there && (HolderOf(view, id) != nullptr) == held) chosen.push_back(id);
    }
  }
  return chosen;
}

kubelet::Allocation AllocationOf(const std::string& resource, const std::vector<std::string>& ids,
                                 const sriov::Sysfs& sysfs) {
  std::string name = "PCIDEVICE_" + resource;
  for (char& c : name) {
    const auto letter = static_cast<unsigned char>(c);
    c = std::isalnum(letter) != 0 ? static_cast<char>(std::toupper(letter)) : '_';
  }
  kubelet::Allocation allocation{.envs = {{name, Join(ids, ",")}}};
  const auto add = [&](const std::string& file) {
    const std::string path = "/dev/infiniband/" + file;
    allocation.nodes.push_back({.container_path = path, .host_path = path});
  };
  for (const std::string& id : ids) {
    for (const std::string& verbs : sysfs.List(FolderOf(id, sysfs) + "/infiniband_verbs")) add(verbs);
  }
  if (!allocation.nodes.empty() && sysfs.Exists("class/misc/rdma_cm")) add("rdma_cm");
  return allocation;
}

void AddLibraries(kubelet::Allocation& allocation, const std::string& rail, const std::string& folder) {
  const std::string inside = "/etc/railcni/" + rail;
  allocation.mounts.push_back({.container_path = inside, .host_path = folder});
  allocation.envs["NCCL_CONF_FILE"] = inside + "/nccl.conf";
  allocation.envs["UCX_CONFIG_DIR"] = inside;
}

Status WriteDeviceInfos(const std::string& folder, const std::string& resource,
                        const std::vector<std::string>& ids, const sriov::Sysfs& sysfs) {
  RAIL_TRY(MakeFolder(folder, 0755));
  for (const std::string& id : ids) {
    nlohmann::json pci = {{"pci-address", id}};
    const std::vector<std::string> rdma = sysfs.List(FolderOf(id, sysfs) + "/infiniband");
    if (!rdma.empty()) pci["rdma-device"] = Join(rdma, ",");
    std::string name = resource + "-" + id + "-device.json";
    std::ranges::replace(name, '/', '-');
    RAIL_TRY(WriteWhole(folder + "/" + name,
                        DumpJson({{"type", "pci"}, {"version", "1.1.0"}, {"pci", std::move(pci)}}), 0644));
  }
  return {};
}

}  // namespace rail::raild
