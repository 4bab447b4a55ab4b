#include "lib/kubernetes/labels.h"

#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"
#include "lib/base/whole_file.h"
#include "lib/tenancy/tenancy.h"

namespace rail::kubernetes {
namespace {

using nlohmann::json;

constexpr size_t kHashDigits = 10;

std::string LeafValue(const std::string& router_id) {
  return "l-" + tenancy::HashText("railcni/leaf/" + router_id).substr(0, kHashDigits);
}

Result<Labels> TextsIn(const json& object) {
  Labels labels;
  if (!object.is_object()) return Fail(Code::kInvalid, "labels that are no object");
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) return Fail(Code::kInvalid, "a label that is no text: " + key);
    labels[key] = value.get<std::string>();
  }
  return labels;
}

}  // namespace

Labels LabelsOf(const config::TopologyLabels& keys, const Place& place) {
  Labels labels;
  if (!place.unit.empty()) labels[keys.unit] = place.unit;
  for (const auto& [rail, router_id] : place.leaves) labels[keys.leaf + rail] = LeafValue(router_id);
  if (keys.tier.empty() || place.unit.empty() || place.leaves.empty()) return labels;
  labels[keys.tier + "0"] = LeafValue(place.leaves.begin()->second);
  labels[keys.tier + "1"] = place.unit;
  return labels;
}

Request NodeRequest(const std::string& node) {
  return {.path = "/api/v1/nodes/" + node,
          .accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"};
}

Result<Labels> ReadLabels(std::string_view node) {
  RAIL_ASSIGN_AS(const json object, ParseJson(node, {.max_bytes = size_t{4} << 20}), "the Node object");
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object())
    return Fail(Code::kInvalid, "a Node without metadata");
  const auto labels = metadata->find("labels");
  if (labels == metadata->end() || labels->is_null()) return Labels();
  return TextsIn(*labels);
}

LabelChange ChangeLabels(const std::string& node, const OurLabels& ours, const Labels& wanted,
                         const Labels& there, const std::string& tier) {
  LabelChange change{.before = ours};
  json changes = json::object();
  for (const auto& [key, value] : wanted) {
    const auto now = there.find(key);
    const auto before = ours.find(key);
    const bool mine = now == there.end() || (before != ours.end() && before->second.contains(now->second));
    if (!mine && !tier.empty() && key.starts_with(tier)) continue;
    change.before[key].insert(value);
    change.ours[key] = {value};
    if (now == there.end() || now->second != value) changes[key] = value;
  }
  for (const auto& [key, values] : ours) {
    const auto now = there.find(key);
    if (!wanted.contains(key) && now != there.end() && values.contains(now->second)) changes[key] = nullptr;
  }
  if (changes.empty()) return change;
  change.request = Request{.method = "PATCH",
                           .path = "/api/v1/nodes/" + node,
                           .body = DumpJson({{"metadata", {{"labels", std::move(changes)}}}}),
                           .content_type = "application/merge-patch+json"};
  return change;
}

OurLabels ReadOurLabels(const std::string& path) {
  const auto document = ReadJsonFile(path);
  if (!document || !document->is_object()) return {};
  OurLabels labels;
  for (const auto& [key, value] : document->items()) {
    for (const json& each : value.is_array() ? value : json::array({value})) {
      if (!each.is_string()) return {};
      labels[key].insert(each.get<std::string>());
    }
  }
  return labels;
}

Status WriteOurLabels(const std::string& path, const OurLabels& labels) {
  json document = json::object();
  for (const auto& [key, values] : labels) {
    if (values.size() == 1) {
      document[key] = *values.begin();
    } else {
      document[key] = values;
    }
  }
  RAIL_TRY_AS(WriteWhole(path, DumpJson(document) + "\n", 0600), "keep the labels that raild writes");
  return {};
}

}  // namespace rail::kubernetes
