#include "lib/inspect/doctor/doctor.h"

#include <utility>

#include "lib/base/parse.h"
#include "lib/inspect/doctor/causes.h"
#include "lib/inspect/doctor/subjects.h"

namespace rail::inspect {
namespace {

// Every id of a finding. A test checks that this list and the subjects' ids are the same.
constexpr std::string_view kKinds =
    "ovsdb-down vswitchd-down hw-offload-off userspace-datapath max-idle-short max-idle-long "
    "max-revalidator-short min-revalidate-pps flow-limit-low flow-limit-near pod-floods masks-many "
    "megaflows-in-software bridge-missing fail-mode-not-secure in-band-rules prefixes-not-tracked "
    "uplink-not-in-bridge uplink-not-working foreign-port foreign-flows port-not-working representor-down "
    "representor-without-carrier uplink-missing uplink-down uplink-without-carrier uplink-has-address "
    "device-unhealthy vf-of-two-owners local-ipv6-disabled local-no-link-local local-accepts-ra "
    "uplink-ipv6-enabled nic-without-vfs "
    "nic-not-in-switchdev lossless-pfc lossless-trust lossless-dscp lossless-traffic-class "
    "lossless-neighbour lossless-ecn lossless-tos lossless-unknown rates-refused rates-differ "
    "ingress-policing pause-storm packets-discarded rdma-out-of-sequence congestion-without-pfc "
    "slow-path-used rail-slower-than-siblings mtu-below-roce mtu-too-small links-unknown cross-rail-off "
    "bgpd-down bgp-identifier-missing bgp-session-down bgp-shutdown-here leaf-refuses-bgp firewall-drops-bgp "
    "leaf-silent leaf-rejects-bgp bgp-wrong-as bgp-max-prefixes bgp-hold-timer vlan-vrf-missing "
    "vlan-port-missing vlan-session-down leaf-strips-communities leaf-mtu-too-small zebra-down "
    "frr-version-crashes rails-swapped rails-on-one-leaf rail-on-other-leaf address-by-other-rail "
    "leaf-in-two-units remote-on-other-leaf leaf-as-unlike-siblings rail-mtu-unlike-siblings "
    "uplink-speed-unlike-siblings cable-in-other-leaf rail-in-other-plane leaf-in-two-planes "
    "planes-unlike-elsewhere planes-out-of-order planes-inside-nic bmp-missing bmp-sessions-alike "
    "prefixes-near-limit prefixes-above-limit no-leaf-neighbour frontend-leak frontend-stray-route "
    "frontend-session-down "
    "frontend-not-redundant frontend-address-not-told frontend-default-route frontend-without-bfd "
    "config-unreadable config-newer-than-raild cluster-name-taken raild-down raild-cannot-start "
    "record-unreadable record-readable record-no-space rdma-shared rdma-missing rdma-guid-zero "
    "rdma-guid-twice certificate-unreadable certificate-not-yet-valid certificate-expired "
    "certificate-expires-soon nic-reset device-lost namespaces-not-visible record-lost pending-work add-died "
    "delete-unfinished part-failing attachment-differs gid-moved pods-not-looked-into rules-missing "
    "rules-unknown "
    "not-announced withdrawn own-address-announced-elsewhere tenant-changed tenant-vlan-changed "
    "tenant-unused labels-not-followed tenants-not-known api-server-away tenant-label-invalid no-tenant "
    "gpu-far-from-nic gpus-without-nic pod-gpus-not-known rail-without-network network-without-resource";

}  // namespace

std::vector<Finding> Diagnose(const NodeFacts& facts) {
  std::vector<Finding> found;
  for (const auto examine : {ExamineOpenVswitch, ExamineRails, ExamineRates, ExamineCounters, ExamineBgp,
                             ExamineVlans, ExamineFrontend, ExamineCabling, ExaminePlanes, ExamineTenants,
                             ExamineGpus, ExamineRequests, ExamineAttachments, ExamineStart, ExamineRaild})
    examine(facts, found);
  return CausesFirst(std::move(found), facts);
}

std::vector<Finding> DiagnoseStart(const NodeFacts& facts) {
  std::vector<Finding> found;
  ExamineStart(facts, found);
  ExamineRaild(facts, found);
  return CausesFirst(std::move(found), facts);
}

std::span<const std::string_view> KindsOfFindings() {
  static const std::vector<std::string_view> kinds = Split(kKinds, " ");
  return kinds;
}

}  // namespace rail::inspect
