#include "lib/sriov/lookup.h"

#include <algorithm>
#include <filesystem>

#include "lib/base/parse.h"
#include "lib/base/text.h"
#include "lib/sriov/port_name.h"

namespace rail::sriov {
namespace {

using netlink::DevlinkPort;

constexpr std::string_view kVirtfn = "virtfn";
constexpr std::string_view kLower = "lower_";

std::string PciPath(const std::string& address) {
  return "bus/pci/devices/" + address;
}
std::string NetPath(const std::string& netdev) {
  return "class/net/" + netdev;
}

// The last number of a PCI address: 1 of 0000:3b:00.1.
std::optional<uint32_t> PciFunction(const std::string& address) {
  const auto parsed = PciAddress::Parse(address);
  return parsed ? std::optional<uint32_t>(parsed->function) : std::nullopt;
}

// Whether two folders of devices are functions of one card: .../0000:3b:00.0 and .../0000:3b:00.1.
bool SameCard(const std::string& one, const std::string& other) {
  return one.substr(0, one.rfind('.')) == other.substr(0, other.rfind('.'));
}

// The PF's number if all ports of this host belong to one PF.
std::optional<uint32_t> OnlyPf(const std::vector<DevlinkPort>& ports) {
  std::optional<uint32_t> only;
  for (const DevlinkPort& port : ports) {
    if (port.controller != 0) continue;
    if (only && *only != port.pf) return std::nullopt;
    only = port.pf;
  }
  return only;
}

std::string FirstOf(const std::vector<std::string>& names) {
  return names.empty() ? "" : names.front();
}

}  // namespace

bool IsUserspaceDriver(std::string_view driver) {
  return driver == "vfio-pci" || driver == "mlx5_vfio_pci" || driver == "uio_pci_generic" ||
         driver == "igb_uio";
}

bool Lookup::Exists(const std::string& address) const {
  return sysfs_.Exists(PciPath(address));
}
bool Lookup::IsVf(const std::string& address) const {
  return sysfs_.Exists(PciPath(address) + "/physfn");
}
bool Lookup::IsVfOf(const std::string& address, const std::string& pf, uint32_t index) const {
  const std::string physfn = PciPath(address) + "/physfn";
  return sysfs_.Target(physfn) == pf &&
         sysfs_.Target(physfn + "/" + std::string(kVirtfn) + std::to_string(index)) == address;
}
std::string Lookup::DriverOf(const std::string& address) const {
  return sysfs_.Target(PciPath(address) + "/driver").value_or("");
}
std::string Lookup::RdmaOf(const std::string& address) const {
  return FirstOf(sysfs_.List(PciPath(address) + "/infiniband"));
}
std::string Lookup::NetdevOf(const std::string& address) const {
  return FirstOf(sysfs_.List(PciPath(address) + "/net"));
}

std::string Lookup::PortName(const std::string& netdev) const {
  return sysfs_.Read(NetPath(netdev) + "/phys_port_name").value_or("");
}

// A PF's folder contains its representors, too, so the port's name tells which link is the uplink. A NIC without switchdev mode
// gives its ports no names.
std::string Lookup::Uplink(const std::string& path) const {
  std::string nameless;
  for (const std::string& netdev : sysfs_.List(path + "/net")) {
    const std::string port = PortName(netdev);
    if (ParseUplinkPortName(port)) return netdev;
    if (nameless.empty() && !IsFunctionPortName(port)) nameless = netdev;
  }
  return nameless;
}

Pf Lookup::PfAt(std::string path) const {
  Pf pf;
  pf.device = sysfs_.Real(path).value_or("");
  pf.address = std::filesystem::path(pf.device).filename().string();
  pf.handle = {sysfs_.Target(path + "/subsystem").value_or("pci"), pf.address};
  pf.netdev = Uplink(path);
  pf.path = std::move(path);
  return pf;
}

Result<std::vector<Pf>> Lookup::FindPfs(const std::string& netdev) const {
  std::vector<std::string> links{netdev};
  const bool bond = sysfs_.Exists(NetPath(netdev) + "/bonding");
  for (const std::string& entry : sysfs_.List(NetPath(netdev))) {
    if (bond && entry.starts_with(kLower)) links.push_back(entry.substr(kLower.size()));
  }
  std::vector<Pf> pfs;
  for (const std::string& link : links) {
    if (!sysfs_.Exists(NetPath(link) + "/device")) continue;
    Pf pf = PfAt(NetPath(link) + "/device");
    pf.netdev = link;
    // The link may disappear and return while its device is being set up; the device's own folder stays.
    const std::string lasting = "bus/" + pf.handle.bus + "/devices/" + pf.address;
    if (sysfs_.Exists(lasting)) pf.path = lasting;
    pfs.push_back(std::move(pf));
  }
  if (pfs.empty()) return Fail(Code::kNotFound, "there is no link " + netdev + " with a device behind it");
  return pfs;
}

Result<std::string> Lookup::FindUplink(const std::string& address) const {
  const std::string doing = "look for the uplink of " + address.substr(0, 64);
  if (!IsPciAddress(address)) return Fail(Code::kInvalid, doing + ": it is no PCI address like 0000:3b:00.0");
  const std::string path = PciPath(address);
  if (!sysfs_.Exists(path)) return Fail(Code::kNotFound, doing + ": this node has no such device");
  if (sysfs_.Exists(path + "/physfn")) {
    return Fail(Code::kInvalid, doing + ": it is a virtual function of " +
                                    sysfs_.Target(path + "/physfn").value_or("another device") +
                                    ", and an uplink is a physical one");
  }
  std::vector<std::string> links;
  for (const std::string& netdev : sysfs_.List(path + "/net")) {
    const std::string port = PortName(netdev);
    if (ParseUplinkPortName(port)) return netdev;
    if (!IsFunctionPortName(port)) links.push_back(netdev);
  }
  if (links.size() == 1) return links.front();
  if (links.empty()) {
    return Fail(Code::kNotFound, doing + ": the device has no link; its driver is " +
                                     sysfs_.Target(path + "/driver").value_or("missing"));
  }
  std::string all = Join(links, ", ");
  return Fail(Code::kBusy,
              doing + ": the device has several links (" + all + "); write the name of one of them");
}

// The number N and the target of every virtfnN. While VFs are added or removed, numbers may be missing.
std::vector<std::pair<uint32_t, std::string>> Lookup::Functions(const Pf& pf) const {
  std::vector<std::pair<uint32_t, std::string>> found;
  for (const std::string& entry : sysfs_.List(pf.path)) {
    if (!entry.starts_with(kVirtfn)) continue;
    const auto index = Number<uint32_t>(std::string_view(entry).substr(kVirtfn.size()));
    auto address = sysfs_.Target(pf.path + "/" + entry);
    if (index && address) found.emplace_back(*index, std::move(*address));
  }
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> Lookup::VfsOf(const Pf& pf) const {
  std::vector<std::string> addresses;
  for (auto& [index, address] : Functions(pf)) addresses.push_back(address);
  return addresses;
}

Result<Vf> Lookup::FindVf(const std::string& address) const {
  const std::string doing = "look for virtual function " + address.substr(0, 64);
  if (!IsPciAddress(address)) return Fail(Code::kInvalid, doing + ": it is no PCI address like 0000:3b:00.2");
  if (!Exists(address)) return Fail(Code::kNotFound, doing + ": there is no such device");
  const std::string path = PciPath(address) + "/physfn";
  if (!IsVf(address)) {
    return Fail(Code::kInvalid, doing + ": the device is not a virtual function of another one");
  }
  Vf vf;
  vf.address = address;
  vf.pf = PfAt(path);
  const auto functions = Functions(vf.pf);
  const auto place = std::ranges::find(functions, address, &std::pair<uint32_t, std::string>::second);
  if (place == functions.end()) {
    return Fail(Code::kNotFound, doing + ": " + vf.pf.address + " does not list it among its functions");
  }
  vf.index = place->first;
  vf.driver = DriverOf(address);
  vf.netdev = NetdevOf(address);
  vf.rdma = RdmaOf(address);
  return vf;
}

Result<std::string> Lookup::FindRepresentor(const Vf& vf) {
  RAIL_ASSIGN(const std::vector<DevlinkPort> ports, DevlinkPorts(vf.pf));
  RAIL_ASSIGN(std::string netdev, Choose(vf, ports, OnlyPf(ports)));
  if (!netdev.empty()) return netdev;
  RAIL_ASSIGN(netdev, Choose(vf, SysfsPorts(vf, sysfs_.List(vf.pf.path + "/net"))));
  if (!netdev.empty()) return netdev;
  // In a VF LAG the representors of both PFs may be in the folder of one of them.
  return Choose(vf, SysfsPorts(vf, sysfs_.List("class/net")));
}

Result<std::optional<uint32_t>> Lookup::FindPort(const Vf& vf) {
  RAIL_ASSIGN(const std::vector<DevlinkPort> ports, DevlinkPorts(vf.pf));
  RAIL_ASSIGN(const std::string netdev, Choose(vf, ports, OnlyPf(ports)));
  const auto it = std::ranges::find(ports, netdev, &DevlinkPort::netdev);
  return it == ports.end() ? std::nullopt : std::optional(it->index);
}

Result<std::vector<DevlinkPort>> Lookup::DevlinkPorts(const Pf& pf) {
  if (!devlink_) {
    auto devlink = open_devlink_();
    if (!devlink && devlink.error().code == Code::kUnsupported) return std::vector<DevlinkPort>();
    if (!devlink) return tl::make_unexpected(devlink.error());
    devlink_ = std::move(*devlink);
  }
  auto ports = devlink_->ListPorts(pf.handle);
  if (!ports && ports.error().code == Code::kUnsupported) return std::vector<DevlinkPort>();
  if (ports) {
    std::erase_if(*ports, [](const DevlinkPort& port) {
      return port.flavour != DevlinkPort::Flavour::kPciVf || port.netdev.empty();
    });
  }
  return ports;
}

std::vector<DevlinkPort> Lookup::SysfsPorts(const Vf& vf, const std::vector<std::string>& netdevs) const {
  const auto switch_id = [&](const std::string& netdev) {
    return sysfs_.Read(NetPath(netdev) + "/phys_switch_id").value_or("");
  };
  std::vector<DevlinkPort> ports;
  const std::string ours = switch_id(vf.pf.netdev);
  if (ours.empty()) return ports;
  for (const std::string& netdev : netdevs) {
    const auto port = ParseVfPortName(PortName(netdev));
    if (!port || switch_id(netdev) != ours) continue;
    const auto parent = sysfs_.Real(NetPath(netdev) + "/device");
    if (!parent || !SameCard(*parent, vf.pf.device)) continue;
    ports.push_back({.flavour = DevlinkPort::Flavour::kPciVf,
                     .controller = port->controller,
                     .pf = static_cast<uint16_t>(port->pf),
                     .vf = static_cast<uint16_t>(port->vf),
                     .netdev = netdev});
  }
  return ports;
}

// Finds the port of `vf` among those of its switch. Two PFs may share a switch, so the PF's number counts, too. It is the number of
// the PCI function (mlx5, ice) or of the uplink port; or `only`, if devlink lists the ports of one PF only (netdevsim).
Result<std::string> Lookup::Choose(const Vf& vf, const std::vector<DevlinkPort>& ports,
                                   std::optional<uint32_t> only) const {
  for (const auto number : {PciFunction(vf.pf.address), ParseUplinkPortName(PortName(vf.pf.netdev)), only}) {
    std::vector<std::string> fitting;
    for (const DevlinkPort& port : ports) {
      if (port.controller == 0 && port.vf == vf.index && port.pf == number) fitting.push_back(port.netdev);
    }
    if (fitting.size() > 1) {
      return Fail(Code::kBusy, fitting[0] + " and " + fitting[1] + " both stand for VF " +
                                   std::to_string(vf.index) + " of " + vf.pf.address +
                                   "; name the representor in node.json under rails[].devices");
    }
    if (!fitting.empty()) return fitting.front();
  }
  return std::string();
}

}  // namespace rail::sriov
