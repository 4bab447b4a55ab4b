// raild's care for the node's NICs: VFs and switchdev mode where node.json says "manage_sriov", and the RDMA system's mode.
//
// Use:      NicRepair nics(deps.openers(config), store, picture);
//           nics.Ensure(rail);        // before the rail's bridge: its uplink and representors come from here
//           nics.LookAtRdma();
// Threads:  one; the picture may be shared
// Source:   lib/sriov/README.md ("Preparing a NIC")
#pragma once

#include "lib/engine/edges.h"
#include "lib/engine/picture.h"
#include "lib/state/store.h"

namespace rail::engine {

class NicRepair {
 public:
  NicRepair(Openers openers, state::Store& store, Picture& picture)
      : openers_(std::move(openers)), store_(store), picture_(picture) {}

  // What cannot be changed now is told and stops nothing: the rail works as far as the NIC is right.
  void Ensure(const config::Rail& rail);
  void LookAtRdma();

 private:
  Result<std::vector<std::string>> Prepare(const config::Rail& rail);

  const Openers openers_;
  state::Store& store_;
  Picture& picture_;
};

}  // namespace rail::engine
