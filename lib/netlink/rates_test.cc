// Requests about rates, held against what devlink(8) of iproute2 6.1 sends; answers as the kernel builds them.
#include <gmock/gmock.h>
#include <linux/devlink.h>
#include <linux/genetlink.h>

#include <functional>

#include "lib/netlink/devlink_message.h"

namespace rail::netlink {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kFamily = 23;
const DevlinkHandle kNic{"netdevsim", "netdevsim10"};
constexpr uint64_t kMbit = 125'000;  // bytes per second

// The attributes, after the headers of netlink and generic netlink, whose version devlink(8) leaves 0.
std::string Attributes(const Builder& message) {
  const nlmsghdr* header = nlmsg_hdr(message.get());
  const auto* bytes = reinterpret_cast<const char*>(header);
  return {bytes + NLMSG_HDRLEN + GENL_HDRLEN, bytes + header->nlmsg_len};
}

uint8_t CommandOf(const Builder& message) {
  return static_cast<const genlmsghdr*>(nlmsg_data(nlmsg_hdr(message.get())))->cmd;
}

std::string Raw(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text += static_cast<char>(byte);
  return text;
}

const std::string kOfNic = Raw({0x0e, 0, 0x01, 0}) + "netdevsim" + Raw({0, 0, 0}) + Raw({0x10, 0, 0x02, 0}) +
                           "netdevsim10" + Raw({0});
const std::string kG1 = Raw({0x07, 0, 0xa8, 0}) + "g1" + Raw({0, 0});

// devlink port function rate add netdevsim/netdevsim10/g1 tx_share 10mbit tx_max 100mbit
TEST(Rates, AddANodeAsDevlinkDoes) {
  const Builder message =
      NodeRequest(kFamily, DEVLINK_CMD_RATE_NEW, kNic, "g1", Rate{.share = 10 * kMbit, .max = 100 * kMbit});
  EXPECT_EQ(CommandOf(message), 0x4c);
  EXPECT_EQ(Attributes(message), kOfNic + kG1 + Raw({0x0c, 0, 0xa6, 0, 0xd0, 0x12, 0x13, 0, 0, 0, 0, 0}) +
                                     Raw({0x0c, 0, 0xa7, 0, 0x20, 0xbc, 0xbe, 0, 0, 0, 0, 0}));
}

// devlink port function rate del netdevsim/netdevsim10/g1
TEST(Rates, DeleteANodeAsDevlinkDoes) {
  const Builder message = NodeRequest(kFamily, DEVLINK_CMD_RATE_DEL, kNic, "g1", std::nullopt);
  EXPECT_EQ(CommandOf(message), 0x4d);
  EXPECT_EQ(Attributes(message), kOfNic + kG1);
}

// What devlink(8) sends for the steps that raild takes, but for the bytes that fill an attribute up, which it leaves as they are:
//   devlink port function rate set netdevsim/netdevsim10/railcni-0000000000000000000000000007 tx_share 3mbit tx_max 4000mbit
//   devlink port function rate set netdevsim/netdevsim10/128 parent railcni-0000000000000000000000000007
//   devlink port function rate set netdevsim/netdevsim10/128 noparent
//   devlink port function rate del netdevsim/netdevsim10/railcni-0000000000000000000000000007
TEST(Rates, KeepATenantsNodeAsDevlinkDoes) {
  const std::string name = "railcni-0000000000000000000000000007";
  const std::string port = Raw({0x08, 0, 0x03, 0, 0x80, 0, 0, 0});
  const std::string named = name + Raw({0, 0, 0, 0});
  const Builder set =
      NodeRequest(kFamily, DEVLINK_CMD_RATE_SET, kNic, name, Rate{.share = 3 * kMbit, .max = 4000 * kMbit});
  EXPECT_EQ(CommandOf(set), 0x4b);
  EXPECT_EQ(Attributes(set), kOfNic + Raw({0x29, 0, 0xa8, 0}) + named +
                                 Raw({0x0c, 0, 0xa6, 0, 0xd8, 0xb8, 0x05, 0, 0, 0, 0, 0}) +
                                 Raw({0x0c, 0, 0xa7, 0, 0, 0x65, 0xcd, 0x1d, 0, 0, 0, 0}));
  const Builder parent = LeafRequest(kFamily, kNic, 128, std::nullopt, name);
  EXPECT_EQ(CommandOf(parent), 0x4b);
  EXPECT_EQ(Attributes(parent), kOfNic + port + Raw({0x29, 0, 0xa9, 0}) + named);
  const Builder none = LeafRequest(kFamily, kNic, 128, std::nullopt, "");
  EXPECT_EQ(Attributes(none), kOfNic + port + Raw({0x05, 0, 0xa9, 0, 0, 0, 0, 0}));
  const Builder del = NodeRequest(kFamily, DEVLINK_CMD_RATE_DEL, kNic, name, std::nullopt);
  EXPECT_EQ(CommandOf(del), 0x4d);
  EXPECT_EQ(Attributes(del), kOfNic + Raw({0x29, 0, 0xa8, 0}) + named);
}

TEST(Rates, GiveALeafItsParentOrNone) {
  const Builder message = LeafRequest(kFamily, kNic, 3, Rate{.share = 0, .max = kMbit}, "");
  EXPECT_EQ(CommandOf(message), DEVLINK_CMD_RATE_SET);
  EXPECT_EQ(Attributes(message), kOfNic + Raw({0x08, 0, 0x03, 0, 3, 0, 0, 0}) +
                                     Raw({0x0c, 0, 0xa6, 0, 0, 0, 0, 0, 0, 0, 0, 0}) +
                                     Raw({0x0c, 0, 0xa7, 0, 0x48, 0xe8, 0x01, 0, 0, 0, 0, 0}) +
                                     Raw({0x05, 0, 0xa9, 0, 0, 0, 0, 0}));
}

TEST(Rates, ALeafKeepsWhatTheRequestDoesNotSay) {
  const std::string port = Raw({0x08, 0, 0x03, 0, 3, 0, 0, 0});
  EXPECT_EQ(Attributes(LeafRequest(kFamily, kNic, 3, std::nullopt, "g1")),
            kOfNic + port + Raw({0x07, 0, 0xa9, 0}) + "g1" + Raw({0, 0}));
  EXPECT_EQ(Attributes(LeafRequest(kFamily, kNic, 3, Rate{}, std::nullopt)),
            kOfNic + port + Raw({0x0c, 0, 0xa6, 0, 0, 0, 0, 0, 0, 0, 0, 0}) +
                Raw({0x0c, 0, 0xa7, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

std::string Answer(const DevlinkHandle& nic, uint16_t type, const std::function<void(Builder&)>& fill) {
  genlmsghdr body{};
  body.cmd = DEVLINK_CMD_RATE_NEW;
  Builder message(kFamily, 0, body);
  message.String(DEVLINK_ATTR_BUS_NAME, nic.bus)
      .String(DEVLINK_ATTR_DEV_NAME, nic.device)
      .Uint16(DEVLINK_ATTR_RATE_TYPE, type);
  fill(message);
  const nlmsghdr* header = nlmsg_hdr(message.get());
  return {reinterpret_cast<const char*>(header), header->nlmsg_len};
}

// devlink port function rate show
TEST(Rates, AskForAllNicsAtOnce) {
  const Builder message = OfAllDevices(kFamily, DEVLINK_CMD_RATE_GET);
  EXPECT_EQ(CommandOf(message), 0x4a);
  EXPECT_EQ(Attributes(message), "");
}

TEST(Rates, ReadTheTreesOfAllNics) {
  RateTrees trees;
  const DevlinkHandle other{"pci", "0000:3b:00.0"};
  const auto leaf = [](Builder& m) { m.Uint32(DEVLINK_ATTR_PORT_INDEX, 5); };
  DecodeRate(Answer(kNic, DEVLINK_RATE_TYPE_LEAF, leaf), trees);
  DecodeRate(Answer(other, DEVLINK_RATE_TYPE_LEAF, leaf), trees);
  DecodeRate(
      Answer(kNic, DEVLINK_RATE_TYPE_NODE, [](Builder& m) { m.String(DEVLINK_ATTR_RATE_NODE_NAME, "g1"); }),
      trees);
  DecodeRate(Answer({"pci", "x"}, 77, leaf), trees);
  ASSERT_EQ(trees.size(), 2U);
  EXPECT_THAT(trees[kNic].nodes, ElementsAre(RateNode{.name = "g1", .rate = {}, .parent = ""}));
  EXPECT_THAT(trees[other].leaves, ElementsAre(RateLeaf{.port = 5, .rate = {}, .parent = ""}));
}

TEST(Rates, ReadTheTreeOfOneNic) {
  RateTree tree;
  const std::string node = Answer(kNic, DEVLINK_RATE_TYPE_NODE, [](Builder& m) {
    m.Uint64(DEVLINK_ATTR_RATE_TX_SHARE, 7)
        .Uint64(DEVLINK_ATTR_RATE_TX_MAX, 9)
        .String(DEVLINK_ATTR_RATE_NODE_NAME, "g1");
  });
  const std::string leaf = Answer(kNic, DEVLINK_RATE_TYPE_LEAF, [](Builder& m) {
    m.Uint32(DEVLINK_ATTR_PORT_INDEX, 5).String(DEVLINK_ATTR_RATE_PARENT_NODE_NAME, "g1");
  });
  DecodeRate(node, kNic, tree);
  DecodeRate(leaf, kNic, tree);
  DecodeRate(leaf, {"pci", "0000:3b:00.0"}, tree);
  DecodeRate("", kNic, tree);
  EXPECT_THAT(tree.nodes, ElementsAre(RateNode{.name = "g1", .rate = {.share = 7, .max = 9}, .parent = ""}));
  EXPECT_THAT(tree.leaves, ElementsAre(RateLeaf{.port = 5, .rate = {}, .parent = "g1"}));
  RateTree other;
  DecodeRate(Answer(kNic, 77, [](Builder&) {}), kNic, other);
  EXPECT_THAT(other.nodes, IsEmpty());
  EXPECT_THAT(other.leaves, IsEmpty());
}

}  // namespace
}  // namespace rail::netlink
