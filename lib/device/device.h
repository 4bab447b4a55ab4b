// What becomes a pod's interface: found on the host, moved into the pod, and given back as it was.
//
// Use:      RAIL_ASSIGN(Device device, backend->Find(rail, "vf0"));
//           RAIL_ASSIGN(Saved saved, backend->Save(device));                    // recorded before the first change
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
#include "lib/netlink/vf.h"
#include "lib/netns/netns.h"

namespace rail::device {

// What a network asks of its device beside what the rail says; what is not asked stays as it is on the node.
struct Settings {
  std::optional<netlink::VfVlan> vlan;
  std::optional<netlink::VfRates> rates;
  std::optional<bool> spoofchk;
  std::optional<bool> trust;
  std::optional<netlink::VfLinkState> link_state;
  std::string rdma_name;  // of the RDMA device in the pod; "": it keeps its name

  bool empty() const { return *this == Settings(); }
  bool operator==(const Settings&) const = default;
};

struct Device {
  std::string id;           // deviceID as the runtime gave it
  std::string netdev;       // its name on the host
  std::string representor;  // its port on the rail's bridge
  MacAddress mac;
  Settings settings;       // the caller's wish; Find leaves it empty
  std::string pf_address;  // "0000:3b:00.0" when the device is a VF
  std::string rdma;        // its RDMA device, "mlx5_4"; "" none
};

// Of a VF: what its PF says about it, and its RDMA device.
struct SavedVf {
  netlink::VfState state;
  std::string rdma;         // "" none
  uint32_t rdma_index = 0;  // by which it is known again in the pod, whatever it is called
  bool operator==(const SavedVf&) const = default;
};

// The device's complete state before the first change; serialised into the record.
struct Saved {
  std::string id;
  std::string netdev;
  std::string representor;
  MacAddress mac;
  uint32_t mtu = 0;
  bool up = false;
  uint32_t representor_mtu = 0;
  bool representor_up = false;
  // What a pod cannot change, so that the device is known again whatever it is called then; "" and zero when it has none.
  std::string kind;           // "veth"
  std::string parent_device;  // "0000:08:00.2"
  MacAddress permanent_mac;
  std::optional<SavedVf> vf;

  std::string ToJson() const;
  static Result<Saved> FromJson(std::string_view text);  // kInvalid
  bool operator==(const Saved&) const = default;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Errors: kInvalid the device is not one of the rail's (says which are); kNotFound it is not on the host now (in use by
  //         another namespace?); kUnsupported.
  virtual Result<Device> Find(const config::Rail& rail, const std::string& id) = 0;

  // Whether the device may serve the rail, also while it is in a pod: what Find refuses, in the words of Find. A device
  // that is not there, or that the backend has no means to judge, may. Errors: kInvalid it is another rail's.
  virtual Status CheckRail(const config::Rail& /*rail*/, const std::string& /*id*/) { return {}; }

  virtual Result<Saved> Save(const Device& device) = 0;

  // Representor: MTU set, up. Device: MTU set, moved into `pod` as `ifname`, still down. Returns its MAC.
  // What `device.settings` asks is done before that.
  // Errors: kExists `ifname` is taken in the pod, or the name for the RDMA device on the node; kUnsupported the device cannot
  //         what is asked.
  virtual Result<MacAddress> MoveIn(const Device& device, const netns::Netns& pod, const std::string& ifname,
                                    uint32_t mtu) = 0;

  // What CHECK compares: one sentence for each thing about the device in the pod that is not as `settings` ask.
  // `saved`: from the record. `settings`: what the network's configuration asks; nothing when that is not known here: then only what does
  // not depend on it. A link without a PF has nothing to compare.
  virtual Result<std::vector<std::string>> Verify(const Saved& /*saved*/,
                                                  const std::optional<Settings>& /*settings*/,
                                                  const netns::Netns& /*pod*/) {
    return std::vector<std::string>();
  }

  // Brings the device back to the host with its name, MAC, MTU and admin state, and the representor's too. `pod` is null when
  // its namespace is gone; then the device is waited for until `deadline` (the kernel returns physical devices some time
  // later; a virtual one is gone with the namespace, which is success).
  // Called in the host's namespace. A device that is on the host already is only mended: safe to repeat.
  // A name that another has by now stays with the other. A VF, which is known by its PCI address, is then back under a name that
  // nobody else wants, and so is its RDMA device.
  // Errors: kBusy it is neither on the host nor in the pod yet; kExists the name of a link of node.json is taken: everything else
  //         is done and it has given up the name that it had. Called again, it gets its name when that is free.
  virtual Status Restore(const Saved& saved, const netns::Netns* pod, const std::string& ifname,
                         Deadline deadline) = 0;
};

}  // namespace rail::device
