// Serves rail.v1.Node from the published views, with the standard health and reflection services, on a unix
// socket.
//
// Use:      RAIL_ASSIGN(auto server, Server::Start(board, paths.socket));
//           ... until told to stop ...
//           server->Stop();
// Threads:  any thread; the server's own threads end in Stop
// Owns:     the socket and its name; `board` must outlive it
// Source:   lib/api/rail/v1/node.proto; README.md of this folder (limits, rights)
#pragma once

#include <memory>
#include <string>

#include "lib/base/error.h"
#include "lib/engine/view.h"

namespace rail::raild {

class Server {
 public:
  // Serves when it returns.
  //   socket  absolute path, at most 107 bytes; its folder is made (0755) when missing; a socket there that
  //   nobody
  //           serves is replaced
  //   group   who may connect beside root, when the group exists
  // Errors: kBusy another process answers there; kExists something else has that name; kInvalid the path;
  //         kPermission; kInternal gRPC does not start.
  static Result<std::unique_ptr<Server>> Start(const engine::Board& board, const std::string& socket,
                                               const std::string& group = "railcni");

  // Ends watches with UNAVAILABLE, waits at most 2 s for calls under way, removes the socket. Safe to repeat.
  void Stop();

  ~Server();

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace rail::raild
