// Finishes virtual functions: a MAC address through the PF, and with it a node GUID, and then the driver.
//
// Use:      VfFinisher finisher(sysfs, lookup, {.netlink = netlink::Kernel::Open, .vfs = netlink::KernelVfs::Open});
//           RAIL_TRY(finisher.HoldDrivers(pf));         // then make the VFs
//           RAIL_TRY(finisher.Finish(pf, lookup.VfsOf(pf)));
// Threads:  one at a time
// Owns:     connections to the kernel, each opened at first use; the Lookup must outlive it
// Source:   README.md of this folder ("A VF's MAC address and node GUID")
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/netlink/netlink.h"
#include "lib/netlink/vf.h"
#include "lib/sriov/lookup.h"

namespace rail::sriov {

// The MAC address of a VF to which nobody has given one: locally administered, the same at every boot, another for each VF and each
// PF. `pf`: the permanent address of its PF. `vf`: its PCI address.
MacAddress DerivedMac(const MacAddress& pf, std::string_view vf);

// An RDMA device and its node GUID as sysfs shows it, "0c42:a103:0065:bafe".
struct RdmaGuid {
  std::string device;
  std::string guid;
  bool is_zero() const;
  bool operator==(const RdmaGuid&) const = default;
};

// The node's RDMA devices that are not in a pod's namespace, ordered by name.
std::vector<RdmaGuid> RdmaGuids(const Sysfs& sysfs);

class VfFinisher {
 public:
  // How to open each connection, in the host's namespace.
  struct Connections {
    std::function<Result<std::unique_ptr<netlink::Netlink>>()> netlink;
    std::function<Result<std::unique_ptr<netlink::Vfs>>()> vfs;
  };
  VfFinisher(Sysfs sysfs, const Lookup& lookup, Connections connections)
      : sysfs_(std::move(sysfs)), lookup_(lookup), connections_(std::move(connections)) {}

  // Whether the VF has no driver, or a node GUID of zero because nobody has given it a MAC address. Changes nothing.
  // Errors: of netlink.
  Result<bool> IsUnfinished(const std::string& address);

  // VFs of the PF that are made from now on get no driver before Finish. Safe to repeat.
  Status HoldDrivers(const Pf& pf) const;

  // The VFs must not be in use. Gives a VF that has none a MAC address: the one that its interface has, else DerivedMac. Binds it to
  // its driver; one that is bound and has a node GUID of zero is unbound before. Goes on to the next VF after an error and returns
  // the first. Safe to repeat.
  // Errors: kUnsupported no driver takes the VF; of sysfs and netlink.
  Status Finish(const Pf& pf, const std::vector<std::string>& addresses);

 private:
  struct Place {
    netlink::Link pf;
    Vf vf;
    netlink::VfState state;
  };
  Result<Place> PlaceOf(const std::string& address);
  bool HasGuidZero(const std::string& address) const;
  Status FinishOne(const std::string& address);
  Status GiveMac(const Place& place, bool keeps_own);

  Sysfs sysfs_;
  const Lookup& lookup_;
  Connections connections_;
  std::unique_ptr<netlink::Netlink> netlink_;
  std::unique_ptr<netlink::Vfs> vfs_;
};

}  // namespace rail::sriov
