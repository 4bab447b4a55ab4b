// A rule of this node's nftables that drops or rejects packets. iptables of today writes nftables' rules, too.
//
// Use:      Result<std::vector<DropRule>> rules = ListDropRules();   // firewall.h
// Threads:  values
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace rail::netlink
