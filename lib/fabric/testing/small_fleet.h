// A healthy fleet of units with a leaf for each rail, whose documents a test spoils.
//
// Use:      SmallFleet small({.units = 2, .nodes = 4, .rails = 4});
//           small.Of("n1").mutable_rails(0)->set_state(v1::Rail::NO_SESSION);
//           EXPECT_THAT(small.Told(), ElementsAre("session-down n1/rail0"));
// Threads:  one at a time
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/fabric/causes.h"
#include "lib/fabric/fleet.h"
#include "lib/fabric/grid.h"

namespace rail::fabric::testing {

// 2026-11-29 12:00:00 UTC
constexpr int64_t kNoon = 1'795'953'600'000;

// The document of a node: its section ALL.
v1::WatchStateResponse Whole(v1::NodeState state);
v1::WatchStateResponse SectionOf(v1::WatchStateResponse::Section section, v1::NodeState state);

struct Size {
  int units = 2;
  int nodes = 4;  // of a unit
  int rails = 4;
  int pods = 1;     // of a node, each with an interface on each rail
  int tenants = 1;  // pod p of each node is of tenant p % tenants
};

// Nodes n1, n2, ...: the first unit's are first. Leaves leaf0, leaf1, ...: the first unit's are first, by rail. Pod p of node n is
// "train-N": of all pods in order; its address on rail r is 10.r.N/256.N%256.
class SmallFleet {
 public:
  explicit SmallFleet(Size size = {});

  const Size& size() const { return size_; }
  std::vector<std::string> Names() const;  // of all nodes
  // To be changed; Tell hands it over.
  v1::NodeState& Of(const std::string& node) { return states_.at(node); }
  v1::Rail& RailOf(const std::string& node, int rail) { return *Of(node).mutable_rails(rail); }
  v1::Attachment& AttachmentOf(const std::string& node, int pod, int rail) {
    return *Of(node).mutable_attachments(pod * size_.rails + rail);
  }
  // Each node's document as it is now, at this time.
  void Tell(int64_t now_ms);
  Fleet& fleet() { return fleet_; }

  // A rail without a session, of which its leaf's other nodes have gone from the leaf's table.
  void Cut(const std::string& node, int rail);

  // What all counts of what is learned and received would be in this fleet, were nothing wrong but what the documents say: for tests that
  // have changed attachments.
  void CountAnew();

  // All causes as "id subject", once what may pass by itself has stood for long.
  std::vector<std::string> Told();
  // The causes themselves, as they are then.
  const std::vector<Cause>& Found();

 private:
  v1::NodeState Healthy(int node) const;

  Size size_;
  std::map<std::string, v1::NodeState, NaturalLess> states_;
  Fleet fleet_;
  Causes causes_;
};

}  // namespace rail::fabric::testing
