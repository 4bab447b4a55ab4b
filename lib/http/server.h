// Pages over HTTP/1, one for each connection, by libmicrohttpd. It serves everyone who connects, and limits keep a client from
// occupying it.
//
// Use:      RAIL_ASSIGN(auto server, Server::Listen("127.0.0.1:9477", loop, [](std::string_view path) { ... return page; }));
// Threads:  Listen and the destructor: before the loop runs, or after it has ended. `pages` is called on the loop's thread
// Owns:     its sockets; the loop and what the pages need must outlive it
// Source:   libmicrohttpd's manual (external polling by epoll); README.md of this folder (the limits)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/event/loop.h"

struct MHD_Connection;
struct MHD_Daemon;

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
  struct Events;
  // A connection, from accept(2) to close(2).
  struct Life {
    uint64_t number = 0;  // of its opening
    event::TimerId end = 0;
    bool asked = false;  // it has its page, or is getting it
    bool ended = false;
  };
  Server(event::Loop& loop, Pages pages, Limits limits);

  Status Start(Fd listener);
  void Run();
  void Opened(MHD_Connection* connection);
  void End(MHD_Connection* connection, Life& life);
  void Closed(MHD_Connection* connection);
  Page Answer(MHD_Connection* connection, std::string_view path);

  event::Loop& loop_;
  const Pages pages_;
  const Limits limits_;
  MHD_Daemon* daemon_ = nullptr;
  int listener_ = -1;  // the daemon's
  int epoll_ = -1;     // the daemon's
  event::TimerId again_ = 0;
  uint64_t opened_ = 0;
  std::map<MHD_Connection*, Life> connections_;
};

}  // namespace rail::http
