// What NCCL, UCX and libfabric are to be told in a pod on rails, each setting with its reason; and the PCIe tree for NCCL_TOPO_FILE.
//
// Use:      RAIL_ASSIGN(const Version version, ParseVersion("2.29"));
//           const std::vector<Setting> settings = Settings(pod, version);   std::string xml = Topology(pod, tree);
//           for (const File& file : Files(settings, Problems(pod), xml)) ...
// Threads:  pure functions
// Source:   LIBS.md (what a library does with each setting, and where that is written)
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/error.h"
#include "lib/pcie/pcie.h"

namespace rail::libs {

struct Version {
  uint32_t major = 2;
  uint32_t minor = 30;
  auto operator<=>(const Version&) const = default;
};
// The first that takes rail and plane in NCCL_IB_HCA, and what is assumed when nobody says which.
inline constexpr Version kRails{2, 30};
// "2.30", "2.30.7"; "": kRails. Errors: kInvalid.
Result<Version> ParseVersion(std::string_view text);

struct Gid {
  uint32_t index = 0;
  std::string gid;   // "::ffff:10.0.0.5"
  std::string type;  // "RoCE v2"
};

// An interface of a pod on a rail, as it is inside the pod's namespace.
struct Port {
  std::string ifname;
  std::string rail;
  uint32_t rail_index = 0;  // the rail's number: planes of one rail have one
  uint32_t plane = 0;
  std::string address;         // that the pod has on the rail
  std::string rdma;            // "" none is there for this interface
  uint32_t port = 1;           // of the RDMA device
  std::vector<Gid> gids;       // of this interface
  std::string pci_address;     // "" no PCI device
  uint32_t speed = 0;          // Mbit/s; 0: not known
  std::optional<uint8_t> tos;  // that node.json gives to RoCE of this rail
  // The GIDs of all addresses that the pod has on the rail: "::ffff:10.0.0.5".
  std::set<std::string> own_gids;
};

// What is known of a pod.
struct Pod {
  std::vector<Port> ports;               // by rail
  std::vector<std::string> other_links;  // its links that are on no rail and not lo, by name
  std::vector<std::string> gpus;         // PCI addresses; {}: none, or not known
  size_t gpus_without_nic = 0;           // of the node
};

enum class Library { kNccl, kUcx, kLibfabric };

struct Setting {
  std::string name;
  std::string value;
  std::string reason;  // has no '=': NCCL's file takes a line with one for an assignment
  bool leave = false;  // right as it is
  Library library = Library::kNccl;
};

// Of all libraries. `version`: NCCL's.
std::vector<Setting> Settings(const Pod& pod, Version version);
std::vector<Setting> NcclSettings(const Pod& pod, Version version);
std::vector<Setting> UcxSettings(const Pod& pod);  // for NIXL, too
std::vector<Setting> LibfabricSettings(const Pod& pod);

// The traffic class that node.json gives to RoCE of all the pod's rails; left alone where it gives none, or two.
//   unsaid  what the library does by itself where node.json names no traffic class
Setting TrafficClass(const Pod& pod, Library library, const char* name, const char* unsaid);
// "mlx5_0 3, mlx5_1 3": the RoCE v2 entries of the pod's addresses. "": there are none.
std::string GidsInWords(const Pod& pod);

struct File {
  std::string name;
  std::string text;
};
// nccl.conf and ucx.conf as the libraries read them, libs.env for a shell, and topology.xml unless `topology` is empty. What the pod lacks
// comes first, as comments.
std::vector<File> Files(const std::vector<Setting>& settings, const std::vector<std::string>& problems,
                        const std::string& topology);

// The folder of a device's files below the folder of all. A path of a mount with a colon is two to some runtimes.
std::string FolderOf(const std::string& all, const std::string& device);

// The file `gids`: a line for each RoCE v2 entry of the pod's addresses, "mlx5_2 1 3 ::ffff:10.0.0.5" (RDMA device, port, index, GID).
inline constexpr const char* kGidsFile = "gids";
std::string GidLines(const Pod& pod);
// Whether an RDMA device of the pod has no such entry yet for one of its addresses: the kernel makes them after the address.
bool LacksGids(const Pod& pod);
// Sentences: which entries of `lines` that are of this port's addresses have another index `now`, or are gone. A new entry is none.
std::vector<std::string> MovedGids(const std::string& lines, const Port& now);

// A GID as sysfs writes it, "0000:0000:0000:0000:0000:ffff:0a00:0105", as people do, "::ffff:10.0.1.5"; "" for an empty entry.
std::string GidText(const std::string& raw);

// Sentences: what is missing in the pod.
std::vector<std::string> Problems(const Pod& pod);

// As /proc/cpuinfo says; x86 only, else empty.
struct Cpu {
  std::string arch;  // "x86_64", "arm64"
  std::string vendor;
  std::string family;
  std::string model;
};

// What sysfs says of a device on PCIe besides its place.
struct PciFacts {
  std::string device_class;  // "0x030200"
  std::string vendor;
  std::string device;
  std::string subsystem_vendor;
  std::string subsystem_device;
};
struct Device {
  pcie::Path path;
  PciFacts facts;
};

// The pod's GPUs and VFs, and the bridges above them.
struct Tree {
  Cpu cpu;
  std::vector<Device> gpus;
  std::vector<Device> nics;     // the VFs, in the order of Pod::ports, those without a PCI address left out
  std::vector<Device> bridges;  // each once
  std::vector<std::pair<uint32_t, std::string>> cpumaps;  // of NUMA nodes: "ffffffff,00000000"
};

// "" when nothing of the pod is on PCIe.
std::string Topology(const Pod& pod, const Tree& tree);

}  // namespace rail::libs
