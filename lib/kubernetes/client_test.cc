#include "lib/kubernetes/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "lib/kubernetes/testing/api_server.h"

namespace rail::kubernetes {
namespace {

using testing::ApiServer;
using ::testing::HasSubstr;

class ClientTest : public ::testing::Test {
 protected:
  ApiServer server;
  Client client{{.url = server.url(), .token_file = {}, .ca_file = {}}, "test"};
};

TEST_F(ClientTest, GivesEveryAnswer) {
  auto answer = client.Ask({.path = "/api/v1/nodes/none"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 404);
  const Error error = ErrorOf(*answer);
  EXPECT_EQ(error.code, Code::kNotFound);
  EXPECT_EQ(error.message, "the API server answers 404: not found");
  server.Instead("/x", {503, "busy", "Retry-After: 7\r\n"});
  answer = client.Ask({.path = "/x"});
  EXPECT_EQ(answer->retry_after, std::chrono::seconds(7));
  EXPECT_EQ(ErrorOf(*answer).code, Code::kTransient);
}

TEST_F(ClientTest, SendsABody) {
  ASSERT_TRUE(
      client.Ask({.method = "PATCH", .path = "/p", .body = "{\"a\":1}", .content_type = "application/x"}));
  ASSERT_TRUE(client.Ask({.path = "/q"})) << "the next request has none";
  EXPECT_EQ(server.seen()[0].method, "PATCH");
  EXPECT_EQ(server.seen()[0].body, "{\"a\":1}");
  EXPECT_EQ(server.seen()[0].content_type, "application/x");
  EXPECT_EQ(server.seen()[1].method, "GET");
  EXPECT_EQ(server.seen()[1].body, "");
}

TEST_F(ClientTest, SendsTheTokenThatIsThereNow) {
  char folder[] = "/tmp/railcni-token-XXXXXX";
  const std::string file = std::string(::mkdtemp(folder)) + "/token";
  Client with({.url = server.url(), .token_file = file, .ca_file = {}}, "test");
  const auto missing = with.Ask({.path = "/x"});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr(file));
  EXPECT_TRUE(server.seen().empty()) << "nothing is sent without it";
  for (const char* token : {"one", "two"}) {
    std::ofstream(file) << token;
    ASSERT_TRUE(with.Ask({.path = "/x"}));
    EXPECT_EQ(server.seen().back().authorization, std::string("Bearer ") + token);
  }
  std::filesystem::remove_all(folder);
}

TEST_F(ClientTest, ReadsNoMoreThanItShould) {
  server.Instead("/x", {200, std::string(100'000, 'x'), ""});
  const auto answer = client.Ask({.path = "/x", .max_bytes = 50'000});
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("longer than the 50000 bytes"));
}

TEST_F(ClientTest, SaysWhereNobodyAnswers) {
  Client lost({.url = "http://127.0.0.1:1", .token_file = {}, .ca_file = {}}, "test");
  const auto answer = lost.Ask({.path = "/x"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kTransient);
  EXPECT_THAT(answer.error().message, HasSubstr("GET http://127.0.0.1:1/x: "));
}

TEST_F(ClientTest, FollowsNoRedirect) {
  server.Instead("/x", {302, "", "Location: " + server.url() + "/y\r\n"});
  EXPECT_EQ(client.Ask({.path = "/x"})->status, 302);
}

TEST_F(ClientTest, StreamsUntilItIsStopped) {
  std::string got;
  bool begun = false;
  std::thread says([&] {
    server.WaitFor([&] { return server.watches() == 1; });
    server.Say("{\"x\":1}");
  });
  const auto ended = client.Stream({.path = "/api/v1/namespaces?watch=true&resourceVersion=100"},
                                   [&](std::string_view bytes) -> Status {
                                     begun = begun || bytes.empty();
                                     got += bytes;
                                     if (!got.empty()) client.Stop();
                                     return {};
                                   });
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().message, HasSubstr("raild ends"));
  EXPECT_TRUE(begun);
  EXPECT_EQ(got, "{\"x\":1}\n");
  EXPECT_FALSE(client.Ask({.path = "/x"}));
  says.join();
}

}  // namespace
}  // namespace rail::kubernetes
