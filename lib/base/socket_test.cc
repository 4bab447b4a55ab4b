#include "lib/base/socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

namespace rail {
namespace {

using std::chrono::milliseconds;

class Socket : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Fd Listen(int backlog) {
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0)
        << strerror(errno);
    EXPECT_EQ(::listen(fd.get(), backlog), 0) << strerror(errno);
    return fd;
  }
  Result<UnixStream> Connect(milliseconds patience = milliseconds(5000)) {
    return UnixStream::Connect(path_, After(patience));
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("rail-socket-" + std::to_string(::getpid()));
  const std::string path_ = folder_ / "peer.sock";
};

TEST_F(Socket, CarriesBytesBothWaysAndTellsTheEnd) {
  const Fd listener = Listen(1);
  auto stream = Connect();
  ASSERT_TRUE(stream) << stream.error().message;
  Fd peer(::accept(listener.get(), nullptr, nullptr));
  ASSERT_TRUE(stream->Write("ping", After(milliseconds(5000))));
  char buffer[16];
  ASSERT_EQ(::read(peer.get(), buffer, sizeof buffer), 4);
  ASSERT_EQ(::write(peer.get(), "pong!", 5), 5);
  EXPECT_EQ(stream->Read(buffer, After(milliseconds(5000))).value(), 5U);
  EXPECT_EQ(std::string(buffer, 5), "pong!");
  peer.Reset();
  EXPECT_EQ(stream->Read(buffer, After(milliseconds(5000))).value(), 0U);
  EXPECT_EQ(stream->path(), path_);
}

TEST_F(Socket, WritesMoreThanTheBuffersHold) {
  const Fd listener = Listen(1);
  auto stream = Connect();
  ASSERT_TRUE(stream);
  const Fd peer(::accept(listener.get(), nullptr, nullptr));
  const std::string sent(4 << 20, 'x');
  size_t received = 0;
  std::thread reader([&] {
    char buffer[65536];
    ssize_t n = 0;
    while (received < sent.size() && (n = ::read(peer.get(), buffer, sizeof buffer)) > 0)
      received += static_cast<size_t>(n);
  });
  const Status status = stream->Write(sent, After(milliseconds(20000)));
  ::shutdown(stream->fd(), SHUT_WR);
  reader.join();
  EXPECT_TRUE(status) << status.error().message;
  EXPECT_EQ(received, sent.size());
}

TEST_F(Socket, EndsAtTheDeadlineWhenThePeerIsSilent) {
  const Fd listener = Listen(1);
  auto stream = Connect();
  ASSERT_TRUE(stream);
  char buffer[16];
  const auto start = Clock::now();
  const auto n = stream->Read(buffer, After(milliseconds(30)));
  ASSERT_FALSE(n);
  EXPECT_EQ(n.error().code, Code::kTransient);
  EXPECT_NE(n.error().message.find(path_), std::string::npos);
  EXPECT_GE(Clock::now() - start, milliseconds(30));

  const Status status = stream->Write(std::string(8 << 20, 'x'), After(milliseconds(30)));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kTransient);
}

TEST_F(Socket, TellsThatThePeerIsGoneInsteadOfDyingOfSigpipe) {
  const Fd listener = Listen(1);
  auto stream = Connect();
  ASSERT_TRUE(stream);
  {
    const Fd peer(::accept(listener.get(), nullptr, nullptr));
  }
  const Status status = stream->Write("x", After(milliseconds(5000)));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kTransient);
  EXPECT_EQ(status.error().sys_errno, EPIPE);
}

TEST_F(Socket, TellsWhyItCannotConnect) {
  const auto missing = Connect();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_NE(missing.error().message.find(path_), std::string::npos);

  {
    const Fd closed = Listen(1);
  }  // the file stays
  EXPECT_EQ(Connect().error().code, Code::kTransient);
  EXPECT_EQ(UnixStream::Connect("", After(milliseconds(0))).error().code, Code::kInvalid);
  EXPECT_EQ(UnixStream::Connect(std::string(108, 'x'), After(milliseconds(0))).error().code, Code::kInvalid);
  EXPECT_EQ(UnixStream::Connect(std::string("\0abstract", 9), After(milliseconds(0))).error().code,
            Code::kInvalid);
}

TEST_F(Socket, GivesUpAtTheDeadlineWhenTheListenersQueueIsFull) {
  const Fd listener = Listen(0);
  const auto first = Connect();
  ASSERT_TRUE(first);
  const auto second = Connect(milliseconds(30));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kTransient);
}

TEST_F(Socket, IsNotInheritedByPrograms) {
  const Fd listener = Listen(1);
  const auto stream = Connect();
  ASSERT_TRUE(stream);
  EXPECT_NE(::fcntl(stream->fd(), F_GETFD) & FD_CLOEXEC, 0);
}

}  // namespace
}  // namespace rail
