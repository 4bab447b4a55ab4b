#include "lib/kubernetes/namespace_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "lib/kubernetes/testing/api_server.h"

namespace rail::kubernetes {
namespace {

using tenancy::TenantMap;
using testing::ApiServer;
using ::testing::HasSubstr;

constexpr char kKey[] = "railcni.io/tenant";

// Runs a watch against the server and keeps what it tells.
class Watching {
 public:
  static constexpr NamespaceWatch::Times kTimes{.spread = std::chrono::milliseconds(1),
                                                .watch = std::chrono::seconds(60)};
  explicit Watching(const std::string& url, std::optional<TenantMap> last = {},
                    NamespaceWatch::Times times = kTimes)
      : client_({.url = url, .token_file = {}, .ca_file = {}}, "test"),
        watch_(client_, kKey, std::move(last),
               {.changed =
                    [this](const TenantMap& map) {
                      const std::lock_guard lock(mutex_);
                      map_ = map;
                      ++told_;
                      news_.notify_all();
                    },
                .state =
                    [this](const Status& status) {
                      const std::lock_guard lock(mutex_);
                      problem_ = status ? "" : status.error().message;
                      problems_ += problem_ + "\n";
                      news_.notify_all();
                    }},
               1, times),
        thread_([this] { watch_.Run(); }) {}
  ~Watching() {
    watch_.Stop();
    thread_.join();
  }
  // Waits until the map is so.
  bool Becomes(const std::function<bool(const TenantMap&)>& is) {
    std::unique_lock lock(mutex_);
    return news_.wait_for(lock, std::chrono::seconds(20), [&] { return is(map_); });
  }
  bool BecomesLabel(const std::string& name, const std::optional<std::string>& label) {
    return Becomes([&](const TenantMap& map) {
      const auto found = map.namespaces.find(name);
      return found != map.namespaces.end() && found->second.label == label;
    });
  }
  bool Complains(const std::string& part) {
    std::unique_lock lock(mutex_);
    return news_.wait_for(lock, std::chrono::seconds(20),
                          [&] { return problems_.find(part) != std::string::npos; });
  }
  int told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  TenantMap map_;
  int told_ = 0;
  std::string problem_, problems_;
  Client client_;
  NamespaceWatch watch_;
  std::thread thread_;
};

class NamespaceWatchTest : public ::testing::Test {
 protected:
  NamespaceWatchTest() {
    server.Put("ns-a", kKey, "red");
    server.Put("ns-b", kKey, std::nullopt);
  }
  size_t Count(const std::string& part) {
    size_t count = 0;
    for (const ApiServer::Seen& seen : server.seen()) count += seen.path.find(part) != std::string::npos;
    return count;
  }
  void AwaitWatch(size_t requests = 1) {
    ASSERT_TRUE(server.WaitFor([&] { return Count("watch=true") >= requests; }));
  }
  ApiServer server;
};

TEST_F(NamespaceWatchTest, ListsOnceAndFollows) {
  Watching watching(server.url());
  ASSERT_TRUE(watching.BecomesLabel("ns-a", "red"));
  EXPECT_TRUE(watching.BecomesLabel("ns-b", std::nullopt));
  server.Put("ns-a", kKey, "green");
  EXPECT_TRUE(watching.BecomesLabel("ns-a", "green"));
  server.Put("ns-c", kKey, "blue");
  EXPECT_TRUE(watching.BecomesLabel("ns-c", "blue"));
  server.Delete("ns-b");
  EXPECT_TRUE(watching.Becomes([](const TenantMap& map) { return !map.namespaces.contains("ns-b"); }));
  server.Put("ns-a", kKey, std::nullopt);
  EXPECT_TRUE(watching.BecomesLabel("ns-a", std::nullopt));
  EXPECT_EQ(Count("limit="), 1U);
  EXPECT_THAT(server.seen()[0].path, HasSubstr("resourceVersion=0")) << "from the server's cache";
  EXPECT_THAT(server.seen()[1].path, HasSubstr("allowWatchBookmarks=true"));
}

TEST_F(NamespaceWatchTest, ReadsAListOfManyPages) {
  for (int i = 0; i < 1200; ++i) server.Put("many-" + std::to_string(i), kKey, "t" + std::to_string(i));
  Watching watching(server.url());
  EXPECT_TRUE(watching.Becomes([](const TenantMap& map) { return map.namespaces.size() == 1202; }));
  EXPECT_EQ(Count("continue="), 2U);
  EXPECT_EQ(watching.told(), 1);
}

TEST_F(NamespaceWatchTest, GoesOnWhereItWasAfterADisconnect) {
  Watching watching(server.url());
  ASSERT_TRUE(watching.BecomesLabel("ns-a", "red"));
  AwaitWatch();
  server.EndWatches();
  server.Put("ns-a", kKey, "green");
  EXPECT_TRUE(watching.BecomesLabel("ns-a", "green"));
  EXPECT_EQ(Count("limit="), 1U) << "no second list";
}

TEST_F(NamespaceWatchTest, ListsAnewWhenTheServerHasForgotten) {
  Watching watching(server.url());
  ASSERT_TRUE(watching.BecomesLabel("ns-a", "red"));
  AwaitWatch();
  server.Delete("ns-b");
  server.Put("ns-a", kKey, "green");
  server.Forget();
  server.EndWatches();
  EXPECT_TRUE(watching.BecomesLabel("ns-a", "green"));
  EXPECT_TRUE(watching.Becomes([](const TenantMap& map) { return !map.namespaces.contains("ns-b"); }));
}

TEST_F(NamespaceWatchTest, ListsAnewWhenAnEventSaysSo) {
  Watching watching(server.url());
  AwaitWatch();
  server.Say(
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old resource version"}})");
  EXPECT_TRUE(watching.Complains("ends the watch with 410: too old resource version"));
  EXPECT_TRUE(server.WaitFor([&] { return Count("limit=") == 2; }));
}

TEST_F(NamespaceWatchTest, GoesOnFromABookmark) {
  Watching watching(server.url());
  AwaitWatch();
  server.Bookmark();
  server.Put("ns-a", kKey, "green");
  ASSERT_TRUE(watching.BecomesLabel("ns-a", "green"));
  server.EndWatches();
  AwaitWatch(2);
  EXPECT_THAT(server.seen().back().path, HasSubstr("resourceVersion=104"));
}

TEST_F(NamespaceWatchTest, KeepsWhatItKnowsWhileTheServerRefuses) {
  server.Instead("limit=", {403, R"({"message":"namespaces is forbidden"})", ""}, 2);
  Watching watching(server.url());
  EXPECT_TRUE(watching.Complains("list namespaces: the API server answers 403: namespaces is forbidden"));
  EXPECT_TRUE(watching.BecomesLabel("ns-a", "red")) << "it tries again";
}

TEST_F(NamespaceWatchTest, TakesNothingFromAnAnswerThatMakesNoSense) {
  server.Instead("limit=", {200, R"({"items":[]})", ""});
  Watching watching(server.url());
  EXPECT_TRUE(watching.Complains("is no list of namespaces"));
  EXPECT_TRUE(watching.BecomesLabel("ns-a", "red"));
  AwaitWatch();
  server.Say("<html>");
  EXPECT_TRUE(watching.Complains("not JSON"));
  server.Put("ns-a", kKey, "green");
  EXPECT_TRUE(watching.BecomesLabel("ns-a", "green"));
}

TEST_F(NamespaceWatchTest, AsksForNothingOlderThanItsLastRunHad) {
  TenantMap last{.label_key = kKey, .resource_version = "101", .namespaces = {{"ns-a", {.label = "old"}}}};
  Watching watching(server.url(), last);
  EXPECT_TRUE(watching.BecomesLabel("ns-a", "red"));
  EXPECT_THAT(server.seen()[0].path, HasSubstr("resourceVersion=101&resourceVersionMatch=NotOlderThan"));
}

TEST_F(NamespaceWatchTest, BelievesAServerThatWasRestoredFromABackup) {
  TenantMap last{.label_key = kKey, .resource_version = "999999", .namespaces = {}};
  Watching watching(server.url(), last);
  EXPECT_TRUE(watching.BecomesLabel("ns-a", "red"));
}

// etcd comes back from a backup while raild runs: the server is asked to go on from a version that it has not reached, and says nothing.
TEST_F(NamespaceWatchTest, ListsWhenNeitherEventNorBookmarkComes) {
  auto times = Watching::kTimes;
  times.silence = std::chrono::milliseconds(200);
  Watching watching(server.url(), {}, times);
  ASSERT_TRUE(watching.BecomesLabel("ns-a", "red"));
  AwaitWatch();
  server.Say(R"({"type":"BOOKMARK","object":{"kind":"Namespace","metadata":{"resourceVersion":"999999"}}})");
  EXPECT_TRUE(watching.Complains("nothing has come for 0 s"));
  EXPECT_TRUE(server.WaitFor([&] { return Count("limit=500&resourceVersion=999999") > 0; }))
      << "BelievesAServerThatWasRestoredFromABackup has what follows";
}

// The server, or what stands before it, ends each watch sooner than that.
TEST_F(NamespaceWatchTest, ListsWhenWatchesEndWithoutAnything) {
  auto times = Watching::kTimes;
  times.silence = std::chrono::milliseconds(1200);
  server.Instead("watch=true", {200, "", ""}, 1000);
  Watching watching(server.url(), {}, times);
  EXPECT_TRUE(server.WaitFor([&] { return Count("limit=") == 2; }));
}

TEST_F(NamespaceWatchTest, BookmarksKeepAWatchAlive) {
  auto times = Watching::kTimes;
  times.silence = std::chrono::milliseconds(600);
  Watching watching(server.url(), {}, times);
  ASSERT_TRUE(watching.BecomesLabel("ns-a", "red"));
  AwaitWatch();
  const auto until = std::chrono::steady_clock::now() + 2 * times.silence;
  std::mutex quiet;
  while (std::chrono::steady_clock::now() < until) {
    server.Bookmark();
    std::unique_lock lock(quiet);
    (void)std::condition_variable().wait_for(lock, times.silence / 12);
  }
  EXPECT_EQ(Count("watch=true"), 1U);
  EXPECT_EQ(Count("limit="), 1U);
}

// What a watch has lost, as by a server that has passed the version since it was restored, comes with the next list.
TEST_F(NamespaceWatchTest, ListsNowAndThenWhateverTheWatchesSay) {
  auto times = Watching::kTimes;
  times.resync = {};
  Watching watching(server.url(), {}, times);
  ASSERT_TRUE(watching.BecomesLabel("ns-a", "red"));
  AwaitWatch();
  server.EndWatches();
  EXPECT_TRUE(server.WaitFor([&] { return Count("limit=") == 2; }));
  AwaitWatch(2);
  EXPECT_EQ(watching.told(), 1) << "the list says nothing new, so nothing is written";
}

// Each telling writes and syncs tenants.json on every node.
TEST_F(NamespaceWatchTest, TellsNothingOfWhatPluginsDoNotRead) {
  Watching watching(server.url());
  ASSERT_TRUE(watching.BecomesLabel("ns-a", "red"));
  AwaitWatch();
  for (int i = 0; i < 20; ++i)
    server.Put("ns-a", kKey, "red");  // as if annotations or the status had changed
  server.Put("ns-b", kKey, "blue");
  ASSERT_TRUE(watching.BecomesLabel("ns-b", "blue"));
  EXPECT_EQ(watching.told(), 2);
}

TEST_F(NamespaceWatchTest, TellsWhatComesTogetherAtOnce) {
  Watching watching(server.url());
  ASSERT_TRUE(watching.BecomesLabel("ns-a", "red"));
  AwaitWatch();
  std::string lines;
  for (int i = 0; i < 200; ++i) {
    lines += (i == 0 ? "" : "\n") + std::string(R"({"type":"ADDED","object":{"metadata":{"name":"x)") +
             std::to_string(i) + R"(","resourceVersion":")" + std::to_string(1000 + i) + R"("}}})";
  }
  server.Say(lines);
  EXPECT_TRUE(watching.Becomes([](const TenantMap& map) { return map.namespaces.size() == 202; }));
  EXPECT_LT(watching.told(), 10);
}

TEST(BackoffTest, GrowsToItsLimitAndIsNeverTheSame) {
  Backoff backoff(7);
  Clock::duration most{};
  for (int i = 0; i < 20; ++i) most = std::max(most, backoff.Failed());
  EXPECT_LE(most, Backoff::kMost);
  EXPECT_GE(most, Backoff::kMost / 2);
  backoff.Right();
  EXPECT_LE(backoff.Failed(), Backoff::kFirst);
  EXPECT_NE(Backoff(1).Failed(), Backoff(2).Failed());
}

}  // namespace
}  // namespace rail::kubernetes
