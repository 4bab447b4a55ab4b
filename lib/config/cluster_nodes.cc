#include "lib/config/cluster_nodes.h"

#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"

namespace rail::config {
namespace {

using nlohmann::json;

// A Node has its images and conditions, some 20 KiB; a list has thousands of them.
constexpr JsonLimits kLimits{.max_bytes = size_t{1} << 30, .max_depth = 64};

// Objects of the API server have keys that this reader need not know, so it is not strict.
const json* Find(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string TextAt(const json& object, const char* key) {
  const json* value = Find(object, key);
  return value == nullptr || !value->is_string() ? "" : value->get<std::string>();
}

Result<NodeFacts> FactsOf(const json& node) {
  NodeFacts facts;
  const json* metadata = Find(node, "metadata");
  if (TextAt(node, "kind") != "Node" || metadata == nullptr)
    return Fail(Code::kInvalid, "it is no Node of `kubectl get nodes -o json`");
  facts.name = TextAt(*metadata, "name");
  if (facts.name.empty()) return Fail(Code::kInvalid, "a Node has no metadata.name");
  auto& labels = facts.labels.emplace();
  if (const json* all = Find(*metadata, "labels"); all != nullptr && all->is_object()) {
    for (const auto& [key, value] : all->items()) {
      if (value.is_string()) labels[key] = value.get<std::string>();
    }
  }
  const json* status = Find(node, "status");
  const json* addresses = status == nullptr ? nullptr : Find(*status, "addresses");
  if (addresses == nullptr || !addresses->is_array()) return facts;
  for (const json& address : *addresses) {
    if (facts.ip || TextAt(address, "type") != "InternalIP") continue;
    RAIL_ASSIGN_AS(facts.ip, IpAddress::Parse(TextAt(address, "address")), "node " + facts.name);
  }
  return facts;
}

}  // namespace

Result<std::vector<NodeFacts>> ReadNodes(const std::string& path) {
  RAIL_ASSIGN_AS(const json document, ReadJsonFile(path, kLimits), "read the cluster's nodes");
  std::vector<NodeFacts> nodes;
  const json* items = Find(document, "items");
  const json one = json::array({document});
  if (items == nullptr || !items->is_array()) items = &one;
  for (const json& item : *items) {
    RAIL_ASSIGN_AS(NodeFacts facts, FactsOf(item), path);
    nodes.push_back(std::move(facts));
  }
  return nodes;
}

std::vector<std::string> Collisions(const std::map<std::string, Resolved>& by_node) {
  std::map<uint32_t, std::string> asns;
  std::map<IpAddress, std::string> router_ids;
  std::vector<std::string> found;
  for (const auto& [name, resolved] : by_node) {
    const Bgp& bgp = resolved.config.bgp;
    if (const auto [other, is_new] = asns.emplace(bgp.asn, name); !is_new)
      found.push_back("bgp.asn: " + std::to_string(bgp.asn) + " is that of " + other->second + " and of " +
                      name + ": each would drop what the other announces");
    if (const auto [other, is_new] = router_ids.emplace(bgp.router_id, name); !is_new)
      found.push_back("bgp.router_id: " + bgp.router_id.ToString() + " is that of " + other->second +
                      " and of " + name + ": a leaf ends one of the two sessions");
  }
  return found;
}

}  // namespace rail::config
