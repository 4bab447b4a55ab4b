#include "lib/pcie/libs.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "lib/base/text.h"

namespace rail::libs {
namespace {

// "0000:3b" of 0000:3b:00.2: to NCCL the functions behind it are ports of one NIC.
std::string Card(const Port& port) {
  return port.pci_address.substr(0, port.pci_address.rfind(':'));
}

// "0000:3b:00" of 0000:3b:00.2: its functions are ports of one NIC to NCCL, whatever it is told of VFs.
std::string Slot(const Port& port) {
  return port.pci_address.substr(0, port.pci_address.rfind('.'));
}

// Two of different rails: planes of one rail are on one card, and are to be one device.
bool Share(const std::vector<Port>& ports, std::string (*part)(const Port&)) {
  for (const Port& one : ports) {
    if (one.pci_address.empty()) continue;
    const auto shares = [&](const Port& other) {
      return other.rail_index != one.rail_index && part(other) == part(one);
    };
    if (std::ranges::any_of(ports, shares)) return true;
  }
  return false;
}

bool HasPlanes(const std::vector<Port>& ports) {
  return std::ranges::any_of(ports, [&](const Port& one) {
    return std::ranges::count(ports, one.rail_index, &Port::rail_index) > 1;
  });
}

std::string Hca(const Pod& pod, Version version) {
  std::string value;
  for (const Port& port : pod.ports) {
    if (port.rdma.empty()) continue;
    value += (value.empty() ? "=" : ",") + port.rdma + ":" + std::to_string(port.port);
    if (version >= kRails) value += fmt::format(":{}:{}", port.rail_index, port.plane);
  }
  return value;
}

Setting SocketInterface(const Pod& pod) {
  Setting setting{.name = "NCCL_SOCKET_IFNAME", .value = {}, .reason = {}};
  const bool eth0 = std::ranges::count(pod.other_links, "eth0") > 0;
  if (eth0 || !pod.other_links.empty()) {
    setting.value = "=" + (eth0 ? std::string("eth0") : pod.other_links.front());
    setting.reason =
        "NCCL's ranks find each other over TCP first. This is the pod's interface on the cluster's network; "
        "without the setting NCCL may "
        "take one on a rail, which reaches the addresses of that rail first";
  } else if (!pod.ports.empty()) {
    setting.value = "=" + pod.ports.front().ifname;
    setting.reason =
        "the pod has no interface but those on rails, so its ranks find each other over the first of them";
  }
  return setting;
}

}  // namespace

Result<Version> ParseVersion(std::string_view text) {
  if (text.empty()) return kRails;
  Version version;
  const std::string copy(text);
  const char* const end = copy.data() + copy.size();
  const auto major = std::from_chars(copy.data(), end, version.major);
  const bool dot = major.ec == std::errc() && major.ptr != end && *major.ptr == '.';
  const auto minor = dot ? std::from_chars(major.ptr + 1, end, version.minor) : major;
  if (!dot || minor.ec != std::errc() || (minor.ptr != end && *minor.ptr != '.'))
    return Fail(Code::kInvalid, "version: \"" + copy.substr(0, 32) + "\" is none of NCCL: 2.29, 2.30");
  return version;
}

std::vector<Setting> NcclSettings(const Pod& pod, Version version) {
  std::vector<Setting> settings;
  if (const std::string hca = Hca(pod, version); !hca.empty()) {
    settings.push_back({"NCCL_IB_HCA", hca,
                        version >= kRails
                            ? "the pod's RDMA devices, each as name:port:rail:plane. NCCL does not find out "
                              "by itself which devices of two nodes are on one "
                              "rail; with these numbers it connects equal rails and equal planes"
                            : "the pod's RDMA devices by their whole names. NCCL before 2.30 takes no rail: "
                              "it pairs the devices of two nodes by their "
                              "order, so every pod of a job must have the same rails"});
  }
  settings.push_back({"NCCL_CROSS_NIC", "0",
                      "each rail has leaves of its own: a ring that stays on one rail crosses no spine. With "
                      "1 or 2 NCCL may send from one "
                      "rail to another"});
  if (HasPlanes(pod.ports) && version >= kRails) {
    settings.push_back({"NCCL_NET_MERGE_POLICY", "RAIL",
                        "a rail of the pod has several planes, each a device: NCCL makes one device of those "
                        "of one rail, and of no others. It joins them in the order of their PCI addresses"});
  }
  if (Share(pod.ports, Slot) && !HasPlanes(pod.ports)) {
    settings.push_back(
        {"NCCL_IB_MERGE_NICS", "0",
         "two of the pod's VFs have PCI addresses that differ in the function alone. NCCL takes them for "
         "two ports of one NIC and makes one device of them; they are on rails of their own"});
  } else if (Share(pod.ports, Card)) {
    settings.push_back({"NCCL_IB_MERGE_VFS", "0",
                        "two of the pod's VFs are of one card, and NCCL takes them for two ports of one NIC, "
                        "which it would use as one; they "
                        "are on rails of their own"});
  }
  settings.push_back(TrafficClass(pod, Library::kNccl, "NCCL_IB_TC",
                                  "NCCL then sends with class 0, which the leaves treat as best effort; set "
                                  "it to four times the DSCP that your fabric keeps lossless"));
  const std::string gids = GidsInWords(pod);
  settings.push_back(
      {"NCCL_IB_GID_INDEX", "",
       "NCCL looks for the RoCE v2 entry of the pod's address by itself" +
           (gids.empty() ? std::string() : ", which is now: " + gids) +
           ". An index is another one in another pod, so a fixed one breaks where two pods differ",
       true});
  if (Setting socket = SocketInterface(pod); !socket.value.empty()) settings.push_back(std::move(socket));
  if (pod.gpus_without_nic > 0) {
    settings.push_back(
        {"NCCL_NET_GDR_LEVEL", "SYS",
         fmt::format("{} GPUs of this node have no NIC below their own PCIe switch. NCCL's PXN moves data "
                     "over NVLink to the GPU beside a NIC "
                     "at the sender only; what such a GPU receives goes through the CPU, and through host "
                     "memory unless the NIC may write "
                     "into far GPUs. Try it and measure: not every CPU passes it on at full rate",
                     pod.gpus_without_nic)});
  }
  return settings;
}

}  // namespace rail::libs
