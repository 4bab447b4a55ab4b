// Removes what RailCNI has made, by its marks and its record: attachments, announcements, rules, bridges; gives NICs back. raild must not run.
//
// Use:      Removal removal(config, deps, *store, paths.origin_file);
//           RAIL_ASSIGN(auto live, removal.Live());          // pods that would lose their network: refuse, or force
//           const Removed removed = removal.Run();            // removed.left is empty: nothing remains
// Threads:  one
// Source:   README.md of this folder ("What was there before")
#pragma once

#include <string>
#include <vector>

#include "lib/engine/attach/record.h"
#include "lib/engine/attach/verb_context.h"
#include "lib/engine/repair/origin.h"

namespace rail::engine {

struct Removed {
  std::vector<std::string> done;  // what was removed or restored
  std::vector<std::string> left;  // what remains, and why: the record keeps it for the next try
  std::vector<std::string> told;  // what stays for good, because nobody knows whose it is
  // Pods that lost their attachments by force and still have their sandbox: the plugins must stay for their DEL.
  std::vector<std::string> waiting;
};

class Removal {
 public:
  Removal(const config::NodeConfig& config, const Deps& deps, state::Store& store, std::string origin_file)
      : config_(config),
        deps_(deps),
        store_(store),
        origin_file_(std::move(origin_file)),
        connections_(deps.openers(config), After(kStepLimit), kStepLimit) {}

  // One sentence for each attachment whose pod may live, and for each port of a pod that the record has lost. Changes nothing.
  // Errors: the record cannot be read.
  Result<std::vector<std::string>> Live();

  // Undoes everything, also attachments of pods that live. Each step stands alone: one that fails is in `left`, and the others go
  // on. Safe to repeat, also after a process that died in it.
  Removed Run();

 private:
  // Of one step. A bgpd takes seconds to end the instances of many tenants, and longer on a busy node.
  static constexpr std::chrono::seconds kStepLimit{60};
  bool Try(const std::string& what, const Status& status);
  bool Save() { return Try("the record of what was there before", WriteOrigin(origin_file_, origin_)); }
  // Those with our mark, and those of node.json: pods may be on one that others made.
  Result<std::vector<ovs::Bridge>> Bridges();
  Status RemovePorts(const ovs::Bridge& bridge);
  Status RemoveRules(const std::string& bridge);
  Status GiveIpv6Back(const std::string& uplink);
  Status OneBridge(const ovs::Bridge& bridge);
  void Attachments();
  void WaitForPods();
  void Bgp();
  void Loopback();
  void AllBridges();
  void Nics();
  void Vrfs();
  void Guards();
  void Qos();
  void Rates();

  const config::NodeConfig& config_;
  const Deps& deps_;
  state::Store& store_;
  const std::string origin_file_;
  Connections connections_;
  OriginRecord origin_;
  Removed removed_;
};

}  // namespace rail::engine
