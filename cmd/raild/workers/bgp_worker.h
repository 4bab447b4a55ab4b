// raild's watch over bgpd.
//
// Use:      BgpWorker worker(config, deps, std::move(store), node_status, {.learned = ..., .right_again = ...});
//           RAIL_TRY(worker.Open());  worker.Start();   worker.Stop();
// Threads:  the events are called on the worker's thread
// Owns:     its thread, its connection to the record, the port that bgpd pushes to
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cmd/raild/workers/worker.h"
#include "lib/engine/repair/bgp.h"
#include "lib/engine/repair/uplink.h"
#include "lib/frr/bmp/collector.h"
#include "lib/frr/config_rest.h"
#include "lib/netlink/tcp_monitor.h"

namespace rail::raild {

class BgpWorker {
 public:
  struct Events {
    std::function<void()> learned;  // there is something new from BGP
    // Called after a round that has repaired the configuration, if that had failed before.
    std::function<void()> right_again;
  };
  BgpWorker(const config::NodeConfig& config, const engine::Deps& deps, std::unique_ptr<state::Store> store,
            engine::NodeStatus& node_status, Events events);

  Status Open() { return worker_.Open(); }
  void Start();  // call it when every worker is open: they call each other
  void Stop() { worker_.Stop(); }
  // Call it when a rail has lost its carrier, or has it again. Any thread.
  void UplinksChanged(const engine::UplinkNews& news);
  // Call it when a pod has lost its device, or has it back. Any thread.
  void DevicesChanged();
  void TenantsMoved();
  // Call it when a plugin or the sweep has written to the record. Any thread.
  void RecordChanged();
  event::Loop& loop() { return worker_.loop(); }

 private:
  // Rounds, each gathered by itself.
  enum class Kind { kRest, kAudit, kLookAgain, kSolicit, kPoll, kInstances, kTell };
  void Audit();
  void AuditAtRest();
  void LookForRest();
  void CarrierBack(const engine::UplinkNews& news);
  void Solicit();
  void Poll();
  void PollWhenDue();
  void WatchConnections();
  void WatchAddresses();
  void Listen();
  void Accept();
  void Receive(const std::string& vrf);
  void CloseFeed(const std::string& vrf, const std::string& why);
  void LookAtInstances();
  void Told();

  const config::NodeConfig& config_;
  const std::string vty_;  // bgpd's socket
  const std::unique_ptr<state::Store> store_;
  engine::BgpRepair repair_;
  const Events events_;
  frr::ConfigRest rest_;
  std::optional<Deadline>
      rest_until_;  // set: somebody is at work on bgpd's configuration, and is waited for until then
  event::TimerId poll_due_ = 0;
  std::unique_ptr<netlink::TcpMonitor> connections_;
  std::optional<bmp::Listener> listener_;
  std::map<std::string, bmp::Feed> feeds_;  // by VRF; "": of bgpd's default instance
  Clock::duration last_tell_{};             // how long the last Tell took
  Worker worker_;                           // last: its thread ends first
};

}  // namespace rail::raild
