// Which leaf each rail of this node leads to, and the name of the scalable unit (SU) that these leaves make.
//
// Use:      Leaves leaves(config, ReadLeaves(path));
//           leaves.Look(sessions);                       // bgpd's, by interface
//           leaves.of("rail0");  leaves.unit();
//           if (leaves.TakeChanged()) RAIL_TRY(WriteLeaves(path, leaves.to_keep()));
// Threads:  one
// Source:   README.md of this folder ("Leaf and unit"), and its decisions 235, 236
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "lib/config/node_config.h"
#include "lib/frr/bgp.h"

namespace rail::engine {

using LeafOfRail = std::map<std::string, frr::Leaf>;  // by the rail's name

struct KnownLeaf {
  frr::Leaf leaf;
  bool heard = false;  // over a session that is up; false: as it was when it last was
  bool operator==(const KnownLeaf&) const = default;
};

// "su-3f9a1c2d60": a name of this set of leaves by their router ids, whatever their order and rails. "": no leaves.
std::string UnitName(const LeafOfRail& leaves);

class Leaves {
 public:
  Leaves(const config::NodeConfig& config, LeafOfRail kept);

  void Look(const std::map<std::string, frr::Session>& sessions);
  // Of a silent rail: the leaf that it last had, while no other rail shows that the node is being moved.
  std::optional<KnownLeaf> of(const std::string& rail) const;
  // node.json's word, or the name of the leaves of all rails. "": no leaf of some rail has ever been heard. A leaf that is silent counts as
  // it was. While some rails have other leaves than before and others none, the name stays as it was: the node is being moved.
  const std::string& unit() const { return unit_; }

  // The leaves that were last heard of all rails at once.
  const LeafOfRail& to_keep() const { return settled_; }
  // Whether to_keep differs from what it was at the last call.
  bool TakeChanged() { return std::exchange(kept_, settled_) != settled_; }

 private:
  const config::NodeConfig& config_;
  LeafOfRail heard_;    // now
  LeafOfRail settled_;  // the name is of these
  LeafOfRail kept_;
  bool moving_ = false;  // some rails have other leaves than before, and others are silent
  std::string unit_;
};

// None when there is no such file, or it is not one of ours.
LeafOfRail ReadLeaves(const std::string& path);
// Replaces the file in one step. Errors: of the file system.
Status WriteLeaves(const std::string& path, const LeafOfRail& leaves);

}  // namespace rail::engine
