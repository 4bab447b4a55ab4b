// Makes things go wrong in a test: every call to a dependency asks here first. A test cuts a dependency off, lets one call fail,
// or acts just before a call.
//
// Use:      faults.down = {Dependency::kBgp};                                         // bgpd does not answer
//           faults.FailCall(Dependency::kOvsdb, 3, {Code::kTransient, "timeout"});    // the third call from now
//           faults.before = [&](Dependency dependency, std::string_view call) { ... };
// Threads:  one at a time
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "lib/cni/ipam.h"
#include "lib/device/device.h"
#include "lib/engine/attach/connections.h"
#include "lib/state/store.h"

namespace rail::engine::testing {

enum class Dependency { kOvsdb, kOpenFlow, kBgp, kNetlink, kDevices, kGuard, kPods, kIpam, kState };
const char* Name(Dependency dependency);

class FaultInjector {
 public:
  std::set<Dependency> down;
  std::function<void(Dependency, std::string_view)> before;
  // kFull and kReadOnly: the record can be read, but not written. kFull: it opens as
  // always. kReadOnly: it opens only for reading.
  enum class Disk { kGood, kFull, kReadOnly } disk = Disk::kGood;
  Status Write() const;

  // The `call`th call (from 1) to `dependency` from now fails and does nothing.
  void FailCall(Dependency dependency, int call, Error error);
  void NoFault() { fault_.reset(); }
  // Whether that call has been reached since.
  bool failed() const { return failed_; }

  // Called by everything that opens a dependency: whether it can be opened.
  Status Open(Dependency dependency) const;
  // Called by every call before it does anything.
  Status Call(Dependency dependency, std::string_view call);

 private:
  struct Fault {
    Dependency dependency;
    int call;
    Error error;
  };
  std::optional<Fault> fault_;
  bool failed_ = false;
};

// Each asks `faults` first and then calls `inner`, which outlives it.
std::unique_ptr<ovs::Ovsdb> WithFaults(FaultInjector& faults, ovs::Ovsdb& inner);
std::unique_ptr<ovs::OpenFlow> WithFaults(FaultInjector& faults, ovs::OpenFlow& inner);
std::unique_ptr<frr::Bgp> WithFaults(FaultInjector& faults, frr::Bgp& inner);
std::unique_ptr<netlink::Netlink> WithFaults(FaultInjector& faults, netlink::Netlink& inner);
std::unique_ptr<guard::Guard> WithFaults(FaultInjector& faults, guard::Guard& inner);
std::unique_ptr<podnet::PodNet> WithFaults(FaultInjector& faults, podnet::PodNet& inner);
std::unique_ptr<cni::Ipam> WithFaults(FaultInjector& faults, cni::Ipam& inner);
std::unique_ptr<state::Store> WithFaults(FaultInjector& faults, std::unique_ptr<state::Store> inner);

}  // namespace rail::engine::testing
