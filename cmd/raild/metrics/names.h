// The metrics that are not of raild's state: names, labels and help texts. Those of its state are options of its fields (document.h).
// README.md of this folder explains all of them, and a test compares.
//
// Use:      page.Add(metrics::kCniFailures, {plugin, verb}, count);
// Threads:  constants
// Source:   Prometheus, "Metric and label naming": base units, _total for counters
//
// A label has few values: rails, bounded lists, tenants with a pod on this node. Never use a pod, an address or anything else that
// a tenant's workload can multiply, but for kPodBytes, which the operator must ask for.
#pragma once

#include <array>
#include <string_view>

namespace rail::metrics {

enum class Kind { kGauge, kCounter, kHistogram };

struct Family {
  std::string_view name;
  Kind kind = Kind::kGauge;
  std::string_view labels;  // separated by commas
  std::string_view help;    // one line
};

// Rails
inline constexpr Family kTenantShare{
    "railcni_tenant_tx_share", Kind::kGauge, "rail,tenant",
    "The tenant's share of what its rail can send, against the shares of the others, as the NIC has it."};
inline constexpr Family kTenantMax{
    "railcni_tenant_tx_max_bytes_per_second", Kind::kGauge, "rail,tenant",
    "What the pods of a tenant may send together on a rail, as the NIC has it; absent without a limit."};

// The plugins
inline constexpr Family kCniSeconds{"railcni_cni_duration_seconds", Kind::kHistogram, "plugin,verb",
                                    "How long a plugin of the chain took for a verb."};
inline constexpr Family kCniPartSeconds{
    "railcni_cni_part_seconds_total", Kind::kCounter, "plugin,verb,part",
    "What of that a part took: record, ovsdb, openflow, ipam, bgp, link, pod, other."};
inline constexpr Family kCniFailures{"railcni_cni_failures_total", Kind::kCounter, "plugin,verb",
                                     "Verbs that a plugin ended with an error."};

// The last look at the switch, and what it has counted
inline constexpr Family kLookSuccess{"railcni_switch_look_success", Kind::kGauge, "source",
                                     "1: the last look at Open vSwitch had this; 0: what is counted there is "
                                     "left out of this page."};
inline constexpr Family kLookAge{"railcni_switch_look_age_seconds", Kind::kGauge, "",
                                 "Since when the last look at Open vSwitch has ended."};
inline constexpr Family kLookDuration{
    "railcni_switch_look_duration_seconds", Kind::kGauge, "",
    "How long the last look at Open vSwitch took; the next one comes a hundred times that later."};
inline constexpr Family kDropped{"railcni_dropped_packets_total", Kind::kCounter, "rail,table,tenant",
                                 "Packets that rules and guards of ours have dropped since raild first "
                                 "looked; the tenant where the rule is a pod's."};
inline constexpr Family kAllMegaflows{"railcni_datapath_all_flows", Kind::kGauge, "",
                                      "Datapath flows of Open vSwitch, of whomever."};
inline constexpr Family kMasks{"railcni_datapath_masks", Kind::kGauge, "family",
                               "Masks of datapath flows: a packet is looked up by one after another."};
inline constexpr Family kMegaflowLimit{
    "railcni_datapath_flow_limit", Kind::kGauge, "",
    "Above so many datapath flows Open vSwitch removes those that are idle at once."};
inline constexpr Family kOffloadedMegaflows{
    "railcni_datapath_offloaded_flows", Kind::kGauge, "",
    "Datapath flows that Open vSwitch has given to tc, whether or not a NIC has taken them."};
inline constexpr Family kMegaflows{
    "railcni_datapath_flows", Kind::kGauge, "rail,tenant,place",
    "Datapath flows that forward from or to a tenant's pods: in hardware, in tc alone, or in software."};
inline constexpr Family kDroppingMegaflows{"railcni_datapath_dropping_flows", Kind::kGauge, "rail,tenant",
                                           "Datapath flows that drop what a tenant's pods send."};

// The NIC
inline constexpr Family kRoce{"railcni_roce_counter_total", Kind::kCounter, "rail,counter",
                              "A counter of the uplink's RDMA device, as its driver names it."};

// Counters of uplinks and of pods' interfaces
inline constexpr Family kUplinkLineRate{"railcni_uplink_line_rate_bytes_per_second", Kind::kGauge, "rail",
                                        "The line rate of the rail's uplink."};
inline constexpr Family kUplinkBytes{"railcni_uplink_bytes_total", Kind::kCounter, "rail,direction",
                                     "Bytes through the rail's uplink."};
inline constexpr Family kUplinkPackets{"railcni_uplink_packets_total", Kind::kCounter, "rail,direction",
                                       "Packets through the rail's uplink."};
inline constexpr Family kUplinkDropped{"railcni_uplink_dropped_packets_total", Kind::kCounter,
                                       "rail,direction", "Packets that the rail's uplink has discarded."};
inline constexpr Family kUplinkErrors{"railcni_uplink_errors_total", Kind::kCounter, "rail,direction",
                                      "Packets with errors at the rail's uplink."};
inline constexpr Family kUplinkPauses{
    "railcni_uplink_pfc_frames_total", Kind::kCounter, "rail,priority,direction",
    "Pause frames of priority flow control at the rail's uplink, where its driver counts them."};
inline constexpr Family kUplinkPeak{
    "railcni_uplink_peak_bytes_per_second", Kind::kGauge, "rail,direction",
    "The fastest tick of the last minute at the rail's uplink, of bursts.every_ms each."};
inline constexpr Family kBursts{"railcni_bursts_total", Kind::kCounter, "rail,of,direction",
                                "Times above 90 % of line rate, of the uplink or of the rail's pods."};
inline constexpr Family kBurstSeconds{"railcni_burst_seconds_total", Kind::kCounter, "rail,of,direction",
                                      "How long these were in all."};
inline constexpr Family kTenantBytes{"railcni_tenant_bytes_total", Kind::kCounter, "rail,tenant,direction",
                                     "Bytes that a tenant's pods have sent or received."};
inline constexpr Family kTenantPackets{"railcni_tenant_packets_total", Kind::kCounter,
                                       "rail,tenant,direction",
                                       "Packets that a tenant's pods have sent or received."};
inline constexpr Family kTenantDropped{
    "railcni_tenant_discarded_packets_total", Kind::kCounter, "rail,tenant,direction",
    "Packets of a tenant's pods that their ports have discarded, not a rule."};
inline constexpr Family kTenantSlow{
    "railcni_tenant_slow_path_packets_total", Kind::kCounter, "rail,tenant,direction",
    "Packets of a tenant's pods that the CPU has forwarded, where the driver counts them."};
inline constexpr Family kPodBytes{"railcni_pod_bytes_total", Kind::kCounter,
                                  "rail,tenant,namespace,pod,interface,attachment,direction",
                                  "Bytes of one interface of a pod; only with metrics.pods."};

inline constexpr std::array kAll = {
    &kTenantShare,  &kTenantMax,      &kCniSeconds,         &kCniPartSeconds, &kCniFailures,
    &kLookSuccess,  &kLookAge,        &kLookDuration,       &kMasks,          &kDropped,
    &kAllMegaflows, &kMegaflowLimit,  &kOffloadedMegaflows, &kMegaflows,      &kDroppingMegaflows,
    &kRoce,         &kUplinkLineRate, &kUplinkBytes,        &kUplinkPackets,  &kUplinkDropped,
    &kUplinkErrors, &kUplinkPauses,   &kUplinkPeak,         &kBursts,         &kBurstSeconds,
    &kTenantBytes,  &kTenantPackets,  &kTenantDropped,      &kTenantSlow,     &kPodBytes,
};

}  // namespace rail::metrics
