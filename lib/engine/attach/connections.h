// The connections of the node (Open vSwitch, FRR, the kernel, IPAM), opened when they are first needed.
//
// Use:      Connections connections(openers);
//           RAIL_ASSIGN(ovs::Ovsdb* db, connections.Ovsdb());     // connects once; after a failure, fails at once
// Threads:  one at a time
// Owns:     the connections; make a new Connections to try again
#pragma once

#include <algorithm>
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
#include "lib/frr/bgp.h"
#include "lib/frr/echo.h"
#include "lib/guard/guard.h"
#include "lib/netlink/drop_rule.h"
#include "lib/netlink/exits.h"
#include "lib/netlink/netlink.h"
#include "lib/netlink/rates.h"
#include "lib/netlink/rdma.h"
#include "lib/ovs/openflow.h"
#include "lib/ovs/ovsdb.h"
#include "lib/ovs/vswitchd.h"
#include "lib/podnet/podnet.h"
#include "lib/qos/look.h"
#include "lib/sriov/prepare.h"

namespace rail::engine {

// The rates of all NICs, and their ports by the name of their link (a VF's representor).
struct NicRates {
  netlink::RateTrees trees;
  std::map<std::string, netlink::NicPort> ports;
};
Result<NicRates> ReadRates(netlink::Rates& rates);

// How to open each connection. Only here do real and fake implementations differ.
struct Openers {
  std::function<Result<std::unique_ptr<ovs::Ovsdb>>(Deadline)> ovsdb;
  std::function<Result<std::unique_ptr<ovs::OpenFlow>>(const std::string& bridge, Deadline)> openflow;
  std::function<Result<std::unique_ptr<frr::Bgp>>(Deadline)> bgp;
  std::function<Result<std::unique_ptr<netlink::Netlink>>()> netlink;  // the host's namespace
  std::function<std::unique_ptr<device::Backend>(netlink::Netlink&)> devices;
  std::function<Result<std::unique_ptr<guard::Guard>>()> guard;  // the host's namespace
  std::function<cni::Outcome<void>(const cni::IpamCall&, Deadline)> release_addresses;
  // Makes a rail's NIC as node.json says, and returns what it has changed. As
  // sriov::Preparer::Ensure. Empty: NICs are not prepared.
  std::function<Result<std::vector<std::string>>(const config::Rail& rail,
                                                 const sriov::Preparer::Claimed& claimed)>
      prepare_nic;
  // Makes a NIC again as it was. As sriov::Preparer::GiveBack. Empty: NICs are not prepared.
  std::function<Result<std::vector<std::string>>(const std::string& pf,
                                                 const std::vector<sriov::NicState>& before,
                                                 const sriov::Preparer::Claimed& claimed)>
      give_nic_back;
  // Locks this node's devices. An ADD takes a device under kShared, until it is recorded. NIC preparation makes devices anew
  // under kAlone. Never both at once. As FileLock::Get.
  std::function<Result<FileLock>(FileLock::Kind)> lock_devices;
  // Locks one device, alone. As FileLock::Wait.
  std::function<Result<FileLock>(const std::string& device, Deadline)> lock_device;
  // Locks the tenants of one rail. As FileLock::Wait.
  std::function<Result<FileLock>(const std::string& rail, FileLock::Kind, Deadline)> lock_tenants;
  // Reads the state of a rail's NIC; {}: its uplink is not an SR-IOV device. As
  // sriov::Preparer::Look. An empty function: NICs are not read.
  std::function<Result<std::vector<sriov::NicState>>(const config::Rail& rail)> look_at_nic;
  // The priorities of links; empty: they are not read. What else Linux tells of an uplink, as qos::Look.
  std::function<Result<std::unique_ptr<netlink::Dcb>>()> dcb;
  std::function<qos::Seen(const std::string& uplink, netlink::Dcb&)> look_at_qos;
  // The rates of NICs. Empty: they are not read.
  std::function<Result<std::unique_ptr<netlink::Rates>>()> rates;
  // nullopt: the node has no RDMA device. Empty: not read.
  std::function<Result<std::optional<netlink::RdmaNetns>>()> rdma_netns;
  ovs::AskVswitchd ask_vswitchd;
  // The node's RDMA devices, as sriov::RdmaGuids. Empty: not read.
  std::function<std::vector<sriov::RdmaGuid>()> rdma_guids;
  // Asks zebra for its version, as frr::ZebraVersion. Empty: not asked.
  std::function<Result<std::string>(Deadline)> zebra;
  // Where the host's route to a prefix goes out. Empty: not read.
  std::function<Result<netlink::Exits>(const IpPrefix&)> exits;
  // As frr::OwnNextHops. Empty: zebra is left as it is.
  std::function<Result<bool>(const std::function<Status()>& before, Deadline)> own_next_hops;
  // Whether a daemon of FRRouting runs, as frr::DaemonRuns. Empty: none does.
  std::function<bool(const std::string& daemon)> daemon_runs;
  // Which sizes of packets leaves answer, as frr::Echo. Empty: not asked.
  std::function<Result<std::vector<frr::EchoAnswer>>(const std::vector<frr::EchoPeer>&, Deadline)> echo;
  // The rules of the node's firewall that drop packets. Empty: not read.
  std::function<Result<std::vector<netlink::DropRule>>()> drop_rules;
  // How is done what other work need not wait for, as a device's move: async, beside it; deferred, on the thread that waits for the end.
  std::launch beside = std::launch::async;
  std::shared_ptr<podnet::PodNet> pods;
};

// How long to wait for pods that are joining a tenant: each takes some milliseconds.
inline constexpr std::chrono::milliseconds kForJoining{100};

inline constexpr std::chrono::seconds kCallTime{5};
// An ADD waits longer: it can only fail without what it asks for, and its undo would ask a daemon that is busy for more.
inline constexpr std::chrono::seconds kAddCallTime{15};

// What an IPAM plugin may take: it may have to wait for an API server, or for a lock of all nodes (whereabouts).
inline constexpr std::chrono::seconds kIpamTime{25};

class Connections {
 public:
  // `until`: when the verb or the round must have ended. One call to a dependency may take at most `call_time` of that time.
  Connections(Openers openers, Deadline until, Clock::duration call_time = kCallTime)
      : openers_(std::move(openers)), until_(until), call_time_(call_time) {}

