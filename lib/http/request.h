// Reads the head of an HTTP/1 request: the method and the path, which is all that a read-only server needs.
//
// Use:      switch (const Request request = ReadRequest(received); request.state) { ... }   // again whenever more bytes arrive
// Threads:  pure functions
// Source:   RFC 9112 sections 2, 3, 5 (message format, request line, field syntax); RFC 9110 section 15 (status codes)
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rail::http {

// The longest head, in bytes. A scrape's head has some hundred bytes.
inline constexpr size_t kMaxHead = 8192;

struct Request {
  enum class State {
    kIncomplete,  // more bytes are needed
    kWhole,
    kRefused,  // `status` says why; where the next request begins is unknown
  } state = State::kIncomplete;
  int status = 0;      // of kRefused: 400, 405, 414, 431, 501, 505
  std::string method;  // "GET" or "HEAD"
  std::string path;    // as sent, without what follows a '?'
};

// Decodes nothing (no percent-encoding) and obeys no header field. Refuses a request with a body, because no page takes one.
Request ReadRequest(std::string_view received);

// "404 Not Found"
std::string_view StatusLine(int status);

}  // namespace rail::http
