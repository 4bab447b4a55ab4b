#include "lib/sriov/testing/machine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace rail::sriov::testing {
namespace {

namespace fs = std::filesystem;
using netlink::DevlinkPort;

// Shows what the machine has, as long as it lives.
class Ports : public netlink::Devlink {
 public:
  explicit Ports(const std::map<std::string, std::vector<DevlinkPort>>& ports) : ports_(ports) {}
  Result<std::vector<DevlinkPort>> ListPorts(const netlink::DevlinkHandle& device) override {
    const auto it = ports_.find(device.ToString());
    return it == ports_.end() ? std::vector<DevlinkPort>() : it->second;
  }
  Result<netlink::EswitchMode> GetEswitchMode(const netlink::DevlinkHandle&) override { return No(); }
  Status SetEswitchMode(const netlink::DevlinkHandle&, netlink::EswitchMode) override { return No(); }
  Result<std::string> GetParam(const netlink::DevlinkHandle&, const std::string&) override { return No(); }
  Status SetParam(const netlink::DevlinkHandle&, const std::string&, const std::string&) override {
    return No();
  }

 private:
  static tl::unexpected<Error> No() { return Fail(Code::kUnsupported, "a recorded machine"); }
  const std::map<std::string, std::vector<DevlinkPort>>& ports_;
};

}  // namespace

std::string DevicePath(const std::string& address) {
  return "devices/pci0000:00/" + address;
}

Machine::Machine() {
  std::string pattern = (fs::temp_directory_path() / "railcni-sysfs-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    std::perror("make a folder for a test");
    std::abort();
  }
  root_ = pattern;
}

Machine::~Machine() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

void Machine::Write(const std::string& path, const std::string& text) const {
  fs::create_directories(fs::path(root_ + "/" + path).parent_path());
  std::ofstream(root_ + "/" + path) << text << "\n";
}

void Machine::Link(const std::string& path, const std::string& target_under_root) const {
  fs::path at = root_ + "/" + path;
  fs::create_directories(at.parent_path());
  at = fs::canonical(at.parent_path()) / at.filename();  // a folder that is a link itself
  std::error_code absent;
  fs::remove(at, absent);
  fs::create_symlink((fs::canonical(root_) / target_under_root).lexically_relative(at.parent_path()), at);
}

void Machine::Remove(const std::string& path) const {
  fs::remove_all(root_ + "/" + path);
}

void Machine::AddNetdev(const std::string& name, const std::string& device_path) const {
  const std::string path = device_path + "/net/" + name;
  Write(path + "/uevent", "INTERFACE=" + name);
  Link(path + "/device", device_path);
  Link("class/net/" + name, path);
}

void Machine::RemoveNetdev(const std::string& name) const {
  const fs::path entry = root_ + "/class/net/" + name;
  fs::remove_all(fs::canonical(entry));
  fs::remove(entry);
}

void Machine::Unreadable(const std::string& path) const {
  fs::create_directories(root_ + "/" + path);  // reading a folder fails, whoever reads
}

std::string Machine::VfAddress(const PfSpec& spec, uint32_t index) {
  const uint32_t function = spec.first_function + index;
  char text[32];
  std::snprintf(text, sizeof text, "%s%02x.%u", spec.vf_bus.substr(0, spec.vf_bus.rfind(':') + 1).c_str(),
                function / 8, function % 8);
  return text;
}

void Machine::AddPf(const PfSpec& spec) {
  const std::string pf = DevicePath(spec.address);
  Link("bus/pci/devices/" + spec.address, pf);
  Write("bus/pci/uevent", "");
  Write("bus/pci/drivers/mlx5_core/uevent", "");
  Write("bus/pci/drivers/mlx5_core/unbind", "");
  Write("bus/pci/drivers_probe", "");
  Write(pf + "/sriov_drivers_autoprobe", "1");
  Write(pf + "/sriov_totalvfs", "127");
  Write(pf + "/sriov_numvfs", std::to_string(spec.vfs));
  Link(pf + "/subsystem", "bus/pci");
  AddNetdev(spec.netdev, pf);
  const std::string uplink = "class/net/" + spec.netdev;
  if (spec.switch_id.empty()) {
    Unreadable(uplink + "/phys_switch_id");
    Unreadable(uplink + "/phys_port_name");
  } else {
    Write(uplink + "/phys_switch_id", spec.switch_id);
    Write(uplink + "/phys_port_name", "p" + std::to_string(spec.port));
  }
  for (uint32_t i = 0; i < spec.vfs; ++i) {
    const std::string address = VfAddress(spec, i);
    const std::string vf = DevicePath(address);
    Link("bus/pci/devices/" + address, vf);
    Link(vf + "/physfn", pf);
    Link(vf + "/subsystem", "bus/pci");
    Link(vf + "/driver", "bus/pci/drivers/mlx5_core");
    Link(pf + "/virtfn" + std::to_string(i), vf);
    const std::string netdev = spec.netdev.substr(0, 8) + "v" + std::to_string(i);
    AddNetdev(netdev, vf);
    Unreadable("class/net/" + netdev + "/phys_port_name");
    Unreadable("class/net/" + netdev + "/phys_switch_id");
    Write(vf + "/infiniband/mlx5_" + netdev + "/node_guid", "");
    if (spec.switch_id.empty()) continue;

    const std::string prefix = spec.representor_prefix.empty() ? spec.netdev + "_" : spec.representor_prefix;
    const std::string representor = prefix + std::to_string(i);
    AddNetdev(representor, spec.representors_under.empty() ? pf : DevicePath(spec.representors_under));
    Write("class/net/" + representor + "/phys_switch_id", spec.switch_id);
    Write("class/net/" + representor + "/phys_port_name",
          spec.controller + "pf" + std::to_string(spec.pf_number) + "vf" + std::to_string(i));
    if (!spec.in_devlink) continue;
    ports_["pci/" + spec.address].push_back(
        {.index = kFirstVfPort + i,
         .flavour = DevlinkPort::Flavour::kPciVf,
         .controller = spec.controller.empty() || spec.controller == "c0" ? 0U : 1U,
         .pf = static_cast<uint16_t>(spec.pf_number),
         .vf = static_cast<uint16_t>(i),
         .netdev = representor});
  }
}

Lookup::OpenDevlink Machine::OpenDevlink() {
  return [this]() -> Result<std::unique_ptr<netlink::Devlink>> { return std::make_unique<Ports>(ports_); };
}

}  // namespace rail::sriov::testing
