// A small HTTP/1 server, with one request for each connection. It serves everyone who connects, and limits keep a client from
// occupying it.
//
// Use:      RAIL_ASSIGN(auto server, Server::Listen("127.0.0.1:9477", loop, [](std::string_view path) { ... return page; }));
// Threads:  Listen and the destructor: before the loop runs, or after it has ended. `pages` is called on the loop's thread
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
  size_t connections = 32;  // beyond that, the oldest connection that has no page yet is closed
  Clock::duration time = std::chrono::seconds(10);  // the longest life of a connection
};

class Server {
 public:
  using Pages = std::function<Page(std::string_view path)>;

  // Listens in the network namespace of the calling thread. `address`: "10.0.0.5:9477", "[::1]:9477"; port 0 is any free port;
  // "[::]" includes every IPv4 address. Errors: kInvalid the address; kExists the port is taken; kPermission the port is one of the
  // first 1024.
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
