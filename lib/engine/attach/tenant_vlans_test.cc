#include "lib/engine/attach/tenant_vlans.h"

#include <gtest/gtest.h>

namespace rail::engine {
namespace {

using state::Phase;

state::Attachment Of(const std::string& rail, const std::string& tenant, Phase phase) {
  state::Attachment attachment;
  attachment.rail = rail;
  attachment.tenant = tenant;
  attachment.tenant_id = {0, tenant.empty() ? 0 : tenant.size()};
  attachment.phase = phase;
  return attachment;
}

config::NodeConfig Node(config::TenancyMode mode) {
  config::NodeConfig config;
  config.tenancy.mode = mode;
  config.tenancy.vlans.of_tenant = {{"red", 102}, {"blue", 101}, {"green", 103}};
  config.rails = {{.name = "rail0", .index = 0}, {.name = "rail1", .index = 99}};
  return config;
}

TEST(VlansPresent, AreThoseOfTheTenantsThatHaveAPodOnTheRailEachOnce) {
  const config::NodeConfig config = Node(config::TenancyMode::kVrf);
  const Record record{
      .attachments = {Of("rail0", "red", Phase::kReady), Of("rail0", "red", Phase::kReady),
                      Of("rail0", "blue", Phase::kAdding), Of("rail0", "green", Phase::kDeleting),
                      Of("rail0", "gone", Phase::kReady), Of("rail0", "", Phase::kAdding),
                      Of("rail1", "green", Phase::kReady)},
      .steps = {{0, {}}}};
  const std::vector<TenantVlan> want = {{101, "blue", {0, 4}}, {102, "red", {0, 3}}};
  EXPECT_EQ(VlansPresent(config, record, config.rails[0]), want);
  EXPECT_EQ(VlansPresent(config, record, config.rails[1]), (std::vector<TenantVlan>{{103, "green", {0, 5}}}));
  EXPECT_TRUE(VlansPresent(Node(config::TenancyMode::kNamespace), record, config.rails[0]).empty());
}

TEST(VlanNames, FitALink) {
  const config::Rail rail{.name = "rail1", .index = 99};
  EXPECT_EQ(VrfName(rail, 4094), "railcni-99-4094");
  EXPECT_EQ(VlanPortName(rail, 4094), "rcvlan-99-4094");
  EXPECT_EQ(VlanOfPortName(rail, "rcvlan-99-4094"), 4094);
  for (const char* other : {"rcvlan-9-4094", "rcvlan-99-", "rcvlan-99-04094", "rcvlan-99-1x", "br-rail0"})
    EXPECT_EQ(VlanOfPortName(rail, other), std::nullopt) << other;
  EXPECT_LE(VrfName(rail, 4094).size(), 15u);
}

TEST(VlanOfPort, GoesByMarkAndName) {
  const config::Rail rail{.name = "rail0", .index = 0};
  ovs::Port port{.bridge = "br", .name = "rcvlan-0-101", .error = "", .external_ids = {{kVlanKey, "101"}}};
  EXPECT_EQ(VlanOfPort(rail, port), 101);
  EXPECT_EQ(VlanOfPort({.name = "rail1", .index = 1}, port), std::nullopt);
  for (const char* mark : {"102", "", "x", "101x"}) {
    port.external_ids = {{kVlanKey, mark}};
    EXPECT_EQ(VlanOfPort(rail, port), std::nullopt) << mark;
  }
  port.external_ids = {};
  EXPECT_EQ(VlanOfPort(rail, port), std::nullopt);
}

}  // namespace
}  // namespace rail::engine
