// Where GPUs and NICs are on PCI Express, and how near they are to each other.
//
// Use:      const pcie::Machine machine = pcie::Look(sriov::Sysfs("/sys"), "/proc/driver/nvidia", {{"rail0", "ens1f0np0"}});
//           Relation near = Relate(machine.gpus[0].path, *machine.nics[0].path);
// Threads:  any thread; pure functions but for Look
// Source:   README.md of this folder
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/sriov/sysfs.h"

namespace rail::pcie {

// How far data goes between two devices, the nearest first.
enum class Relation {
  kSameSwitch,  // no byte passes the CPU
  kSameRoot,    // through the host bridge
  kSameSocket,  // through the CPU, from one root complex to another
  kOtherSocket,
};
// "below one PCIe switch": the rest of a sentence that begins with "they are".
std::string_view Words(Relation relation);

// The place of a device in the tree.
struct Path {
  std::string address;               // "0000:18:00.0"
  std::string root;                  // "pci0000:15"
  std::vector<std::string> bridges;  // from the root port down to the device's own switch port
  std::optional<uint32_t> numa_node;
  std::optional<uint32_t> socket;  // as the kernel counts processors
  std::string speed;               // "32.0 GT/s PCIe"; "": not known
  uint32_t width = 0;              // lanes; 0: not known
  bool operator==(const Path&) const = default;
};

// Devices whose sockets nobody knows count as of one socket: a machine that does not say has one mostly, and nothing is claimed that
// may not be so.
Relation Relate(const Path& a, const Path& b);

// The place of the device with this PCI address; nothing when there is none.
std::optional<Path> PathOf(const sriov::Sysfs& sysfs, const std::string& address);

struct Gpu {
  Path path;
  std::string vendor;             // "NVIDIA", "AMD"
  std::string model;              // "NVIDIA H100 80GB HBM3"; "": its driver does not say
  std::string uuid;               // "GPU-4d3f..."; "": its driver does not say
  std::optional<uint32_t> minor;  // 0 of /dev/nvidia0; nullopt: its driver does not say
};

// An uplink of a rail.
struct Nic {
  std::string rail;
  std::string netdev;
  std::optional<Path> path;  // nullopt: no PCI device
  std::string rdma;          // "" none in this namespace
  std::vector<std::string> vfs;
};

struct Machine {
  std::vector<Gpu> gpus;  // by address
  std::vector<Nic> nics;  // as the rails were given; a bond has several

  const Gpu* FindGpu(std::string_view address) const;
  // The NIC of which this address is, or is a VF.
  const Nic* FindNic(std::string_view address) const;
};

// `nvidia`: the folder of NVIDIA's driver in /proc. `rails`: name and uplink.
Machine Look(const sriov::Sysfs& sysfs, const std::string& nvidia,
             const std::vector<std::pair<std::string, std::string>>& rails);

}  // namespace rail::pcie
