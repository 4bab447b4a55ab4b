#include "lib/engine/repair/local_rules.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lib/engine/attach/attachment.h"

namespace rail::engine {
namespace {

class LocalRulesTest : public ::testing::Test {
 protected:
  LocalRulesTest() {
    basis.bridge = {.uplink_port = 1,
                    .bridge_mac = *MacAddress::Parse("02:00:00:00:00:01"),
                    .gateway_mac = *MacAddress::Parse("02:52:41:49:4c:00")};
    basis.leaf_mac = *MacAddress::Parse("02:00:00:00:00:02");
    LocalRules::Pod pod;
    pod.attachment.id = 7;
    pod.attachment.ofport = 5;
    pod.attachment.mac = *MacAddress::Parse("02:00:00:00:00:03");
    pod.attachment.addresses = {*IpAddress::Parse("10.0.3.1")};
    pod.attachment.tenant_id = {1, 2};
    pod.steps = {{.id = 1, .attachment = 7, .kind = step::kAdmit}};
    basis.pods.push_back(pod);
    first = rules.For(basis);
  }
  size_t Of(uint64_t cookie) const {
    const BridgeRules::LocalPtr now = first;
    return static_cast<size_t>(
        std::ranges::count_if(*now, [&](const auto& entry) { return entry.second.cookie == cookie; }));
  }

  LocalRules rules{config::TenancyMode::kNamespace};
  LocalRules::Basis basis;
  BridgeRules::LocalPtr first;
};

TEST_F(LocalRulesTest, AreMadeOnceAsLongAsNothingOfTheNodeChanges) {
  EXPECT_GT(Of(ovs::Cookie(ovs::CookieKind::kAttachment, 7)), 6U);
  EXPECT_EQ(rules.For(basis), first);
  EXPECT_EQ(rules.For(basis), first);
}

TEST_F(LocalRulesTest, FollowEverythingThatTheyComeFrom) {
  const auto changed = [&](auto&& change) {
    LocalRules::Basis other = basis;
    change(other);
    const BridgeRules::LocalPtr now = rules.For(other);
    const BridgeRules::LocalPtr anew = LocalRules(config::TenancyMode::kNamespace).For(other);
    EXPECT_TRUE(*now == *anew) << "as if they had never been made for anything else";
    return !(*now == *first);
  };
  EXPECT_TRUE(changed([](LocalRules::Basis& b) { b.bridge.uplink_port = 2; }));
  EXPECT_TRUE(changed([](LocalRules::Basis& b) { b.bridge.bridge_mac.bytes[5] = 9; }));
  EXPECT_TRUE(changed([](LocalRules::Basis& b) { b.bridge.gateway_mac.bytes[5] = 9; }));
  EXPECT_TRUE(changed([](LocalRules::Basis& b) { b.leaf_mac = {}; }));
  EXPECT_TRUE(changed([](LocalRules::Basis& b) { b.pods.clear(); }));
  EXPECT_TRUE(changed([](LocalRules::Basis& b) { b.pods[0].attachment.ofport = 6; }));
  EXPECT_TRUE(changed([](LocalRules::Basis& b) { b.pods[0].attachment.mac.bytes[5] = 9; }));
  EXPECT_TRUE(changed([](LocalRules::Basis& b) { b.pods[0].steps.clear(); }));
  EXPECT_TRUE(changed([](LocalRules::Basis& b) { b.bridge.vlans.of_tenant["red"] = 101; }));
  EXPECT_TRUE(changed(
      [](LocalRules::Basis& b) { b.vlan_ports = {{.vlan = 101, .port = 9, .leaf_mac = b.leaf_mac}}; }));
  EXPECT_FALSE(changed([](LocalRules::Basis&) {}));
}

}  // namespace
}  // namespace rail::engine
