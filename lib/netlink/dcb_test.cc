// The bytes: requests as dcb(8) of iproute2 6.1 sends them, answers as linux 6.12 gave them (strace, in the guest "switchdev").
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <netlink/msg.h>

#include "lib/netlink/kernel_dcb.h"

namespace rail::netlink {
namespace {

using ::testing::ElementsAre;

// "1c 00 xx4" -> bytes; "00*128" repeats.
std::string Bytes(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size();) {
    if (hex[i] == ' ' || hex[i] == '\n') {
      ++i;
      continue;
    }
    const char byte = static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    i += 2;
    size_t times = 1;
    if (i < hex.size() && hex[i] == '*') {
      size_t used = 0;
      times = std::stoul(hex.substr(i + 1), &used);
      i += 1 + used;
    }
    bytes.append(times, byte);
  }
  return bytes;
}

// What follows the header, which the socket completes; and its type.
std::string Sent(const Message& message) {
  const nlmsghdr* header = nlmsg_hdr(message.get());
  return {static_cast<const char*>(nlmsg_data(header)), header->nlmsg_len - NLMSG_HDRLEN};
}
int TypeOf(const Message& message) {
  return nlmsg_hdr(message.get())->nlmsg_type;
}

std::string Answer(uint16_t type, const std::string& body) {
  nlmsghdr header{};
  header.nlmsg_len = static_cast<uint32_t>(NLMSG_HDRLEN + body.size());
  header.nlmsg_type = type;
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + body;
}

constexpr int kGet = 78;  // RTM_GETDCB
constexpr int kSet = 79;  // RTM_SETDCB
const std::string kP0 = "07 00 01 00 70 30 00 00 ";

constexpr DcbApp kRoce{.selector = DcbApp::kDscp, .priority = 3, .protocol = 26};

TEST(DcbBytes, AsksAsDcbDoes) {
  const Message asked = GetDcbRequest("p0");
  EXPECT_EQ(TypeOf(asked), kGet);
  EXPECT_EQ(Sent(asked), Bytes("00 15 00 00 " + kP0));
}

TEST(DcbBytes, SetsPfcAsDcbDoesWithTheDelayThatItHasRead) {
  const Message asked = SetPfcRequest("p0", {.enabled = 8, .capacity = 8, .mbc = 0, .delay = 7});
  EXPECT_EQ(TypeOf(asked), kSet);
  EXPECT_EQ(Sent(asked), Bytes("00 14 00 00 " + kP0 + "90 00 0d 80 8c 00 02 00 08 08 00 00 07 00 00*130"));
}

TEST(DcbBytes, AddsAndDeletesAnEntryAsDcbDoes) {
  const std::string entry = kP0 + "10 00 0d 80 0c 00 03 80 08 00 01 00 05 03 1a 00";
  EXPECT_EQ(Sent(AppRequest("p0", kRoce, true)), Bytes("00 14 00 00 " + entry));
  EXPECT_EQ(Sent(AppRequest("p0", kRoce, false)), Bytes("00 1b 00 00 " + entry));
}

const std::string kEts =
    "3f 00 01 00 00 08 00 00*24 00 01 02 03 04 05 06 07 00*24 00 ";  // prio_tc 0..7, padded to 64 bytes

TEST(DcbBytes, ReadsWhatTheKernelSays) {
  const std::string pfc = "8c 00 02 00 08 08 00 00 07 00 00*130 ";
  const std::string apps = "14 00 03 00 08 00 01 00 05 06 30 00 08 00 01 00 05 03 1a 00 04 00 0c 80 ";
  const auto state = DecodeDcb(
      Answer(kGet, Bytes("00 15 00 00 " + kP0 + "e8 00 0d 00 " + kEts + pfc + apps + "05 00 0f 00 09 00*3")));
  ASSERT_TRUE(state);
  EXPECT_EQ(state->pfc.value().enabled, 8);
  EXPECT_EQ(state->pfc->capacity, 8);
  EXPECT_EQ(state->pfc->delay, 7);
  EXPECT_THAT(state->ets.value().traffic_class, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(state->apps, ElementsAre(kRoce, DcbApp{.selector = 5, .priority = 6, .protocol = 48}));
  EXPECT_FALSE(state->peer_pfc);
}

// By hand: no driver of the guests has a peer.
TEST(DcbBytes, ReadsWhatTheNeighbourSays) {
  const auto state =
      DecodeDcb(Answer(kGet, Bytes("00 15 00 00 " + kP0 + "90 00 0d 00 8c 00 05 00 08 18 00*134")));
  ASSERT_TRUE(state);
  EXPECT_EQ(state->peer_pfc, 0x18);
  EXPECT_FALSE(state->pfc);
}

TEST(DcbBytes, FindsTheErrnoInTheAnswerToAChange) {
  EXPECT_EQ(DecodeDcbErrno(Answer(kSet, Bytes("00 14 00 00 05 00 0d 00 00 00*3"))), 0);
  EXPECT_EQ(DecodeDcbErrno(Answer(kSet, Bytes("00 14 00 00 05 00 0d 00 ef 00*3"))), EEXIST);
  EXPECT_FALSE(DecodeDcbErrno(Answer(kGet, Bytes("00 15 00 00 05 00 0d 00 ef 00*3"))));
}

TEST(DcbBytes, LeavesMessagesAloneThatAreCutOrOfOthers) {
  const std::string whole =
      Answer(kGet, Bytes("00 15 00 00 " + kP0 + "90 00 0d 00 8c 00 05 00 08 18 00*134"));
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(DecodeDcb(whole.substr(0, size)));
  EXPECT_FALSE(DecodeDcb(Answer(kSet, Bytes("00 14 00 00 " + kP0))));
  const auto short_pfc =
      DecodeDcb(Answer(kGet, Bytes("00 15 00 00 " + kP0 + "0c 00 0d 00 08 00 02 00 08 08 00 00")));
  ASSERT_TRUE(short_pfc);
  EXPECT_FALSE(short_pfc->pfc);
}

}  // namespace
}  // namespace rail::netlink
