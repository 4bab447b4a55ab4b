#include <algorithm>
#include <string>

#include "cmd/railctl/commands.h"

namespace rail::railctl {
namespace {

const std::set<std::string> kNicWide = {"PCIE", "SPEED", "RDMA"};
const std::set<std::string> kGpuWide = {"UUID", "PCIE", "SPEED"};

std::string OrNone(const std::string& text) {
  return text.empty() ? "-" : text;
}

// "switch", "root", "socket", "far"
std::string Word(v1::PcieRelation relation) {
  switch (relation) {
    case v1::SAME_SWITCH: return "switch";
    case v1::SAME_ROOT_COMPLEX: return "root";
    case v1::SAME_SOCKET: return "socket";
    case v1::OTHER_SOCKET: return "far";
    default: return "-";
  }
}

std::string Way(const v1::PciePath& path) {
  std::string way = path.root();
  for (const std::string& bridge : path.bridges()) way += "/" + bridge;
  return OrNone(way);
}

std::string Speed(const v1::PciePath& path) {
  return path.link_speed().empty() ? "-" : path.link_speed() + " x" + std::to_string(path.link_width());
}

std::string Number(bool known, uint32_t number) {
  return known ? std::to_string(number) : "-";
}

// "0000:1b:00.0,+1 switch": the nearest GPUs.
std::string NearestGpus(const v1::Nic& nic, Lists lists) {
  v1::PcieRelation best = v1::PCIE_RELATION_UNSPECIFIED;
  for (const auto& each : nic.gpus()) {
    if (best == v1::PCIE_RELATION_UNSPECIFIED || each.relation() < best) best = each.relation();
  }
  std::string text;
  int more = 0;
  for (const auto& each : nic.gpus()) {
    if (each.relation() != best) continue;
    if (text.empty()) {
      text = each.gpu();
    } else if (lists == Lists::kWhole) {
      text += "," + each.gpu();
    } else {
      ++more;
    }
  }
  if (text.empty()) return "-";
  return text + (more == 0 ? "" : ",+" + std::to_string(more)) + " " + Word(best);
}

std::string NearestNic(const v1::Gpu& gpu) {
  if (gpu.nics().empty()) return "-";
  return gpu.nics(0).rail() + " " + Word(gpu.nics(0).relation());
}

// "train-0,+1": shared in time with one more.
std::string Pods(const v1::Gpu& gpu) {
  return OrNone(gpu.pod()) + (gpu.other_pods() == 0 ? "" : ",+" + std::to_string(gpu.other_pods()));
}

}  // namespace

ExitCode GetNics(const Context& context) {
  RAIL_ASSIGN(v1::ListNicsResponse response, context.client.Ask(&v1::Node::Stub::ListNics));
  const std::string& wanted = context.flags.rail;
  auto& nics = *response.mutable_nics();
  nics.erase(std::remove_if(nics.begin(), nics.end(),
                            [&](const v1::Nic& nic) { return !wanted.empty() && nic.rail() != wanted; }),
             nics.end());
  if (AsJson(context)) return PrintJson(context, response);
  Table table = MakeTable(context, {.header = {"RAIL", "PF", "ADDRESS", "RDMA", "SOCKET", "NUMA", "VFS",
                                               "NEAREST-GPU", "SPEED", "PCIE"},
                                    .wide = kNicWide});
  for (const v1::Nic& nic : response.nics()) {
    const auto taken = std::ranges::count_if(nic.vfs(), [](const auto& vf) { return !vf.pod().empty(); });
    table.Add({nic.rail(), nic.pf(), OrNone(nic.path().address()), OrNone(nic.rdma()),
               Number(nic.path().has_socket(), nic.path().socket()),
               Number(nic.path().has_numa_node(), nic.path().numa_node()),
               std::to_string(taken) + "/" + std::to_string(nic.vfs_size()),
               NearestGpus(nic, StyleOf(context).lists), Speed(nic.path()), Way(nic.path())});
  }
  table.Print(context.out);
  return kDone;
}

ExitCode GetGpus(const Context& context) {
  RAIL_ASSIGN(v1::ListGpusResponse response, context.client.Ask(&v1::Node::Stub::ListGpus));
  if (AsJson(context)) return PrintJson(context, response);
  Table table = MakeTable(context, {.header = {"ADDRESS", "MODEL", "SOCKET", "NUMA", "NEAREST-NIC",
                                               "NAMESPACE", "POD", "UUID", "SPEED", "PCIE"},
                                    .wide = kGpuWide});
  for (const v1::Gpu& gpu : response.gpus()) {
    table.Add({gpu.path().address(), gpu.model().empty() ? gpu.vendor() : gpu.model(),
               Number(gpu.path().has_socket(), gpu.path().socket()),
               Number(gpu.path().has_numa_node(), gpu.path().numa_node()), NearestNic(gpu),
               OrNone(gpu.pod_namespace()), Pods(gpu), OrNone(gpu.uuid()), Speed(gpu.path()),
               Way(gpu.path())});
  }
  table.Print(context.out);
  if (!response.pods_problem().empty())
    context.out << "whose they are is not known: " << OneLine(response.pods_problem()) << '\n';
  return kDone;
}

}  // namespace rail::railctl
