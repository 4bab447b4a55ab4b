// The connections of the node (Open vSwitch, FRR, the kernel, IPAM), opened when they are first needed.
//
// Use:      Connections connections(openers);
//           RAIL_ASSIGN(ovs::Ovsdb* db, connections.Ovsdb());     // connects once; a dependency that is down says so at once from then on
// Threads:  one at a time
// Owns:     the connections; make a new Connections to try again
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/file_lock.h"
#include "lib/cni/ipam.h"
#include "lib/device/device.h"
#include "lib/engine/view.h"
#include "lib/frr/bgp.h"
#include "lib/netlink/netlink.h"
#include "lib/ovs/openflow.h"
#include "lib/ovs/ovsdb.h"
#include "lib/podnet/podnet.h"
#include "lib/sriov/prepare.h"

namespace rail::engine {

// How to open each connection; the only place where real and fake differ.
struct Openers {
  std::function<Result<std::unique_ptr<ovs::Ovsdb>>(Deadline)> ovsdb;
  std::function<Result<std::unique_ptr<ovs::OpenFlow>>(const std::string& bridge, Deadline)> openflow;
  std::function<Result<std::unique_ptr<frr::Bgp>>(Deadline)> bgp;
  std::function<Result<std::unique_ptr<netlink::Netlink>>()> netlink;  // the host's namespace
  std::function<std::unique_ptr<device::Backend>(netlink::Netlink&)> devices;
  std::function<cni::Outcome<void>(const cni::IpamCall&, Deadline)> release_addresses;
  // Makes a rail's NIC what node.json asks for and says what was changed. As sriov::Preparer::Ensure. Empty: nobody prepares NICs
  // here.
  std::function<Result<std::vector<std::string>>(const config::Rail& rail,
                                                 const sriov::Preparer::Claimed& claimed)>
      prepare_nic;
  // Devices of this node are taken (kShared, an ADD until it is recorded) or made anew (kAlone, NIC preparation), never both. As
  // FileLock::Get.
  std::function<Result<FileLock>(FileLock::Kind)> lock_devices;
  // A rail's NIC as it is; {}: its uplink is no SR-IOV device. As sriov::Preparer::Look. Empty: not asked.
  std::function<Result<std::vector<sriov::NicState>>(const config::Rail& rail)> look_at_nic;
  std::function<Result<RdmaMode>()> rdma_mode;  // empty: not asked
  // How a device is moved: beside the other connections' work, or (deferred) when it is waited for, on one thread.
  std::launch device_work = std::launch::async;
  std::shared_ptr<podnet::PodNet> pods;
};

class Connections {
 public:
  // `until`: when the verb, or the round, must have ended. One call to a dependency takes 5 s of it at most.
  Connections(Openers openers, Deadline until) : openers_(std::move(openers)), until_(until) {}

  Result<ovs::Ovsdb*> Ovsdb();
  Result<ovs::OpenFlow*> OpenFlow(const std::string& bridge);
  Result<frr::Bgp*> Bgp();
  Result<netlink::Netlink*> Netlink();
  Result<device::Backend*> Devices();
  // Keeps the rail's VFs in place from before a device is found until the record says whose it is. Errors: kBusy raild is preparing a
  // NIC.
  Result<FileLock> LockDevices(const config::Rail& rail);
  podnet::PodNet& Pods() { return *openers_.pods; }
  // Another part of the work begins and has until then; what is down stays down.
  void GiveTime(Deadline until) { until_ = until; }
  Status ReleaseAddresses(const cni::IpamCall& call);
  std::launch device_work() const { return openers_.device_work; }

  // Until when a call that starts now may last.
  Deadline CallDeadline() const;
  Deadline until() const { return until_; }

 private:
  template <class T>
  struct Slot {
    std::unique_ptr<T> open;
    std::optional<Error> down;
  };
  template <class T, class Open>
  Result<T*> Get(Slot<T>& slot, const Open& open);

  Openers openers_;
  Deadline until_;
  Slot<ovs::Ovsdb> ovsdb_;
  std::map<std::string, Slot<ovs::OpenFlow>> openflow_;
  Slot<frr::Bgp> bgp_;
  Slot<netlink::Netlink> netlink_;
  std::unique_ptr<device::Backend> devices_;
};

}  // namespace rail::engine
