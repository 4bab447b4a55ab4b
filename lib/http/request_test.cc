#include "lib/http/request.h"

#include <gtest/gtest.h>

namespace rail::http {
namespace {

using State = Request::State;

Request Read(const std::string& line, const std::string& fields = "") {
  return ReadRequest(line + "\r\n" + fields + "\r\n");
}

TEST(ReadRequest, TakesWhatPrometheusAndCurlSend) {
  const Request scrape =
      Read("GET /metrics HTTP/1.1",
           "Host: 127.0.0.1:9477\r\nUser-Agent: Prometheus/2.42.0\r\nAccept-Encoding: gzip\r\n");
  EXPECT_EQ(scrape.state, State::kWhole);
  EXPECT_EQ(scrape.method, "GET");
  EXPECT_EQ(scrape.path, "/metrics");
  const Request head = Read("HEAD /healthz?verbose=1&x=%00 HTTP/1.0");
  EXPECT_EQ(head.method, "HEAD");
  EXPECT_EQ(head.path, "/healthz");
  EXPECT_EQ(Read("GET / HTTP/1.1", "Content-Length: 0\r\n").state, State::kWhole);
}

TEST(ReadRequest, WaitsForTheEmptyLine) {
  const std::string whole = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(ReadRequest(whole.substr(0, size)).state, State::kIncomplete) << size;
  EXPECT_EQ(ReadRequest(whole).state, State::kWhole);
  EXPECT_EQ(ReadRequest(whole + "GET /more HTTP/1.1\r\n").path, "/") << "what follows is nobody's";
}

TEST(ReadRequest, RefusesWithTheStatusThatSaysWhy) {
  struct Case {
    std::string text;
    int status;
  };
  const std::vector<Case> cases = {
      {"GET /\r\n\r\n", 400},
      {"GET  HTTP/1.1\r\n\r\n", 400},
      {"GET / extra HTTP/1.1\r\n\r\n", 400},
      {"G@T / HTTP/1.1\r\n\r\n", 400},
      {std::string("GET /\0 HTTP/1.1\r\n\r\n", 19), 400},
      {"GET /\xc3\xa9 HTTP/1.1\r\n\r\n", 400},
      {"GET http://x/ HTTP/1.1\r\n\r\n", 400},
      {"GET * HTTP/1.1\r\n\r\n", 400},
      {"\x16\x03\x01\x02\r\n\r\n", 400},  // TLS
      {"GET / HTTP/2.0\r\n\r\n", 505},
      {"GET / http/1.1\r\n\r\n", 400},
      {"POST /metrics HTTP/1.1\r\n\r\n", 405},
      {"CONNECT a:1 HTTP/1.1\r\n\r\n", 405},
      {"GET / HTTP/1.1\r\n folded: x\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400},
      {std::string("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 29), 400},
      {"GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\ncontent-length: 5\r\n\r\nhello", 400},
      {"GET / HTTP/1.1\r\nContent-Length: 00x\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nTRANSFER-ENCODING: chunked\r\n\r\n", 501},
      {"GET /" + std::string(1024, 'a') + " HTTP/1.1\r\n\r\n", 414},
      {"GET / HTTP/1.1\r\nX: " + std::string(kMaxHead, 'a'), 431},
      {std::string(kMaxHead + 1, 'G'), 431},
  };
  for (const Case& each : cases) {
    const Request request = ReadRequest(each.text);
    EXPECT_EQ(request.state, State::kRefused) << each.text;
    EXPECT_EQ(request.status, each.status) << each.text;
    EXPECT_NE(StatusLine(each.status), StatusLine(500)) << each.status << " has no name";
  }
}

}  // namespace
}  // namespace rail::http
