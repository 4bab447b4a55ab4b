#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/device/device.h"

namespace rail::device {
namespace {

using ::testing::HasSubstr;

Saved Example() {
  Saved saved;
  saved.id = "0000:08:00.2";
  saved.netdev = "vf0";
  saved.representor = "rep0";
  saved.mac = *MacAddress::Parse("02:00:00:00:00:07");
  saved.mtu = 1500;
  saved.up = true;
  saved.representor_mtu = 9000;
  saved.representor_up = false;
  saved.kind = "";
  saved.parent_device = "0000:08:00.2";
  saved.permanent_mac = *MacAddress::Parse("02:00:00:00:00:08");
  return saved;
}

TEST(Saved, IsReadBackAsItWasWritten) {
  EXPECT_EQ(Saved::FromJson(Example().ToJson()).value(), Example());
  EXPECT_EQ(Saved::FromJson(Saved().ToJson()).value(), Saved());
}

TEST(Saved, KeepsWhatTheNetworkAsked) {
  Saved saved = Example();
  saved.asked = {.vlan = netlink::VfVlan{100, 3, true},
                 .rates = netlink::VfRates{10, 200},
                 .spoofchk = false,
                 .trust = true,
                 .link_state = netlink::VfLinkState::kEnable,
                 .rdma_name = "mlx5_net1",
                 .mac = *MacAddress::Parse("02:00:00:00:00:09")};
  EXPECT_EQ(Saved::FromJson(saved.ToJson()).value(), saved);
  saved.asked = {.trust = false};
  EXPECT_EQ(Saved::FromJson(saved.ToJson()).value(), saved);
}

TEST(Saved, KeepsWhichVfOfWhichPfItWas) {
  Saved saved = Example();
  saved.vf = {.pf = "10002:01:00.0", .pf_mac = *MacAddress::Parse("3c:1a:0f:00:a1:00"), .index = 7};
  EXPECT_EQ(Saved::FromJson(saved.ToJson()).value(), saved);
}

// Format 3 did not say it.
TEST(Saved, IsReadWithoutWhichVfItWas) {
  const auto saved = Saved::FromJson(
      R"({"id":"0000:3b:00.2","netdev":"vf0","representor":"rep0","mac":"02:00:00:00:00:07","mtu":1500,"up":true,
          "representor_mtu":1500,"representor_up":false,"kind":"","parent_device":"0000:3b:00.2",
          "permanent_mac":"02:00:00:00:00:07","vf":{"mac":"00:00:00:00:00:00","vlan":0,"vlan_qos":0,
          "vlan_service":false,"min_tx_rate":0,"max_tx_rate":0,"rdma":"","rdma_index":0}})");
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_EQ(saved->vf->pf, "");
}

TEST(Saved, RefusesWhatItDidNotWrite) {
  const auto refused = [](std::string text, const std::string& from, const std::string& to) -> std::string {
    text.replace(text.find(from), from.size(), to);
    const auto saved = Saved::FromJson(text);
    if (saved) return "accepted";
    EXPECT_EQ(saved.error().code, Code::kInvalid);
    return saved.error().message;
  };
  const std::string text = Example().ToJson();
  EXPECT_THAT(refused(text, "\"mtu\":1500", "\"mtu\":-1"), HasSubstr("mtu: must be a whole number"));
  EXPECT_THAT(refused(text, "\"mtu\":1500", "\"mtu\":4294967296"), HasSubstr("mtu"));
  EXPECT_THAT(refused(text, "02:00:00:00:00:07", "02:00"), HasSubstr("mac: '02:00' is not a MAC address"));
  EXPECT_THAT(refused(text, "\"netdev\"", "\"netdew\""), HasSubstr("netdev: is missing"));
  EXPECT_THAT(refused(text, "\"netdev\"", "\"netdew\""), HasSubstr("netdew: unknown key"));
  EXPECT_THAT(refused(text, "\"up\":true", "\"x\":true"), HasSubstr("up: is missing"));
  EXPECT_FALSE(Saved::FromJson("[]"));
  EXPECT_FALSE(Saved::FromJson(""));
}

}  // namespace
}  // namespace rail::device
