#include "lib/engine/learned/leaves.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "lib/base/strict_json.h"
#include "lib/base/whole_file.h"
#include "lib/tenancy/tenancy.h"

namespace rail::engine {
namespace {

constexpr size_t kHashDigits = 10;

}  // namespace

// The router ids alone: an AS number may be the same for all leaves of a rail, or of a fabric.
std::string UnitName(const LeafOfRail& leaves) {
  std::set<IpAddress> ids;
  for (const auto& [rail, leaf] : leaves) ids.insert(leaf.router_id);
  if (ids.empty()) return "";
  std::string text = "railcni/unit";
  for (const IpAddress& id : ids) text += "/" + id.ToString();
  return "su-" + tenancy::HashText(text).substr(0, kHashDigits);
}

Leaves::Leaves(const config::NodeConfig& config, LeafOfRail kept)
    : config_(config), settled_(std::move(kept)) {
  std::erase_if(settled_, [&](const auto& leaf) { return config.FindRail(leaf.first) == nullptr; });
  kept_ = settled_;
  Look({});
}

void Leaves::Look(const std::map<std::string, frr::Session>& sessions) {
  heard_.clear();
  for (const config::Rail& rail : config_.rails) {
    const auto session = sessions.find(rail.bridge);
    if (session != sessions.end() && session->second.established() && session->second.leaf)
      heard_[rail.name] = *session->second.leaf;
  }
  const bool all = heard_.size() == config_.rails.size();
  const bool none_moved = std::ranges::all_of(heard_, [&](const auto& leaf) {
    const auto before = settled_.find(leaf.first);
    return before == settled_.end() || before->second.router_id == leaf.second.router_id;
  });
  // A rail that is heard for the first time, and a leaf that says another name or AS, are no move.
  moving_ = !all && !none_moved;
  if (!moving_) {
    for (const auto& [rail, leaf] : heard_) settled_[rail] = leaf;
  }
  const bool known = settled_.size() == config_.rails.size();
  unit_ = !config_.topology.unit.empty() ? config_.topology.unit : known ? UnitName(settled_) : "";
}

std::optional<KnownLeaf> Leaves::of(const std::string& rail) const {
  if (const auto now = heard_.find(rail); now != heard_.end()) return KnownLeaf{now->second, true};
  // While the node is being cabled anew, nobody knows where the cable of a silent rail is.
  if (const auto before = settled_.find(rail); before != settled_.end() && !moving_)
    return KnownLeaf{before->second, false};
  return std::nullopt;
}

LeafOfRail ReadLeaves(const std::string& path) {
  LeafOfRail leaves;
  const auto document = ReadJsonFile(path);
  if (!document || !document->is_object()) return leaves;
  for (const auto& [rail, value] : document->items()) {
    JsonErrors errors;
    JsonObject object(value, rail, errors);
    const auto asn = static_cast<uint32_t>(object.Uint("asn", 1, UINT32_MAX));
    const auto router_id = IpAddress::Parse(object.String("router_id"));
    std::string name = object.StringOr("name", "");
    if (errors.empty() && router_id) leaves[rail] = {asn, *router_id, std::move(name)};
  }
  return leaves;
}

Status WriteLeaves(const std::string& path, const LeafOfRail& leaves) {
  nlohmann::json document = nlohmann::json::object();
  for (const auto& [rail, leaf] : leaves)
    document[rail] = {{"asn", leaf.asn}, {"router_id", leaf.router_id.ToString()}, {"name", leaf.name}};
  RAIL_TRY_AS(WriteWhole(path, DumpJson(document) + "\n", 0600), "keep the leaves of the rails");
  return {};
}

}  // namespace rail::engine
