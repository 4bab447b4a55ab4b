#include "lib/kubernetes/slice_publisher.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/strict_json.h"
#include "lib/config/values.h"
#include "lib/kubernetes/labels.h"

namespace rail::kubernetes {
namespace {

using nlohmann::json;

constexpr int kTries = 5;
constexpr const char* kPciAddress = "resource.kubernetes.io/pciBusID";

// The addresses of a slice's devices that are devices of `pool`, too.
void AddShared(const json& slice, const Pool& pool, std::vector<std::string>& shared) {
  for (const json& each : At(slice, {"spec", "devices"})) {
    const std::string address = TextAt(ContentsOf(each), {"attributes", kPciAddress, "string"});
    const bool is_ours = std::ranges::any_of(pool.devices, [&](const Device& device) {
      const auto own = device.attributes.find(kPciAddress);
      return own != device.attributes.end() && own->second == Attribute(address);
    });
    if (is_ours) shared.push_back(address);
  }
}

// Those of the pool.
Result<Slices> List(const ResourceApi& api, const Pool& pool, OtherOwners& others, Deadline until) {
  const std::string doing = "list the slices of node " + pool.node;
  const Request request{.path = api.Path("resourceslices?fieldSelector=spec.nodeName%3D" + pool.node)};
  RAIL_ASSIGN(const json list, AskFor(*api.client, request, doing, until));
  if (!At(list, {"items"}).is_array()) return Fail(Code::kInvalid, doing + ": the answer has no list");
  Slices slices;
  for (const json& item : list["items"]) {
    const std::string name = TextAt(item, {"metadata", "name"});
    if (TextAt(item, {"spec", "nodeName"}) != pool.node) continue;
    if (const std::string driver = TextAt(item, {"spec", "driver"}); driver != pool.driver) {
      AddShared(item, pool, others[driver]);
      continue;
    }
    if (!config::IsDomain(name)) return Fail(Code::kInvalid, doing + ": '" + name + "' is no slice's name");
    slices[name] = item;
  }
  std::erase_if(others, [](const auto& each) { return each.second.empty(); });
  return slices;
}

Result<json> Send(const ResourceApi& api, const std::string& method, const std::string& name,
                  const json& body, Deadline until) {
  const std::string path = api.Path("resourceslices" + (method == "POST" ? "" : "/" + name));
  return AskFor(*api.client, {.method = method, .path = path, .body = DumpJson(body)},
                method + " slice " + name, until);
}

// By which the server refuses to change another state than the one that was read.
json StateOf(const json& slice) {
  return {{"uid", TextAt(slice, {"metadata", "uid"})},
          {"resourceVersion", TextAt(slice, {"metadata", "resourceVersion"})}};
}

json WithoutTime(json taint) {
  if (taint.is_object()) taint.erase("timeAdded");
  return taint;
}

// What we say of a slice, without what the server and others add.
json Ours(const json& slice) {
  json ours;
  for (const json& each : At(slice, {"metadata", "ownerReferences"}))
    ours["owners"].push_back(At(each, {"uid"}));
  for (const char* key : {"name", "generation", "resourceSliceCount"})
    ours[key] = At(slice, {"spec", "pool", key});
  for (const json& each : At(slice, {"spec", "devices"})) {
    json& device = ours["devices"].emplace_back();
    device["name"] = At(each, {"name"});
    for (const char* key : {"attributes", "capacity"}) device[key] = At(ContentsOf(each), {key});
    for (const json& taint : At(ContentsOf(each), {"taints"})) device["taints"].push_back(WithoutTime(taint));
  }
  return ours;
}

// By their device and what they say.
std::map<json, json> TaintsOf(const json& slice) {
  std::map<json, json> taints;
  for (const json& device : At(slice, {"spec", "devices"})) {
    for (const json& taint : At(ContentsOf(device), {"taints"}))
      taints[json::array({At(device, {"name"}), WithoutTime(taint)})] = taint;
  }
  return taints;
}

// `there`: null where there is none yet. A taint that stays was added when it was added.
Status Write(ResourceApi& api, const std::string& name, json slice, const json& there, Deadline until) {
  const auto old = TaintsOf(there);
  for (json& device : slice["spec"]["devices"]) {
    if (!device.contains("taints")) continue;
    for (json& taint : device["taints"]) {
      if (const auto same = old.find(json::array({device["name"], taint})); same != old.end())
        taint = same->second;
    }
  }
  if (!there.is_null()) slice["metadata"].update(StateOf(there));
  RAIL_ASSIGN(const json stored,
              Send(api, there.is_null() ? "POST" : "PUT", name, ToServer(api, slice), until));
  if (TaintsOf(slice).empty() || !TaintsOf(stored).empty()) return {};
  api.keeps_taints = false;
  return Fail(Code::kBusy, "write slice " + name + ": the API server has left its taints away");
}

Slices Wanted(const ResourceApi& api, Pool pool, const std::string& node_uid, int64_t generation) {
  const auto matters = [](const Taint& taint) { return taint.effect != "None"; };
  const auto is_out = [&](const Device& device) { return std::ranges::any_of(device.taints, matters); };
  if (!api.keeps_taints) {
    std::erase_if(pool.devices, is_out);
    for (Device& device : pool.devices) device.taints.clear();
  }
  return SlicesOf(pool, node_uid, generation);
}

Status Once(ResourceApi& api, const Pool& pool, const std::string& node_uid, Published& done,
            Deadline until) {
  done.others.clear();
  RAIL_ASSIGN(Slices there, List(api, pool, done.others, until));
  done.generation = 1;
  for (const auto& [name, slice] : there) {
    const json& generation = At(slice, {"spec", "pool", "generation"});
    if (generation.is_number_integer())
      done.generation = std::max(done.generation, generation.get<int64_t>());
  }
  Slices differ = Wanted(api, pool, node_uid, done.generation);
  Slices rest = there;
  for (const auto& [name, slice] : differ) rest.erase(name);
  if (differ.empty()) done.generation = 0;
  std::erase_if(differ, [&](const auto& each) {
    return there.contains(each.first) && Ours(there[each.first]) == Ours(each.second);
  });
  const bool in_place = differ.size() == 1 && rest.empty() && there.contains(differ.begin()->first);
  if (!differ.empty() && !there.empty() && !in_place) differ = Wanted(api, pool, node_uid, ++done.generation);
  for (const auto& [name, slice] : differ) {
    RAIL_TRY(Write(api, name, slice, there[name], until));
    ++done.written;
  }
  for (const auto& [name, slice] : rest) {
    RAIL_TRY(Send(api, "DELETE", name, {{"preconditions", StateOf(slice)}}, until));
    ++done.removed;
  }
  return {};
}

}  // namespace

Result<Published> Publish(ResourceApi& api, const Pool& pool, Deadline until) {
  RAIL_TRY(CheckPool(pool));
  const std::string doing =
      (pool.devices.empty() ? "take back the devices of node " : "offer the devices of node ") + pool.node;
  json node;
  if (!pool.devices.empty()) {
    RAIL_ASSIGN_AS(node, AskFor(*api.client, NodeRequest(pool.node), "read it", until), doing);
  }
  Published done;
  for (int tries = 1;; ++tries) {
    const Status now = Once(api, pool, TextAt(node, {"metadata", "uid"}), done, until);
    if (now) return done;
    const bool stale = now.error().code == Code::kBusy || now.error().code == Code::kNotFound;
    if (!stale) return FailWrapped(now.error(), doing);
    if (tries == kTries)
      return FailWrapped(now.error(), doing + " (five times: does a second program offer them, too?)");
  }
}

}  // namespace rail::kubernetes
