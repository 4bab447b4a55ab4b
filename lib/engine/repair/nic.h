// Prepares the node's NICs for raild: VFs with MAC addresses and drivers, and switchdev mode, where node.json says
// "manage_sriov". Also reads the RDMA system's mode.
//
// Use:      NicRepair nics(deps.openers(config), store, node_status);
//           nics.Ensure(rail);        // before the rail's bridge, which needs the uplink and the representors
//           nics.LookAtRdma();
// Threads:  one; the NodeStatus may be shared
// Source:   lib/sriov/README.md ("Preparing a NIC")
#pragma once

#include "lib/engine/attach/connections.h"
#include "lib/engine/repair/node_status.h"
#include "lib/state/store.h"

namespace rail::engine {

class Origin;  // origin.h

class NicRepair {
 public:
  // `origin`: where to record what the NIC was before; null: nowhere.
  NicRepair(Openers openers, state::Store& store, NodeStatus& node_status,
            std::shared_ptr<Origin> origin = nullptr)
      : openers_(std::move(openers)), store_(store), node_status_(node_status), origin_(std::move(origin)) {}

  // Reports to the NodeStatus what cannot be changed now. That stops nothing: the rail works as far as the NIC is right.
  void Ensure(const config::Rail& rail);
  void LookAtRdma();

 private:
  Result<std::vector<std::string>> Prepare(const config::Rail& rail);

  const Openers openers_;
  state::Store& store_;
  NodeStatus& node_status_;
  const std::shared_ptr<Origin> origin_;
};

}  // namespace rail::engine
