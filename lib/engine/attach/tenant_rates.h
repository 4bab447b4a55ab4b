// What "rates" of node.json wants of the NICs: a devlink rate node for each tenant that has an attachment on a NIC, with the ports of its
// attachments as leaves. Which that is, and how a NIC differs.
//
// Use:      const std::string node = RateNodeOf(attachment.tenant_id);       // "railcni-bbf6e1d85a4f733f728795f2bc02"
//           for (const std::string& each : RatesDiffer(*config.rates, attachment, nics)) ...
// Threads:  pure functions, but for the one that takes a Node
// Source:   README.md of this folder ("Shares and limits")
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/engine/attach/differences.h"

namespace rail::engine {

// devlink counts bytes per second; drivers take whole Mbit/s.
inline constexpr uint64_t kBytesPerMbit = 125'000;

std::string RateNodeOf(const tenancy::TenantId& tenant);
// Whether a rate node has the name of one of ours, of whichever tenant.
bool IsOurRateNode(std::string_view name);
// A share of N is N Mbit/s as devlink's tx_share.
netlink::Rate RateOf(const config::TenantRate& rate);
std::string InWords(const netlink::Rate& rate);    // "share 3, at most 400000 Mbit/s"
std::string TextOf(const netlink::NicPort& port);  // "pci/0000:3b:00.0/3"
// It is to be under its tenant's node: it has a tenant, and is not being undone.
bool HasRate(const state::Attachment& attachment);
const netlink::RateNode* FindNode(const netlink::RateTrees& trees, const netlink::DevlinkHandle& nic,
                                  std::string_view name);
const netlink::RateLeaf* FindLeaf(const netlink::RateTrees& trees, const netlink::NicPort& port);

// The attachment's port, whose link is its representor, where it has rates. Nothing: a device without devlink, or not in switchdev mode.
std::optional<netlink::NicPort> LeafOf(const state::Attachment& attachment, const NicRates& nics);

// One sentence for each thing that differs.
Differences RatesDiffer(const config::Rates& rates, const state::Attachment& attachment,
                        const NicRates& nics);
// The same by the node as it is now; {} without "rates". Errors: of devlink.
Result<Differences> RatesDiffer(Node& node, const state::Attachment& attachment);

}  // namespace rail::engine
