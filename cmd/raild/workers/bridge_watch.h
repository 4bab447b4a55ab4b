// The connections to the bridges' rules. Each stays open between rounds, is lent to the
// rounds, and reports when something happens.
//
// Use:      BridgeWatch bridges(config.ovs.run_dir, worker, {.changed = ..., .lost = ..., .back = ...});
//           deps.openers = bridges.Lending(deps.openers);    // what SwitchRepair works with
//           ... after each round: bridges.TakeAll();
// Threads:  the worker's
// Owns:     the connections; `worker` must outlive their use
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "cmd/raild/workers/worker.h"
#include "lib/engine/attach/verb_context.h"
#include "lib/ovs/flow_monitor.h"

namespace rail::raild {

class BridgeWatch {
 public:
  struct Events {
    std::function<void()> changed;  // a bridge has something new in Changes
    std::function<void()> lost;     // a bridge or ovs-vswitchd is gone
    std::function<void()> back;     // a bridge accepts connections that did not before
  };
  BridgeWatch(std::string run_dir, Worker& worker, Events events)
      : run_dir_(std::move(run_dir)), worker_(worker), events_(std::move(events)) {}

  // Returns `openers` that lend this object's connections for OpenFlow.
  std::function<engine::Openers(const config::NodeConfig&)> Lending(
      std::function<engine::Openers(const config::NodeConfig&)> openers);

  // Reports now the changes that a round's calls have read on the way.
  void TakeAll();
  // Tries again the bridges that did not accept a connection: connect(2) on a socket that nobody serves costs nothing.
  void AskForLost();

 private:
  struct Slot {
    std::unique_ptr<ovs::FlowMonitor> open;
    bool lost = false;  // nobody served its socket when last tried
  };
  Result<std::unique_ptr<ovs::OpenFlow>> Lend(const std::string& bridge, Deadline deadline);
  void Take(const std::string& bridge);
  void Close(Slot& slot);
  std::string PathOf(const std::string& bridge) const { return run_dir_ + "/" + bridge + ".mgmt"; }

  const std::string run_dir_;
  Worker& worker_;
  const Events events_;
  std::map<std::string, Slot> slots_;  // by bridge
};

}  // namespace rail::raild
