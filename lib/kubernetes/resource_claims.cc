#include "lib/kubernetes/resource_claims.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/strict_json.h"
#include "lib/base/utf8.h"
#include "lib/config/values.h"
#include "lib/kubernetes/report.h"

namespace rail::kubernetes {
namespace {

using nlohmann::json;

// Of what controllers of claim templates write (kubernetes, pkg/controller/resourceclaim).
constexpr const char* kPodClaim = "resource.kubernetes.io/pod-claim-name";

std::string WordsFor(const ClaimName& claim) {
  return "claim " + WithoutControls(claim.pod_namespace + "/" + claim.name, '?');
}

// Names become a part of a URL.
Result<std::string> PathOf(const ResourceApi& api, const ClaimName& claim) {
  const bool named = config::IsLabel(claim.pod_namespace) && config::IsDomain(claim.name);
  if (!named || !config::IsLabelValue(claim.uid))
    return Fail(Code::kInvalid, WordsFor(claim) + " is not asked for: that is no namespace, name and UID");
  return api.Path("namespaces/" + claim.pod_namespace + "/resourceclaims/" + claim.name);
}

json ToJson(const DeviceStatus& status, const std::string& driver) {
  json entry = {{"driver", driver}, {"pool", status.pool}, {"device", status.device}};
  if (!status.share_id.empty()) entry["shareID"] = status.share_id;
  entry["conditions"] = json::array({{{"type", "Ready"},
                                      {"status", status.ready ? "True" : "False"},
                                      {"reason", status.ready ? "Attached" : "NotAttached"},
                                      {"message", ValidUtf8(status.message.substr(0, 1000))},
                                      {"lastTransitionTime", TimeText(status.since_ms)}}});
  if (!status.link.empty()) entry["networkData"]["interfaceName"] = status.link;
  if (status.mac) entry["networkData"]["hardwareAddress"] = status.mac->ToString();
  for (const IpPrefix& each : status.addresses) entry["networkData"]["ips"].push_back(each.ToString());
  return entry;
}

// The allocation has those of classes before those of the claim.
std::vector<ClaimConfig> ConfigsFor(const std::string& driver, const json& allocated) {
  std::vector<ClaimConfig> configs;
  for (const json& each : allocated) {
    if (TextAt(each, {"opaque", "driver"}) != driver) continue;
    ClaimConfig& config = configs.emplace_back(
        ClaimConfig{.requests = {}, .parameters = DumpJson(At(each, {"opaque", "parameters"}))});
    for (const json& request : At(each, {"requests"})) config.requests.push_back(TextAt(request, {}));
  }
  return configs;
}

}  // namespace

Result<Claim> GetClaim(const ResourceApi& api, const ClaimName& claim, const std::string& driver,
                       Deadline until) {
  RAIL_ASSIGN(const std::string path, PathOf(api, claim));
  const std::string doing = "read " + WordsFor(claim);
  RAIL_ASSIGN(const json object, AskFor(*api.client, {.path = path}, doing, until));
  if (const std::string uid = TextAt(object, {"metadata", "uid"}); uid != claim.uid)
    return Fail(Code::kNotFound,
                doing + ": the one with UID " + claim.uid + " is deleted, and another has its name: " + uid);
  if (At(object, {"status", "allocation"}).is_null())
    return Fail(Code::kBusy, doing + ": no scheduler has allocated its devices yet, or they are taken back");
  Claim got{.pod_claim = TextAt(object, {"metadata", "annotations", kPodClaim}),
            .devices = {},
            .configs = ConfigsFor(driver, At(object, {"status", "allocation", "devices", "config"}))};
  for (const json& each : At(object, {"status", "allocation", "devices", "results"})) {
    if (TextAt(each, {"driver"}) != driver) continue;
    got.devices.push_back({.request = TextAt(each, {"request"}),
                           .pool = TextAt(each, {"pool"}),
                           .device = TextAt(each, {"device"}),
                           .share_id = TextAt(each, {"shareID"}),
                           .admin = At(each, {"adminAccess"}) == true});
    const AllocatedDevice& device = got.devices.back();
    if (device.request.empty() || device.pool.empty() || !config::IsLabel(device.device))
      return Fail(Code::kInvalid, doing + ": one of its devices has no request, pool or name");
  }
  return got;
}

Status ReportDevices(const ResourceApi& api, const ClaimName& claim, const std::string& driver,
                     const std::vector<DeviceStatus>& statuses, Deadline until) {
  RAIL_ASSIGN(const std::string path, PathOf(api, claim));
  const std::string doing = "report the devices of " + WordsFor(claim);
  json body = {{"apiVersion", api.Name()},
               {"kind", "ResourceClaim"},
               {"metadata", {{"namespace", claim.pod_namespace}, {"name", claim.name}, {"uid", claim.uid}}},
               {"status", json::object()}};
  for (const DeviceStatus& each : statuses) {
    const bool named = config::IsDomain(each.pool) && config::IsLabel(each.device);
    if (!named || !config::OrNone<config::IsLinkName>(each.link) || each.addresses.size() > 16)
      return Fail(Code::kInvalid, doing + ": '" + each.pool + "/" + each.device + "' with link '" +
                                      each.link + "': no such name, or more than 16 addresses");
    body["status"]["devices"].push_back(ToJson(each, driver));
  }
  Request request{
      .method = "PATCH", .path = path + "/status?fieldManager=railcni&force=true", .body = DumpJson(body)};
  request.content_type = "application/apply-patch+yaml";
  RAIL_ASSIGN(const json object, AskFor(*api.client, std::move(request), doing, until));
  const json& kept = At(object, {"status", "devices"});
  const auto is_ours = [&](const json& each) { return TextAt(each, {"driver"}) == driver; };
  if (std::ranges::count_if(kept, is_ours) >= std::ssize(statuses)) return {};
  return Fail(Code::kUnsupported,
              doing +
                  ": the API server keeps none (before Kubernetes 1.33, or where the feature "
                  "gate DRAResourceClaimDeviceStatus is off)");
}

}  // namespace rail::kubernetes
