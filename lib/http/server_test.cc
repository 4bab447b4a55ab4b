#include "lib/http/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace rail::http {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr auto kPatience = std::chrono::seconds(20);

class ServerTest : public ::testing::Test {
 protected:
  void Serve(Limits limits = {}) {
    auto loop = event::Loop::Open();
    ASSERT_TRUE(loop) << loop.error().message;
    loop_ = std::move(*loop);
    auto server = Server::Listen(
        "127.0.0.1:0", *loop_,
        [this](std::string_view path) -> Page {
          if (path == "/big") return {.body = big_};
          if (path == "/") return {.body = "hello\n", .type = "text/plain"};
          return {.status = 404, .body = "no\n"};
        },
        limits);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    thread_ = std::thread([this] { loop_->Run(); });
  }
  void TearDown() override {
    if (!thread_.joinable()) return;
    loop_->Stop();
    thread_.join();
    server_.reset();
  }

  Fd Connect() const {
    Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(server_->port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    return fd;
  }
  static void Send(const Fd& fd, std::string_view text) {
    EXPECT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // All until the server closes; a connection that was reset ends with "RESET", one that stays open with "OPEN".
  static std::string Rest(const Fd& fd) {
    std::string got;
    std::array<char, 65536> piece;
    const Deadline until = After(kPatience);
    for (;;) {
      pollfd p{fd.get(), POLLIN, 0};
      if (::poll(&p, 1, PollTimeout(until)) == 0) return got + "OPEN";
      const ssize_t n = ::recv(fd.get(), piece.data(), piece.size(), 0);
      if (n < 0) return got + "RESET";
      if (n == 0) return got;
      got.append(piece.data(), static_cast<size_t>(n));
    }
  }
  std::string Get(std::string_view path) const {
    const Fd fd = Connect();
    Send(fd, "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n\r\n");
    return Rest(fd);
  }

  const std::string big_ = std::string(size_t{20} << 20, 'x');
  std::unique_ptr<event::Loop> loop_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

TEST_F(ServerTest, GivesAPageAndCloses) {
  Serve();
  const std::string page = Get("/");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(page, testing::EndsWith("\r\n\r\nhello\n"));
  for (const char* field : {"Content-Type: text/plain", "Content-Length: 6", "Connection: close",
                            "X-Content-Type-Options: nosniff"})
    EXPECT_THAT(page, HasSubstr("\r\n" + std::string(field) + "\r\n"));
  EXPECT_THAT(Get("/nowhere"), StartsWith("HTTP/1.1 404 Not Found\r\n"));
}

TEST_F(ServerTest, GivesTheHeadAlone) {
  Serve();
  const Fd fd = Connect();
  Send(fd, "HEAD / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(Rest(fd), testing::AllOf(HasSubstr("Content-Length: 6\r\n"), testing::EndsWith("\r\n\r\n")));
}

TEST_F(ServerTest, TakesARequestInPieces) {
  Serve();
  const Fd fd = Connect();
  for (const char c : std::string_view("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
    Send(fd, std::string_view(&c, 1));
  EXPECT_THAT(Rest(fd), testing::EndsWith("hello\n"));
}

TEST_F(ServerTest, SendsMoreThanASocketHolds) {
  Serve();
  const std::string got = Get("/big");
  EXPECT_EQ(got.size() - got.find("\r\n\r\n") - 4, big_.size());
}

TEST_F(ServerTest, AnswersWhatItRefusesAlsoWhenMoreFollows) {
  Serve();
  const Fd fd = Connect();
  Send(fd, "POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + std::string(100000, 'b'));
  const std::string got = Rest(fd);
  EXPECT_THAT(got, StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"));
  EXPECT_THAT(got, HasSubstr("\r\nAllow: GET, HEAD\r\n"));
}

TEST_F(ServerTest, RefusesAHeadWithoutAnEnd) {
  Serve();
  const Fd fd = Connect();
  Send(fd, "GET / HTTP/1.1\r\nX: " + std::string(20000, 'a'));
  EXPECT_THAT(Rest(fd), StartsWith("HTTP/1.1 431 "));
}

TEST_F(ServerTest, ClosesWhoSaysNothing) {
  Serve({.time = std::chrono::milliseconds(50)});
  EXPECT_EQ(Rest(Connect()), "");
}

TEST_F(ServerTest, ClosesWhoDoesNotTakeTheAnswer) {
  Serve({.time = std::chrono::milliseconds(200)});
  const Fd fd = Connect();
  Send(fd, "GET /big HTTP/1.1\r\n\r\n");
  EXPECT_EQ(Rest(Connect()), "") << "a younger one, which is closed later";
  EXPECT_LT(Rest(fd).size(), big_.size());
}

TEST_F(ServerTest, SilentConnectionsTakeNoPageFromOthers) {
  Serve({.connections = 4, .time = kPatience});
  std::vector<Fd> silent;
  for (int i = 0; i < 40; ++i) {
    silent.push_back(Connect());
    Send(silent.back(), "GET / HTT");
  }
  EXPECT_THAT(Get("/"), testing::EndsWith("hello\n"));
  // The last four of them (one was the page's) are still there, the others have gone.
  Send(silent.back(), "P/1.1\r\n\r\n");
  EXPECT_THAT(Rest(silent.back()), testing::EndsWith("hello\n"));
  EXPECT_THAT(Rest(silent.front()), testing::AnyOf("", "RESET"));
}

TEST_F(ServerTest, SurvivesAClientThatGoes) {
  Serve();
  for (int i = 0; i < 20; ++i) {
    const Fd fd = Connect();
    Send(fd, "GET /big HTTP/1.1\r\n\r\n");
    const linger at_once{1, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  EXPECT_THAT(Get("/"), testing::EndsWith("hello\n"));
}

TEST_F(ServerTest, SaysWhyItCannotListen) {
  Serve();
  const auto why = [&](const std::string& address) {
    const auto second = Server::Listen(address, *loop_, [](std::string_view) { return Page{}; });
    return second ? "nothing" : second.error().message;
  };
  const std::string taken = "127.0.0.1:" + std::to_string(server_->port());
  EXPECT_EQ(why(taken),
            "listen on " + taken + ": another program has it; end that program, or choose another port");
  EXPECT_EQ(why("192.0.2.1:9477"), "listen on 192.0.2.1:9477: no link of this node has that address");
  EXPECT_THAT(why("localhost:9477"), StartsWith("listen on localhost:9477: "));
  EXPECT_THAT(why("9477"), HasSubstr("is no IP address and port"));
}

}  // namespace
}  // namespace rail::http
