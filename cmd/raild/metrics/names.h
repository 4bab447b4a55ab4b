// Every metric of raild: its name, its labels and its help text. The code names metrics only here. README.md of this folder
// explains them, and a test compares the two.
//
// Use:      page.Add(metrics::kRailCarrier, {rail.name}, carrier);
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

// raild
inline constexpr Family kBuildInfo{"railcni_build_info", Kind::kGauge, "version", "1; the version of raild."};
inline constexpr Family kStartTime{"railcni_start_time_seconds", Kind::kGauge, "",
                                   "When raild was started, in seconds since 1970."};
inline constexpr Family kUp{
    "railcni_up", Kind::kGauge, "part",
    "1: this part of the node was right when raild last looked; 0: `railctl get node` says why."};
inline constexpr Family kFailures{"railcni_failures_total", Kind::kCounter, "part",
                                  "Rounds in which this part could not be put right."};
inline constexpr Family kRepairs{"railcni_repairs_total", Kind::kCounter, "cause",
                                 "Rules, ports, announcements and settings that stood as they should, were "
                                 "found otherwise and were put right."};
// Rails
inline constexpr Family kRailInfo{"railcni_rail_info", Kind::kGauge, "rail,bridge,uplink,number,plane",
                                  "1; a rail's bridge and uplink, and which plane of which rail it is."};
inline constexpr Family kRailLldpInfo{"railcni_rail_lldp_info", Kind::kGauge, "rail,system,port,chassis",
                                      "1; the other end of the uplink as it describes itself by LLDP."};
inline constexpr Family kRailLeafInfo{
    "railcni_rail_leaf_info", Kind::kGauge, "rail,leaf,asn,router_id,heard",
    "1; the leaf of the rail as it names itself; heard is 1 while its session is up."};
inline constexpr Family kUnitInfo{"railcni_unit_info", Kind::kGauge, "unit",
                                  "1; the scalable unit of this node."};
inline constexpr Family kRailCarrier{"railcni_rail_carrier", Kind::kGauge, "rail",
                                     "1: the rail's uplink has a carrier."};
inline constexpr Family kRailBridge{"railcni_rail_bridge_present", Kind::kGauge, "rail",
                                    "1: Open vSwitch has the rail's bridge."};
inline constexpr Family kRailLeaf{
    "railcni_rail_leaf_known", Kind::kGauge, "rail",
    "1: the MAC address of the rail's leaf is known, so packets can be sent to it."};
inline constexpr Family kRulesWanted{"railcni_rail_rules_wanted", Kind::kGauge, "rail",
                                     "OpenFlow rules that the rail's bridge should have."};
inline constexpr Family kRulesInstalled{"railcni_rail_rules_installed", Kind::kGauge, "rail",
                                        "Of those, how many were in the bridge when raild last looked."};
inline constexpr Family kLossless{"railcni_rail_lossless_ok", Kind::kGauge, "rail",
                                  "1: the rail's uplink treats RoCE as lossless of node.json wants it; 0: it "
                                  "does not, or it cannot be read."};
inline constexpr Family kRatesOk{"railcni_rail_rates_ok", Kind::kGauge, "rail",
                                 "1: rates of node.json hold for all pods of the rail; 0: the NIC refuses "
                                 "them, or a device has none."};
inline constexpr Family kTenantShare{
    "railcni_tenant_tx_share", Kind::kGauge, "rail,tenant",
    "The tenant's share of what its rail can send, against the shares of the others, as the NIC has it."};
inline constexpr Family kTenantMax{
    "railcni_tenant_tx_max_bytes_per_second", Kind::kGauge, "rail,tenant",
    "What the pods of a tenant may send together on a rail, as the NIC has it; absent without a limit."};
inline constexpr Family kForeignFlows{
    "railcni_rail_foreign_flows", Kind::kGauge, "rail",
    "OpenFlow rules in the rail's bridge that are not RailCNI's: each can go around the isolation."};

// BGP
inline constexpr Family kBgpEstablished{"railcni_bgp_session_established", Kind::kGauge, "rail",
                                        "1: the session with the rail's leaf is Established."};
