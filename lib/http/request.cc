#include "lib/http/request.h"

#include <algorithm>

namespace rail::http {
namespace {

constexpr size_t kMaxTarget = 1024;

Request Refused(int status) {
  return {.state = Request::State::kRefused, .status = status};
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool IsVisible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

bool IsField(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) return false;
  return std::ranges::all_of(line.substr(colon + 1), [](char c) {
    return c == '\t' || static_cast<unsigned char>(c) >= ' ' || static_cast<unsigned char>(c) >= 0x80;
  });
}

std::string_view NameOf(std::string_view field) {
  return field.substr(0, field.find(':'));
}

bool IsName(std::string_view name, std::string_view wanted) {
  return std::ranges::equal(name, wanted,
                            [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

// Whether the field's value is 0: no body follows.
bool IsZero(std::string_view field) {
  const std::string_view value = field.substr(field.find(':') + 1);
  const size_t begin = value.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return false;
  return value.substr(begin, value.find_last_not_of(" \t") + 1 - begin) == "0";
}

Request ReadRequestLine(std::string_view line) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return Refused(400);
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!IsToken(method) || target.empty() || !IsVisible(target)) return Refused(400);
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return Refused(version.starts_with("HTTP/") ? 505 : 400);
  if (target.size() > kMaxTarget) return Refused(414);
  if (method != "GET" && method != "HEAD") return Refused(405);
  if (!target.starts_with('/')) return Refused(400);
  return {.state = Request::State::kWhole,
          .method = std::string(method),
          .path = std::string(target.substr(0, target.find('?')))};
}

}  // namespace

Request ReadRequest(std::string_view received) {
  const std::string_view head = received.substr(0, kMaxHead);
  size_t at = head.find("\r\n");
  if (at == std::string_view::npos) return received.size() > kMaxHead ? Refused(431) : Request{};
  Request request = ReadRequestLine(head.substr(0, at));
  if (request.state == Request::State::kRefused) return request;
  for (;;) {
    at += 2;
    const size_t end = head.find("\r\n", at);
    if (end == std::string_view::npos) return received.size() > kMaxHead ? Refused(431) : Request{};
    const std::string_view field = head.substr(at, end - at);
    if (field.empty()) return request;
    if (!IsField(field)) return Refused(400);
    if (IsName(NameOf(field), "transfer-encoding")) return Refused(501);
    if (IsName(NameOf(field), "content-length") && !IsZero(field)) return Refused(400);
    at = end;
  }
}

std::string_view StatusLine(int status) {
  switch (status) {
    case 200:
      return "200 OK";
    case 400:
      return "400 Bad Request";
    case 404:
      return "404 Not Found";
    case 405:
      return "405 Method Not Allowed";
    case 414:
      return "414 URI Too Long";
    case 431:
      return "431 Request Header Fields Too Large";
    case 501:
      return "501 Not Implemented";
    case 503:
      return "503 Service Unavailable";
    case 505:
      return "505 HTTP Version Not Supported";
    default:
      return "500 Internal Server Error";
  }
}

}  // namespace rail::http
