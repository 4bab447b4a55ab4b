// JSON-RPC 1.0 on a unix socket, for ovsdb-server and the unixctl sockets of the OVS daemons.
//
// Use:      RAIL_ASSIGN(auto rpc, RpcConnection::Connect(path, deadline));
//           const uint64_t id = rpc.Queue("transact", params);           // sent by the next Flush or Receive
//           RAIL_ASSIGN(RpcMessage message, rpc.Receive(deadline));       // also answers echo requests
// Threads:  one at a time
// Owns:     the socket
// Source:   RFC 7047 section 4; JSON-RPC 1.0
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/socket.h"

struct json_parser;

namespace rail::ovs {

struct RpcMessage {
  enum class Type { kRequest, kNotify, kReply, kError };
  Type type = Type::kReply;
  std::string method;
  std::optional<uint64_t> id;  // of a reply or error to one of our calls
  std::string id_text;         // as JSON
  std::string body;            // JSON text: params, result or error
};

class RpcConnection {
 public:
  static Result<RpcConnection> Connect(const std::string& path, Deadline deadline);

  // Queues a call, which the next Flush or Receive sends. Returns the id that the answer will have.
  uint64_t Queue(const std::string& method, const nlohmann::json& params);
  Status Flush(Deadline deadline);

  // The next message that is not an echo request. Errors: kTransient (deadline, closed), kInvalid not JSON-RPC.
  Result<RpcMessage> Receive(Deadline deadline);
  // Like Receive, without waiting; nullopt when no whole message has arrived.
  Result<std::optional<RpcMessage>> TryReceive();

  int fd() const { return socket_.fd(); }
  const std::string& path() const { return socket_.path(); }

 private:
  struct ParserDeleter {
    void operator()(json_parser* parser) const;
  };

  explicit RpcConnection(UnixStream socket) : socket_(std::move(socket)) {}
  Result<std::optional<RpcMessage>> Take();
  Status Fill(size_t n);

  UnixStream socket_;
  std::unique_ptr<json_parser, ParserDeleter> parser_;
  std::vector<char> buffer_;
  size_t at_ = 0;  // buffer_[at_, end_): not read by Take yet
  size_t end_ = 0;
  size_t message_ = 0;  // bytes read of the present message
  std::string out_;
  uint64_t last_id_ = 0;
};

}  // namespace rail::ovs
