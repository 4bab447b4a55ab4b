// Any bytes as an HTTP request: however it is cut, the same is read; nothing is both whole and refused, and nothing waits for ever.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lib/http/request.h"

using rail::http::Request;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const Request whole = rail::http::ReadRequest(all);
  if (size > rail::http::kMaxHead && whole.state == Request::State::kIncomplete) std::abort();
  if (whole.state == Request::State::kWhole &&
      (!whole.path.starts_with('/') || (whole.method != "GET" && whole.method != "HEAD")))
    std::abort();
  if ((whole.state == Request::State::kRefused) != (whole.status != 0)) std::abort();
  // What was decided once is not taken back by what comes later.
  for (size_t end = 0; end < size; end += 1 + size / 64) {
    const Request part = rail::http::ReadRequest(all.substr(0, end));
    if (part.state != Request::State::kIncomplete &&
        (part.state != whole.state || part.status != whole.status || part.path != whole.path))
      std::abort();
  }
  return 0;
}
