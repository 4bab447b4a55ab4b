#include "lib/netlink/tcp_monitor.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "lib/base/fd.h"
#include "lib/netlink/testing/scratch.h"

namespace rail::netlink {
namespace {

using netns::testing::MakeScratch;
using netns::testing::Shell;

class TcpMonitorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Must(Shell(where_, "ip link set lo up"));
    Must(where_.Run([&]() -> Status {
      RAIL_ASSIGN(monitor_, TcpMonitor::Open(179));
      return {};
    }));
  }
  static void Must(const Status& status) { ASSERT_TRUE(status) << status.error().message; }

  // What the monitor tells next, in the order in which the connections ended.
  std::vector<TcpEnd> Ends() {
    EXPECT_TRUE(Readable(20000));
    std::vector<TcpEnd> ends;
    Must(where_.Run([&]() -> Status {
      RAIL_ASSIGN(ends, monitor_->Receive());
      return {};
    }));
    return ends;
  }
  // A socket that has begun to connect to `address`, and its end.
  void Tries(const char* address) {
    Must(where_.Run([&]() -> Status {
      sockaddr_in6 to{};
      to.sin6_family = AF_INET6;
      to.sin6_port = htons(179);
      if (::inet_pton(AF_INET6, address, &to.sin6_addr) != 1) return Fail(Code::kInvalid, address);
      to.sin6_scope_id = to.sin6_addr.s6_addr[0] == 0xfe ? ::if_nametoindex("v0") : 0;
      const Fd client(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (::connect(client.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 &&
          errno != EINPROGRESS && errno != ECONNREFUSED) {
        return FailErrno(errno, "connect");
      }
      pollfd ended{client.get(), POLLOUT, 0};
      ::poll(&ended, 1, 100);
      return {};
    }));
  }

  // A connection to this port of the loopback that has come and gone.
  void ComesAndGoes(uint16_t port) {
    Must(where_.Run([&]() -> Status {
      sockaddr_in6 address{};
      address.sin6_family = AF_INET6;
      address.sin6_addr = in6addr_loopback;
      address.sin6_port = htons(port);
      const auto* where = reinterpret_cast<const sockaddr*>(&address);
      const Fd listener(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const Fd client(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (::bind(listener.get(), where, sizeof address) != 0 || ::listen(listener.get(), 1) != 0 ||
          ::connect(client.get(), where, sizeof address) != 0) {
        return FailErrno(errno, "connect to the loopback");
      }
      const Fd server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      return server ? Status() : FailErrno(errno, "accept");
    }));
  }
  bool Readable(int milliseconds) const {
    pollfd p{monitor_->fd(), POLLIN, 0};
    return ::poll(&p, 1, milliseconds) == 1;
  }

  const netns::Netns where_ = MakeScratch();
  std::unique_ptr<TcpMonitor> monitor_;
};

TEST_F(TcpMonitorTest, TellsOfConnectionsOfItsPortAlone) {
  ComesAndGoes(1179);
  ComesAndGoes(179);
  const std::vector<TcpEnd> ends = Ends();
  ASSERT_FALSE(ends.empty());
  EXPECT_TRUE(ends[0].local_port == 179 || ends[0].remote_port == 179);
  EXPECT_GT(ends[0].segments_received, 1U);
  EXPECT_LE(ends[0].bytes_received, 1U);
}

TEST_F(TcpMonitorTest, SaysWhetherAConnectionWasRefusedOrNobodyAnswered) {
  Tries("::1");
  std::vector<TcpEnd> ends = Ends();
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].remote_port, 179);
  EXPECT_EQ(ends[0].segments_received, 1U) << "the reset";
  EXPECT_EQ(ends[0].interface, "");

  // Nobody has this address, and the neighbour's is known, so the packet leaves.
  Must(Shell(where_,
             "ip link add v0 type veth peer name v1; ip link set v1 up; ip link set v0 up addrgenmode none; "
             "ip -6 address add fe80::1/64 dev v0 nodad; "
             "ip -6 neigh add fe80::2 lladdr 02:00:00:00:00:02 dev v0 nud permanent"));
  Tries("fe80::2");
  ends = Ends();
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].remote_port, 179);
  EXPECT_EQ(ends[0].segments_received, 0U);
  EXPECT_EQ(ends[0].interface, "v0");
}

TEST_F(TcpMonitorTest, IsSilentAboutOthers) {
  ComesAndGoes(1179);
  EXPECT_FALSE(Readable(200));
  EXPECT_TRUE(monitor_->Receive()->empty());
}

}  // namespace
}  // namespace rail::netlink
