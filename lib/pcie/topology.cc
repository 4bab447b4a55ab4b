#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "lib/pcie/libs.h"

namespace rail::libs {
namespace {

// Longer values NCCL refuses (MAX_STR_LEN of its src/graph/xml.h).
constexpr size_t kLongestValue = 254;

// NCCL's reader wants exactly one space before an attribute, no tab and no declaration (src/graph/xml.cc). Empty values are left out: NCCL
// reads what is absent from /sys.
std::string Attribute(const std::string& name, const std::string& value) {
  if (value.empty()) return {};
  std::string text;
  for (const char c : value.substr(0, kLongestValue)) {
    if (c != '"' && c != '<' && c != '>' && c != '&') text += c;
  }
  return " " + name + "=\"" + text + "\"";
}

class Writer {
 public:
  Writer(const Pod& pod, const Tree& tree) : pod_(pod), tree_(tree) {}

  std::string Run() {
    std::map<uint32_t, std::vector<const Device*>> by_node;  // a CPU to NCCL is a NUMA node
    for (const auto* list : {&tree_.gpus, &tree_.nics}) {
      for (const Device& device : *list) by_node[device.path.numa_node.value_or(0)].push_back(&device);
    }
    if (by_node.empty()) return {};
    text_ = "<system version=\"1\">\n";
    for (const auto& [node, devices] : by_node) {
      std::string cpumap;
      for (const auto& [id, map] : tree_.cpumaps) {
        if (id == node) cpumap = map;
      }
      text_ += "  <cpu" + Attribute("numaid", std::to_string(node)) + Attribute("affinity", cpumap) +
               Attribute("arch", tree_.cpu.arch) + Attribute("vendor", tree_.cpu.vendor) +
               Attribute("familyid", tree_.cpu.family) + Attribute("modelid", tree_.cpu.model) + ">\n";
      Below(devices, 0, 4);
      text_ += "  </cpu>\n";
    }
    return text_ + "</system>\n";
  }

 private:
  // All bridges, so that what two devices have in common is there whatever NCCL leaves out: it takes a bridge with one device below it for
  // a link.
  void Below(const std::vector<const Device*>& devices, size_t depth, size_t indent) {
    std::vector<std::string> done;
    for (const Device* device : devices) {
      const auto& bridges = device->path.bridges;
      if (depth >= bridges.size()) {
        Leaf(*device, indent);
        continue;
      }
      const std::string& bridge = bridges[depth];
      if (std::ranges::count(done, bridge) > 0) continue;
      done.push_back(bridge);
      std::vector<const Device*> inside;
      std::ranges::copy_if(devices, std::back_inserter(inside), [&](const Device* each) {
        return each->path.bridges.size() > depth && each->path.bridges[depth] == bridge;
      });
      const auto known =
          std::ranges::find(tree_.bridges, bridge, [](const Device& d) { return d.path.address; });
      text_ += std::string(indent, ' ') + "<pci" +
               (known != tree_.bridges.end() ? Of(*known) : Attribute("busid", bridge)) + ">\n";
      Below(inside, depth + 1, indent + 2);
      text_ += std::string(indent, ' ') + "</pci>\n";
    }
  }

  static std::string Of(const Device& device) {
    return Attribute("busid", device.path.address) + Attribute("class", device.facts.device_class) +
           Attribute("vendor", device.facts.vendor) + Attribute("device", device.facts.device) +
           Attribute("subsystem_vendor", device.facts.subsystem_vendor) +
           Attribute("subsystem_device", device.facts.subsystem_device) +
           Attribute("link_speed", device.path.speed) +
           Attribute("link_width", device.path.width == 0 ? "" : std::to_string(device.path.width));
  }

  void Leaf(const Device& device, size_t indent) {
    const std::string space(indent, ' ');
    const auto port = std::ranges::find(pod_.ports, device.path.address, &Port::pci_address);
    if (port == pod_.ports.end() || port->rdma.empty()) {
      text_ += space + "<pci" + Of(device) + "/>\n";
      return;
    }
    text_ += space + "<pci" + Of(device) + ">\n" + space + "  <nic>\n" + space + "    <net" +
             Attribute("name", port->rdma) + Attribute("port", std::to_string(port->port)) +
             Attribute("speed", port->speed == 0 ? "" : std::to_string(port->speed)) +
             Attribute("rail", std::to_string(port->rail_index)) +
             Attribute("plane", std::to_string(port->plane)) + "/>\n" + space + "  </nic>\n" + space +
             "</pci>\n";
  }

  const Pod& pod_;
  const Tree& tree_;
  std::string text_;
};

}  // namespace

std::string Topology(const Pod& pod, const Tree& tree) {
  return Writer(pod, tree).Run();
}

}  // namespace rail::libs
