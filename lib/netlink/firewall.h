// Reads the rules of this node's nftables that drop or reject packets.
//
// Use:      RAIL_ASSIGN(const std::vector<DropRule> rules, ListDropRules());   // of the calling thread's namespace
// Threads:  any
// Source:   kernel include/uapi/linux/netfilter/{nfnetlink,nf_tables,nf_tables_compat}.h, net/netfilter/nf_tables_api.c
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "lib/base/error.h"
#include "lib/netlink/drop_rule.h"

namespace rail::netlink {

// nullopt: no rule, or one that drops and rejects nothing. A jump to a chain that drops is not followed, the rule there is one of its own.
std::optional<DropRule> DecodeDropRule(std::string_view message);

// Costs one dump of all rules: some 50 ms where a service proxy has tens of thousands. Changes nothing.
// Errors: kUnsupported the kernel has no nftables; kPermission; kTransient.
Result<std::vector<DropRule>> ListDropRules();

}  // namespace rail::netlink
