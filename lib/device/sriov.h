// Backend `sriov`: a virtual function by its PCI address, its representor in the NIC's switch, and its RDMA device.
//
// Use:      Sriov backend(*netlink, netlink::Kernel::Open, {.sysfs = "/sys", .vfs = netlink::KernelVfs::Open, ...});
// Threads:  one at a time; called in the host's namespace
// Owns:     connections to devlink, to the PF and to RDMA, each opened at first use; the host's Netlink must outlive it
// Source:   README.md of this folder ("A virtual function"), lib/sriov
#pragma once

#include <functional>
#include <memory>

#include "lib/device/netdev.h"
#include "lib/netlink/rates.h"
#include "lib/netlink/rdma.h"
#include "lib/netlink/vf.h"
#include "lib/sriov/lookup.h"

namespace rail::device {

class Sriov : public Backend {
 public:
  // How to open each connection. All are opened in the host's namespace; `rdma` is also opened in a pod's.
  struct Connections {
    std::string sysfs = "/sys";
    sriov::Lookup::OpenDevlink devlink;
    std::function<Result<std::unique_ptr<netlink::Vfs>>()> vfs;
    std::function<Result<std::unique_ptr<netlink::Rdma>>()> rdma;
    std::function<Result<std::unique_ptr<netlink::Rates>>()> rates;  // kUnsupported: no devlink
    Netdev::OpenMonitor monitor = netlink::Monitor::Open;
  };

  Sriov(netlink::Netlink& host, Netdev::OpenNetlink open_netlink, Connections connections);

  Result<Location> Locate(const Saved& saved) override;
  Result<std::string> WhyGone(const Saved& saved) override;
  Result<Device> Find(const config::Rail& rail, const std::string& id) override;
  Status CheckRail(const config::Rail& rail, const std::string& id) override;
  Result<Saved> Save(const Device& device) override;
  Status RaiseRepresentor(const Device& device, uint32_t mtu) override {
    return netdev_.RaiseRepresentor(device, mtu);
  }
  Result<MacAddress> MoveIn(const Device& device, const netns::Netns& pod,
                            const std::string& ifname) override;
  Result<std::vector<std::string>> Verify(const Saved& saved, const std::optional<Settings>& settings,
                                          const netns::Netns& pod) override;
  Status Restore(const Saved& saved, const netns::Netns* pod, const std::string& ifname,
                 Deadline deadline) override;

 private:
  // A VF as its PF identifies it, and as a leaf of devlink's rates.
  struct Leaf {
    netlink::DevlinkHandle nic;
    uint32_t port = 0;
  };
  struct Place {
    netlink::Link pf;
    uint32_t vf = 0;
    netlink::Vfs* vfs = nullptr;
    std::optional<Leaf> leaf;
  };

  Result<sriov::Vf> VfOf(const config::Rail& rail, const std::string& id) const;
  Result<std::string> RepresentorOf(const config::Rail& rail, const sriov::Vf& vf);
  // The leaf is looked for only where rates are asked for: a driver may ask its firmware about every port.
  Result<Place> PlaceOf(const std::string& address, bool with_rates);
  Result<std::optional<Leaf>> LeafOf(const sriov::Vf& vf);
  // A VF's settings. Its rates are those of the leaf, where it has one: drivers refuse them through the PF in switchdev mode.
  Result<netlink::VfState> StateOf(const Place& place);
  Status Change(const Place& place, netlink::VfChange change);
  Result<netlink::Rdma*> HostRdma();
  Result<netlink::RdmaDevice> RdmaCalled(const std::string& name);
  Status ApplySettings(const Device& device);
  Status MoveRdmaIn(const Device& device, const netns::Netns& pod);
  Status BringRdmaHome(const Saved& saved, const netns::Netns* pod);
  Status RestoreVf(const Saved& saved);

  netlink::Netlink& host_;
  Connections connections_;
  sriov::Lookup lookup_;
  Netdev netdev_;
  std::unique_ptr<netlink::Vfs> vfs_;
  std::unique_ptr<netlink::Rdma> rdma_;
  std::unique_ptr<netlink::Rates> rates_;
};

}  // namespace rail::device
