// The largest fleet that railfabric is made for: 2,000 nodes x 8 rails x 8 pods, with documents of full length.
#include <gmock/gmock.h>
#include <malloc.h>

#include "lib/fabric/attachments.h"
#include "lib/fabric/testing/small_fleet.h"

namespace rail::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kNoon;
using testing::SmallFleet;
using testing::Whole;

constexpr testing::Size kLargest = {.units = 125, .nodes = 16, .rails = 8, .pods = 8, .tenants = 8};
constexpr size_t kNodes = 2'000;
// Of 1 GB, what the daemon, gRPC and answers do not need.
constexpr size_t kMostBytesOfNode = 400'000;

// Texts as long as a container runtime and a kernel make them.
void MakeFull(v1::NodeState& state) {
  for (v1::Attachment& a : *state.mutable_attachments()) {
    a.set_network("rail-network-of-the-cluster");
    a.set_container_id(std::string(64, 'c'));
    a.set_netns("/var/run/netns/cni-00000000-0000-4000-8000-000000000000");
    a.set_mac("02:00:0a:00:00:01");
    a.set_mtu(4200);
    a.mutable_created()->set_seconds(kNoon / 1000 - 3600);
    a.mutable_rate()->set_max_mbit(100'000);
  }
  for (v1::Rail& rail : *state.mutable_rails()) {
    rail.set_bridge_mac("02:00:00:00:00:01");
    rail.set_leaf_mac("02:00:00:00:00:02");
    rail.mutable_lldp()->set_chassis("02:00:00:00:00:03");
    rail.mutable_lldp()->set_port("swp12");
    rail.mutable_lldp()->set_system_name(rail.leaf().name());
  }
}

size_t BytesInUse() {
  return ::mallinfo2().uordblks;
}

TEST(Scale, TheLargestFleetFitsIntoMemoryAndIsHealthy) {
  auto small = std::make_unique<SmallFleet>(kLargest);
  for (const std::string& node : small->Names()) MakeFull(small->Of(node));
  const size_t before = BytesInUse();
  small->Tell(kNoon);
  const size_t of_node = (BytesInUse() - before) / kNodes;
  RecordProperty("bytes_of_a_node", std::to_string(of_node));
  std::printf("a node with 8 rails and 64 attachments: %zu bytes\n", of_node);
  EXPECT_LT(of_node, kMostBytesOfNode);
  Fleet& fleet = small->fleet();
  EXPECT_EQ(fleet.nodes().size(), kNodes);
  EXPECT_EQ(fleet.attachments().size(), 128'000U);
  EXPECT_EQ(Grid(fleet).cells().size(), 16'000U);
  EXPECT_THAT(small->Told(), IsEmpty());

  for (int i = 1; i <= 16; ++i) small->Cut("n" + std::to_string(i), 5);
  for (int rail = 0; rail < 8; ++rail) small->Cut("n1999", rail);
  small->Cut("n1000", 0);
  for (const char* node : {"n1000", "n1999"}) ASSERT_TRUE(fleet.Apply(node, Whole(small->Of(node)), kNoon));
  for (int i = 1; i <= 16; ++i) {
    const std::string node = "n" + std::to_string(i);
    ASSERT_TRUE(fleet.Apply(node, Whole(small->Of(node)), kNoon));
  }
  EXPECT_THAT(small->Told(),
              ElementsAre("leaf-down leaf5", "node-links-down n1999", "session-down n1000/rail0"));
  EXPECT_EQ(fleet.attachments().size(), 128'000U);  // nothing is kept of what was replaced
}

}  // namespace
}  // namespace rail::fabric
