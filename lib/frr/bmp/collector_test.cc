#include "lib/frr/bmp/collector.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/frr/bmp/testing/wire.h"

namespace rail::bmp {
namespace {

using namespace testing;

const Peer kLeaf{0, IpAddress::Parse("fe80::1").value(), 4200010001, 1};

// No descriptor: nobody listens there.
Fd Connect(uint16_t port, const char* to = "127.0.0.1") {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  EXPECT_EQ(::inet_pton(AF_INET, to, &address.sin_addr), 1);
  const int connected = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return connected == 0 ? std::move(fd) : Fd();
}

bool Readable(int fd) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, PollTimeout(After(std::chrono::seconds(10)))) == 1;
}

void Write(const Fd& fd, const std::string& bytes) {
  ASSERT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
}

TEST(Listener, TakesAConnectionOfTheUserWhoRunsBgpd) {
  auto listener = Listener::Open(0);
  ASSERT_TRUE(listener) << listener.error().message;
  const Fd bgpd = Connect(listener->port());
  ASSERT_TRUE(Readable(listener->fd()));
  const auto connection = listener->Accept(::getuid());
  ASSERT_TRUE(connection) << connection.error().message;
  ASSERT_TRUE(connection->has_value());
  EXPECT_EQ((*connection)->to.ToString(), "127.0.0.1");
  EXPECT_FALSE(listener->Accept(::getuid()).value()) << "there is no second one";
}

TEST(Listener, RefusesAnotherUser) {
  auto listener = Listener::Open(0);
  ASSERT_TRUE(listener) << listener.error().message;
  const Fd stranger = Connect(listener->port());
  ASSERT_TRUE(Readable(listener->fd()));
  const auto connection = listener->Accept(::getuid() + 1);
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().code, Code::kPermission);
  char byte = 0;
  EXPECT_TRUE(Readable(stranger.get()));
  EXPECT_LE(::read(stranger.get(), &byte, 1), 0) << "it is closed";
}

TEST(Listener, APortThatIsTakenIsSaid) {
  auto first = Listener::Open(0);
  ASSERT_TRUE(first);
  const auto second = Listener::Open(first->port());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kExists);
  EXPECT_NE(second.error().message.find("bgp.bmp_port"), std::string::npos);
}

// bgpd 8.4 says nowhere in a message of which instance it is: each connects to an address of its own.
TEST(Listener, SaysToWhichAddressOfTheLoopbackAConnectionWasMade) {
  auto listener = Listener::Open(0, Listener::On::kAllLoopback);
  ASSERT_TRUE(listener) << listener.error().message;
  for (const char* address : {"127.1.0.101", "127.100.15.254", "127.0.0.1"}) {
    const Fd bgpd = Connect(listener->port(), address);
    ASSERT_TRUE(Readable(listener->fd()));
    const auto connection = listener->Accept(::getuid());
    ASSERT_TRUE(connection) << connection.error().message;
    ASSERT_TRUE(connection->has_value());
    EXPECT_EQ((*connection)->to.ToString(), address);
  }
  auto alone = Listener::Open(0);
  ASSERT_TRUE(alone);
  EXPECT_FALSE(Connect(alone->port(), "127.1.0.101")) << "it listens on 127.0.0.1 alone";
}

TEST(OwnerOfPeer, IsFoundByBothPorts) {
  const IpAddress ours = *IpAddress::Parse("127.0.0.1");
  const std::string table =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:2B0B 0100007F:8000 01 00000000:00000000 00:00000000 00000000     0        0 111 1 x\n"
      "   1: 0100007F:8000 0100007F:2B0B 01 00000000:00000000 00:00000000 00000000   106        0 222 1 x\n"
      "   2: 0100007F:8001 0100007F:2B0B 06 00000000:00000000 00:00000000 00000000     0        0 0 1 x\n"
      "   3: 0200007F:8002 0100007F:2B0B 01 00000000:00000000 00:00000000 00000000   107        0 333 1 x\n"
      "   4: 0100007F:8003 0100007F:2B0B 01\n";
  EXPECT_EQ(OwnerOfPeer(table, ours, 0x2b0b, 0x8000), 106U);
  EXPECT_EQ(OwnerOfPeer(table, ours, 0x2b0b, 0x8001), std::nullopt) << "no process holds it";
  EXPECT_EQ(OwnerOfPeer(table, ours, 0x2b0b, 0x8002), std::nullopt) << "another address";
  EXPECT_EQ(OwnerOfPeer(table, ours, 0x2b0b, 0x8003), std::nullopt) << "cut short";
  EXPECT_EQ(OwnerOfPeer("", ours, 0x2b0b, 0x8000), std::nullopt);
}

class FeedTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(Instance::kDefault); }
  void Open(Instance from) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    bgpd_ = Fd(ends[0]);
    feed_.emplace(Fd(ends[1]), from);
  }
  Result<bool> Receive() {
    return feed_->Receive([this](const Message& message) { kinds_.push_back(message.kind); });
  }
  Fd bgpd_;
  std::optional<Feed> feed_;
  std::vector<Message::Kind> kinds_;
};

TEST_F(FeedTest, HandsOnWhatHasArrivedAndTheRestLater) {
  const std::string up = BmpPeerUp(kLeaf);
  Write(bgpd_, BmpMessage(4, "") + up.substr(0, 50));
  EXPECT_TRUE(Receive().value());
  EXPECT_EQ(kinds_, std::vector{Message::Kind::kStarted});
  Write(bgpd_, up.substr(50));
  EXPECT_TRUE(Receive().value());
  EXPECT_EQ(kinds_, (std::vector{Message::Kind::kStarted, Message::Kind::kPeerUp}));
  EXPECT_TRUE(Receive().value()) << "nothing new: it does not wait";
}

TEST_F(FeedTest, KnowsWhetherItIsAVrfs) {
  const std::string routes = BmpMessage(0, BmpPeerHeader(kLeaf, 0, 0, 1) + BgpEndOfRib(Family::kIpv4));
  Write(bgpd_, routes);
  EXPECT_TRUE(Receive().value());
  EXPECT_EQ(kinds_, std::vector{Message::Kind::kOther});
  Open(Instance::kVrf);
  Write(bgpd_, routes);
  EXPECT_TRUE(Receive().value());
  EXPECT_EQ(kinds_.back(), Message::Kind::kRoutes);
}

TEST_F(FeedTest, SaysWhenBgpdHasClosed) {
  Write(bgpd_, BmpMessage(4, ""));
  bgpd_.Reset();
  EXPECT_FALSE(Receive().value());
  EXPECT_EQ(kinds_.size(), 1U) << "what came before is not lost";
}

TEST_F(FeedTest, EndsWhatIsNotBmp) {
  Write(bgpd_, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(Receive().error().code, Code::kInvalid);
}

}  // namespace
}  // namespace rail::bmp
