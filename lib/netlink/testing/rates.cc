#include "lib/netlink/testing/rates.h"

#include <algorithm>

namespace rail::netlink::testing {

Result<RateTree*> FakeRates::TreeOf(const DevlinkHandle& device) {
  const auto it = nics_.trees.find(device.ToString());
  if (it == nics_.trees.end()) return Fail(Code::kNotFound, device.ToString() + ": No such device");
  return &it->second;
}

Result<RateNode*> FakeRates::NodeOf(const DevlinkHandle& device, const std::string& name) {
  RAIL_ASSIGN(RateTree * tree, TreeOf(device));
  const auto it = std::ranges::find(tree->nodes, name, &RateNode::name);
  if (it == tree->nodes.end()) return Fail(Code::kNotFound, "rate node " + name + ": No such device");
  return &*it;
}

// As mlx5 and netdevsim judge a rate, in their words.
Status FakeRates::Takes(const Rate& rate) const {
  constexpr uint64_t kMbit = 125'000;
  for (const uint64_t value : {rate.share, rate.max}) {
    if (value % kMbit != 0)
      return Fail(Code::kInvalid,
                  "Invalid argument (kernel: TX rate value not in link speed units of 1Mbps.)");
    if (nics_.link_speed != 0 && value > nics_.link_speed)
      return Fail(Code::kInvalid, "Invalid argument (kernel: TX rate value exceed link maximum speed.)");
  }
  return {};
}

Result<RateTrees> FakeRates::ListAll() {
  RateTrees trees;
  for (const auto& [handle, tree] : nics_.trees) {
    const size_t slash = handle.find('/');
    trees[{handle.substr(0, slash), handle.substr(slash + 1)}] = tree;
  }
  return trees;
}

Result<RateTree> FakeRates::List(const DevlinkHandle& device) {
  const auto it = nics_.trees.find(device.ToString());
  return it == nics_.trees.end() ? RateTree{} : it->second;
}

Status FakeRates::AddNode(const DevlinkHandle& device, const std::string& name, const Rate& rate) {
  RAIL_ASSIGN(RateTree * tree, TreeOf(device));
  if (nics_.without_nodes) return Fail(Code::kUnsupported, "rate node " + name + ": Operation not supported");
  if (NodeOf(device, name)) return Fail(Code::kExists, "rate node " + name + ": File exists");
  RAIL_TRY_AS(Takes(rate), "rate node " + name);
  tree->nodes.push_back({name, nics_.keeps_nothing ? Rate() : rate, ""});
  nics_.changes.push_back("add " + name);
  return {};
}

Status FakeRates::SetNode(const DevlinkHandle& device, const std::string& name, const Rate& rate) {
  RAIL_ASSIGN(RateNode * node, NodeOf(device, name));
  RAIL_TRY_AS(Takes(rate), "rate node " + name);
  if (!nics_.keeps_nothing) node->rate = rate;
  nics_.changes.push_back("set " + name);
  return {};
}

Status FakeRates::DeleteNode(const DevlinkHandle& device, const std::string& name) {
  RAIL_ASSIGN(RateTree * tree, TreeOf(device));
  RAIL_ASSIGN(const RateNode* node, NodeOf(device, name));
  if (std::ranges::find(tree->leaves, name, &RateLeaf::parent) != tree->leaves.end())
    return Fail(Code::kBusy, "rate node " + name + ": Device or resource busy");
  std::erase(tree->nodes, RateNode(*node));
  nics_.changes.push_back("delete " + name);
  return {};
}

Status FakeRates::SetLeaf(const DevlinkHandle& device, uint32_t port, const std::optional<Rate>& rate,
                          const std::optional<std::string>& parent) {
  RAIL_ASSIGN(RateTree * tree, TreeOf(device));
  const auto leaf = std::ranges::find(tree->leaves, port, &RateLeaf::port);
  if (leaf == tree->leaves.end()) return Fail(Code::kNotFound, "port has no rates: No such device");
  if (parent && !parent->empty()) RAIL_TRY(NodeOf(device, *parent).map([](RateNode*) {}));
  if (rate) RAIL_TRY_AS(Takes(*rate), "port");
  if (rate) leaf->rate = *rate;
  if (parent) leaf->parent = *parent;
  nics_.changes.push_back("leaf " + std::to_string(port));
  return {};
}

}  // namespace rail::netlink::testing
