#include "lib/http/server.h"

#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace rail::http {
namespace {

constexpr int kBacklog = 64;
constexpr size_t kMemory = size_t{16} << 10;  // bytes, of a connection: its head and MHD's own state

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
      case EADDRNOTAVAIL: return Fail(Code::kNotFound, "no link of this node has that address");
      default: return FailErrno(errno, "bind");
    }
  }
  return fd;
}

int FdOf(MHD_Connection* connection) {
  const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == nullptr ? -1 : info->connect_fd;
}

MHD_Response* ResponseOf(const Page& page) {
  MHD_Response* response = MHD_create_response_from_buffer(
      page.body.size(), const_cast<char*>(page.body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return nullptr;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, std::string(page.type).c_str());
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  if (page.status == MHD_HTTP_METHOD_NOT_ALLOWED)
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  return response;
}

}  // namespace

// What MHD calls. It calls on the loop's thread, from Run.
struct Server::Events {
  static void Connection(void* server, MHD_Connection* connection, void**,
                         MHD_ConnectionNotificationCode code) {
    if (code == MHD_CONNECTION_NOTIFY_STARTED) static_cast<Server*>(server)->Opened(connection);
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) static_cast<Server*>(server)->Closed(connection);
  }
  static MHD_Result Request(void* server, MHD_Connection* connection, const char* path, const char* method,
                            const char*, const char*, size_t*, void**) {
    const std::string_view asked = method;
    const bool reads = asked == MHD_HTTP_METHOD_GET || asked == MHD_HTTP_METHOD_HEAD;
    const Page page = reads ? static_cast<Server*>(server)->Answer(connection, path)
                            : Page{.status = MHD_HTTP_METHOD_NOT_ALLOWED, .body = "only GET and HEAD\n"};
    MHD_Response* response = ResponseOf(page);
    if (response == nullptr) return MHD_NO;
    const MHD_Result queued = MHD_queue_response(connection, static_cast<unsigned>(page.status), response);
    MHD_destroy_response(response);
    return queued;
  }
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
  std::unique_ptr<Server> server(new Server(loop, std::move(pages), limits));
  RAIL_TRY_AS(server->Start(std::move(listener)), doing);
  return server;
}

Server::Server(event::Loop& loop, Pages pages, Limits limits)
    : loop_(loop), pages_(std::move(pages)), limits_(limits) {}

Server::~Server() {
  loop_.Cancel(again_);
  if (epoll_ >= 0) loop_.Unwatch(epoll_);
  if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  for (const auto& [connection, life] : connections_) loop_.Cancel(life.end);
}

Status Server::Start(Fd listener) {
  listener_ = listener.get();
  // A connection more than the limit closes another one, which MHD notices a moment later.
  const auto most = static_cast<unsigned>(2 * limits_.connections + 8);
  daemon_ = MHD_start_daemon(MHD_USE_EPOLL, 0, nullptr, nullptr, &Events::Request, this,
                             MHD_OPTION_LISTEN_SOCKET, listener.get(), MHD_OPTION_NOTIFY_CONNECTION,
                             &Events::Connection, this, MHD_OPTION_CONNECTION_LIMIT, most,
                             MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMemory, MHD_OPTION_END);
  if (daemon_ == nullptr) return FailErrno(errno, "start the HTTP server");
  (void)listener.Release();  // MHD closes it
  epoll_ = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
  return loop_.Watch(epoll_, [this] { Run(); });
}

uint16_t Server::port() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

// MHD may have more to do although no descriptor becomes ready; then it wants to run at once.
void Server::Run() {
  MHD_run(daemon_);
  MHD_UNSIGNED_LONG_LONG ms = 0;
  loop_.Cancel(again_);
  again_ = 0;
  if (MHD_get_timeout(daemon_, &ms) == MHD_YES)
    again_ = loop_.After(std::chrono::milliseconds(ms), [this] { Run(); });
}

void Server::Opened(MHD_Connection* connection) {
  const auto oldest = std::ranges::min_element(connections_, {}, [](const auto& each) {
    return std::pair(each.second.asked || each.second.ended, each.second.number);
  });
  if (connections_.size() >= limits_.connections && oldest != connections_.end() && !oldest->second.asked)
    End(oldest->first, oldest->second);
  Life& life = connections_[connection];
  life.number = ++opened_;
  life.end = loop_.After(limits_.time, [this, connection] {
    const auto found = connections_.find(connection);
    if (found != connections_.end()) End(found->first, found->second);
  });
}

// MHD sees the end of a socket that is shut down, and closes it.
void Server::End(MHD_Connection* connection, Life& life) {
  life.ended = true;
  if (const int fd = FdOf(connection); fd >= 0) ::shutdown(fd, SHUT_RDWR);
}

void Server::Closed(MHD_Connection* connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  loop_.Cancel(found->second.end);
  connections_.erase(found);
}

Page Server::Answer(MHD_Connection* connection, std::string_view path) {
  connections_[connection].asked = true;
  return pages_(path);
}

}  // namespace rail::http
