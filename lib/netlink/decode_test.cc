#include "lib/netlink/decode.h"

#include <gtest/gtest.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace rail::netlink {
namespace {

// The bytes of a message, in memory of exactly its size, so that a sanitizer sees every read behind it.
class Bytes {
 public:
  explicit Bytes(nl_msg* message, size_t cut = 0) {
    const nlmsghdr* header = nlmsg_hdr(message);
    const auto* first = reinterpret_cast<const char*>(header);
    bytes_.assign(first, first + header->nlmsg_len - cut);
  }
  std::string_view view() const { return {bytes_.data(), bytes_.size()}; }
  char* data() { return bytes_.data(); }

 private:
  std::vector<char> bytes_;
};

struct MessageDeleter {
  void operator()(nl_msg* message) const { nlmsg_free(message); }
};
using Message = std::unique_ptr<nl_msg, MessageDeleter>;

template <class Body>
Message Make(int type, Body body, int flags = 0) {
  Message message(nlmsg_alloc_simple(type, flags));
  EXPECT_GE(nlmsg_append(message.get(), &body, sizeof body, NLMSG_ALIGNTO), 0);
  return message;
}

Message VethMessage() {
  ifinfomsg body{};
  body.ifi_index = 7;
  body.ifi_flags = IFF_UP;
  Message message = Make(RTM_NEWLINK, body);
  nla_put_string(message.get(), IFLA_IFNAME, "rep0");
  nla_put_u32(message.get(), IFLA_MTU, 4200);
  nla_put_u32(message.get(), IFLA_CARRIER_DOWN_COUNT, 3);
  nla_put_u32(message.get(), IFLA_LINK, 9);
  nla_put_u32(message.get(), IFLA_LINK_NETNSID, 0);
  nla_put(message.get(), IFLA_ADDRESS, 6, "\x02\x00\x00\x00\x00\x07");
  nlattr* info = nla_nest_start(message.get(), IFLA_LINKINFO);
  nla_put_string(message.get(), IFLA_INFO_KIND, "veth");
  nla_nest_end(message.get(), info);
  return message;
}

TEST(Decode, ReadsALink) {
  const auto link = DecodeLink(Bytes(VethMessage().get()).view());
  ASSERT_TRUE(link);
  EXPECT_EQ(link->index, 7);
  EXPECT_EQ(link->name, "rep0");
  EXPECT_EQ(link->kind, "veth");
  EXPECT_EQ(link->mac.ToString(), "02:00:00:00:00:07");
  EXPECT_EQ(link->mtu, 4200U);
  EXPECT_TRUE(link->up);
  EXPECT_FALSE(link->carrier);
  EXPECT_EQ(link->carrier_losses, 3U);
  EXPECT_EQ(link->peer, 9);
  EXPECT_TRUE(link->peer_elsewhere);
}

TEST(Decode, SurvivesAMessageCutAnywhere) {
  const Message message = VethMessage();
  const size_t size = nlmsg_hdr(message.get())->nlmsg_len;
  for (size_t cut = 1; cut <= size; ++cut) {
    EXPECT_FALSE(DecodeLink(Bytes(message.get(), cut).view())) << cut;  // the header says more than there is
    Bytes shorter(message.get(), cut);
    if (size - cut < sizeof(nlmsghdr)) continue;
    const auto length = static_cast<uint32_t>(size - cut);
    std::memcpy(shorter.data(), &length, sizeof length);
    (void)DecodeLink(shorter.view());
  }
}

TEST(Decode, ReadsNothingOfAnotherTypeOrFamily) {
  const Bytes link(VethMessage().get());
  EXPECT_FALSE(DecodeAddress(link.view()));
  EXPECT_FALSE(DecodeRoute(link.view()));
  EXPECT_FALSE(DecodeRule(link.view()));
  EXPECT_FALSE(DecodeNeighbour(link.view()));
  EXPECT_FALSE(DecodeVerdict(link.view()));
  ifinfomsg bridge_port{};
  bridge_port.ifi_family = AF_BRIDGE;
  EXPECT_FALSE(DecodeLink(Bytes(Make(RTM_NEWLINK, bridge_port).get()).view()));
}

// As Istio's ambient mode has one: "local default dev lo table 100".
TEST(Decode, TellsARouteOfAnotherTypeFromOneToTheWorld) {
  rtmsg body{};
  body.rtm_family = AF_INET;
  body.rtm_type = RTN_LOCAL;
  const auto route = DecodeRoute(Bytes(Make(RTM_NEWROUTE, body).get()).view());
  ASSERT_TRUE(route);
  EXPECT_EQ(route->type, RTN_LOCAL);
  EXPECT_NE(*route, Route());
}

TEST(Decode, RefusesAPrefixLongerThanItsFamily) {
  rtmsg body{};
  body.rtm_family = AF_INET;
  body.rtm_type = RTN_UNICAST;
  body.rtm_dst_len = 33;
  EXPECT_FALSE(DecodeRoute(Bytes(Make(RTM_NEWROUTE, body).get()).view()));
  body.rtm_dst_len = 0;
  const auto route = DecodeRoute(Bytes(Make(RTM_NEWROUTE, body).get()).view());
  ASSERT_TRUE(route);
  EXPECT_EQ(route->destination.ToString(), "0.0.0.0/0");
}

TEST(Decode, ReadsErrnoAndTheKernelsTextOfARefusal) {
  nlmsgerr body{};
  body.error = -ENETUNREACH;
  body.msg.nlmsg_len = sizeof(nlmsghdr) + 100;
  Message message = Make(NLMSG_ERROR, body, NLM_F_CAPPED | NLM_F_ACK_TLVS);
  nla_put_string(message.get(), NLMSGERR_ATTR_MSG, "Nexthop has invalid gateway");
  const auto verdict = DecodeVerdict(Bytes(message.get()).view());
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->sys_errno, ENETUNREACH);
  EXPECT_EQ(verdict->text, "Nexthop has invalid gateway");
}

TEST(Decode, ReadsTheEndOfADump) {
  Message message = Make(NLMSG_DONE, int32_t{-ENOENT}, NLM_F_ACK_TLVS);
  nla_put_string(message.get(), NLMSGERR_ATTR_MSG, "FIB table does not exist");
  const auto verdict = DecodeVerdict(Bytes(message.get()).view());
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->sys_errno, ENOENT);
  EXPECT_EQ(verdict->text, "FIB table does not exist");
  EXPECT_EQ(DecodeVerdict(Bytes(Make(NLMSG_DONE, int32_t{0}).get()).view())->sys_errno, 0);
}

TEST(Decode, BelievesNoLengthInsideARefusal) {
  nlmsgerr body{};
  body.error = -EINVAL;
  for (const uint32_t length : {0U, 15U, 100U, 0xffffffffU}) {
    body.msg.nlmsg_len = length;
    const auto verdict = DecodeVerdict(Bytes(Make(NLMSG_ERROR, body, NLM_F_ACK_TLVS).get()).view());
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->sys_errno, EINVAL);
    EXPECT_EQ(verdict->text, "");
  }
}

}  // namespace
}  // namespace rail::netlink
