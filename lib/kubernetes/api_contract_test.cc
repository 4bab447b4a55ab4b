// What this folder believes of an API server, asked of the tests' own one and of a real one.
//
// RAILCNI_TEST_API=https://HOST:PORT      a cluster for tests: it gets a namespace, an event and a node's condition
// RAILCNI_TEST_API_FOLDER=folder          token and ca.crt of an account that may change namespaces
// RAILCNI_TEST_API_NODE=name              a node of it; without one, its condition is left out
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "lib/base/clock.h"
#include "lib/kubernetes/namespace_watch.h"
#include "lib/kubernetes/report.h"
#include "lib/kubernetes/testing/api_server.h"

namespace rail::kubernetes {
namespace {

constexpr char kKey[] = "railcni.io/tenant";

class Api : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!GetParam()) {
      fake = std::make_unique<testing::ApiServer>();
      endpoint = {.url = fake->url(), .token_file = {}, .ca_file = {}};
    } else {
      const std::string url = testing::Variable("RAILCNI_TEST_API");
      if (url.empty()) GTEST_SKIP() << "RAILCNI_TEST_API names no API server";
      config::Kubernetes config;
      config.api = url;
      endpoint = *FindEndpoint(config, {"", "", testing::Variable("RAILCNI_TEST_API_FOLDER")});
    }
    client = std::make_unique<Client>(endpoint, "railcni-test");
  }
  void TearDown() override {
    if (client != nullptr && fake == nullptr)
      (void)client->Ask({.method = "DELETE", .path = "/api/v1/namespaces/" + name});
  }
  void Must(const Request& request) {
    const auto answer = client->Ask(request);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_TRUE(answer->ok()) << ErrorOf(*answer).message;
  }
  // `label`: "" for none.
  void Create(const std::string& label) {
    if (fake != nullptr) return fake->Put(name, kKey, label);
    Must({.method = "POST",
          .path = "/api/v1/namespaces",
          .body =
              R"({"metadata":{"name":")" + name + R"(","labels":{"railcni.io/tenant":")" + label + "\"}}}"});
  }
  void Label(const std::string& label) {
    if (fake != nullptr) return fake->Put(name, kKey, label);
    Must({.method = "PATCH",
          .path = "/api/v1/namespaces/" + name,
          .body = R"({"metadata":{"labels":{"railcni.io/tenant":")" + label + "\"}}}",
          .content_type = "application/merge-patch+json"});
  }

  std::unique_ptr<testing::ApiServer> fake;
  Endpoint endpoint;
  std::unique_ptr<Client> client;
  const std::string name = "railcni-test-" + std::to_string(::getpid());
};

TEST_P(Api, ListsNamespacesAndTellsOfTheirLabels) {
  Create("red");
  Client watching(endpoint, "railcni-test");
  std::mutex mutex;
  std::condition_variable news;
  tenancy::TenantMap map;
  NamespaceWatch watch(watching, kKey, std::nullopt,
                       {.changed =
                            [&](const tenancy::TenantMap& now) {
                              const std::lock_guard lock(mutex);
                              map = now;
                              news.notify_all();
                            },
                        .state = [](const Status& status) { EXPECT_TRUE(status) << status.error().message; }},
                       1, {});
  std::thread thread([&] { watch.Run(); });
  const auto becomes = [&](const std::string& label) {
    std::unique_lock lock(mutex);
    return news.wait_for(lock, std::chrono::seconds(20), [&] {
      const auto found = map.namespaces.find(name);
      return found != map.namespaces.end() && found->second.label == label && found->second.created_ms > 0;
    });
  };
  EXPECT_TRUE(becomes("red"));
  Label("green");
  EXPECT_TRUE(becomes("green"));
  watch.Stop();
  thread.join();
}

TEST_P(Api, AnswersGoneToAVersionOfLongAgo) {
  if (fake != nullptr) fake->Forget();
  const auto answer =
      client->Stream({.path = "/api/v1/namespaces?watch=true&timeoutSeconds=5&resourceVersion=1"},
                     [this](std::string_view bytes) -> Status {
                       if (bytes.empty()) return {};
                       const auto event = ReadEvent(bytes.substr(0, bytes.find('\n')), kKey);
                       EXPECT_TRUE(event) << event.error().message;
                       // A real server that has not compacted yet still has its whole history, and tells it.
                       const bool has_all = fake == nullptr && event->status == 0;
                       EXPECT_TRUE(event->status == 410 || has_all) << event->status;
                       return Fail(Code::kTransient, "as an event");
                     });
  if (answer) {
    EXPECT_EQ(answer->status, 410);
  }
}

TEST_P(Api, TakesAnEventAndTheConditionOfANode) {
  Must(EventRequest({.kind = "Pod",
                     .object_namespace = "default",
                     .object = name,
                     .uid = "5f8b4d6e-0000-4000-8000-000000000000",
                     .reason = "RailNotAttached",
                     .message = "a test",
                     .warning = true,
                     .host = "n1"},
                    UnixMs(), static_cast<uint64_t>(UnixMs())));
  const std::string node = fake != nullptr ? "n1" : testing::Variable("RAILCNI_TEST_API_NODE");
  if (node.empty()) return;
  Must(ConditionRequest(node, ConditionOf({{"rail0", ""}}), UnixMs(), UnixMs()));
}

INSTANTIATE_TEST_SUITE_P(Each, Api, ::testing::Bool(),
                         [](const auto& of) { return std::string(of.param ? "Real" : "Fake"); });

}  // namespace
}  // namespace rail::kubernetes
