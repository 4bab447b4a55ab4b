// Claims, read and reported on to the tests' own server and to a real one (api_contract_test.cc has the variables; the account may change
// namespaces and resourceclaims with their status, and has the verbs of resourceclaims/driver and resourceclaims/binding).
#include "lib/kubernetes/resource_claims.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "lib/kubernetes/testing/resource_server.h"

namespace rail::kubernetes {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ResourceServer;

constexpr char kDriver[] = "rail.railcni.io";
constexpr char kUid[] = "5f8b4d6e-0000-4000-8000-000000000001";
const ClaimName kClaim{"ml", "job-0-rails", kUid};

Deadline Soon() {
  return After(std::chrono::seconds(30));
}

DeviceStatus Attached(const std::string& device) {
  return {.pool = "n1",
          .device = device,
          .share_id = {},
          .ready = true,
          .message = "rail0",
          .since_ms = 1'767'322'800'000,
          .link = "net1",
          .addresses = {*IpPrefix::Parse("10.0.3.7/24"), *IpPrefix::Parse("2001:db8::7/64")},
          .mac = *MacAddress::Parse("02:00:5E:10:00:01")};
}

class ResourceClaims : public ::testing::Test {
 protected:
  ResourceClaims() {
    server.AddClaim(kClaim.pod_namespace, kClaim.name, kUid,
                    {{kDriver, "n1", "0000-3b-00-2"},
                     {"gpu.example.com", "n1", "gpu-0"},
                     {kDriver, "n1", "0000-5e-00-2", "b/two"}});
    api = *FindResourceApi(client, Soon());
  }
  Error Refused(const ClaimName& claim) {
    const auto got = GetClaim(api, claim, kDriver, Soon());
    EXPECT_FALSE(got);
    return got ? Error{} : got.error();
  }
  Status Report(const std::vector<DeviceStatus>& statuses) {
    return ReportDevices(api, kClaim, kDriver, statuses, Soon());
  }
  long Apply(const std::string& manager, const json& device) {
    const json body = {{"apiVersion", api.Name()},
                       {"kind", "ResourceClaim"},
                       {"metadata", {{"name", "job-0-rails"}}},
                       {"status", {{"devices", json::array({device})}}}};
    const auto answer = client.Ask(
        {.method = "PATCH",
         .path = api.Path("namespaces/ml/resourceclaims/job-0-rails/status?fieldManager=" + manager),
         .body = body.dump(),
         .content_type = "application/apply-patch+yaml"});
    return answer ? answer->status : 0;
  }
  json Reported() { return server.claim("ml", "job-0-rails")["status"].value("devices", json::array()); }

  ResourceServer server;
  Client client{{.url = server.url(), .token_file = {}, .ca_file = {}}, "test"};
  ResourceApi api;
};

TEST_F(ResourceClaims, HaveTheDevicesOfTheirDriver) {
  const auto got = GetClaim(api, kClaim, kDriver, Soon());
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_THAT(got->devices, ElementsAre(AllocatedDevice{"rails", "n1", "0000-3b-00-2", "", false},
                                        AllocatedDevice{"b/two", "n1", "0000-5e-00-2", "", false}));
  EXPECT_THAT(GetClaim(api, kClaim, "nic.example.com", Soon())->devices, IsEmpty())
      << "a claim of other drivers";
}

TEST_F(ResourceClaims, HaveSharesAndAdminAccess) {
  json claim = server.claim("ml", "job-0-rails");
  json& results = claim["status"]["allocation"]["devices"]["results"];
  results[0]["shareID"] = "share-1";
  results[0]["adminAccess"] = true;
  server.http().Instead("/resourceclaims/", {200, claim.dump(), ""});
  const auto got = GetClaim(api, kClaim, kDriver, Soon());
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->devices.at(0), (AllocatedDevice{"rails", "n1", "0000-3b-00-2", "share-1", true}));
}

TEST_F(ResourceClaims, WorkWithEachVersion) {
  for (const char* version : {"v1beta1", "v1beta2", "v1"}) {
    server.SetOptions({.versions = {version}});
    api = *FindResourceApi(client, Soon());
    EXPECT_EQ(GetClaim(api, kClaim, kDriver, Soon())->devices.size(), 2U) << version;
    EXPECT_TRUE(Report({Attached("0000-3b-00-2")})) << version;
  }
}

