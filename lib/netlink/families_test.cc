// The decoders of what a PF says of its VFs, of devlink and of RDMA: from messages as the kernel builds them.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

#include <cstring>

#include "lib/netlink/builder.h"
#include "lib/netlink/kernel_devlink.h"
#include "lib/netlink/kernel_rdma.h"
#include "lib/netlink/kernel_vf.h"

namespace rail::netlink {
namespace {

std::string Bytes(const Builder& message) {
  const nlmsghdr* header = nlmsg_hdr(message.get());
  return {reinterpret_cast<const char*>(header), header->nlmsg_len};
}

template <class Body>
std::string_view View(const Body& body) {
  return {reinterpret_cast<const char*>(&body), sizeof body};
}

// Three VFs of a PF; number 2 has everything, number 1 a driver that fills in the least.
Builder VfMessage() {
  ifinfomsg link{};
  link.ifi_index = 7;
  Builder message(RTM_NEWLINK, 0, link);
  message.String(IFLA_IFNAME, "ens1f0np0");
  nlattr* list = message.Nest(IFLA_VFINFO_LIST);
  for (uint32_t vf = 0; vf < 3; ++vf) {
    nlattr* info = message.Nest(IFLA_VF_INFO);
    ifla_vf_mac mac{};
    mac.vf = vf;
    if (vf == 2) std::memcpy(mac.mac, "\x02\x00\x00\x00\x00\x07", 6);
    message.Bytes(IFLA_VF_MAC, View(mac));
    const uint32_t not_told = vf == 2 ? 1 : ~0U;
    message.Bytes(IFLA_VF_SPOOFCHK, View(ifla_vf_spoofchk{vf, not_told}));
    message.Bytes(IFLA_VF_TRUST, View(ifla_vf_trust{vf, vf == 2 ? 0 : ~0U}));
    if (vf == 2) {
      message.Bytes(IFLA_VF_VLAN, View(ifla_vf_vlan{vf, 100, 3}));
      message.Bytes(IFLA_VF_RATE, View(ifla_vf_rate{vf, 100, 1000}));
      message.Bytes(IFLA_VF_LINK_STATE, View(ifla_vf_link_state{vf, IFLA_VF_LINK_STATE_DISABLE}));
      nlattr* vlans = message.Nest(IFLA_VF_VLAN_LIST);
      message.Bytes(IFLA_VF_VLAN_INFO, View(ifla_vf_vlan_info{vf, 100, 3, htons(ETH_P_8021AD)}));
      message.EndNest(vlans);
    }
    message.EndNest(info);
  }
  message.EndNest(list);
  return message;
}

TEST(Families, ReadAVirtualFunction) {
  VfState wanted;
  wanted.mac = *MacAddress::Parse("02:00:00:00:00:07");
  wanted.vlan = {100, 3, true};
  wanted.rates = {100, 1000};
  wanted.spoofchk = true;
  wanted.trust = false;
  wanted.link_state = VfLinkState::kDisable;
  EXPECT_EQ(DecodeVf(Bytes(VfMessage()), 2), wanted);
}

TEST(Families, LeaveOpenWhatTheDriverDoesNotSay) {
  EXPECT_EQ(DecodeVf(Bytes(VfMessage()), 1), VfState());
  EXPECT_FALSE(DecodeVf(Bytes(VfMessage()), 3));
}

Builder Generic(uint8_t command) {
  genlmsghdr body{};
  body.cmd = command;
  return Builder(0x15, 0, body);
}

TEST(Families, ReadAPortOfDevlink) {
  Builder message = Generic(DEVLINK_CMD_PORT_NEW);
  message.String(DEVLINK_ATTR_BUS_NAME, "pci")
      .String(DEVLINK_ATTR_DEV_NAME, "0000:3b:00.1")
      .Uint32(DEVLINK_ATTR_PORT_INDEX, 65537)
      .String(DEVLINK_ATTR_PORT_NETDEV_NAME, "ens1f1np1_4")
      .Uint16(DEVLINK_ATTR_PORT_FLAVOUR, DEVLINK_PORT_FLAVOUR_PCI_VF)
      .Uint32(DEVLINK_ATTR_PORT_CONTROLLER_NUMBER, 1)
      .Uint16(DEVLINK_ATTR_PORT_PCI_PF_NUMBER, 1)
      .Uint16(DEVLINK_ATTR_PORT_PCI_VF_NUMBER, 4);
  const auto found = DecodePort(Bytes(message));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->device.ToString(), "pci/0000:3b:00.1");
  EXPECT_EQ(found->port.flavour, DevlinkPort::Flavour::kPciVf);
  EXPECT_EQ(found->port.controller, 1U);
  EXPECT_EQ(found->port.pf, 1U);
  EXPECT_EQ(found->port.vf, 4U);
  EXPECT_EQ(found->port.netdev, "ens1f1np1_4");
  EXPECT_FALSE(DecodePort(Bytes(Generic(DEVLINK_CMD_PORT_NEW))));
}

TEST(Families, ReadTheModeOfAnEswitch) {
  for (const auto& [number, mode] : {std::pair{DEVLINK_ESWITCH_MODE_LEGACY, EswitchMode::kLegacy},
                                     std::pair{DEVLINK_ESWITCH_MODE_SWITCHDEV, EswitchMode::kSwitchdev}}) {
    Builder message = Generic(DEVLINK_CMD_ESWITCH_GET);
    message.Uint16(DEVLINK_ATTR_ESWITCH_MODE, static_cast<uint16_t>(number));
    EXPECT_EQ(DecodeEswitchMode(Bytes(message)), mode);
  }
  EXPECT_FALSE(DecodeEswitchMode(Bytes(Generic(DEVLINK_CMD_ESWITCH_GET))));
}

TEST(Families, ReadAParameterAsItIsNow) {
  Builder message = Generic(DEVLINK_CMD_PARAM_GET);
  nlattr* param = message.Nest(DEVLINK_ATTR_PARAM);
  message.String(DEVLINK_ATTR_PARAM_NAME, "flow_steering_mode").Uint8(DEVLINK_ATTR_PARAM_TYPE, 5);
  nlattr* values = message.Nest(DEVLINK_ATTR_PARAM_VALUES_LIST);
  for (const auto& [mode, text] :
       {std::pair{DEVLINK_PARAM_CMODE_PERMANENT, "dmfs"}, std::pair{DEVLINK_PARAM_CMODE_RUNTIME, "smfs"}}) {
    nlattr* value = message.Nest(DEVLINK_ATTR_PARAM_VALUE);
    message.Uint8(DEVLINK_ATTR_PARAM_VALUE_CMODE, static_cast<uint8_t>(mode))
        .String(DEVLINK_ATTR_PARAM_VALUE_DATA, text);
    message.EndNest(value);
  }
  message.EndNest(values);
  message.EndNest(param);
  EXPECT_EQ(DecodeStringParam(Bytes(message)), "smfs");
}

TEST(Families, ReadAnRdmaDeviceAndTheSystemsMode) {
  Builder device(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET), 0);
  device.Uint32(RDMA_NLDEV_ATTR_DEV_INDEX, 5).String(RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_4");
  const auto found = DecodeRdmaDevice(Bytes(device));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->index, 5U);
  EXPECT_EQ(found->name, "mlx5_4");
  for (const uint8_t shared : {uint8_t{0}, uint8_t{1}}) {
    Builder system(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET), 0);
    system.Uint8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, shared);
    EXPECT_EQ(DecodeRdmaNetns(Bytes(system)), shared == 1 ? RdmaNetns::kShared : RdmaNetns::kExclusive);
    EXPECT_FALSE(DecodeRdmaDevice(Bytes(system)));
  }
}

// Nothing is read behind the end of a message, wherever it is cut.
TEST(Families, SurviveACutMessage) {
  const std::string whole = Bytes(VfMessage());
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    (void)DecodeVf({cut.data(), cut.size()}, 2);
    (void)DecodePort({cut.data(), cut.size()});
    (void)DecodeStringParam({cut.data(), cut.size()});
    (void)DecodeRdmaDevice({cut.data(), cut.size()});
  }
}

}  // namespace
}  // namespace rail::netlink
