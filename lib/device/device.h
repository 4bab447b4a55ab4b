// A device that becomes a pod's interface: a backend finds it on the host, moves it into the pod, and brings it back unchanged.
//
// Use:      RAIL_ASSIGN(Device device, backend->Find(rail, "vf0"));
//           RAIL_ASSIGN(Saved saved, backend->Save(device));                    // record it before the first change
//           RAIL_ASSIGN(Moved moved, backend->MoveIn(device, pod, "net1", 4200));
//           RAIL_TRY(backend->Restore(saved, pod_or_null, "net1", deadline));
// Threads:  one at a time
// Backends: netdev (a named link with a named representor); sriov (a VF by PCI address)
// Source:   rtnetlink(7); README.md of this folder
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/address.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/config/node_config.h"
#include "lib/netlink/netns.h"
#include "lib/netlink/vf.h"

namespace rail::device {

// What a network's configuration asks of its device besides what the rail's does. A setting without a value stays as it is on
// the node.
struct Settings {
  std::optional<netlink::VfVlan> vlan;
  std::optional<netlink::VfRates> rates;
  std::optional<bool> spoofchk;
  std::optional<bool> trust;
  std::optional<netlink::VfLinkState> link_state;
  std::string rdma_name;  // the RDMA device's name in the pod; "": it keeps its name
  // The MAC address that it gets; without it, it keeps its own. For a device that was made anew under a pod that lives.
  std::optional<MacAddress> mac;

  bool empty() const { return *this == Settings(); }
  bool operator==(const Settings&) const = default;
};

struct Device {
  std::string id;           // deviceID as the runtime gave it
  std::string netdev;       // its name on the host
  std::string representor;  // its port on the rail's bridge
  MacAddress mac;
  Settings settings;       // set by the caller; Find leaves it empty
  std::string pf_address;  // "0000:3b:00.0" when the device is a VF
  std::string rdma;        // its RDMA device, "mlx5_4"; "" none
};

// The saved state of a VF: which of whose VFs it is, its settings on the PF, and its RDMA device.
struct SavedVf {
  std::string pf;      // its PF's address; "": an earlier version has saved it, without pf_mac and index
  MacAddress pf_mac;   // the PF's permanent one; zero: it has none
  uint32_t index = 0;  // among the VFs of its PF
  netlink::VfState state;
  std::string rdma;         // "" none
  uint32_t rdma_index = 0;  // identifies the RDMA device in the pod, whatever its name is there
  bool operator==(const SavedVf&) const = default;
};

// The device's complete state before the first change. It is serialised into the record.
struct Saved {
  std::string id;
  std::string netdev;
  std::string representor;
  MacAddress mac;
  uint32_t mtu = 0;
  bool up = false;
  uint32_t representor_mtu = 0;
  bool representor_up = false;
  // A pod cannot change these, so they identify the device whatever its name is then. "" and zero when it has none.
  std::string kind;           // "veth"
  std::string parent_device;  // "0000:08:00.2"
  MacAddress permanent_mac;
  std::optional<SavedVf> vf;
  // What its network asks of it, so that a device that its NIC has made anew can be put back.
  Settings asked;

  std::string ToJson() const;
  static Result<Saved> FromJson(std::string_view text);  // kInvalid
  bool operator==(const Saved&) const = default;
};

// Where a device is.
enum class Location {
  kHost,       // in the host's namespace
  kElsewhere,  // in another namespace, which therefore lives
  kNowhere,    // it does not exist: it went with its namespace, or its NIC no longer has it
  kUnknown,    // a virtual link that nothing on the host stands for
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Asks the host alone: no path to a pod's namespace is needed. Of `saved` only id, netdev, representor, kind, parent_device,
  // permanent_mac and vf are used.
  virtual Result<Location> Locate(const Saved& saved) = 0;

  // Why the device of `saved` does not exist any more, for people. "": it exists, or the backend cannot tell. Another device may stand
  // where it was: its bus was renumbered. Errors: nobody can say now.
  virtual Result<std::string> WhyGone(const Saved& /*saved*/) { return std::string(); }

  // Errors: kInvalid the device is not one of the rail's (the message says which are); kNotFound it is not on the host now (it
  //         may be in another namespace); kUnsupported.
  virtual Result<Device> Find(const config::Rail& rail, const std::string& id) = 0;

  // Whether the device may serve the rail; works also while the device is in a pod. Refuses what Find refuses, with the same
  // message. Accepts a device that does not exist, or about which the backend cannot tell. Errors: kInvalid it belongs to
  // another rail.
  virtual Status CheckRail(const config::Rail& /*rail*/, const std::string& /*id*/) { return {}; }

  virtual Result<Saved> Save(const Device& device) = 0;

  // Sets the representor's MTU (bytes) and brings it up, before Open vSwitch takes it as a port: ovs-vswitchd looks at all its bridges
  // again whenever a link changes. May be repeated: changes only what differs. Errors: kNotFound there is no such link.
  virtual Status RaiseRepresentor(const Device& device, uint32_t mtu) = 0;

  // Applies `device.settings` and moves the device into `pod` as `ifname`. The device stays down, and its MTU is as it was: whoever
  // configures the pod sets it there, where no daemon of the host hears of it. Returns its MAC.
  // Errors: kExists `ifname` is taken in the pod, or the name for the RDMA device is taken on the node; kUnsupported the device
  //         does not support a setting.
  virtual Result<MacAddress> MoveIn(const Device& device, const netns::Netns& pod,
                                    const std::string& ifname) = 0;

  // What CHECK compares: returns one sentence for each way in which the device in the pod differs from `settings`.
  // `saved`: from the record. `settings`: from the network's configuration; without it, compares only what does not depend on it.
  // A link without a PF has nothing to compare.
  virtual Result<std::vector<std::string>> Verify(const Saved& /*saved*/,
                                                  const std::optional<Settings>& /*settings*/,
                                                  const netns::Netns& /*pod*/) {
    return std::vector<std::string>();
  }

  // Brings the device back to the host and restores its name, MAC, MTU and admin state, and the representor's MTU and admin
  // state. `pod` is null when the pod's namespace is gone. Then Restore waits for the device until `deadline`: the kernel
  // returns a physical device some time later. A virtual device is gone with the namespace, which is success.
  // Called in the host's namespace. If the device is on the host already, only restores what differs: safe to repeat. If it is gone
  // (WhyGone), touches nothing and succeeds.
  // If another device has its name by now, the other keeps the name. A VF is known by its PCI address, so it comes back under
  // a name that nobody else wants, and so does its RDMA device.
  // Errors: kBusy it is neither on the host nor in the pod yet; kExists the name of a link of node.json is taken. Then
  //         everything else is done, and the link has given up the name that it had. A later call gives it its name back once
  //         the name is free.
  virtual Status Restore(const Saved& saved, const netns::Netns* pod, const std::string& ifname,
                         Deadline deadline) = 0;
};

}  // namespace rail::device
