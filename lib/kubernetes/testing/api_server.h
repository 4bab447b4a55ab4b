// An API server as far as these tests need one: namespaces in versions, lists in pages, watches with bookmarks, a node, events.
//
// Use:      ApiServer server;   server.Put("ns-a", "railcni.io/tenant", "red");   Client client({.url = server.url()}, "test");
//           EXPECT_THAT(server.requests(), Contains("GET /api/v1/namespaces?..."));
// Threads:  any; each connection has a thread of its own
// Owns:     its socket and its threads
#pragma once

#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/fd.h"

namespace rail::kubernetes::testing {

// Of the environment, by which a contract test finds a real server (api_contract_test.cc); "": it is not set.
inline std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class ApiServer {
 public:
  struct Seen {
    std::string method, path, body;
    std::string authorization, content_type;
  };
  struct Reply {
    int status = 200;
    std::string body;
    std::string headers;  // lines with \r\n
  };

  // Answers in the place of the server what it knows. `status` -1: it hangs up.
  using Handler = std::function<std::optional<Reply>(const Seen&)>;

  explicit ApiServer(Handler handler = {}, uint16_t port = 0);  // 0: any port
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  // Each is a new version, which watches hear of. `created`: as creationTimestamp.
  void Put(const std::string& name, const std::string& key, const std::optional<std::string>& value,
           const std::string& created = "2026-01-02T03:04:05Z");
  void Delete(const std::string& name);
  void Bookmark();
  void Say(const std::string& line);  // to every watch, as it is
  void Forget();                      // all that went before: watches from there get 410
  void EndWatches();                  // closes their connections
  // Answers the next requests in the place of the server, those whose path contains `part`, so often.
  void Instead(const std::string& part, Reply reply, int times = 1);

  std::vector<Seen> seen() const;
  // Waits until `is` holds, up to ten seconds; asked after each request and each change.
  bool WaitFor(const std::function<bool()>& is);
  size_t watches() const;

 private:
  struct Change {
    uint64_t version;
    std::string line;
  };
  void Accept();
  void Serve(int fd);
  void Watch(int fd, uint64_t from, std::unique_lock<std::mutex>& lock);
  Reply AnswerTo(const Seen& request);
  Reply List(const std::string& path);
  std::string Text(const std::string& name) const;
  void Changed(const std::string& type, const std::string& object);

  const Handler handler_;
  Fd listener_;
  uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable news_;
  bool ends_ = false;
  uint64_t version_ = 100;
  uint64_t oldest_ = 100;
  uint64_t ended_ = 0;  // how often watches were ended
  size_t watches_ = 0;
  std::map<std::string, std::string> namespaces_;  // name -> the object
  std::deque<Change> changes_;
  struct Instead_ {
    std::string part;
    Reply reply;
    int times;
  };
  std::vector<Instead_> instead_;
  std::vector<Seen> seen_;
  std::set<int> open_;
  std::vector<std::thread> threads_;
  std::thread accepting_;
};

}  // namespace rail::kubernetes::testing
