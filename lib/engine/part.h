// The parts of the node that raild keeps right, by number and rail.
//
// Use:      node_status.Note({Part::kLeaf, "rail0"}, status);   ToText({Part::kLeaf, "rail0"})   // "leaf of rail rail0"
// Threads:  plain data
// Source:   lib/api/REFERENCE.md (`railcni_up` explains each)
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace rail::engine {

// In the order in which people read them: what others depend on first.
enum class Part {
  kNodeFile,
  kState,
  kWritingRecord,
  kTenantList,
  kLeftTenants,
  kRail,
  kUplink,
  kNic,
  kQos,
  kRepresentors,
  kSysctls,
  kLeaf,
  kRecordOfRail,
  kTenantLinks,
  kVlanSysctls,
  kBgp,
  kBgpInstance,
  kBgpAnnouncements,
  kBgpSessions,
  kUnusedInstances,
  kBgpFeed,
  kBgpPrefixes,
  kBgpRemotes,
  kCluster,
  kPodAddresses,
  kFrontend,
  kPodDevices,
  kPodNamespaces,
  kRdma,
  kRates,
  kQosGivenBack,
  kFlowLimit,
  kKubelet,
};

// The word of a part without its rail: "leaf", "rail", "bgp feed". No two parts have the same. It never changes: metrics have it.
std::string_view NameOf(Part part);
// Whether each rail has such a part.
bool IsOfRail(Part part);

struct PartId {
  PartId(Part its_part, std::string its_rail = "") : part(its_part), rail(std::move(its_rail)) {}
  Part part;
  std::string rail;  // ""; a name of a rail where IsOfRail
  auto operator<=>(const PartId&) const = default;
};

// "rail rail0", "leaf of rail rail0", "bgp feed": for people, and for the metrics' label `part`.
std::string ToText(const PartId& id);

}  // namespace rail::engine