  Result<ovs::Ovsdb*> Ovsdb();
  // All bridges are of one ovs-vswitchd: if it has let the time of a call pass for one of them, it is not asked for the others.
  Result<ovs::OpenFlow*> OpenFlow(const std::string& bridge);
  Result<frr::Bgp*> Bgp();
  Result<netlink::Netlink*> Netlink();
  Result<device::Backend*> Devices();
  Result<guard::Guard*> Guard();
  // Keeps the rail's VFs in place. Hold it from before a device is found until the record has its
  // owner. Errors: kBusy raild is preparing a NIC.
  Result<FileLock> LockDevices(const config::Rail& rail);
  // Makes its holder the only one who moves or changes the device: an ADD holds it from before the device is found until it is in
  // the pod, an undo from the look at the claim until the claim is released. Waits for another holder.
  // Errors: kBusy another holds it longer than a call may take; kInvalid this cannot be a device's name; of open(2).
  Result<FileLock> LockDevice(const std::string& device);
  // A pod that joins a tenant holds it kShared, from its record to its rules, and waits for it. Whoever removes the rule that a
  // tenant's pods have in common holds it kAlone, from the look at the record to the rule's end, and waits 0.1 s: then the
  // rule stays, and raild tries again. Errors: kBusy; of open(2).
  Result<FileLock> LockTenants(const std::string& rail, FileLock::Kind kind);
  podnet::PodNet& Pods() { return *openers_.pods; }
  // Gives the next part of the work a new deadline. A dependency that is down stays down.
  void GiveTime(Deadline until) { until_ = until; }
  // What one call may take from now on.
  void LetCallsTake(Clock::duration call_time) { call_time_ = call_time; }
  Status ReleaseAddresses(const cni::IpamCall& call);
  // As ovs::AskVswitchd.
  Result<std::string> AskVswitchd(const std::string& command, const std::vector<std::string>& arguments,
                                  Deadline deadline) const;
  // As netlink::ExitsOf. Errors: also kUnsupported routes are not read here.
  Result<netlink::Exits> ExitsOf(const IpPrefix& prefix) const;
  // As frr::OwnNextHops.
  Result<bool> OwnNextHops(const std::function<Status()>& before) const;
  // Errors: kUnsupported there is no devlink here.
  Result<NicRates> Rates() const;
  bool DaemonRuns(const std::string& daemon) const {
    return openers_.daemon_runs && openers_.daemon_runs(daemon);
  }
  // Raises the running flow limit of ovs-vswitchd to the configured one. Errors: as Ovsdb::OtherConfig and ovs::AskVswitchd.
  Status RaiseFlowLimit();
  std::launch beside() const { return openers_.beside; }

  // The deadline of a call that starts now.
  Deadline CallDeadline() const;
  // The same of a call of IPAM.
  Deadline IpamDeadline() const { return std::min(until_, After(kIpamTime)); }
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
  Clock::duration call_time_;
  Slot<ovs::Ovsdb> ovsdb_;
  std::map<std::string, Slot<ovs::OpenFlow>> openflow_;
  std::optional<Error> vswitchd_hangs_;
  Slot<frr::Bgp> bgp_;
  Slot<netlink::Netlink> netlink_;
  Slot<guard::Guard> guard_;
  std::unique_ptr<device::Backend> devices_;
};

}  // namespace rail::engine
