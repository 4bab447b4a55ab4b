// Any bytes as what ovsdb-server says: the framing of its JSON-RPC, and every row of what is inside.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "lib/base/fd.h"
#include "lib/ovs/db_values.h"
#include "lib/ovs/rpc.h"

namespace {

using namespace rail;
using namespace rail::ovs;

// One listener for the program's life, at an abstract-like path of its own that goes with the folder.
class Server {
 public:
  Server() {
    char folder[] = "/tmp/railcni-fuzz-XXXXXX";
    if (::mkdtemp(folder) == nullptr) std::abort();
    folder_ = folder;
    path_ = folder_ + "/db.sock";
    listener_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_.get(), 1) != 0)
      std::abort();
  }
  ~Server() {
    ::unlink(path_.c_str());
    ::rmdir(folder_.c_str());
  }

  const std::string& path() const { return path_; }
  // Takes the connection that was just made, says all of `bytes` and hangs up.
  void Say(std::string_view bytes) {
    const Fd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer) std::abort();
    while (!bytes.empty()) {
      const ssize_t n = ::write(peer.get(), bytes.data(), bytes.size());
      if (n <= 0) break;  // more than the socket holds: the rest is cut off
      bytes.remove_prefix(static_cast<size_t>(n));
    }
  }

 private:
  std::string folder_;
  std::string path_;
  Fd listener_;
};

void ReadRow(const nlohmann::json& value) {
  JsonErrors errors;
  DbRow row(value, "Port", errors);
  (void)row.Text("name");
  const auto number = row.Integer("ofport");
  if (number && value["ofport"].is_number_unsigned() && value["ofport"].get<uint64_t>() > uint64_t{INT64_MAX})
    std::abort();
  (void)row.Uuid("_uuid");
  (void)row.Uuids("interfaces");
  for (const auto& [key, text] : row.Map("external_ids"))
    (void)DbMap({{key, text}}).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (const Status status = errors.ToStatus("fuzz");
      !status && status.error().message.find("Port") == std::string::npos)
    std::abort();
}

// Every object in the document is taken for a row.
void ReadRows(const nlohmann::json& value) {
  if (value.is_object()) ReadRow(value);
  if (!value.is_structured()) return;
  for (const auto& element : value) ReadRows(element);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Server server;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto document = ParseJson(text)) {
    ReadRow(*document);
    ReadRows(*document);
  }
  auto rpc = RpcConnection::Connect(server.path(), After(std::chrono::seconds(5)));
  if (!rpc) std::abort();
  server.Say(text);
  for (;;) {
    const auto message = rpc->Receive(After(std::chrono::seconds(5)));
    if (!message) {
      if (message.error().message.empty()) std::abort();
      break;  // the server has hung up, or it is no JSON-RPC
    }
    if (const auto body = ParseJson(message->body)) ReadRows(*body);
  }
  return 0;
}
