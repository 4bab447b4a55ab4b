// Finds a virtual function by its PCI address: its PF, and its names everywhere.
//
// Use:      Lookup lookup(Sysfs("/sys"), netlink::KernelDevlink::Open);
//           RAIL_ASSIGN(Vf vf, lookup.FindVf("0000:3b:00.2"));
//           RAIL_ASSIGN(std::string representor, lookup.FindRepresentor(vf));
//           RAIL_ASSIGN(auto pfs, lookup.FindPfs("ens1f0np0"));    // pfs[0].device == vf.pf.device: its PF
// Threads:  one at a time
// Owns:     a devlink connection, opened at first use
// Source:   README.md of this folder (where each answer is found, and in which order it is looked for)
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/pci_address.h"
#include "lib/netlink/devlink.h"
#include "lib/sriov/sysfs.h"

namespace rail::sriov {

struct Pf {
  std::string address;  // "0000:3b:00.0": its device on its bus
  std::string netdev;   // the uplink
  std::string path;     // its folder under the root of Sysfs, by the path that led to it
  std::string device;   // its folder without symbolic links: the same whatever path led to it
  netlink::DevlinkHandle handle;
};

struct Vf {
  std::string address;  // "0000:3b:00.2"
  uint32_t index = 0;   // among the VFs of its PF
  Pf pf;
  std::string driver;  // "mlx5_core"; "" none
  std::string netdev;  // "" none in this namespace
  std::string rdma;    // "mlx5_4"; "" none in this namespace
};

// Whether the driver gives the device to a program or a virtual machine. The device then has no network interface.
bool IsUserspaceDriver(std::string_view driver);

class Lookup {
 public:
  using OpenDevlink = std::function<Result<std::unique_ptr<netlink::Devlink>>()>;
  Lookup(Sysfs sysfs, OpenDevlink open_devlink)
      : sysfs_(std::move(sysfs)), open_devlink_(std::move(open_devlink)) {}

  // Errors: kNotFound no such device; kInvalid it is not a virtual function.
  Result<Vf> FindVf(const std::string& address) const;
  // The VF's representor in the NIC's switch. "": the kernel does not show one, because the NIC is not in switchdev mode.
  // Errors: kBusy more than one fits; of devlink.
  Result<std::string> FindRepresentor(const Vf& vf);
  // The index of the VF's port in the NIC's switch, as devlink counts. Nothing: devlink does not know it.
  // Errors: as FindRepresentor.
  Result<std::optional<uint32_t>> FindPort(const Vf& vf);
  // The PFs behind a link: one, or those of a bond. Errors: kNotFound there is no such link, or no device behind it.
  Result<std::vector<Pf>> FindPfs(const std::string& netdev) const;
  // The uplink of the PF with this PCI address. Errors: kInvalid it is no PCI address, or of a virtual function; kNotFound no such
  // device, or it has no link, because it has no driver; kBusy it has several, none of them named as an uplink.
  Result<std::string> FindUplink(const std::string& address) const;
  // Addresses of the VFs that the PF has now, ordered by index.
  std::vector<std::string> VfsOf(const Pf& pf) const;
  bool Exists(const std::string& address) const;
  bool IsVf(const std::string& address) const;
  // Whether the device is VF `index` of the PF with the address `pf`. Reads two links: cheaper than FindVf.
  bool IsVfOf(const std::string& address, const std::string& pf, uint32_t index) const;
  // The fields of Vf that change when the VF moves.
  std::string DriverOf(const std::string& address) const;
  std::string RdmaOf(const std::string& address) const;
  std::string NetdevOf(const std::string& address) const;

 private:
  Pf PfAt(std::string path) const;
  std::vector<std::pair<uint32_t, std::string>> Functions(const Pf& pf) const;
  std::string Uplink(const std::string& path) const;
  std::string PortName(const std::string& netdev) const;
  Result<std::vector<netlink::DevlinkPort>> DevlinkPorts(const Pf& pf);
  std::vector<netlink::DevlinkPort> SysfsPorts(const Vf& vf, const std::vector<std::string>& netdevs) const;
  // `only`: the PF's number, if all ports belong to one PF.
  Result<std::string> Choose(const Vf& vf, const std::vector<netlink::DevlinkPort>& ports,
                             std::optional<uint32_t> only = std::nullopt) const;

  Sysfs sysfs_;
  OpenDevlink open_devlink_;
  std::unique_ptr<netlink::Devlink> devlink_;
};

}  // namespace rail::sriov
