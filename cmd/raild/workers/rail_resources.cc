#include "cmd/raild/workers/rail_resources.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/strict_json.h"
#include "lib/base/text.h"
#include "lib/base/utf8.h"
#include "lib/inspect/hardware.h"

namespace rail::raild {
namespace {

// The longest text of an attribute (resource/v1, DeviceAttributeMaxValueLength).
constexpr size_t kLongestText = 64;
// Of a claim's parameters.
constexpr const char* kConfigVersion = "rail.railcni.io/v1alpha1";
constexpr const char* kConfigKind = "RailConfig";

class Attributes {
 public:
  explicit Attributes(kubernetes::Device& device) : all_(device.attributes) {}
  // What is not known is not said.
  void Text(const std::string& name, const std::string& value) {
    if (!value.empty() && value.size() <= kLongestText) all_[name] = value;
  }
  void Number(const std::string& name, std::optional<int64_t> value) {
    if (value) all_[name] = *value;
  }

 private:
  std::map<std::string, kubernetes::Attribute>& all_;
};

void AddPlace(Attributes& attributes, const pcie::Path& path) {
  attributes.Text("resource.kubernetes.io/pciBusID", path.address);
  attributes.Text("resource.kubernetes.io/pcieRoot", path.root);
  if (path.numa_node) attributes.Number("resource.kubernetes.io/numaNode", *path.numa_node);
  // Two devices are below one switch when they have a bridge in common, and then the first one.
  if (!path.bridges.empty()) attributes.Text("pcieSwitch", path.bridges.front());
}

}  // namespace

Result<kubernetes::Device> ResourceOf(const kubelet::Device& device, const engine::RailView& rail,
                                      const std::string& resource, const std::string& unit,
                                      const sriov::Sysfs& sysfs) {
  kubernetes::Device shown;
  RAIL_ASSIGN(shown.name, kubernetes::DeviceNameOf(device.id));
  Attributes attributes(shown);
  attributes.Text("k8s.cni.cncf.io/deviceID", device.id);
  attributes.Text("k8s.cni.cncf.io/resourceName", resource);
  attributes.Text("rail", rail.rail.name);
  attributes.Number("railNumber", rail.rail.number());
  if (rail.rail.place.rail) attributes.Number("plane", rail.rail.place.plane);
  attributes.Text("su", unit);
  if (rail.leaf) attributes.Text("leaf", rail.leaf->leaf.router_id.ToString());
  attributes.Number("mtu", rail.rail.mtu);
  if (const auto speed = sysfs.ReadNumber("class/net/" + rail.rail.pf + "/speed")) {
    attributes.Number("speed", *speed);
    shown.capacity["bandwidth"] = std::to_string(*speed) + "M";  // of the one pod that has it
  }
  const auto path = pcie::PathOf(sysfs, device.id);
  if (path) AddPlace(attributes, *path);
  attributes.Text("rdmaDevice", Join(sysfs.List("bus/pci/devices/" + device.id + "/infiniband"), ","));
  shown.attributes["offload"] = path.has_value();
  if (!device.healthy) shown.taints.push_back({.key = kUnhealthy, .value = "", .effect = "NoSchedule"});
  return shown;
}

Result<bool> WantsLibraries(const std::vector<kubernetes::ClaimConfig>& configs, const std::string& request) {
  bool wants = true;
  const auto is_it = [&](const std::string& each) {
    return request == each || request.starts_with(each + "/");
  };
  for (const kubernetes::ClaimConfig& config : configs) {
    if (!config.requests.empty() && std::ranges::none_of(config.requests, is_it)) continue;
    RAIL_ASSIGN(const nlohmann::json parameters, ParseJson(config.parameters));
    JsonErrors errors;
    JsonObject object(parameters, "parameters", errors);
    for (const auto& [key, only] :
         {std::pair("apiVersion", kConfigVersion), std::pair("kind", kConfigKind)}) {
      if (object.String(key) != only) errors.Add(object.PathOf(key), std::string("must be ") + only);
    }
    wants = object.BoolOr("libraries", wants);
    object.RejectUnknown();
    RAIL_TRY(
        errors.ToStatus(std::string("the configuration for ") + kDriver + " in a DeviceClass or the claim"));
  }
  return wants;
}

void SetOtherOwners(v1::Rail& rail, const std::vector<std::string>& ids,
                    const kubernetes::OtherOwners& others) {
  rail.clear_other_owners();
  for (const auto& [driver, addresses] : others) {
    v1::OtherOwner owner;
    for (const std::string& address : addresses) {
      if (std::ranges::count(ids, address) != 0) owner.add_devices(address);
    }
    owner.set_driver(ValidUtf8(driver));
    if (owner.devices_size() != 0) *rail.add_other_owners() = std::move(owner);
  }
}

std::vector<IpPrefix> PrefixesOf(const state::Attachment& attachment) {
  std::vector<IpPrefix> prefixes;
  for (const IpAddress& address : attachment.addresses) prefixes.push_back({address, address.bits()});
  return prefixes;
}

kubernetes::DeviceStatus StatusOf(const state::Attachment& attachment, const std::string& node,
                                  const std::string& device) {
  return {.pool = node,
          .device = device,
          .ready = true,
          .message = attachment.Owner() + " on " + attachment.rail,
          .since_ms = attachment.created_ms,
          .link = attachment.key.ifname,
          .addresses = PrefixesOf(attachment),
          .mac = attachment.mac};
}

}  // namespace rail::raild
