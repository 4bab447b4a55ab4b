// What a rail's uplink has to be for RoCE without losses: sections "lossless" and rails[].lossless of node.json.
//
// Use:      if (rail.lossless && rail.lossless->pfc) ...    // what has no value is not looked at
// Threads:  values
// Source:   README.md of this folder; IEEE 802.1Q-2018 clause 36 (PFC) and annex D.2 (application priorities), RFC 2474 (DSCP)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace rail::config {

// Of what in a packet the NIC makes its priority: the DSCP in its IP header, or the priority code point of its VLAN tag.
enum class Trust { kDscp, kPcp };

struct Lossless {
  std::optional<Trust> trust;
  std::optional<std::set<uint8_t>> pfc;  // priorities 0..7 that pause instead of dropping, and no others
  std::set<uint8_t> ecn;                 // priorities for which the NIC marks and slows down (DCQCN)
  std::map<uint8_t, uint8_t> dscp_to_priority;  // DSCP 0..63 -> priority 0..7; others may be as they are
  std::optional<uint8_t> tos;                   // of rdma_cm's connections: DSCP * 4 + ECN bits
  bool manage_qos = false;                      // raild sets what dcbnl can set
  bool operator==(const Lossless&) const = default;
};

}  // namespace rail::config
