// The head of an HTTP/1 request, as far as a server needs it that only shows things: the method and the path.
//
// Use:      switch (const Request request = ReadRequest(received); request.state) { ... }   // again whenever more has come
// Threads:  pure functions
// Source:   RFC 9112 sections 2, 3, 5 (message format, request line, field syntax); RFC 9110 section 15 (status codes)
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rail::http {

// A scrape's head is some hundred bytes.
inline constexpr size_t kMaxHead = 8192;

struct Request {
  enum class State {
    kIncomplete,  // more has to come
    kWhole,
    kRefused,  // `status` says why; whatever follows cannot be told apart from it
  } state = State::kIncomplete;
  int status = 0;      // of kRefused: 400, 405, 414, 431, 501, 505
  std::string method;  // "GET" or "HEAD"
  std::string path;    // as sent, without what follows a '?'
};

// Nothing of it is decoded and no field is obeyed; a body is refused, because nothing here takes one.
Request ReadRequest(std::string_view received);

// "404 Not Found"
std::string_view StatusLine(int status);

}  // namespace rail::http