TEST_F(ResourceClaims, AreNotTakenForAnotherOfTheirName) {
  const Error error = Refused({"ml", "job-0-rails", "5f8b4d6e-0000-4000-8000-000000000002"});
  EXPECT_EQ(error.code, Code::kNotFound);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("claim ml/job-0-rails"), HasSubstr(kUid), HasSubstr("000000000002")));
}

TEST_F(ResourceClaims, SayThatTheyAreNotAllocatedOrDeleted) {
  server.RemoveAllocation("ml", "job-0-rails");
  EXPECT_EQ(Refused(kClaim).code, Code::kBusy);
  EXPECT_THAT(Refused(kClaim).message, HasSubstr("no scheduler has allocated"));
  server.DeleteClaim("ml", "job-0-rails");
  EXPECT_EQ(Refused(kClaim).code, Code::kNotFound);
  EXPECT_THAT(Refused(kClaim).message, AllOf(HasSubstr("claim ml/job-0-rails"), HasSubstr("404")));
}

TEST_F(ResourceClaims, WithHostileNamesAreNeverAskedFor) {
  const size_t before = server.http().seen().size();
  for (const ClaimName& claim : std::vector<ClaimName>{{"ml", "../../../api/v1/secrets", kUid},
                                                       {"../kube-system", "a", kUid},
                                                       {"ml", "a?fieldManager=x", kUid},
                                                       {"ml", "a%2Fb", kUid},
                                                       {"ml", "..", kUid},
                                                       {"ml", "a\r\nHost: x", kUid},
                                                       {"ml", std::string("a\0b", 3), kUid},
                                                       {"ml", "", kUid},
                                                       {"", "a", kUid},
                                                       {"m.l", "a", kUid},
                                                       {"ml", std::string(254, 'a'), kUid},
                                                       {"ml", "a", ""},
                                                       {"ml", "a", "x\",\"y"}}) {
    EXPECT_EQ(Refused(claim).code, Code::kInvalid) << claim.name;
    EXPECT_EQ(Refused(claim).message.find('\n'), std::string::npos);
    EXPECT_EQ(ReportDevices(api, claim, kDriver, {}, Soon()).error().code, Code::kInvalid) << claim.name;
  }
  EXPECT_EQ(server.http().seen().size(), before);
}

TEST_F(ResourceClaims, WithOddAnswersAreRefused) {
  const auto answer = [&](const std::string& results) {
    return R"({"metadata":{"uid":")" + std::string(kUid) +
           R"("},"status":{"allocation":{"devices":{"results":)" + results + "}}}}";
  };
  for (const std::string& body :
       {std::string("[]"), std::string("not json"),
        answer(R"([{"driver":"rail.railcni.io","request":"r","pool":"n1","device":"../x"}])"),
        answer(R"([{"driver":"rail.railcni.io","request":"r","device":"a"}])"),
        answer(R"([{"driver":"rail.railcni.io","pool":"n1","device":"a"}])")}) {
    server.http().Instead("/resourceclaims/", {200, body, ""});
    EXPECT_EQ(Refused(kClaim).code, Code::kInvalid) << body;
  }
  for (const char* results : {"7", "[]", "null", R"([7,"x",null,{"driver":7}])"}) {
    server.http().Instead("/resourceclaims/", {200, answer(results), ""});
    const auto got = GetClaim(api, kClaim, kDriver, Soon());
    ASSERT_TRUE(got) << results << got.error().message;
    EXPECT_THAT(got->devices, IsEmpty()) << results;
  }
}

