// The three plugins in their order, on a World, and a base class for tests of them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lib/engine/testing/chain.h"
#include "plugins/frr-provider/frr_provider.h"
#include "plugins/ovs-provider/ovs_provider.h"
#include "plugins/tenant-isolation/tenant_isolation.h"

namespace rail::testing {

inline engine::testing::Chain RailChain(engine::testing::World& world) {
  return engine::testing::Chain({ovs_provider::MakePlugin(world.deps()),
                                 tenant_isolation::MakePlugin(world.deps()),
                                 frr_provider::MakePlugin(world.deps())});
}

// Mode `vrf`: ns-a is of tenant red in VLAN 101, ns-b of blue in 102, ns-c of none.
inline void GiveVlans(engine::testing::World& world) {
  world.config.tenancy.mode = config::TenancyMode::kVrf;
  world.config.tenancy.tenants = {{"red", {"ns-a"}}, {"blue", {"ns-b"}}};
  world.config.tenancy.vlans.of_tenant = {{"red", 101}, {"blue", 102}};
}

class RailChainTest : public ::testing::Test {
 protected:
  static IpAddress Ip(const char* text) { return *IpAddress::Parse(text); }
  void ExpectDone(const engine::testing::Answer& answer) {
    EXPECT_TRUE(answer) << answer.plugin << ": " << answer.code << " " << answer.text;
  }
  void MustAdd(const engine::testing::PodSpec& pod) {
    const engine::testing::Answer answer = chain.Add(pod);
    ASSERT_TRUE(answer) << answer.plugin << ": " << answer.code << " " << answer.text;
  }
  // `pod` has all that its ADD gave it, and nobody else has anything: its DEL leaves nothing.
  void ExpectSoleOwner(const engine::testing::PodSpec& pod) {
    ExpectDone(chain.Check(pod));
    ExpectDone(chain.Del(pod));
    EXPECT_THAT(world.Leftovers(), ::testing::IsEmpty());
  }
  std::string OwnerOfPort(const std::string& port) {
    const auto found = *world.ovsdb.FindPort(port, {});
    return found ? found->external_ids.at(engine::kOwnerKey) : "no such port";
  }

  engine::testing::World world;
  engine::testing::Chain chain = RailChain(world);
};

}  // namespace rail::testing
