#include "lib/engine/attach/tenant_rates.h"

#include <fmt/core.h>

#include <algorithm>

namespace rail::engine {
namespace {

constexpr std::string_view kPrefix = "railcni-";

}  // namespace

// By the id: two tenants may have one name (a list's, and a namespace's that is a tenant by itself).
std::string RateNodeOf(const tenancy::TenantId& tenant) {
  return std::string(kPrefix) + tenant.ToString();
}

bool IsOurRateNode(std::string_view name) {
  return name.starts_with(kPrefix) && tenancy::TenantId::Parse(name.substr(kPrefix.size())).has_value();
}

netlink::Rate RateOf(const config::TenantRate& rate) {
  return {.share = rate.share * kBytesPerMbit, .max = rate.max_mbit * kBytesPerMbit};
}

std::string InWords(const netlink::Rate& rate) {
  const std::string share = fmt::format("share {}", rate.share / kBytesPerMbit);
  if (rate.max == 0) return share + ", no limit";
  return fmt::format("{}, at most {} Mbit/s", share, rate.max / kBytesPerMbit);
}

std::string TextOf(const netlink::NicPort& port) {
  return port.nic.ToString() + "/" + std::to_string(port.port);
}

bool HasRate(const state::Attachment& attachment) {
  return attachment.phase != state::Phase::kDeleting && !attachment.tenant_id.is_none() &&
         !attachment.representor.empty();
}

const netlink::RateNode* FindNode(const netlink::RateTrees& trees, const netlink::DevlinkHandle& nic,
                                  std::string_view name) {
  const auto tree = trees.find(nic);
  if (tree == trees.end()) return nullptr;
  const auto node = std::ranges::find(tree->second.nodes, name, &netlink::RateNode::name);
  return node == tree->second.nodes.end() ? nullptr : &*node;
}

const netlink::RateLeaf* FindLeaf(const netlink::RateTrees& trees, const netlink::NicPort& port) {
  const auto tree = trees.find(port.nic);
  if (tree == trees.end()) return nullptr;
  const auto leaf = std::ranges::find(tree->second.leaves, port.port, &netlink::RateLeaf::port);
  return leaf == tree->second.leaves.end() ? nullptr : &*leaf;
}

std::optional<netlink::NicPort> LeafOf(const state::Attachment& attachment, const NicRates& nics) {
  const auto port = nics.ports.find(attachment.representor);
  if (port == nics.ports.end() || FindLeaf(nics.trees, port->second) == nullptr) return std::nullopt;
  return port->second;
}

Differences RatesDiffer(const config::Rates& rates, const state::Attachment& attachment,
                        const NicRates& nics) {
  if (!HasRate(attachment)) return {};
  const std::string of_tenant = " of tenant " + attachment.tenant;
  const auto leaf = LeafOf(attachment, nics);
  if (!leaf)
    return {"its device " + attachment.device + " has no rate in devlink: the limits" + of_tenant +
            " do not hold for what it sends"};
  Differences differences;
  const netlink::RateLeaf* found = FindLeaf(nics.trees, *leaf);
  const std::string name = RateNodeOf(attachment.tenant_id);
  if (found->parent != name) {
    differences.push_back(fmt::format(
        "its port {} is under {}, not under the rate node {}{}", TextOf(*leaf),
        found->parent.empty() ? "no rate node" : "the rate node " + found->parent, name, of_tenant));
  }
  const netlink::Rate wanted = RateOf(rates.Of(attachment.tenant));
  const netlink::RateNode* node = FindNode(nics.trees, leaf->nic, name);
  if (node == nullptr) {
    differences.push_back(fmt::format("{} has no rate node {}{}", leaf->nic.ToString(), name, of_tenant));
  } else if (node->rate != wanted) {
    differences.push_back(fmt::format("the rate node {}{} on {} has {}, and node.json says {}", name,
                                      of_tenant, leaf->nic.ToString(), InWords(node->rate), InWords(wanted)));
  }
  return differences;
}

Result<Differences> RatesDiffer(Node& node, const state::Attachment& attachment) {
  if (!node.config.rates || !HasRate(attachment)) return Differences();
  RAIL_ASSIGN(const NicRates nics, node.connections.Rates());
  return RatesDiffer(*node.config.rates, attachment, nics);
}

}  // namespace rail::engine
