#include "lib/kubernetes/objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "lib/base/text.h"
#include "lib/kubernetes/lines.h"
#include "lib/kubernetes/testing/api_server.h"

namespace rail::kubernetes {
namespace {

using testing::ApiServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kPods = "/api/v1/namespaces/x/pods?labelSelector=app%3Da";

std::string Event(const std::string& type, const std::string& name, const std::string& version) {
  return R"({"type": ")" + type + R"(", "object": {"metadata": {"name": ")" + name +
         R"(", "resourceVersion": ")" + version + "\"}}}\n";
}

std::string List(const std::vector<std::string>& names, const std::string& version) {
  std::string items;
  for (const std::string& name : names) Append(items, ",", R"({"metadata": {"name": ")" + name + "\"}}");
  return R"({"metadata": {"resourceVersion": ")" + version + R"("}, "items": [)" + items + "]}";
}

// Answers one request after the other, and says which came.
class Script {
 public:
  explicit Script(std::vector<ApiServer::Reply> replies) : replies_(std::move(replies)) {}

  // What was there each time that somebody looked, until `last`.
  Result<Objects> Wait(const std::string& last, std::chrono::milliseconds time = std::chrono::seconds(20)) {
    return WaitForObjects(client_, kPods, After(time), [&](const Objects& now) -> Result<bool> {
      seen.push_back(Join(now, " ", &Objects::value_type::first));
      return seen.back() == last;
    });
  }
  std::vector<std::string> Paths() const {
    std::vector<std::string> paths;
    for (const auto& request : server_.seen()) paths.push_back(request.path);
    return paths;
  }
  std::vector<std::string> seen;

 private:
  std::vector<ApiServer::Reply> replies_;
  std::atomic<size_t> next_ = 0;
  ApiServer server_{[this](const ApiServer::Seen&) -> std::optional<ApiServer::Reply> {
    const size_t mine = next_++;
    return mine < replies_.size() ? replies_[mine] : ApiServer::Reply{.status = 500};
  }};
  Client client_{{.url = server_.url(), .token_file = {}, .ca_file = {}}, "test"};
};

TEST(WaitForObjects, ReturnsAtOnceWhenTheListIsAsWanted) {
  Script script({{.body = List({"a", "b"}, "7")}});
  EXPECT_EQ(script.Wait("a b")->size(), 2U);
  EXPECT_THAT(script.Paths(), ElementsAre(kPods));
}

TEST(WaitForObjects, FollowsWhatComesAndGoesFromTheListOn) {
  Script script(
      {{.body = List({"a"}, "7")},
       {.body = Event("ADDED", "b", "8") + Event("MODIFIED", "b", "9")},
       {.body = Event("BOOKMARK", "", "20") + Event("DELETED", "a", "21") + Event("ADDED", "z", "22")}});
  EXPECT_TRUE(script.Wait("b"));
  EXPECT_THAT(script.seen, ElementsAre("a", "a b", "a b", "a b", "b"));
  const auto paths = script.Paths();
  ASSERT_EQ(paths.size(), 3U);
  EXPECT_THAT(paths[1], AllOf(HasSubstr("labelSelector=app%3Da&watch=true"), HasSubstr("resourceVersion=7")));
  EXPECT_THAT(paths[2], HasSubstr("resourceVersion=9")) << "a watch that ends goes on from there";
}

TEST(WaitForObjects, ListsAnewWhenItsVersionIsGone) {
  Script script({{.body = List({"a"}, "7")},
                 {.body = R"({"type": "ERROR", "object": {"code": 410}})"
                          "\n"},
                 {.body = List({"b"}, "90")},
                 {.status = 410},
                 {.body = List({"c"}, "99")}});
  EXPECT_TRUE(script.Wait("c"));
  EXPECT_THAT(script.seen, ElementsAre("a", "b", "c"));
}

TEST(WaitForObjects, SaysWhatTheServerRefuses) {
  Script list({{.status = 403, .body = R"({"message": "pods is forbidden"})"}});
  EXPECT_THAT(list.Wait("a").error().message, HasSubstr("pods is forbidden"));
  Script watch({{.body = List({}, "7")}, {.status = 403, .body = R"({"message": "no watch"})"}});
  const auto refused = watch.Wait("a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermission);
  EXPECT_THAT(refused.error().message, HasSubstr("no watch"));
}

TEST(WaitForObjects, EndsWithItsTimeInTheMiddleOfAWatch) {
  ApiServer server;
  Client client({.url = server.url(), .token_file = {}, .ca_file = {}}, "test");
  const auto late =
      WaitForObjects(client, "/api/v1/namespaces?limit=500", After(std::chrono::milliseconds(100)),
                     [](const Objects&) -> Result<bool> { return false; });
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kTransient);
  EXPECT_THAT(late.error().message, HasSubstr("in time"));
}

TEST(WaitForObjects, DoesNotAskAServerWithoutEndThatEndsEachWatch) {
  std::vector<ApiServer::Reply> replies(1000, {.body = ""});
  replies.front() = {.body = List({"a"}, "7")};
  Script script(replies);
  EXPECT_THAT(script.Wait("b").error().message, HasSubstr("ends each watch at once"));
  EXPECT_EQ(script.Paths().size(), 6U);
}

TEST(WaitForObjects, EndsWithAnErrorOfWhoLooks) {
  ApiServer server;
  int looks = 0;
  Client client({.url = server.url(), .token_file = {}, .ca_file = {}}, "test");
  server.Put("ns", "key", "red");
  const auto ended = WaitForObjects(client, "/api/v1/namespaces?limit=500", After(std::chrono::seconds(20)),
                                    [&](const Objects&) -> Result<bool> {
                                      ++looks;
                                      return Fail(Code::kTransient, "one has failed");
                                    });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "one has failed");
  EXPECT_EQ(looks, 1);
}

TEST(ListObjects, AsksForOnePageAfterTheOther) {
  std::vector<std::string> paths;
  ApiServer server([&](const ApiServer::Seen& request) -> std::optional<ApiServer::Reply> {
    paths.push_back(request.path);
    if (paths.size() == 1)
      return ApiServer::Reply{.body = R"({"metadata": {"continue": "a/b="}, "items": [{"n": 1}, {"n": 2}]})"};
    return ApiServer::Reply{.body = R"({"metadata": {}, "items": [{"n": 3}]})"};
  });
  Client client({.url = server.url(), .token_file = {}, .ca_file = {}}, "test");
  const auto all = ListObjects(client, "/api/v1/nodes", After(std::chrono::seconds(20)));
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->size(), 3U);
  EXPECT_EQ((*all)[2]["n"], 3);
  EXPECT_THAT(paths, ElementsAre("/api/v1/nodes?limit=500", "/api/v1/nodes?limit=500&continue=a%2Fb%3D"));
}

TEST(Lines, ComeWholeOutOfPieces) {
  Lines lines;
  std::vector<std::string> whole;
  const auto take = [&](const std::string& line) -> Status {
    whole.push_back(line);
    return {};
  };
  EXPECT_TRUE(lines.Add("a\n\nb", take));
  EXPECT_TRUE(lines.Add("", take));
  EXPECT_TRUE(lines.Add("c\nd", take));
  EXPECT_THAT(whole, ElementsAre("a", "bc"));
  lines.Clear();
  EXPECT_TRUE(lines.Add("e\n", take));
  EXPECT_THAT(whole, ElementsAre("a", "bc", "e"));
  EXPECT_FALSE(lines.Add(std::string((size_t{4} << 20) + 1, 'x'), take));
}

}  // namespace
}  // namespace rail::kubernetes
