#include "lib/ovs/rpc.h"

#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"
#include "lib/ovs/shim.h"
#include "lib/ovs/text.h"

namespace rail::ovs {
namespace {

constexpr size_t kMaxMessage = 256 << 20;

}  // namespace

void RpcConnection::ParserDeleter::operator()(json_parser* parser) const {
  rail_rpc_abort(parser);
}

Result<RpcConnection> RpcConnection::Connect(const std::string& path, Deadline deadline) {
  RAIL_ASSIGN(auto socket, UnixStream::Connect(path, deadline));
  RpcConnection connection(std::move(socket));
  connection.buffer_.resize(64 << 10);
  return connection;
}

uint64_t RpcConnection::Queue(const std::string& method, const nlohmann::json& params) {
  const uint64_t id = ++last_id_;
  out_ += DumpJson({{"method", method}, {"params", params}, {"id", id}});
  return id;
}

Status RpcConnection::Flush(Deadline deadline) {
  RAIL_TRY(socket_.Write(out_, deadline));
  out_.clear();
  return {};
}

Result<RpcMessage> RpcConnection::Receive(Deadline deadline) {
  for (;;) {
    RAIL_TRY(Flush(deadline));
    RAIL_ASSIGN(auto message, Take());
    if (message) return std::move(*message);
    if (!out_.empty()) continue;
    RAIL_ASSIGN(const size_t got, socket_.Read(buffer_, deadline));
    RAIL_TRY(Fill(got));
  }
}

Result<std::optional<RpcMessage>> RpcConnection::TryReceive() {
  for (;;) {
    RAIL_ASSIGN(auto message, Take());
    RAIL_TRY(Flush(After(std::chrono::seconds(1))));
    if (message) return message;
    const ssize_t got = ::recv(socket_.fd(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return std::optional<RpcMessage>();
    if (got < 0) return FailErrno(errno, "read from " + path());
    RAIL_TRY(Fill(static_cast<size_t>(got)));
  }
}

Status RpcConnection::Fill(size_t n) {
  if (n == 0) return Fail(Code::kTransient, path() + ": closed by the other end: was it restarted?");
  at_ = 0;
  end_ = n;
  return {};
}

Result<std::optional<RpcMessage>> RpcConnection::Take() {
  while (at_ < end_) {
    json_parser* parser = parser_.release();
    rail_rpc raw{};
    size_t used = 0;
    bool done = false;
    const std::string error =
        TakeText(rail_rpc_feed(&parser, buffer_.data() + at_, end_ - at_, &used, &done, &raw));
    parser_.reset(parser);
    at_ += used;
    message_ += used;
    if (!error.empty()) return Fail(Code::kInvalid, path() + ": not JSON-RPC: " + error);
    if (message_ > kMaxMessage) return Fail(Code::kInvalid, path() + ": a message of more than 256 MiB");
    if (!done) return std::optional<RpcMessage>();
    message_ = 0;

    RpcMessage message{.type = static_cast<RpcMessage::Type>(raw.type),
                       .method = TakeText(raw.method),
                       .id = std::nullopt,
                       .id_text = TakeText(raw.id),
                       .body = TakeText(raw.body)};
    if (message.type == RpcMessage::Type::kRequest && message.method == "echo") {
      out_ += R"({"result":)" + message.body + R"(,"error":null,"id":)" + message.id_text + "}";
      continue;
    }
    uint64_t id = 0;
    const char* text_end = message.id_text.data() + message.id_text.size();
    if (std::from_chars(message.id_text.data(), text_end, id).ptr == text_end && !message.id_text.empty())
      message.id = id;
    return message;
  }
  return std::optional<RpcMessage>();
}

}  // namespace rail::ovs