inline constexpr Family kBgpState{"railcni_bgp_session_state", Kind::kGauge, "rail,state",
                                  "1 for the state of the session with the rail's leaf, 0 for the others."};
inline constexpr Family kPrefixesReceived{"railcni_bgp_prefixes_received", Kind::kGauge, "rail",
                                          "Prefixes that the rail's leaf has sent, of all families."};
inline constexpr Family kPrefixesSent{"railcni_bgp_prefixes_sent", Kind::kGauge, "rail",
                                      "Prefixes that the rail's leaf was sent, of all families."};
// Mode vrf: of each tenant with a pod on the rail
inline constexpr Family kVlanPort{
    "railcni_vlan_port_works", Kind::kGauge, "rail,tenant,vlan",
    "1: the bridge has the port over which the node and the leaf speak of the tenant."};
inline constexpr Family kVlanEstablished{"railcni_vlan_session_established", Kind::kGauge, "rail,tenant,vlan",
                                         "1: the tenant's session with the rail's leaf is Established."};
inline constexpr Family kVlanReceived{
    "railcni_vlan_prefixes_received", Kind::kGauge, "rail,tenant,vlan",
    "Prefixes that the leaf has sent in the tenant's session, of all families."};
inline constexpr Family kVlanSent{
    "railcni_vlan_prefixes_sent", Kind::kGauge, "rail,tenant,vlan",
    "Prefixes that the leaf was sent in the tenant's session, of all families."};
inline constexpr Family kBmpUp{"railcni_bmp_up", Kind::kGauge, "",
                               "1: bgpd pushes what it learns (BMP); 0: nothing new is learned."};
inline constexpr Family kLearningComplete{"railcni_learning_complete", Kind::kGauge, "",
                                          "1: a whole table has been learned since the start of raild."};
inline constexpr Family kRemotes{"railcni_remotes", Kind::kGauge, "",
                                 "Addresses of pods elsewhere, of all tenants, that are known from BGP."};
inline constexpr Family kTenantRemotes{"railcni_tenant_remotes", Kind::kGauge, "tenant",
                                       "The same of one tenant that has a pod on this node."};
inline constexpr Family kContested{
    "railcni_contested_addresses", Kind::kGauge, "",
    "Addresses that more than one tenant announces, those of pods here included."};

// The front end, where node.json has one
inline constexpr Family kFrontendEstablished{"railcni_frontend_session_established", Kind::kGauge, "link",
                                             "1: the session on this link of the front end is Established."};
inline constexpr Family kFrontendNotTold{
    "railcni_frontend_addresses_not_told", Kind::kGauge, "link",
    "Addresses of the node that the leaf of this link was not told, of an Established session."};
inline constexpr Family kFrontendLeaked{
    "railcni_frontend_leaked_prefixes", Kind::kGauge, "link",
    "Prefixes that the leaf of this link was told and that are no address of the node: those of pods."};
inline constexpr Family kFrontendNoDefault{
    "railcni_frontend_missing_default_routes", Kind::kGauge, "link",
    "Families whose default route does not go out here, though the session is Established."};

// Tenants of namespaces, where node.json asks the API server for them
inline constexpr Family kTenantsKnown{"railcni_tenants_known", Kind::kGauge, "",
                                      "1: the list of the cluster's namespaces is known."};
inline constexpr Family kTenantsStale{
    "railcni_tenants_stale_seconds", Kind::kGauge, "",
    "For how long the list of namespaces has not followed the API server; 0: it follows."};
inline constexpr Family kTenantsNamespaces{"railcni_tenants_namespaces", Kind::kGauge, "",
                                           "Namespaces in the list."};
inline constexpr Family kTenantsInvalid{"railcni_tenants_invalid_labels", Kind::kGauge, "",
                                        "Namespaces whose label cannot be a tenant."};

// Attachments
inline constexpr Family kAttachments{"railcni_attachments", Kind::kGauge, "rail,phase",
                                     "Interfaces of pods in the record."};
inline constexpr Family kAttachmentsWithoutRules{"railcni_attachments_without_rules", Kind::kGauge, "rail",
                                                 "Of those that are ready, how many lack a rule."};
inline constexpr Family kAttachmentsAnnounced{"railcni_attachments_announced", Kind::kGauge, "rail",
                                              "Of those that are ready, how many are announced by BGP."};
