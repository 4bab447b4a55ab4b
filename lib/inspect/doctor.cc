#include "lib/inspect/doctor.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "lib/inspect/doctor_subjects.h"

namespace rail::inspect {
namespace {

// Every id of a finding. A test checks that this list and the subjects' ids are the same.
constexpr std::array kKinds = {
    "ovsdb-down",
    "vswitchd-down",
    "hw-offload-off",
    "userspace-datapath",
    "max-idle-short",
    "max-idle-long",
    "min-revalidate-pps",
    "flow-limit-low",
    "flow-limit-near",
    "pod-floods",
    "megaflows-in-software",
    "bridge-missing",
    "fail-mode-not-secure",
    "prefixes-not-tracked",
    "uplink-not-in-bridge",
    "uplink-not-working",
    "foreign-port",
    "foreign-flows",
    "port-not-working",
    "representor-down",
    "representor-without-carrier",
    "uplink-missing",
    "uplink-down",
    "uplink-without-carrier",
    "uplink-has-address",
    "local-ipv6-disabled",
    "local-no-link-local",
    "local-accepts-ra",
    "uplink-ipv6-enabled",
    "nic-without-vfs",
    "nic-not-in-switchdev",
    "mtu-below-roce",
    "mtu-too-small",
    "links-unknown",
    "cross-rail-off",
    "bgpd-down",
    "bgp-session-down",
    "bmp-missing",
    "bmp-sessions-alike",
    "prefixes-near-limit",
    "prefixes-above-limit",
    "no-leaf-neighbour",
    "record-unreadable",
    "record-readable",
    "record-no-space",
    "rdma-shared",
    "rdma-missing",
    "rdma-guid-zero",
    "rdma-guid-twice",
    "certificate-unreadable",
    "certificate-not-yet-valid",
    "certificate-expired",
    "certificate-expires-soon",
    "device-lost",
    "namespaces-not-visible",
    "record-lost",
    "pending-work",
    "add-died",
    "delete-unfinished",
    "part-failing",
    "rules-missing",
    "not-announced",
    "address-contested",
    "address-duplicate",
    "tenant-changed",
    "tenant-unused",
    "tenants-not-known",
    "api-server-away",
    "tenant-label-invalid",
    "no-tenant",
};

}  // namespace

std::vector<Finding> Diagnose(const NodeFacts& facts) {
  std::vector<Finding> found;
  ExamineOpenVswitch(facts, found);
  ExamineRails(facts, found);
  ExamineBgp(facts, found);
  ExamineTenants(facts, found);
  ExamineAttachments(facts, found);
  ExamineRaild(facts, found);
  std::ranges::stable_sort(found, [](const Finding& a, const Finding& b) {
    return std::tuple(-static_cast<int>(a.severity), a.id, a.subject) <
           std::tuple(-static_cast<int>(b.severity), b.id, b.subject);
  });
  return found;
}

size_t KindsOfFindings() {
  return kKinds.size();
}

}  // namespace rail::inspect
