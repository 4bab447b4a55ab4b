// Serves rail.v1.Node from the published views and from looks at the node, with the standard health and
// reflection services, on a unix socket and over TCP with mutual TLS.
//
// Use:      RAIL_ASSIGN(auto server, Server::Start({views, config, inspector, sampler, runs}, paths.socket));
//           ... until told to stop ...
//           server->Stop();
// Threads:  any thread; the server's own threads end in Stop
// Owns:     the sockets and the name; the sources must outlive it
// Source:   lib/api/rail/v1/node.proto; README.md of this folder (limits, rights)
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cmd/raild/health.h"
#include "lib/base/error.h"
#include "lib/config/node_config.h"
#include "lib/counters/sampler.h"
#include "lib/engine/view.h"
#include "lib/inspect/inspector.h"
#include "rail/v1/node.pb.h"

namespace rail::raild {

// What the server reads its answers from.
struct Sources {
  const engine::ViewPublisher& views;
  const config::NodeConfig& config;
  const inspect::Inspector& inspector;
  const counters::Sampler& counters;
  std::function<std::vector<v1::PluginRuns>()> runs;  // any thread
};

// Whether Server can start with the files for TCP; nothing is wrong where there is no `listen`. Errors: those of rpc::CheckTlsFiles.
Status CheckTlsFiles(const config::Api& api);

class Server {
 public:
  // Serves when it returns: on the unix socket, and over TCP when node.json says so.
  //   socket  absolute path, at most 107 bytes; its folder is made (0755) when missing; a socket there that nobody serves is
  //           replaced
  //   group   who may connect beside root, when the group exists
  // Errors: kBusy another process answers there; kExists something else has that name; kInvalid the path, or
  //         the files for TLS; kPermission; kInternal gRPC does not start (is the port taken?).
  static Result<std::unique_ptr<Server>> Start(const Sources& sources, const std::string& socket,
                                               const std::string& group = "railcni");

  // Sets what the health service answers: for "" whether raild is alive, for "rail.v1.Node" whether it is also ready. Before the first
  // call raild is alive and not ready. Any thread, until Stop.
  void Tell(const Health& health);

  // Ends watches with UNAVAILABLE, waits at most 2 s for running calls and 5 s for running
  // questions, removes the socket. Safe to repeat.
  void Stop();

  ~Server();

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace rail::raild