inline constexpr Family kAttachmentsElsewhere{
    "railcni_attachments_announced_elsewhere", Kind::kGauge, "rail",
    "Of those that are ready, how many have an address that another node announces, too."};
inline constexpr Family kAttachmentsWithoutDevice{
    "railcni_attachments_without_device", Kind::kGauge, "rail",
    "Of those that are ready, how many have lost their device: the NIC was reset."};
inline constexpr Family kAttachmentsUnseen{
    "railcni_attachments_unseen", Kind::kGauge, "rail",
    "Attachments whose network namespace raild cannot see: a mount is missing in its container."};
inline constexpr Family kAttachmentsMoving{
    "railcni_attachments_in_other_tenant", Kind::kGauge, "rail",
    "Interfaces that raild has still to move to their namespace's tenant."};
inline constexpr Family kUnrecordedPods{"railcni_unrecorded_pods", Kind::kGauge, "rail",
                                        "Pods that live and that the record has lost."};
inline constexpr Family kPendingUndo{"railcni_attachments_pending_undo", Kind::kGauge, "rail",
                                     "Attachments with work of a DEL that has failed and is tried again."};
inline constexpr Family kTenantAttachments{"railcni_tenant_attachments", Kind::kGauge, "rail,tenant",
                                           "Interfaces of a tenant's pods."};
inline constexpr Family kRdmaNetns{
    "railcni_rdma_netns_mode", Kind::kGauge, "mode",
    "1 for how RDMA devices and namespaces go together (exclusive, shared, none), 0 for the others."};

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
                                 "Packets that rules of ours have dropped since raild first looked; the "
                                 "tenant where the rule is a pod's."};
inline constexpr Family kAllMegaflows{"railcni_datapath_all_flows", Kind::kGauge, "",
                                      "Datapath flows of Open vSwitch, of whomever."};
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
    &kBuildInfo,
    &kStartTime,
    &kUp,
    &kFailures,
    &kRepairs,
    &kRailInfo,
    &kRailLldpInfo,
    &kRailLeafInfo,
    &kUnitInfo,
    &kRailCarrier,
    &kRailBridge,
    &kRailLeaf,
    &kLossless,
    &kRatesOk,
    &kTenantShare,
    &kTenantMax,
    &kForeignFlows,
    &kRulesWanted,
    &kRulesInstalled,
    &kBgpEstablished,
    &kBgpState,
    &kPrefixesReceived,
    &kPrefixesSent,
    &kVlanPort,
    &kVlanEstablished,
    &kVlanReceived,
    &kVlanSent,
    &kBmpUp,
    &kLearningComplete,
    &kRemotes,
    &kTenantRemotes,
    &kContested,
    &kFrontendEstablished,
    &kFrontendNotTold,
    &kFrontendLeaked,
    &kFrontendNoDefault,
    &kTenantsKnown,
    &kTenantsStale,
    &kTenantsNamespaces,
    &kTenantsInvalid,
    &kAttachments,
    &kAttachmentsWithoutRules,
    &kAttachmentsAnnounced,
    &kAttachmentsElsewhere,
    &kAttachmentsWithoutDevice,
    &kAttachmentsUnseen,
    &kAttachmentsMoving,
    &kUnrecordedPods,
    &kPendingUndo,
    &kTenantAttachments,
    &kRdmaNetns,
    &kCniSeconds,
    &kCniPartSeconds,
    &kCniFailures,
    &kLookSuccess,
    &kLookAge,
    &kLookDuration,
    &kDropped,
    &kAllMegaflows,
    &kMegaflowLimit,
    &kOffloadedMegaflows,
    &kMegaflows,
    &kDroppingMegaflows,
    &kRoce,
    &kUplinkLineRate,
    &kUplinkBytes,
    &kUplinkPackets,
    &kUplinkDropped,
    &kUplinkErrors,
    &kUplinkPauses,
    &kUplinkPeak,
    &kBursts,
    &kBurstSeconds,
    &kTenantBytes,
    &kTenantPackets,
    &kTenantDropped,
    &kTenantSlow,
    &kPodBytes,
};

}  // namespace rail::metrics
