#include "cmd/raild/workers/rail_resources.h"

#include <algorithm>

#include "lib/base/text.h"
#include "lib/inspect/hardware.h"

namespace rail::raild {
namespace {

// The longest text of an attribute (resource/v1, DeviceAttributeMaxValueLength).
constexpr size_t kLongestText = 64;

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
  if (const auto speed = sysfs.ReadNumber("class/net/" + rail.rail.pf + "/speed"))
    attributes.Number("speed", *speed);
  const auto path = pcie::PathOf(sysfs, device.id);
  if (path) AddPlace(attributes, *path);
  attributes.Text("rdmaDevice", Join(sysfs.List("bus/pci/devices/" + device.id + "/infiniband"), ","));
  shown.attributes["offload"] = path.has_value();
  if (!device.healthy) shown.taints.push_back({.key = kUnhealthy, .value = "", .effect = "NoSchedule"});
  return shown;
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
