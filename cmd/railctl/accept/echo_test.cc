#include "cmd/railctl/accept/echo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <thread>

#include "cmd/railctl/accept/echo_socket.h"
#include "cmd/railctl/accept/testing/agents.h"

namespace rail::accept::testing {
namespace {

TEST_F(AcceptAgent, EndsAnEchoWhoseCallerHasEndedIt) {
  auto request = EchoTo("10.0.0.2");
  request.set_datagrams(2);
  request.set_pause_us(1'000'000);
  request.set_patience_ms(60'000);
  Shell(b_, "ip link set net1 down");
  grpc::ClientContext context;
  std::thread asks([&] {
    v1::EchoResponse response;
    A().stub().Echo(&context, request, &response);
  });
  EXPECT_TRUE(Eventually([&] { return a_agent_ != nullptr && A().Sockets("udp") == 2; }));
  context.TryCancel();
  EXPECT_TRUE(Eventually([&] { return A().Sockets("udp") == 1; }));
  asks.join();
}

TEST_F(AcceptAgent, EchoesEveryDatagramWhole) {
  const std::string there("\x0a\0\0\x01\x0a\0\0\x02", 8);
  const std::string back("\x0a\0\0\x02\x0a\0\0\x01", 8);
  Watch question(B(), {there});
  Watch answer(A(), {back});
  question.Next();
  answer.Next();
  const auto response = Echo(EchoTo("10.0.0.2"));
  EXPECT_EQ(response.sent(), 50U);
  EXPECT_EQ(response.received(), 50U);
  EXPECT_EQ(response.refused(), "");
  EXPECT_GT(response.p50_us(), 0);
  EXPECT_LE(response.p50_us(), response.p99_us());
  EXPECT_LE(response.p99_us(), response.max_us());
  EXPECT_GE(response.longest_silence_ms() * 1000, response.max_us());
  for (const auto& seen : {question.Until(0, 50), answer.Until(0, 50)}) {
    ASSERT_EQ(seen.counts_size(), 1);
    const std::string& frame = seen.counts(0).newest();
    ASSERT_EQ(frame.size(), 128U);
    EXPECT_EQ(frame.substr(16, 2), "\x05\xdc") << "1,500 bytes of IP";
    EXPECT_EQ(frame[20], 0x40) << "DF, no fragment";
  }
  question.End();
  answer.End();
}

TEST_F(AcceptAgent, EchoesIpv6) {
  const auto response = Echo(EchoTo("fd00::2"));
  EXPECT_EQ(response.sent(), 50U);
  EXPECT_EQ(response.received(), 50U);
}

TEST_F(AcceptAgent, EchoesFromTheAddressThatWasAsked) {
  Shell(b_, "ip addr add 10.0.0.22/24 dev net1");
  EXPECT_EQ(Echo(EchoTo("10.0.0.22")).received(), 50U);
}

TEST_F(AcceptAgent, SaysWhatTheKernelRefusesToSend) {
  for (const auto* address : {"10.0.0.2", "fd00::2"}) {
    auto request = EchoTo(address);
    request.set_bytes(1501);
    const auto response = Echo(request);
    EXPECT_EQ(response.sent(), 0U) << address;
    EXPECT_EQ(response.refused(), "Message too long") << address;
  }
  const auto request = EchoTo("10.0.0.2");
  Shell(a_, "ip link set net1 down");
  EXPECT_EQ(Echo(request).refused(), "Network is unreachable");
}

TEST_F(AcceptAgent, WaitsNoLongerThanThePatienceForAnAddressThatDoesNotAnswer) {
  Shell(a_, "ip neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 nud permanent dev net1");
  auto request = EchoTo("10.0.0.9");
  request.set_datagrams(3);
  request.set_patience_ms(200);
  const Deadline start = Clock::now();
  const auto response = Echo(request);
  const auto took = Clock::now() - start;
  EXPECT_EQ(response.sent(), 3U);
  EXPECT_EQ(response.received(), 0U);
  EXPECT_EQ(response.max_us(), 0);
  EXPECT_GE(response.longest_silence_ms(), 200);
  EXPECT_GE(took, milliseconds(200));
  EXPECT_LT(took, seconds(2));
}

TEST_F(AcceptAgent, PausesBetweenDatagrams) {
  auto request = EchoTo("10.0.0.2");
  request.set_datagrams(21);
  request.set_pause_us(10'000);
  const Deadline start = Clock::now();
  EXPECT_EQ(Echo(request).received(), 21U);
  EXPECT_GE(Clock::now() - start, milliseconds(200));
}

TEST_F(AcceptAgent, EchoesOnAnotherPortWhereItsOwnIsTaken) {
  const Fd taken = [&] {
    Fd fd;
    EXPECT_TRUE(b_.Run([&]() -> Status {
      fd.Reset(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      const auto address = ToSocketAddress(AF_INET, {}, 4792, 0);
      EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
      return {};
    }));
    return fd;
  }();
  EXPECT_NE(EchoPort(), 4792U);
  EXPECT_EQ(Echo(EchoTo("10.0.0.2")).received(), 50U);
  EXPECT_EQ(Echo(EchoTo("fd00::2")).received(), 50U);
}

TEST_F(AcceptAgent, EchoesNoAnswer) {
  const uint32_t port = EchoPort();
  Fd fd;
  EXPECT_TRUE(a_.Run([&]() -> Status {
    RAIL_ASSIGN(fd, OpenUdp(AF_INET, "net1"));
    return {};
  }));
  const auto peer = ToSocketAddress(AF_INET, std::string("\x0a\0\0\x02", 4), static_cast<uint16_t>(port), 0);
  ASSERT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&peer), sizeof peer), 0);
  const EchoHeader answer = AnswerTo(Question(6, 1));
  const EchoHeader question = Question(7, 1);
  for (const EchoHeader* each : {&answer, &question}) ASSERT_GT(::send(fd.get(), each, sizeof *each, 0), 0);
  pollfd event{.fd = fd.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&event, 1, PollTimeout(After(kSoon))), 1);
  EchoHeader came;
  ASSERT_EQ(::recv(fd.get(), &came, sizeof came, 0), static_cast<ssize_t>(sizeof came));
  EXPECT_EQ(came, AnswerTo(question)) << "the first that comes back is of the second that was sent";
}

TEST_F(AcceptAgent, RefusesAnEchoOutOfRangeByItsKey) {
  const v1::EchoRequest good = EchoTo("10.0.0.2");
  const auto refused = [&](const std::string& key, const std::function<void(v1::EchoRequest&)>& spoil) {
    ExpectRefused(&v1::AcceptAgent::Stub::Echo, good, key, spoil);
  };
  refused("interface", [](auto& request) { request.set_interface("net9"); });
  refused("address", [](auto& request) { request.set_address("pod-b"); });
  refused("port", [](auto& request) { request.set_port(0); });
  refused("port", [](auto& request) { request.set_port(65'536); });
  refused("datagrams", [](auto& request) { request.set_datagrams(0); });
  refused("datagrams", [](auto& request) { request.set_datagrams(100'001); });
  refused("bytes", [](auto& request) { request.set_bytes(63); });
  refused("bytes", [](auto& request) { request.set_bytes(9601); });
  refused("pause_us", [](auto& request) { request.set_pause_us(1'000'001); });
  refused("patience_ms", [](auto& request) { request.set_patience_ms(0); });
  refused("patience_ms", [](auto& request) { request.set_patience_ms(60'001); });
}

}  // namespace
}  // namespace rail::accept::testing
