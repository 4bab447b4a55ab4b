#include "lib/pcie/pcie.h"

#include <algorithm>
#include <filesystem>

#include "lib/base/parse.h"
#include "lib/base/pci_address.h"
#include "lib/sriov/lookup.h"

namespace rail::pcie {
namespace {

constexpr std::string_view kNvidia = "0x10de";
constexpr std::string_view kAmd = "0x1002";

std::string DeviceFolder(const std::string& address) {
  return "bus/pci/devices/" + address;
}

// The classes of the vendors' GPUs, without the programming interface: VGA, 3D controller; AMD's Instinct cards are display
// controllers or processing accelerators, too. A server's management controller is VGA of another vendor.
bool IsGpu(std::string_view vendor, std::string_view device_class) {
  const std::string_view kind = device_class.substr(0, 6);
  if (vendor == kNvidia) return kind == "0x0300" || kind == "0x0302";
  return vendor == kAmd && (kind == "0x0300" || kind == "0x0302" || kind == "0x0380" || kind == "0x1200");
}

// The processor of a NUMA node: its first CPU's. Firmware may cut a processor into several nodes.
std::optional<uint32_t> SocketOf(const sriov::Sysfs& sysfs, uint32_t node) {
  const auto cpus = sysfs.Read("devices/system/node/node" + std::to_string(node) + "/cpulist");
  if (!cpus || cpus->empty()) return std::nullopt;
  const std::string first = cpus->substr(0, cpus->find_first_of(",-"));
  return sysfs.ReadNumber("devices/system/cpu/cpu" + first + "/topology/physical_package_id");
}

// The value of a line "GPU UUID:        GPU-8eaa..." of the driver's file.
std::string ValueOf(const std::string& text, std::string_view key) {
  for (const std::string_view row : Split(text, "\n")) {
    if (!row.starts_with(key) || !row.substr(key.size()).starts_with(":")) continue;
    const size_t value = row.find_first_not_of(" \t", key.size() + 1);
    return value == std::string_view::npos ? "" : std::string(row.substr(value));
  }
  return {};
}

Nic NicOf(const sriov::Sysfs& sysfs, const sriov::Lookup& lookup, const sriov::Pf& pf,
          const std::string& rail) {
  Nic nic{.rail = rail, .netdev = pf.netdev, .path = PathOf(sysfs, pf.address), .rdma = {}, .vfs = {}};
  nic.rdma = lookup.RdmaOf(pf.address);
  nic.vfs = lookup.VfsOf(pf);
  return nic;
}

}  // namespace

std::string_view Words(Relation relation) {
  switch (relation) {
    case Relation::kSameSwitch: return "below one PCIe switch";
    case Relation::kSameRoot: return "below one root complex, not one switch";
    case Relation::kSameSocket: return "at two root complexes of one processor";
    case Relation::kOtherSocket: return "at two processors";
  }
  return "";
}

Relation Relate(const Path& a, const Path& b) {
  // A port has one link, so what two devices have above them in common has a switch below it, or they are one device.
  const bool common = std::ranges::any_of(
      a.bridges, [&](const std::string& bridge) { return std::ranges::count(b.bridges, bridge) > 0; });
  if (common) return Relation::kSameSwitch;
  if (a.root == b.root) return Relation::kSameRoot;
  if (a.socket && b.socket) return a.socket == b.socket ? Relation::kSameSocket : Relation::kOtherSocket;
  if (a.numa_node && b.numa_node && a.numa_node != b.numa_node) return Relation::kOtherSocket;
  return Relation::kSameSocket;
}

std::optional<Path> PathOf(const sriov::Sysfs& sysfs, const std::string& address) {
  if (!IsPciAddress(address)) return std::nullopt;
  const std::string folder = DeviceFolder(address);
  const auto real = sysfs.Real(folder);
  if (!real) return std::nullopt;
  Path path{.address = address, .root = {}, .bridges = {}, .numa_node = {}, .socket = {}, .speed = {}};
  for (const auto& part : std::filesystem::path(*real)) {
    const std::string name = part.string();
    if (name.starts_with("pci") && name.find(':') != std::string::npos) {
      if (path.root.empty()) path.root = name;
      path.bridges.clear();  // a root complex inside another one (VMD): what is above it is no switch
    }
    if (IsPciAddress(name) && name != address) path.bridges.push_back(name);
  }
  path.numa_node = sysfs.ReadNumber(folder + "/numa_node");  // "-1": not known
  if (path.numa_node) path.socket = SocketOf(sysfs, *path.numa_node);
  path.speed = sysfs.Read(folder + "/current_link_speed").value_or("");
  if (path.speed == "Unknown") path.speed.clear();
  path.width = sysfs.ReadNumber(folder + "/current_link_width").value_or(0);
  return path;
}

const Gpu* Machine::FindGpu(std::string_view address) const {
  const auto it = std::ranges::find_if(gpus, [&](const Gpu& gpu) { return gpu.path.address == address; });
  return it == gpus.end() ? nullptr : &*it;
}

const Nic* Machine::FindNic(std::string_view address) const {
  const auto it = std::ranges::find_if(nics, [&](const Nic& nic) {
    return (nic.path && nic.path->address == address) || std::ranges::count(nic.vfs, address) > 0;
  });
  return it == nics.end() ? nullptr : &*it;
}

Machine Look(const sriov::Sysfs& sysfs, const std::string& nvidia,
             const std::vector<std::pair<std::string, std::string>>& rails) {
  Machine machine;
  const sriov::Sysfs driver(nvidia);
  for (const std::string& address : sysfs.List("bus/pci/devices")) {
    const std::string vendor = sysfs.Read(DeviceFolder(address) + "/vendor").value_or("");
    if (!IsGpu(vendor, sysfs.Read(DeviceFolder(address) + "/class").value_or(""))) continue;
    const auto path = PathOf(sysfs, address);
    if (!path) continue;
    const std::string about = driver.Read("gpus/" + address + "/information").value_or("");
    machine.gpus.push_back({.path = *path,
                            .vendor = vendor == kNvidia ? "NVIDIA" : "AMD",
                            .model = ValueOf(about, "Model"),
                            .uuid = ValueOf(about, "GPU UUID"),
                            .minor = Number<uint32_t>(ValueOf(about, "Device Minor"))});
  }
  const sriov::Lookup lookup(sysfs, {});
  for (const auto& [rail, uplink] : rails) {
    const auto pfs = lookup.FindPfs(uplink);
    if (!pfs) {
      machine.nics.push_back({.rail = rail, .netdev = uplink, .path = {}, .rdma = {}, .vfs = {}});
      continue;
    }
    for (const sriov::Pf& pf : *pfs) machine.nics.push_back(NicOf(sysfs, lookup, pf, rail));
  }
  return machine;
}

}  // namespace rail::pcie