TEST_F(ResourceClaims, SayHowTheirDevicesAre) {
  DeviceStatus down{
      .pool = "n1", .device = "0000-5e-00-2", .message = "no carrier", .since_ms = 1'767'322'801'000};
  const Status reported = Report({Attached("0000-3b-00-2"), down});
  ASSERT_TRUE(reported) << reported.error().message;
  EXPECT_EQ(Reported(), json::parse(R"([
    {"driver": "rail.railcni.io", "pool": "n1", "device": "0000-3b-00-2",
     "conditions": [{"type": "Ready", "status": "True", "reason": "Attached", "message": "rail0",
                     "lastTransitionTime": "2026-01-02T03:00:00Z"}],
     "networkData": {"interfaceName": "net1", "hardwareAddress": "02:00:5e:10:00:01", "ips": ["10.0.3.7/24", "2001:db8::7/64"]}},
    {"driver": "rail.railcni.io", "pool": "n1", "device": "0000-5e-00-2",
     "conditions": [{"type": "Ready", "status": "False", "reason": "NotAttached", "message": "no carrier",
                     "lastTransitionTime": "2026-01-02T03:00:01Z"}]}
  ])"));
}

TEST_F(ResourceClaims, KeepWhatOtherDriversSay) {
  const json theirs = {{"driver", "gpu.example.com"}, {"pool", "n1"}, {"device", "gpu-0"}};
  ASSERT_EQ(Apply("gpu", theirs), 200);
  ASSERT_TRUE(Report({Attached("0000-3b-00-2"), Attached("0000-5e-00-2")}));
  EXPECT_EQ(Reported().size(), 3U);
  ASSERT_TRUE(Report({Attached("0000-5e-00-2")}));
  EXPECT_EQ(Reported().size(), 2U) << "what is left out goes";
  ASSERT_TRUE(Report({}));
  EXPECT_EQ(Reported(), json::array({theirs}));
}

TEST_F(ResourceClaims, TakeOverWhatAnotherManagerSaysOfTheirDevices) {
  ASSERT_EQ(Apply("by-hand", {{"driver", kDriver}, {"pool", "n1"}, {"device", "0000-3b-00-2"}}), 200);
  const Status reported = Report({Attached("0000-3b-00-2")});
  ASSERT_TRUE(reported) << reported.error().message;
  EXPECT_EQ(Reported()[0]["networkData"]["interfaceName"], "net1");
}

TEST_F(ResourceClaims, TakeNoStatusForAnotherOfTheirName) {
  server.AddClaim("ml", "job-0-rails", "5f8b4d6e-0000-4000-8000-00000000000f",
                  {{kDriver, "n1", "0000-3b-00-2"}});
  const Status reported = Report({Attached("0000-3b-00-2")});
  ASSERT_FALSE(reported);
  EXPECT_THAT(reported.error().message,
              AllOf(HasSubstr("report the devices of claim ml/job-0-rails"), HasSubstr("uid")));
  EXPECT_THAT(Reported(), IsEmpty());
}

TEST_F(ResourceClaims, SendNoStatusThatWouldBeRefused) {
  const size_t before = server.http().seen().size();
  for (const auto& spoil : std::vector<std::function<void(DeviceStatus&)>>{
           [](DeviceStatus& status) { status.pool = "a/b"; },
           [](DeviceStatus& status) { status.device = "0000:3b:00.2"; },
           [](DeviceStatus& status) { status.link = "a/b"; },
           [](DeviceStatus& status) { status.addresses.assign(17, *IpPrefix::Parse("10.0.0.1/24")); }}) {
    DeviceStatus status = Attached("0000-3b-00-2");
    spoil(status);
    EXPECT_EQ(Report({status}).error().code, Code::kInvalid);
  }
  EXPECT_EQ(server.http().seen().size(), before);
  EXPECT_FALSE(Report({Attached("not-allocated")}));
}

TEST_F(ResourceClaims, SayWhichRightOrSwitchIsMissing) {
  server.Forbid("PATCH", "/status");
  const Status reported = Report({Attached("0000-3b-00-2")});
  ASSERT_FALSE(reported);
  EXPECT_EQ(reported.error().code, Code::kPermission);
  EXPECT_THAT(reported.error().message, HasSubstr("cannot PATCH"));
}

TEST_F(ResourceClaims, SayThatAServerKeepsNoStatus) {
  server.SetOptions({.keeps_device_status = false});
  const Status reported = Report({Attached("0000-3b-00-2")});
  ASSERT_FALSE(reported);
  EXPECT_EQ(reported.error().code, Code::kUnsupported);
  EXPECT_THAT(reported.error().message, HasSubstr("DRAResourceClaimDeviceStatus"));
  EXPECT_TRUE(Report({})) << "there is nothing to keep";
}

