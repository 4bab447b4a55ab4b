// The door through which every call to an edge goes: a test shuts it, lets one call fail, or acts just before a call.
//
// Use:      gate.down = {Edge::kBgp};                                         // bgpd does not answer
//           gate.FailCall(Edge::kOvsdb, 3, {Code::kTransient, "timeout"});    // the third call from now
//           gate.before = [&](Edge edge, std::string_view call) { ... };
// Threads:  one at a time
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "lib/cni/ipam.h"
#include "lib/device/device.h"
#include "lib/engine/edges.h"
#include "lib/state/store.h"

namespace rail::engine::testing {

enum class Edge { kOvsdb, kOpenFlow, kBgp, kNetlink, kDevices, kPods, kIpam, kState };
const char* Name(Edge edge);

class Gate {
 public:
  std::set<Edge> down;
  std::function<void(Edge, std::string_view)> before;
  // The record can be read and not written; opened: only to read it. kFull: opened as always.
  enum class Disk { kGood, kFull, kReadOnly } disk = Disk::kGood;
  Status Write() const;

  // The `call`th call (from 1) to `edge` from now fails, having done nothing.
  void FailCall(Edge edge, int call, Error error);
  void NoFault() { fault_.reset(); }
  // Whether it has been reached since.
  bool failed() const { return failed_; }

  // Of everything that opens an edge: whether it can be.
  Status Open(Edge edge) const;
  // Of every call, first.
  Status Call(Edge edge, std::string_view call);

 private:
  struct Fault {
    Edge edge;
    int call;
    Error error;
  };
  std::optional<Fault> fault_;
  bool failed_ = false;
};

// Each passes the gate and then calls what it was given, which outlives it.
std::unique_ptr<ovs::Ovsdb> Through(Gate& gate, ovs::Ovsdb& inner);
std::unique_ptr<ovs::OpenFlow> Through(Gate& gate, ovs::OpenFlow& inner);
std::unique_ptr<frr::Bgp> Through(Gate& gate, frr::Bgp& inner);
std::unique_ptr<netlink::Netlink> Through(Gate& gate, netlink::Netlink& inner);
std::unique_ptr<podnet::PodNet> Through(Gate& gate, podnet::PodNet& inner);
std::unique_ptr<cni::Ipam> Through(Gate& gate, cni::Ipam& inner);
std::unique_ptr<state::Store> Through(Gate& gate, std::unique_ptr<state::Store> inner);

}  // namespace rail::engine::testing
