#include "plugins/ovs-provider/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rail::ovs_provider {
namespace {

using netlink::VfLinkState;
using ::testing::HasSubstr;

device::Settings Parse(const std::string& text, std::string* problem = nullptr) {
  const nlohmann::json document = ParseJson(text).value();
  JsonErrors errors;
  JsonObject object(document, "", errors);
  device::Settings settings = ParseDeviceSettings(object, errors);
  const Status status = errors.ToStatus("config");
  if (problem == nullptr) {
    EXPECT_TRUE(status) << status.error().message;
  } else {
    *problem = status ? "accepted" : status.error().message;
  }
  return settings;
}

std::string Problem(const std::string& text) {
  std::string problem;
  Parse(text, &problem);
  return problem;
}

TEST(DeviceSettings, AskNothingWhenNothingIsWritten) {
  EXPECT_TRUE(Parse("{}").empty());
  EXPECT_TRUE(Parse(R"({"vlan": null, "trust": null})").empty());
}

TEST(DeviceSettings, AreSriovCnisKeys) {
  const device::Settings settings = Parse(R"({
      "vlan": 100, "vlanQoS": 3, "vlanProto": "802.1AD", "min_tx_rate": 100, "max_tx_rate": 1000,
      "spoofchk": "off", "trust": "on", "link_state": "enable", "rdma_name": "mlx5_rail0"})");
  EXPECT_EQ(settings.vlan, (netlink::VfVlan{100, 3, true}));
  EXPECT_EQ(settings.rates, (netlink::VfRates{100, 1000}));
  EXPECT_EQ(settings.spoofchk, false);
  EXPECT_EQ(settings.trust, true);
  EXPECT_EQ(settings.link_state, VfLinkState::kEnable);
  EXPECT_EQ(settings.rdma_name, "mlx5_rail0");
}

TEST(DeviceSettings, AskForNoVlanWithANought) {
  EXPECT_EQ(Parse(R"({"vlan": 0})").vlan, netlink::VfVlan());
}

TEST(DeviceSettings, SayWhatIsWrong) {
  EXPECT_THAT(Problem(R"({"vlan": 4095})"), HasSubstr("vlan"));
  EXPECT_THAT(Problem(R"({"vlan": "100"})"), HasSubstr("vlan"));
  EXPECT_THAT(Problem(R"({"vlan": 5, "vlanQoS": 8})"), HasSubstr("vlanQoS"));
  EXPECT_THAT(Problem(R"({"vlanQoS": 1})"), HasSubstr("vlan: must be 1 to 4094"));
  EXPECT_THAT(Problem(R"({"vlan": 0, "vlanProto": "802.1ad"})"), HasSubstr("vlan: must be 1 to 4094"));
  EXPECT_THAT(Problem(R"({"vlan": 1, "vlanProto": "802.1x"})"), HasSubstr("802.1ad, 802.1q"));
  EXPECT_THAT(Problem(R"({"trust": true})"), HasSubstr("trust"));
  EXPECT_THAT(Problem(R"({"trust": "yes"})"), HasSubstr("must be one of: off, on"));
  EXPECT_THAT(Problem(R"({"link_state": "up"})"), HasSubstr("auto, disable, enable"));
  EXPECT_THAT(Problem(R"({"min_tx_rate": 5, "max_tx_rate": 4})"), HasSubstr("min_tx_rate"));
  EXPECT_THAT(Problem(R"({"rdma_name": "../../x"})"), HasSubstr("rdma_name"));
  EXPECT_THAT(Problem(R"({"rdma_name": ")" + std::string(64, 'a') + "\"}"), HasSubstr("rdma_name"));
}

}  // namespace
}  // namespace rail::ovs_provider
