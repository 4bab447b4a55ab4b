// Talks to the API server: one request at a time, whole or as a stream.
//
// Use:      Client client(endpoint, "raild/0.1");
//           RAIL_ASSIGN(const Answer answer, client.Ask({.path = "/api/v1/nodes/n1"}));
//           RAIL_ASSIGN(const Answer end, client.Stream({.path = "/api/v1/namespaces?watch=true"}, [](std::string_view bytes) { ... }));
//           client.Stop();     // from another thread: the running call ends, and all later ones fail
// Threads:  one, and Stop from any
// Owns:     its connections
// Source:   libcurl-multi(3); the TLS of the API server is checked against the cluster's authority
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/kubernetes/endpoint.h"

namespace rail::kubernetes {

struct Request {
  std::string method = "GET";
  std::string path;                         // with its query
  std::string accept = "application/json";  //
  std::string body;                         // "" of GET
  std::string content_type = "application/json";
  Clock::duration limit = std::chrono::seconds(30);  // the longest time that the answer may take, all of it
  Clock::duration silence{};            // the longest time without a byte of it; zero: as long as `limit`
  size_t max_bytes = size_t{64} << 20;  // the longest body of an answer that is no stream
};

struct Answer {
  long status = 0;
  std::string body;  // "" of a stream
  std::optional<std::chrono::seconds> retry_after;
  bool ok() const { return status >= 200 && status < 300; }
};

// "the API server answers 403: <message>", of an answer that is not ok. Codes: kPermission 401 and 403, kNotFound 404, kExists 409,
// kInvalid other 4xx; kTransient 408, 410, 429 and 5xx.
Error ErrorOf(const Answer& answer);

// A value of a query: a version, the continuation of a list.
std::string Escaped(std::string_view text);

class Client {
 public:
  Client(Endpoint endpoint, std::string user_agent);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Errors: kTransient no connection, no answer in time, Stop; of ReadToken. An answer of any status is no error.
  Result<Answer> Ask(const Request& request);
  // Calls `bytes` with nothing when the server has accepted, then with what arrives, until the server ends the answer, or the limit. An answer that is not ok is not streamed.
  using Bytes = std::function<Status(std::string_view)>;
  // Errors: also those of `bytes`, which end the stream.
  Result<Answer> Stream(const Request& request, const Bytes& bytes);

  void Stop();
  bool stopped() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rail::kubernetes
