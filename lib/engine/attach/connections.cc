#include "lib/engine/attach/connections.h"

#include <algorithm>

namespace rail::engine {

template <class T, class Open>
Result<T*> Connections::Get(Slot<T>& slot, const Open& open) {
  if (slot.down) return tl::make_unexpected(*slot.down);
  if (!slot.open) {
    auto opened = open();
    if (!opened) {
      slot.down = opened.error();
      // A socket that is not there means that its daemon is down. A runtime would take "not
      // found" to mean that nothing is left to do.
      if (slot.down->code == Code::kNotFound) slot.down->code = Code::kTransient;
      return tl::make_unexpected(*slot.down);
    }
    slot.open = std::move(*opened);
  }
  return slot.open.get();
}

Deadline Connections::CallDeadline() const {
  return std::min(until_, After(call_time_));
}

Result<ovs::Ovsdb*> Connections::Ovsdb() {
  return Get(ovsdb_, [&] { return openers_.ovsdb(CallDeadline()); });
}

Result<ovs::OpenFlow*> Connections::OpenFlow(const std::string& bridge) {
  Slot<ovs::OpenFlow>& slot = openflow_[bridge];
  if (!slot.open && vswitchd_hangs_) return tl::make_unexpected(*vswitchd_hangs_);
  const Deadline deadline = CallDeadline();
  auto opened = Get(slot, [&] { return openers_.openflow(bridge, deadline); });
  if (!opened && Clock::now() >= deadline) vswitchd_hangs_ = opened.error();
  return opened;
}

Result<frr::Bgp*> Connections::Bgp() {
  return Get(bgp_, [&] { return openers_.bgp(CallDeadline()); });
}

Result<netlink::Netlink*> Connections::Netlink() {
  return Get(netlink_, [&] { return openers_.netlink(); });
}

Result<guard::Guard*> Connections::Guard() {
  return Get(guard_, [&] { return openers_.guard(); });
}

Result<device::Backend*> Connections::Devices() {
  if (!devices_) {
    RAIL_ASSIGN(netlink::Netlink * host, Netlink());
    devices_ = openers_.devices(*host);
  }
  return devices_.get();
}

Result<FileLock> Connections::LockDevices(const config::Rail& rail) {
  if (!rail.manage_sriov) return FileLock();
  auto lock = openers_.lock_devices(FileLock::Kind::kShared);
  if (!lock && lock.error().code == Code::kBusy)
    lock.error().message = "raild is preparing a NIC of this node, and its VFs come and go: try again";
  return lock;
}

Result<FileLock> Connections::LockDevice(const std::string& device) {
  const bool is_name = !device.empty() && device.size() <= 64 && device.find('/') == std::string::npos;
  if (!is_name) return Fail(Code::kInvalid, "'" + device.substr(0, 64) + "' is no name of a device");
  auto lock = openers_.lock_device(device, CallDeadline());
  if (!lock && lock.error().code == Code::kBusy) {
    lock.error().message =
        "device " + device + " is being moved by another plugin or by raild: " + lock.error().message;
  }
  return lock;
}

Result<FileLock> Connections::LockTenants(const std::string& rail, FileLock::Kind kind) {
  const bool joins = kind == FileLock::Kind::kShared;
  auto lock = openers_.lock_tenants(rail, kind,
                                    joins ? CallDeadline() : std::min(CallDeadline(), After(kForJoining)));
  if (!lock && lock.error().code == Code::kBusy)
    lock.error().message = "the tenants of rail " + rail + " are being changed: " + lock.error().message;
  return lock;
}

Result<std::string> Connections::AskVswitchd(const std::string& command,
                                             const std::vector<std::string>& arguments,
                                             Deadline deadline) const {
  return openers_.ask_vswitchd(command, arguments, deadline);
}

Status Connections::RaiseFlowLimit() {
  RAIL_ASSIGN(ovs::Ovsdb * db, Ovsdb());
  RAIL_ASSIGN(const ovs::ExternalIds config, db->OtherConfig(CallDeadline()));
  return ovs::RaiseFlowLimit(openers_.ask_vswitchd, ovs::FlowLimit(config), CallDeadline());
}

Status Connections::ReleaseAddresses(const cni::IpamCall& call) {
  if (auto released = openers_.release_addresses(call, IpamDeadline()); !released) {
    const cni::CniError& error = released.error();
    return Fail(Code::kTransient, error.details.empty() ? error.msg : error.msg + ": " + error.details);
  }
  return {};
}

Result<NicRates> ReadRates(netlink::Rates& rates) {
  NicRates read;
  RAIL_ASSIGN(read.trees, rates.ListAll());
  RAIL_ASSIGN(read.ports, rates.Ports());
  return read;
}

Result<NicRates> Connections::Rates() const {
  if (!openers_.rates) return Fail(Code::kUnsupported, "rates are not read here");
  RAIL_ASSIGN(const auto rates, openers_.rates());
  return ReadRates(*rates);
}

Result<netlink::Exits> Connections::ExitsOf(const IpPrefix& prefix) const {
  if (!openers_.exits) return Fail(Code::kUnsupported, "routes are not read here");
  return openers_.exits(prefix);
}

Result<bool> Connections::OwnNextHops(const std::function<Status()>& before) const {
  if (!openers_.own_next_hops) return false;
  return openers_.own_next_hops(before, CallDeadline());
}

}  // namespace rail::engine
