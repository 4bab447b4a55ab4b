#include "lib/engine/part.h"

namespace rail::engine {
namespace {

struct Entry {
  std::string_view name;
  bool of_rail = false;
};

constexpr Entry EntryOf(Part part) {
  switch (part) {
    case Part::kNodeFile: return {"node.json"};
    case Part::kState: return {"state"};
    case Part::kWritingRecord: return {"writing the record"};
    case Part::kTenantList: return {"tenants of namespaces"};
    case Part::kLeftTenants: return {"tenants that pods have left"};
    case Part::kRail: return {"rail", true};
    case Part::kUplink: return {"uplink", true};
    case Part::kNic: return {"NIC", true};
    case Part::kQos: return {"QoS", true};
    case Part::kRepresentors: return {"representors", true};
    case Part::kSysctls: return {"sysctls", true};
    case Part::kLeaf: return {"leaf", true};
    case Part::kRecordOfRail: return {"record", true};
    case Part::kTenantLinks: return {"tenants' links", true};
    case Part::kVlanSysctls: return {"sysctls of VLANs", true};
    case Part::kBgp: return {"bgp"};
    case Part::kBgpInstance: return {"bgp instance"};
    case Part::kBgpAnnouncements: return {"bgp announcements"};
    case Part::kBgpSessions: return {"bgp sessions"};
    case Part::kUnusedInstances: return {"bgp instances without pods"};
    case Part::kBgpFeed: return {"bgp feed"};
    case Part::kBgpPrefixes: return {"bgp prefixes"};
    case Part::kBgpRemotes: return {"bgp remotes"};
    case Part::kCluster: return {"cluster"};
    case Part::kPodAddresses: return {"addresses of pods"};
    case Part::kFrontend: return {"front end"};
    case Part::kPodDevices: return {"devices of pods"};
    case Part::kPodNamespaces: return {"namespaces of pods"};
    case Part::kRdma: return {"rdma"};
    case Part::kRates: return {"rates"};
    case Part::kQosGivenBack: return {"QoS that is given back"};
    case Part::kFlowLimit: return {"flow limit"};
    case Part::kKubelet: return {"kubelet"};
  }
  return {};
}

}  // namespace

std::string_view NameOf(Part part) {
  return EntryOf(part).name;
}

bool IsOfRail(Part part) {
  return EntryOf(part).of_rail;
}

std::string ToText(const PartId& id) {
  if (!IsOfRail(id.part)) return std::string(NameOf(id.part));
  if (id.part == Part::kRail) return "rail " + id.rail;
  return std::string(NameOf(id.part)) + " of rail " + id.rail;
}

}  // namespace rail::engine
