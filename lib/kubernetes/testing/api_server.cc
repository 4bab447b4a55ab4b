#include "lib/kubernetes/testing/api_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

namespace rail::kubernetes::testing {
namespace {

using nlohmann::json;

void Send(int fd, const std::string& text) {
  (void)!::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
}

std::string Chunk(const std::string& text) {
  char size[32];
  std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  return size + text + "\r\n";
}

std::string Field(const std::string& head, const std::string& name) {
  const size_t at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const size_t from = at + name.size() + 4;
  return head.substr(from, head.find("\r\n", from) - from);
}

std::string Parameter(const std::string& path, const std::string& name) {
  size_t at = path.find("?" + name + "=");
  if (at == std::string::npos) at = path.find("&" + name + "=");
  if (at == std::string::npos) return "";
  const size_t from = at + name.size() + 2;
  return path.substr(from, path.find('&', from) - from);
}

std::string Problem(int code, const std::string& message) {
  return json({{"kind", "Status"}, {"status", "Failure"}, {"code", code}, {"message", message}}).dump();
}

}  // namespace

ApiServer::ApiServer(Handler handler, uint16_t port)
    : handler_(std::move(handler)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;  // also while connections of an earlier server on the port end
  (void)::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_port = htons(port);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_.get(), any, size) != 0 || ::listen(listener_.get(), 64) != 0 ||
      ::getsockname(listener_.get(), any, &size) != 0)
    std::abort();
  port_ = ntohs(address.sin_port);
  accepting_ = std::thread([this] { Accept(); });
}

ApiServer::~ApiServer() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    ::shutdown(listener_.get(), SHUT_RDWR);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    news_.notify_all();
  }
  accepting_.join();
  for (std::thread& thread : threads_) thread.join();
}

void ApiServer::Accept() {
  while (true) {
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard lock(mutex_);
    if (ends_ || fd < 0) {
      if (fd >= 0) ::close(fd);
      if (ends_) return;
      continue;
    }
    open_.insert(fd);
    threads_.emplace_back([this, fd] { Serve(fd); });
  }
}

void ApiServer::Serve(int fd) {
  std::string received;
  char bytes[8192];
  while (true) {
    size_t head = received.find("\r\n\r\n");
    size_t length = 0;
    if (head != std::string::npos)
      length = std::strtoul(Field(received, "Content-Length").c_str(), nullptr, 10);
    if (head == std::string::npos || received.size() < head + 4 + length) {
      const ssize_t n = ::recv(fd, bytes, sizeof bytes, 0);
      if (n <= 0) break;
      received.append(bytes, static_cast<size_t>(n));
      continue;
    }
    Seen request{.method = received.substr(0, received.find(' ')),
                 .path = {},
                 .body = received.substr(head + 4, length),
                 .authorization = Field(received, "Authorization"),
                 .content_type = Field(received, "Content-Type")};
    const size_t from = request.method.size() + 1;
    request.path = received.substr(from, received.find(' ', from) - from);
    received.erase(0, head + 4 + length);
    std::unique_lock lock(mutex_);
    seen_.push_back(request);
    news_.notify_all();
    const Reply reply = AnswerTo(request);
    if (reply.status < 0) {
      ::shutdown(fd, SHUT_RDWR);
      break;
    }
    if (reply.status == 0) {
      Watch(fd, std::strtoull(Parameter(request.path, "resourceVersion").c_str(), nullptr, 10), lock);
      break;
    }
    Send(fd, "HTTP/1.1 " + std::to_string(reply.status) + " X\r\nContent-Length: " +
                 std::to_string(reply.body.size()) + "\r\n" + reply.headers + "\r\n" + reply.body);
  }
  const std::lock_guard lock(mutex_);
  open_.erase(fd);
  ::close(fd);
}

// Status 0: a watch begins.
ApiServer::Reply ApiServer::AnswerTo(const Seen& request) {
  const auto instead = std::ranges::find_if(instead_, [&](const Instead_& each) {
    return each.times > 0 && request.path.find(each.part) != std::string::npos;
  });
  if (instead != instead_.end()) {
    --instead->times;
    return instead->reply;
  }
  if (auto reply = handler_ ? handler_(request) : std::nullopt) return *std::move(reply);
  if (!request.path.starts_with("/api/v1/namespaces?")) {
    if (request.method == "GET") return {404, Problem(404, "not found"), ""};
    return {request.method == "POST" ? 201 : 200, "{}", ""};
  }
  if (Parameter(request.path, "watch") != "true") return List(request.path);
  if (std::strtoull(Parameter(request.path, "resourceVersion").c_str(), nullptr, 10) < oldest_)
    return {410, Problem(410, "too old resource version"), ""};
  return {0, "", ""};
}

