// Pages over HTTP/1 for whoever asks, one request a connection: small, and hard to keep busy.
//
// Use:      RAIL_ASSIGN(auto server, Server::Listen("127.0.0.1:9477", loop, [](std::string_view path) { ... return page; }));
// Threads:  Listen and the destructor: before the loop runs, or when it does not run any more; pages are made on its thread
// Owns:     its sockets; the loop and what the pages need must outlive it
// Source:   RFC 9112; README.md of this folder (the limits)
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/event/loop.h"

namespace rail::http {

struct Page {
  int status = 200;
  std::string body;
  std::string_view type = "text/plain; charset=utf-8";
};

struct Limits {
  size_t connections = 32;  // one more: who has been connected longest without a page goes
  Clock::duration time = std::chrono::seconds(10);  // of a connection, from its beginning to its end
};

class Server {
 public:
  using Pages = std::function<Page(std::string_view path)>;

  // `address`: "10.0.0.5:9477", "[::1]:9477"; port 0 is any free one; "[::]" is also every IPv4 address. In the network namespace of
  // the calling thread. Errors: kInvalid the address; kExists the port is taken; kPermission it is one of the first 1024.
  static Result<std::unique_ptr<Server>> Listen(const std::string& address, event::Loop& loop, Pages pages,
                                                Limits limits = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const;

 private:
  struct Connection;
  Server(Fd listener, event::Loop& loop, Pages pages, Limits limits);

  Status Watch();
  void Accept();
  void Receive(Connection& connection);
  void Answer(Connection& connection, std::string_view method, const Page& page);
  void Send(Connection& connection);
  void Discard(Connection& connection);
  void Close(int fd);
  void MakeRoom();

  Fd listener_;
  event::Loop& loop_;
  const Pages pages_;
  const Limits limits_;
  event::TimerId pause_ = 0;
  std::map<int, std::unique_ptr<Connection>> connections_;
};

}  // namespace rail::http
