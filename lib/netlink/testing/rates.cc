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

Result<RateTree> FakeRates::List(const DevlinkHandle& device) {
  const auto it = nics_.trees.find(device.ToString());
  return it == nics_.trees.end() ? RateTree{} : it->second;
}

Status FakeRates::AddNode(const DevlinkHandle& device, const std::string& name, const Rate& rate) {
  RAIL_ASSIGN(RateTree * tree, TreeOf(device));
  if (NodeOf(device, name)) return Fail(Code::kExists, "rate node " + name + ": File exists");
  tree->nodes.push_back({name, rate, ""});
  nics_.changes.push_back("add " + name);
  return {};
}

Status FakeRates::SetNode(const DevlinkHandle& device, const std::string& name, const Rate& rate) {
  RAIL_ASSIGN(RateNode * node, NodeOf(device, name));
  node->rate = rate;
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
  if (rate) leaf->rate = *rate;
  if (parent) leaf->parent = *parent;
  nics_.changes.push_back("leaf " + std::to_string(port));
  return {};
}

}  // namespace rail::netlink::testing
