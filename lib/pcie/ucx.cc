#include <algorithm>

#include "lib/base/text.h"
#include "lib/pcie/libs.h"

namespace rail::libs {
namespace {

std::vector<const Port*> PortsWithRdma(const Pod& pod) {
  std::vector<const Port*> ports;
  for (const Port& port : pod.ports) {
    if (!port.rdma.empty()) ports.push_back(&port);
  }
  return ports;
}

// "net" of net1 and net2; "": they begin differently, or another link of the pod begins so as well.
std::string CommonPrefix(const std::vector<const Port*>& ports, const std::vector<std::string>& others) {
  std::string prefix = ports.front()->ifname;
  for (const Port* port : ports) {
    const auto end = std::ranges::mismatch(prefix, port->ifname).in1;
    prefix.erase(end, prefix.end());
  }
  const bool is_others =
      std::ranges::any_of(others, [&](const auto& each) { return each.starts_with(prefix); });
  return is_others ? std::string() : prefix;
}

}  // namespace

std::vector<Setting> UcxSettings(const Pod& pod) {
  const std::vector<const Port*> ports = PortsWithRdma(pod);
  if (ports.empty()) return {};
  const std::string gids = GidsInWords(pod);
  return {
      {.name = "UCX_NET_DEVICES",
       .value =
           Join(ports, ",", [](const Port* port) { return port->rdma + ":" + std::to_string(port->port); }),
       .reason = "the pod's RDMA devices, for UCX and for NIXL, which sends by it. Without the setting UCX "
                 "takes the pod's interface on the cluster's network as well, and each RDMA device that the "
                 "container sees",
       .library = Library::kUcx},
      TrafficClass(pod, Library::kUcx, "UCX_IB_TRAFFIC_CLASS",
                   "UCX then sends with class 106 (DSCP 26), so the fabric has to keep that one lossless"),
      {.name = "UCX_IB_ROCE_REACHABILITY_MODE",
       .value = "all",
       .reason =
           "UCX from 1.19 on looks for a route to the peer, and reads no rules, which choose the tables of a "
           "pod's rails: it would find none, or one of the cluster's network",
       .library = Library::kUcx},
      {.name = "UCX_IB_GID_INDEX",
       .value = {},
       .reason =
           "UCX looks for a RoCE v2 entry by itself" + (gids.empty() ? gids : "; now there are: " + gids),
       .leave = true,
       .library = Library::kUcx}};
}

std::vector<Setting> LibfabricSettings(const Pod& pod) {
  const std::vector<const Port*> ports = PortsWithRdma(pod);
  if (ports.empty()) return {};
  const std::string prefix = CommonPrefix(ports, pod.other_links);
  return {{.name = "FI_VERBS_IFACE",
           .value = prefix.empty() ? ports.front()->ifname : prefix,
           .reason = prefix.empty()
                         ? "libfabric takes one interface or one beginning of names, and the names of the "
                           "pod's rails have none of their own: this is the first rail alone"
                         : "with this the names of the pod's interfaces on rails begin. Libfabric's verbs "
                           "provider looks for names that begin with ib by itself",
           .library = Library::kLibfabric}};
}

}  // namespace rail::libs