TEST_F(ResourceClaims, AreReadAgainWhenTheServerIsBack) {
  server.Stop();
  EXPECT_EQ(Refused(kClaim).code, Code::kTransient);
  server.Start();
  EXPECT_TRUE(GetClaim(api, kClaim, kDriver, Soon()));
  EXPECT_EQ(GetClaim(api, kClaim, kDriver, Clock::now()).error().code, Code::kTransient);
}

class ClaimContract : public testing::ResourceContract {
 protected:
  void SetUp() override {
    ResourceContract::SetUp();
    if (api.client != nullptr) Create();
  }
  void TearDown() override {
    if (api.client != nullptr && fake == nullptr)
      (void)client->Ask({.method = "DELETE", .path = "/api/v1/namespaces/" + claim.pod_namespace});
  }
  json Must(const Request& request) {
    const auto answer = client->Ask(request);
    EXPECT_TRUE(answer && answer->ok()) << (answer ? ErrorOf(*answer).message : answer.error().message);
    return answer ? json::parse(answer->body, nullptr, false) : json();
  }
  // A claim that a scheduler has allocated.
  void Create() {
    if (fake != nullptr) {
      claim.uid = kUid;
      return fake->AddClaim(claim.pod_namespace, claim.name, kUid,
                            {{kDriver, "n1", "a"}, {"gpu.example.com", "n1", "b"}});
    }
    Must({.method = "POST",
          .path = "/api/v1/namespaces",
          .body = json({{"metadata", {{"name", claim.pod_namespace}}}}).dump()});
    json request = {{"name", "rails"}};
    const json exactly = {{"deviceClassName", "rails.example.com"}};
    if (api.version == "v1beta1") {
      request.update(exactly);
    } else {
      request["exactly"] = exactly;
    }
    const json made = Must({.method = "POST",
                            .path = api.Path("namespaces/" + claim.pod_namespace + "/resourceclaims"),
                            .body = json({{"apiVersion", api.Name()},
                                          {"kind", "ResourceClaim"},
                                          {"metadata", {{"name", claim.name}}},
                                          {"spec", {{"devices", {{"requests", json::array({request})}}}}}})
                                        .dump()});
    claim.uid = TextAt(made, {"metadata", "uid"});
    const json results = {
        {{"request", "rails"}, {"driver", kDriver}, {"pool", "n1"}, {"device", "a"}},
        {{"request", "rails"}, {"driver", "gpu.example.com"}, {"pool", "n1"}, {"device", "b"}}};
    Must({.method = "PATCH",
          .path = api.Path("namespaces/" + claim.pod_namespace + "/resourceclaims/" + claim.name + "/status"),
          .body = json({{"status", {{"allocation", {{"devices", {{"results", results}}}}}}}}).dump(),
          .content_type = "application/merge-patch+json"});
  }

  ClaimName claim{"railcni-claims-" + std::to_string(::getpid()), "c", ""};
};

TEST_P(ClaimContract, IsReadAndReportedOn) {
  const auto got = GetClaim(api, claim, kDriver, Soon());
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_THAT(got->devices, ElementsAre(AllocatedDevice{"rails", "n1", "a", "", false}));
  for (const auto& statuses : {std::vector<DeviceStatus>{Attached("a")}, std::vector<DeviceStatus>{}}) {
    const Status reported = ReportDevices(api, claim, kDriver, statuses, Soon());
    ASSERT_TRUE(reported) << reported.error().message;
  }
  EXPECT_FALSE(ReportDevices(api, claim, kDriver, {Attached("other")}, Soon()))
      << "a device that it has not got";
  EXPECT_FALSE(ReportDevices(api, {claim.pod_namespace, claim.name, "5f8b4d6e-0000-4000-8000-00000000000e"},
                             kDriver, {}, Soon()))
      << "another UID";
}

INSTANTIATE_TEST_SUITE_P(Each, ClaimContract, ::testing::Bool(),
                         [](const auto& of) { return std::string(of.param ? "Real" : "Fake"); });

}  // namespace
}  // namespace rail::kubernetes