ApiServer::Reply ApiServer::List(const std::string& path) {
  const size_t limit = std::strtoul(Parameter(path, "limit").c_str(), nullptr, 10);
  const std::string after = Parameter(path, "continue");
  if (after.empty() && std::strtoull(Parameter(path, "resourceVersion").c_str(), nullptr, 10) > version_)
    return {504, Problem(504, "Too large resource version"), ""};
  std::string items, next;
  size_t count = 0;
  for (auto at = namespaces_.upper_bound(after); at != namespaces_.end(); ++at) {
    if (count++ == limit) break;
    items += (items.empty() ? "" : ",") + at->second;
    next = at->first;
  }
  if (namespaces_.upper_bound(next) == namespaces_.end()) next.clear();
  return {200,
          R"({"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":")" +
              std::to_string(version_) + R"(","continue":")" + next + R"("},"items":[)" + items + "]}",
          "Content-Type: application/json\r\n"};
}

void ApiServer::Watch(int fd, uint64_t from, std::unique_lock<std::mutex>& lock) {
  Send(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  ++watches_;
  const uint64_t ended = ended_;
  uint64_t sent = from;
  while (!ends_ && ended == ended_) {
    for (const Change& change : changes_) {
      if (change.version > sent) Send(fd, Chunk(change.line + "\n"));
    }
    if (!changes_.empty()) sent = std::max(sent, changes_.back().version);
    news_.notify_all();
    news_.wait(lock, [&] {
      return ends_ || ended != ended_ || (!changes_.empty() && changes_.back().version > sent);
    });
  }
  --watches_;
  ::shutdown(fd, SHUT_RDWR);
}

void ApiServer::Changed(const std::string& type, const std::string& object) {
  changes_.push_back({version_, R"({"type":")" + type + R"(","object":)" + object + "}"});
  news_.notify_all();
}

void ApiServer::Put(const std::string& name, const std::string& key, const std::optional<std::string>& value,
                    const std::string& created) {
  const std::lock_guard lock(mutex_);
  json object = {
      {"kind", "Namespace"},
      {"metadata",
       {{"name", name},
        {"resourceVersion", std::to_string(++version_)},
        {"creationTimestamp", created},
        {"labels", {{"kubernetes.io/metadata.name", name}}},
        {"managedFields", {{{"manager", "kubectl"}, {"fieldsV1", {{"f:metadata", json::object()}}}}}}}},
      {"status", {{"phase", "Active"}}}};
  if (value) object["metadata"]["labels"][key] = *value;
  const bool is_new = !namespaces_.contains(name);
  namespaces_[name] = object.dump();
  Changed(is_new ? "ADDED" : "MODIFIED", namespaces_[name]);
}

void ApiServer::Delete(const std::string& name) {
  const std::lock_guard lock(mutex_);
  json object = json::parse(namespaces_.at(name));
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  namespaces_.erase(name);
  Changed("DELETED", object.dump());
}

void ApiServer::Bookmark() {
  const std::lock_guard lock(mutex_);
  Changed("BOOKMARK", R"({"metadata":{"resourceVersion":")" + std::to_string(++version_) +
                          R"(","creationTimestamp":null}})");
}

void ApiServer::Say(const std::string& line) {
  const std::lock_guard lock(mutex_);
  changes_.push_back({++version_, line});
  news_.notify_all();
}

void ApiServer::Forget() {
  const std::lock_guard lock(mutex_);
  oldest_ = ++version_;
  changes_.clear();
}

void ApiServer::EndWatches() {
  const std::lock_guard lock(mutex_);
  ++ended_;
  news_.notify_all();
}

void ApiServer::Instead(const std::string& part, Reply reply, int times) {
  const std::lock_guard lock(mutex_);
  instead_.push_back({part, std::move(reply), times});
}

std::vector<ApiServer::Seen> ApiServer::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

bool ApiServer::WaitFor(const std::function<bool()>& is) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!is()) {
    std::unique_lock lock(mutex_);
    if (news_.wait_until(lock, until) != std::cv_status::timeout) continue;
    lock.unlock();  // it asks the server
    return is();
  }
  return true;
}

size_t ApiServer::watches() const {
  const std::lock_guard lock(mutex_);
  return watches_;
}

}  // namespace rail::kubernetes::testing
