#include "lib/http/server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "lib/http/request.h"

namespace rail::http {
namespace {

constexpr int kBacklog = 64;
constexpr auto kPause = std::chrono::seconds(1);

struct Split {
  std::string host, port;
};

Result<Split> SplitAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos)
    return Fail(Code::kInvalid, "\"" + address + "\" is no IP address and port");
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return Split{host, address.substr(colon + 1)};
}

Result<Fd> Bind(const addrinfo& to) {
  Fd fd(::socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return FailErrno(errno, "make a socket");
  const int yes = 1, no = 0;
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      (to.ai_family == AF_INET6 && ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) != 0) ||
      ::bind(fd.get(), to.ai_addr, to.ai_addrlen) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    switch (errno) {
      case EADDRINUSE:
        return Fail(Code::kExists, "another program has it; end that program, or choose another port");
      case EACCES:
        return Fail(Code::kPermission,
                    "the first 1024 ports need a right that this program has given up; choose a port above");
      case EADDRNOTAVAIL:
        return Fail(Code::kNotFound, "no link of this node has that address");
      default:
        return FailErrno(errno, "bind");
    }
  }
  return fd;
}

}  // namespace

// A connection receives the head of a request, sends the answer, and then discards what the client sends until the client closes.
// A close(2) with unread bytes would reset the connection, and the client could lose the answer.
struct Server::Connection {
  explicit Connection(Fd own) : fd(std::move(own)) {}
  Fd fd;
  event::TimerId limit = 0;
  Deadline since = Clock::now();
  std::string received;
  bool answering = false;
  std::string answer;
  size_t sent = 0;
};

Result<std::unique_ptr<Server>> Server::Listen(const std::string& address, event::Loop& loop, Pages pages,
                                               Limits limits) {
  const std::string doing = "listen on " + address;
  RAIL_ASSIGN_AS(const Split split, SplitAddress(address), doing);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(split.host.c_str(), split.port.c_str(), &hints, &found); error != 0)
    return Fail(Code::kInvalid, doing + ": " + ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  RAIL_ASSIGN_AS(Fd listener, Bind(*found), doing);
  std::unique_ptr<Server> server(new Server(std::move(listener), loop, std::move(pages), limits));
  RAIL_TRY_AS(server->Watch(), doing);
  return server;
}

Server::Server(Fd listener, event::Loop& loop, Pages pages, Limits limits)
    : listener_(std::move(listener)), loop_(loop), pages_(std::move(pages)), limits_(limits) {}

Server::~Server() {
  loop_.Cancel(pause_);
  loop_.Unwatch(listener_.get());
  while (!connections_.empty()) Close(connections_.begin()->first);
}

uint16_t Server::port() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

Status Server::Watch() {
  return loop_.Watch(listener_.get(), [this] { Accept(); });
}

void Server::Accept() {
  Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) {
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
    // No descriptor or no memory is left. The listener stays readable, so trying again at once would keep a core busy: pause.
    loop_.Unwatch(listener_.get());
    pause_ = loop_.After(kPause, [this] { (void)Watch(); });
    return;
  }
  if (connections_.size() >= limits_.connections) MakeRoom();
  const int number = fd.get();
  auto& connection = *(connections_[number] = std::make_unique<Connection>(std::move(fd)));
  connection.limit = loop_.After(limits_.time, [this, number] { Close(number); });
  const Status watched = loop_.Watch(number, [this, &connection] { Receive(connection); });
  if (!watched) Close(number);
}

void Server::MakeRoom() {
  const auto oldest = std::ranges::min_element(connections_, {}, [](const auto& each) {
    return std::pair(each.second->answering, each.second->since);
  });
  Close(oldest->first);
}

void Server::Receive(Connection& connection) {
  if (connection.answering) return Discard(connection);
  std::array<char, 4096> piece;
  const ssize_t n = ::recv(connection.fd.get(), piece.data(), piece.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return Close(connection.fd.get());
  connection.received.append(piece.data(), static_cast<size_t>(n));
  const Request request = ReadRequest(connection.received);
  if (request.state == Request::State::kIncomplete) return;
  if (request.state == Request::State::kRefused) {
    return Answer(connection, "GET",
                  {.status = request.status, .body = std::string(StatusLine(request.status)) + "\n"});
  }
  Answer(connection, request.method, pages_(request.path));
}

void Server::Answer(Connection& connection, std::string_view method, const Page& page) {
  connection.answering = true;
  connection.received = {};
  std::string& answer = connection.answer;
  answer = "HTTP/1.1 ";
  answer += StatusLine(page.status);
  answer += "\r\nContent-Type: ";
  answer += page.type;
  answer += "\r\nContent-Length: " + std::to_string(page.body.size());
  if (page.status == 405) answer += "\r\nAllow: GET, HEAD";
  answer += "\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n";
  if (method != "HEAD") answer += page.body;
  Send(connection);
}

void Server::Send(Connection& connection) {
  const int fd = connection.fd.get();
  const std::string& answer = connection.answer;
  while (connection.sent < answer.size()) {
    const ssize_t n =
        ::send(fd, answer.data() + connection.sent, answer.size() - connection.sent, MSG_NOSIGNAL);
    if (n >= 0) {
      connection.sent += static_cast<size_t>(n);
    } else if (errno == EAGAIN) {
      return loop_.WhenWritable(fd, [this, &connection] { Send(connection); });
    } else if (errno != EINTR) {
      return Close(fd);
    }
  }
  ::shutdown(fd, SHUT_WR);
}

void Server::Discard(Connection& connection) {
  std::array<char, 4096> piece;
  const ssize_t n = ::recv(connection.fd.get(), piece.data(), piece.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) Close(connection.fd.get());
}

void Server::Close(int fd) {
  const auto it = connections_.find(fd);
  if (it == connections_.end()) return;
  loop_.Cancel(it->second->limit);
  loop_.Unwatch(fd);
  connections_.erase(it);
}

}  // namespace rail::http
