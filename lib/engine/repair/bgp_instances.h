// The instances of bgpd that raild keeps, and their base configuration: the default one, and in mode `vrf` each tenant's on each rail.
//
// Use:      BgpInstances instances(config, deps, record, node_status);
//           RAIL_TRY(instances.Read());                                              // from the record
//           instances.Ensure(connections, BgpInstances::Peers::kNone, failed, sent);  // first, without sessions
//           instances.Ensure(connections, BgpInstances::Peers::kAll, failed, sent);   // when everything is announced
//           RAIL_TRY(instances.RemoveUnused(connections));
// Threads:  one
// Source:   README.md of this folder ("What was there before"), and its decisions 303 and 311
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/engine/attach/tenant_link.h"
#include "lib/engine/attach/verb_context.h"
#include "lib/engine/learned/tenant_remotes.h"
#include "lib/engine/repair/node_status.h"

namespace rail::engine {

// By VRF: instances that an audit leaves as they are, and why.
using FailedInstances = std::map<std::string, Status>;

class BgpInstances {
 public:
  BgpInstances(const config::NodeConfig& config, const Deps& deps, RecordReader& record,
               NodeStatus& node_status);

  // Takes the instances from the record; on an error those of the last reading stay.
  Status Read();
  const std::vector<BgpInstance>& all() const { return all_; }
  bool Has(const std::string& vrf) const;
  // The one that has the session on `interface`; nullptr: none.
  const BgpInstance* InstanceOf(const std::string& interface) const;
  // Its VRF. Of the front end's sessions it is the default one, as of the rails' where tenants have no VRFs.
  std::string VrfOf(const std::string& interface) const;

  // Whether the record needs other instances than all().
  bool Changed();
  // Whether one has been without a pod for long enough.
  bool UnusedIsDue() const;

  // Makes the base configuration of each instance right: the default one first, as it brings the maps and lists of all. `sent` counts the
  // lines.
  enum class Peers { kNone, kAll };
  Status Ensure(Connections& connections, Peers peers, FailedInstances& failed, size_t& sent);
  // Removes instances without a pod; of rails or modes that node.json had before at once.
  Status RemoveUnused(Connections& connections);

  // Records what bgpd has before raild writes to it for the first time.
  Status RecordOrigin(Connections& connections) const;
  // Only with the namespaces' list does a node know which cluster it is of; in mode `vrf` the plugins make the route-maps, too.
  std::optional<tenancy::ClusterMark> Mark() const;

 private:
  Status Base(Connections& connections, const BgpInstance& instance, Peers peers, size_t& sent);
  Status Remove(Connections& connections, frr::Bgp& bgp, const std::string& vrf);

  const config::NodeConfig& config_;
  const Deps& deps_;
  RecordReader& record_;
  NodeStatus& node_status_;
  std::vector<BgpInstance> all_;
  std::set<std::string> stood_;           // VRFs of instances whose configuration was whole once
  std::map<std::string, Unused> unused_;  // instances, by rail
};

}  // namespace rail::engine
