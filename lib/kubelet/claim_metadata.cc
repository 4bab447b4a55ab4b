#include "lib/kubelet/claim_metadata.h"

#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lib/base/file_lock.h"
#include "lib/base/strict_json.h"
#include "lib/base/whole_file.h"
#include "lib/kubelet/cdi.h"

namespace rail::kubelet {
namespace {

using nlohmann::json;

json ToJson(const std::string& driver, const DescribedDevice& described) {
  json device = {{"driver", driver}, {"pool", described.device.pool}, {"name", described.device.device}};
  for (const auto& [name, value] : described.attributes) {
    json& attribute = device["attributes"][name];
    if (const auto* flag = std::get_if<bool>(&value)) attribute["bool"] = *flag;
    if (const auto* number = std::get_if<int64_t>(&value)) attribute["int"] = *number;
    if (const auto* text = std::get_if<std::string>(&value)) attribute["string"] = *text;
    if (const auto* version = std::get_if<SemanticVersion>(&value)) attribute["version"] = version->text;
  }
  if (described.network) {
    json& network = device["networkData"];
    network = {{"interfaceName", described.network->interface},
               {"hardwareAddress", described.network->mac.ToString()}};
    for (const IpPrefix& each : described.network->ips) network["ips"].push_back(each.ToString());
  }
  return device;
}

}  // namespace

Result<Mount> MetadataMount(const std::string& folder, const DescribedClaim& claim,
                            const std::string& request) {
  const bool by_template = !claim.claim.pod_claim.empty();
  const std::string& name = by_template ? claim.claim.pod_claim : claim.claim.name;
  if (!IsName(name, "-.") || !IsName(claim.driver, "-.") || !IsName(request, "-/"))
    return Fail(Code::kInvalid, "mount the metadata of request \"" + request + "\" of claim \"" + name +
                                    "\" of driver \"" + claim.driver + "\": a name cannot be part of a path");
  const std::string below = "/" + request.substr(0, request.find('/'));  // subrequests are not part of it
  return Mount{.container_path = "/var/run/kubernetes.io/dra-device-attributes/" +
                                 std::string(by_template ? "resourceclaimtemplates/" : "resourceclaims/") +
                                 name + below,
               .host_path = folder + below};
}

Status WriteMetadata(const std::string& folder, const DescribedClaim& claim, const std::string& request,
                     const std::vector<DescribedDevice>& devices, Deadline until) {
  const std::string doing = "write the metadata of request " + request + " of claim " + claim.claim.name;
  RAIL_ASSIGN_AS(const Mount mount, MetadataMount(folder, claim, request), doing);
  RAIL_ASSIGN_AS(const FileLock lock, FileLock::Wait(folder + "/.lock", FileLock::Kind::kAlone, until),
                 doing);
  const char* below = mount.host_path.c_str();  // in a folder that is there: Unprepare may have removed it
  if ((::mkdir(below, 0755) != 0 && errno != EEXIST) || ::chmod(below, 0755) != 0)
    return FailErrno(errno, doing + ": make the folder " + below);
  json described = json::array();
  for (const DescribedDevice& each : devices) described.push_back(ToJson(claim.driver, each));
  json document = {
      {"kind", "DeviceMetadata"},
      {"metadata",
       {{"name", claim.claim.name}, {"namespace", claim.claim.pod_namespace}, {"uid", claim.claim.uid}}},
      {"requests", json::array({{{"name", request}, {"devices", std::move(described)}}})}};
  if (!claim.claim.pod_claim.empty()) document["podClaimName"] = claim.claim.pod_claim;

  const auto text_of = [&](uint64_t generation) {
    document["metadata"]["generation"] = generation;
    std::string text;
    for (const char* version : {"v1beta1", "v1alpha1"}) {  // readers take the first that they know
      document["apiVersion"] = std::string("metadata.resource.k8s.io/") + version;
      text += DumpJson(document) + "\n";
    }
    return text;
  };
  const std::string path = mount.host_path + "/" + claim.driver + "-metadata.json";
  std::string text;
  std::getline(std::ifstream(path), text, '\0');
  const auto before = ParseJson(text.substr(0, text.find('\n')));
  const json::json_pointer at("/metadata/generation");
  const bool has_one = before && before->contains(at) && before->at(at).is_number_unsigned();
  const uint64_t last = has_one ? before->at(at).get<uint64_t>() : 0;
  if (text_of(last) == text) return {};
  RAIL_TRY_AS(WriteWhole(path, text_of(last + 1), 0644), doing);
  return {};
}

}  // namespace rail::kubelet
