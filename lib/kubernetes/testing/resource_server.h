// An API server for slices and claims that refuses what a real one does: names, limits, stale versions, other UIDs, fields of others.
//
// Use:      ResourceServer server;   server.SetOptions({.versions = {"v1"}});   Client client({.url = server.url()}, "test");
//           server.AddClaim("ml", "c", uid, {{"rail.railcni.io", "n1", "0000-3b-00-2"}});
//           EXPECT_EQ(server.slices()[0]["spec"]["pool"]["generation"], 1);          // as v1 has them, by name
// Threads:  any
// Owns:     its ApiServer and all objects, which outlive Stop and Start
// Source:   kubernetes pkg/apis/resource/validation, pkg/registry/resource; apiserver registry/rest/update.go (a PUT of another UID is 409, a
//           PATCH 422); server-side apply: fields of another manager are 409 unless forced
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/kubernetes/resource_api.h"
#include "lib/kubernetes/testing/api_server.h"

namespace rail::kubernetes::testing {

class ResourceServer {
 public:
  struct Options {
    std::vector<std::string> versions = {"v1", "v1beta2", "v1beta1"};
    bool keeps_taints = true;
    bool keeps_device_status = true;
  };
  struct Result {
    std::string driver, pool, device;
    std::string request = "rails";
    std::string share_id;
  };

  ResourceServer();

  std::string url() const { return url_; }
  ApiServer& http() { return *http_; }
  void Stop() { http_.reset(); }
  void Start();  // at the same port

  void SetOptions(Options options);
  void AddNode(const std::string& name, const std::string& uid);
  // Requests of this method, whose path contains `part`, get 403.
  void Forbid(const std::string& method, const std::string& part);
  // Hangs up instead of answering the next writes, which it does.
  void LoseAnswers(int count);
  // Runs before the next write, as another writer who comes first.
  void BeforeWrite(std::function<void(ResourceServer&)> other);

  std::vector<nlohmann::json> slices() const;
  void PutSlice(nlohmann::json slice);  // by somebody else; nothing is checked
  void RemoveSlices();                  // of all, as a kubelet that starts
  int writes() const;                   // that were done

  // `pod_claim`: as of a claim that a template has made; "": it is none.
  void AddClaim(const std::string& space, const std::string& name, const std::string& uid,
                const std::vector<Result>& results, const std::string& pod_claim = "");
  void RemoveAllocation(const std::string& space, const std::string& name);
  void DeleteClaim(const std::string& space, const std::string& name);
  nlohmann::json claim(const std::string& space, const std::string& name) const;

 private:
  using json = nlohmann::json;
  using Reply = ApiServer::Reply;

  std::optional<Reply> Answer(const ApiServer::Seen& request);
  Reply Slices(const std::string& version, const std::string& method, const std::string& rest,
               const std::string& body);
  Reply Claims(const std::string& version, const std::string& method, const std::string& rest,
               const ApiServer::Seen& request);
  Reply List(const std::string& version, const std::string& query) const;
  Reply Store(const std::string& version, json slice, const json& old);
  Reply Apply(const std::string& version, json& claim, const json& patch, const std::string& manager,
              bool force);
  json Shown(json object, const std::string& version, const char* kind) const;

  mutable std::recursive_mutex mutex_;  // BeforeWrite calls back
  Options options_;
  std::map<std::string, json> nodes_, slices_, claims_;  // claims by namespace/name
  std::map<std::string, std::map<std::string, std::map<std::string, json>>>
      applied_;  // claim, manager, device
  std::set<std::pair<std::string, std::string>> forbidden_;
  std::function<void(ResourceServer&)> before_;
  int lose_ = 0;
  int version_ = 100;
  int writes_ = 0;
  std::unique_ptr<ApiServer> http_;
  std::string url_;
};

// The parameter of its tests: whether they ask a real server (api_contract_test.cc has the variables), or `fake`.
class ResourceContract : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    Endpoint endpoint;
    if (!GetParam()) {
      fake = std::make_unique<ResourceServer>();
      endpoint.url = fake->url();
    } else {
      config::Kubernetes config;
      config.api = Variable("RAILCNI_TEST_API");
      if (config.api.empty()) GTEST_SKIP() << "RAILCNI_TEST_API names no API server";
      endpoint = *FindEndpoint(config, {"", "", Variable("RAILCNI_TEST_API_FOLDER")});
    }
    client = std::make_unique<Client>(endpoint, "railcni-test");
    const auto found = FindResourceApi(*client, After(std::chrono::seconds(30)));
    if (GetParam() && !found && found.error().code == Code::kUnsupported)
      GTEST_SKIP() << found.error().message;
    ASSERT_TRUE(found) << found.error().message;
    api = *found;
  }

  std::unique_ptr<ResourceServer> fake;
  std::unique_ptr<Client> client;
  ResourceApi api;
};

}  // namespace rail::kubernetes::testing
