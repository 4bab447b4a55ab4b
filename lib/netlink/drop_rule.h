// A rule of this node's nftables that drops or rejects packets. iptables of today writes nftables' rules, too.
//
// Use:      RAIL_ASSIGN(const std::vector<DropRule> rules, ListDropRules());   // of the calling thread's namespace
// Threads:  any
// Source:   kernel include/uapi/linux/netfilter/{nfnetlink,nf_tables,nf_tables_compat}.h, net/netfilter/nf_tables_api.c
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/error.h"

namespace rail::netlink {

struct DropRule {
  std::string family;               // "ip", "ip6", "inet", "bridge", "netdev", "arp"
  std::string table;                // "filter"
  std::string chain;                // "INPUT"
  uint64_t handle = 0;              // as `nft -a list chain` shows it
  std::optional<uint64_t> packets;  // that it has dropped; nullopt: the rule has no counter
  bool names_bgp = false;           // it asks for TCP port 179, of either side
  std::vector<std::string> links;   // of which it asks for one; {}: for none, or in words that are not read

  std::string ToText() const;  // "rule 5 of chain INPUT of table ip6 filter (12 packets)"
};

// nullopt: no rule, or one that drops and rejects nothing. A jump to a chain that drops is not followed, the rule there is one of its own.
std::optional<DropRule> DecodeDropRule(std::string_view message);

// Costs one dump of all rules: some 50 ms where a service proxy has tens of thousands. Changes nothing.
// Errors: kUnsupported the kernel has no nftables; kPermission; kTransient.
Result<std::vector<DropRule>> ListDropRules();

}  // namespace rail::netlink
