#include "lib/netlink/tcp_monitor.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "lib/base/fd.h"
#include "lib/netns/testing/scratch.h"

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
  ASSERT_TRUE(Readable(20000));
  const auto gone = monitor_->Receive();
  ASSERT_TRUE(gone) << gone.error().message;
  EXPECT_TRUE(*gone);
}

TEST_F(TcpMonitorTest, IsSilentAboutOthers) {
  ComesAndGoes(1179);
  EXPECT_FALSE(Readable(200));
  EXPECT_FALSE(*monitor_->Receive());
}

}  // namespace
}  // namespace rail::netlink
