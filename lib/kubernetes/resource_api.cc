#include "lib/kubernetes/resource_api.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/strict_json.h"

namespace rail::kubernetes {

using nlohmann::json;

Result<ResourceApi> FindResourceApi(Client& client, Deadline until) {
  const std::string doing = "find resource.k8s.io";
  const auto group = AskFor(client, {.path = "/apis/resource.k8s.io"}, doing, until);
  if (!group && group.error().code != Code::kNotFound) return tl::make_unexpected(group.error());
  for (const char* version : {"v1", "v1beta2", "v1beta1"}) {
    for (const json& each : group ? At(*group, {"versions"}) : json()) {
      if (TextAt(each, {"version"}) == version) return ResourceApi{.client = &client, .version = version};
    }
  }
  return Fail(Code::kUnsupported,
              doing +
                  ": the API server has neither v1 (from Kubernetes 1.34 on) nor v1beta2 or "
                  "v1beta1 (from 1.32 on, where --runtime-config switches it on)");
}

Result<json> AskFor(Client& client, Request request, const std::string& doing, Deadline until) {
  const Clock::duration left = until - Clock::now();
  if (left <= Clock::duration{}) return Fail(Code::kTransient, doing + ": no time is left for it");
  request.limit = std::min(request.limit, left);
  RAIL_ASSIGN_AS(const Answer answer, client.Ask(request), doing);
  if (!answer.ok()) {
    Error error = Wrap(ErrorOf(answer), doing);
    if (answer.status == 409 || answer.status == 410) error.code = Code::kBusy;
    return tl::make_unexpected(std::move(error));
  }
  RAIL_ASSIGN_AS(json object, ParseJson(answer.body, {.max_bytes = size_t{16} << 20}), doing);
  if (!object.is_object()) return Fail(Code::kInvalid, doing + ": the API server's answer is no object");
  return object;
}

json ToServer(const ResourceApi& api, json slice) {
  slice.update({{"apiVersion", api.Name()}, {"kind", "ResourceSlice"}});
  if (api.version != "v1beta1") return slice;
  for (json& device : slice["spec"]["devices"]) {
    json basic = device;
    basic.erase("name");
    device = {{"name", device["name"]}, {"basic", std::move(basic)}};
  }
  return slice;
}

const json& ContentsOf(const json& device) {
  const json& basic = At(device, {"basic"});
  return basic.is_null() ? device : basic;
}

const json& At(const json& value, const std::vector<const char*>& keys) {
  static const json kNothing;
  const json* at = &value;
  for (const char* key : keys) {
    const auto found = at->find(key);  // end() of what is no object
    if (found == at->end()) return kNothing;
    at = &*found;
  }
  return *at;
}

std::string TextAt(const json& value, const std::vector<const char*>& keys) {
  const json& at = At(value, keys);
  return at.is_string() ? at.get<std::string>() : "";
}

}  // namespace rail::kubernetes
