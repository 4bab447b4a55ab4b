// Backend `netdev`: a link on the host named in node.json (a scalable function, or one end of a veth in the lab), and the
// link that stands for it on the rail's bridge.
//
// Use:      Netdev backend(*netlink, netlink::Kernel::Open);
// Threads:  one at a time; called in the host's namespace
// Owns:     nothing: the host's Netlink must outlive it
// Source:   rtnetlink(7); README.md of this folder ("How a device is known again")
#pragma once

#include <functional>
#include <memory>

#include "lib/device/device.h"
#include "lib/netlink/monitor.h"
#include "lib/netlink/netlink.h"

namespace rail::device {

// Whether `named` says that another device has the name.
bool IsTaken(const Status& named);

class Netdev : public Backend {
 public:
  using OpenNetlink = std::function<Result<std::unique_ptr<netlink::Netlink>>()>;
  using OpenMonitor = std::function<Result<std::unique_ptr<netlink::Monitor>>()>;

  // `host` works in the host's namespace; `open_netlink` is called in a pod's.
  Netdev(netlink::Netlink& host, OpenNetlink open_netlink, OpenMonitor open_monitor = netlink::Monitor::Open)
      : host_(host), open_netlink_(std::move(open_netlink)), open_monitor_(std::move(open_monitor)) {}

  Result<Location> Locate(const Saved& saved) override;
  Result<Device> Find(const config::Rail& rail, const std::string& id) override;
  Result<Saved> Save(const Device& device) override;
  Status RaiseRepresentor(const Device& device, uint32_t mtu) override;
  Result<MacAddress> MoveIn(const Device& device, const netns::Netns& pod,
                            const std::string& ifname) override;
  Status Restore(const Saved& saved, const netns::Netns* pod, const std::string& ifname,
                 Deadline deadline) override;

 private:
  enum class Return { kBack, kGone };

  Status MoveOut(const Saved& saved, const netns::Netns& pod, const std::string& ifname);
  Result<Return> WaitForReturn(const Saved& saved, Deadline deadline);
  Result<std::optional<netlink::Link>> FindOnHost(const Saved& saved);
  Result<std::optional<netlink::Link>> HostLink(const std::string& name);
  Status Mend(const Saved& saved, const netlink::Link& link);
  Status MendRepresentor(const Saved& saved);

  netlink::Netlink& host_;
  OpenNetlink open_netlink_;
  OpenMonitor open_monitor_;
};

}  // namespace rail::device
