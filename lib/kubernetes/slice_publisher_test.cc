// Slices, published to the tests' own server and to a real one (api_contract_test.cc has the variables; the account may get nodes and
// change resourceslices, and RAILCNI_TEST_API_NODE has to name a node).
#include "lib/kubernetes/slice_publisher.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "lib/kubernetes/testing/resource_server.h"

namespace rail::kubernetes {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ResourceServer;
using ::testing::SizeIs;

constexpr char kDriver[] = "rail.railcni.io";
const Taint kDown{"railcni.io/rail", "down", "NoSchedule"};

Deadline Soon() {
  return After(std::chrono::seconds(30));
}

// 8 rails with 16 devices each, as a large node has them.
Pool Large(const std::string& driver = kDriver, const std::string& node = "n1") {
  Pool pool{.driver = driver, .node = node, .devices = {}};
  for (int rail = 0; rail < 8; ++rail) {
    for (int function = 0; function < 16; ++function) {
      pool.devices.push_back(
          {.name = "rail" + std::to_string(rail) + "-vf" + std::to_string(function),
           .attributes = {{"rail", "rail" + std::to_string(rail)},
                          {"resource.kubernetes.io/numaNode", rail / 4},
                          {"resource.kubernetes.io/pcieRoot", "pci0000:" + std::to_string(rail)},
                          {"rdma", true},
                          {"firmware", Version{"22.41.1000"}}},
           .capacity = {{"bandwidth", "200000M"}},
           .taints = {}});
    }
  }
  return pool;
}

void Taint16(Pool& pool, size_t rail, const std::vector<Taint>& taints) {
  for (size_t i = 0; i < 16; ++i) pool.devices[rail * 16 + i].taints = taints;
}

size_t DevicesIn(const std::vector<json>& slices) {
  size_t count = 0;
  for (const json& slice : slices) count += slice["spec"]["devices"].size();
  return count;
}

class SlicePublisher : public ::testing::Test {
 protected:
  SlicePublisher() {
    server.AddNode("n1", "uid-n1");
    api = Find();
  }
  ResourceApi Find() {
    auto found = FindResourceApi(client, Soon());
    EXPECT_TRUE(found) << found.error().message;
    return found ? *found : ResourceApi{};
  }
  Published Must(const Pool& pool) {
    const auto done = Publish(api, pool, Soon());
    EXPECT_TRUE(done) << done.error().message;
    return done ? *done : Published{.written = -1, .removed = -1, .generation = -1};
  }
  size_t Requests(const std::string& method) {
    return static_cast<size_t>(
        std::ranges::count(server.http().seen(), method, &testing::ApiServer::Seen::method));
  }
  int64_t GenerationOf(size_t slice) { return server.slices()[slice]["spec"]["pool"]["generation"]; }

  ResourceServer server;
  Client client{{.url = server.url(), .token_file = {}, .ca_file = {}}, "test"};
  ResourceApi api;
};

TEST_F(SlicePublisher, OffersALargeNodeInTwoSlices) {
  const Published done = Must(Large());
  EXPECT_EQ(done.written, 2);
  EXPECT_EQ(done.generation, 1);
  const auto slices = server.slices();
  ASSERT_THAT(slices, SizeIs(2));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(slices[i]["metadata"]["name"], "railcni-n1-0" + std::to_string(i));
    EXPECT_EQ(slices[i]["metadata"]["ownerReferences"][0]["uid"], "uid-n1");
    EXPECT_EQ(slices[i]["spec"]["devices"].size(), 64U);
    EXPECT_EQ(slices[i]["spec"]["pool"]["resourceSliceCount"], 2);
  }
  const Published again = Must(Large());
  EXPECT_EQ(again.written, 0) << "also with a quantity that the server writes in another way";
  EXPECT_EQ(again.generation, 1);
  EXPECT_EQ(server.writes(), 2);
}

TEST_F(SlicePublisher, OffersThemAgainAfterTheKubeletHasDeletedThem) {
  Must(Large());
  server.RemoveSlices();
  EXPECT_EQ(Must(Large()).written, 2);
  EXPECT_EQ(DevicesIn(server.slices()), 128U);
}

TEST_F(SlicePublisher, ATaintComesAndGoesInItsOwnSlice) {
  Pool pool = Large();
  Must(pool);
  Taint16(pool, 7, {kDown});
  EXPECT_EQ(Must(pool).written, 1);
  EXPECT_EQ(GenerationOf(1), GenerationOf(0)) << "the pool is whole at all times";
  json taint = server.slices()[1]["spec"]["devices"][63]["taints"][0];
  EXPECT_EQ(taint["key"], "railcni.io/rail");
  EXPECT_EQ(taint["effect"], "NoSchedule");
  EXPECT_EQ(Must(pool).written, 0) << "the server's timeAdded is no difference";
  const std::string added = taint["timeAdded"];
  pool.devices[127].attributes["rdma"] = false;
  EXPECT_EQ(Must(pool).written, 1);
  EXPECT_EQ(server.slices()[1]["spec"]["devices"][63]["taints"][0]["timeAdded"], added)
      << "it was added when it was added";
  Taint16(pool, 7, {});
  EXPECT_EQ(Must(pool).written, 1);
  EXPECT_FALSE(server.slices()[1]["spec"]["devices"][63].contains("taints"));
}

TEST_F(SlicePublisher, ChangesOfSeveralSlicesAreANewGeneration) {
  Pool pool = Large();
  Must(pool);
  Taint16(pool, 0, {kDown});
  Taint16(pool, 7, {kDown});
  EXPECT_EQ(Must(pool).generation, 2);
  EXPECT_EQ(GenerationOf(0), 2);
  EXPECT_EQ(GenerationOf(1), 2);
  pool.devices.resize(64);
  const Published less = Must(pool);
  EXPECT_EQ(less.written, 1);
  EXPECT_EQ(less.removed, 1);
  EXPECT_EQ(less.generation, 3);
  ASSERT_THAT(server.slices(), SizeIs(1));
  EXPECT_EQ(server.slices()[0]["spec"]["pool"]["resourceSliceCount"], 1);
  pool.devices.clear();
  const Published none = Must(pool);
  EXPECT_EQ(none.removed, 1);
  EXPECT_EQ(none.generation, 0);
  EXPECT_THAT(server.slices(), SizeIs(0));
}

TEST_F(SlicePublisher, SetsRightWhatOthersHaveChanged) {
  Must(Large());
  for (const auto& change : std::vector<std::function<void(json&)>>{
           [](json& slice) { slice["spec"]["devices"][3]["attributes"]["rail"] = {{"string", "rail9"}}; },
           [](json& slice) { slice["spec"]["devices"][3]["attributes"]["more"] = {{"bool", true}}; },
           [](json& slice) { slice["spec"]["devices"][3].erase("capacity"); },
           [](json& slice) { slice["spec"]["devices"].erase(3); },
           [](json& slice) { slice["spec"]["pool"]["resourceSliceCount"] = 3; },
           [](json& slice) { slice["metadata"]["ownerReferences"][0]["uid"] = "another node"; }}) {
    json slice = server.slices()[0];
    change(slice);
    server.PutSlice(slice);
    EXPECT_EQ(Must(Large()).written, 1);
    EXPECT_EQ(Must(Large()).written, 0);
  }
  json slice = server.slices()[0];
  slice["metadata"]["labels"] = {{"a", "b"}};
  slice["spec"]["devices"][0]["newer"] = "than this program";
  server.PutSlice(slice);
  EXPECT_EQ(Must(Large()).written, 0) << "what a later Kubernetes adds by itself is no difference";
}

TEST_F(SlicePublisher, LeavesTheSlicesOfOthers) {
  server.AddNode("n2", "uid-n2");
  Must(Large(kDriver, "n2"));
  json other = server.slices()[0];
  other["metadata"] = {{"name", "gpu-n1"}};
  other["spec"]["driver"] = "gpu.example.com";
  other["spec"]["nodeName"] = "n1";
  server.PutSlice(other);
  const auto before = server.slices();
  // An old name of ours goes.
  json ours = before[0];
  ours["metadata"] = {{"name", "0-rail.railcni.io-n1-x7"}};
  ours["spec"]["driver"] = kDriver;
  ours["spec"]["nodeName"] = "n1";
  ours["spec"]["pool"]["generation"] = 41;
  server.PutSlice(ours);
  const Published done = Must(Large());
  EXPECT_EQ(done.written, 2);
  EXPECT_EQ(done.removed, 1);
  EXPECT_EQ(done.generation, 42) << "newer than whatever was there";
  const auto removed = RemoveAll(api, kDriver, "n1", Soon());
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(removed->removed, 2);
  EXPECT_EQ(server.slices(), before) << "another driver's and another node's are as they were";
}

TEST_F(SlicePublisher, NamesTheDriversThatPublishItsDevicesInEachVersion) {
  constexpr char kAddress[] = "resource.kubernetes.io/pciBusID";
  Pool pool = Large();
  pool.devices[3].attributes[kAddress] = "0000:3b:00.2";
  Must(pool);
  json other = server.slices()[0];
  const auto publish = [&](const char* driver, const char* node, const char* address) {
    other["metadata"] = {{"name", driver}};
    other["spec"]["driver"] = driver;
    other["spec"]["nodeName"] = node;
    other["spec"]["devices"][3]["attributes"][kAddress]["string"] = address;
    server.PutSlice(other);
  };
  publish("dra.net", "n1", "0000:3b:00.2");
  publish("gpu.example.com", "n1", "0000:3c:00.0");
  publish("far.net", "n2", "0000:3b:00.2");
  for (const char* version : {"v1", "v1beta1"}) {
    server.SetOptions({.versions = {version}});
    api = Find();
    EXPECT_EQ(Must(pool).others, (OtherOwners{{"dra.net", {"0000:3b:00.2"}}})) << version;
  }
  server.RemoveSlices();
  EXPECT_EQ(Must(pool).others, OtherOwners{});
}

TEST_F(SlicePublisher, DoesNotBelieveAListWithTheSlicesOfOthers) {
  server.AddNode("n2", "uid-n2");
  Must(Large(kDriver, "n2"));
  const auto before = server.slices();
  server.http().Instead("/resourceslices?", {200, json({{"items", before}}).dump(), ""});
  ASSERT_TRUE(RemoveAll(api, kDriver, "n1", Soon()));
  EXPECT_EQ(server.slices(), before);
  server.http().Instead("/resourceslices?", {200, "{}", ""});
  const auto done = Publish(api, Large(), Soon());
  ASSERT_FALSE(done) << "no list is not an empty list";
  EXPECT_EQ(done.error().code, Code::kInvalid);
}

TEST_F(SlicePublisher, ReadsAnewWhatAnotherHasChangedMeanwhile) {
  Pool pool = Large();
  Must(pool);
  Taint16(pool, 0, {kDown});
  server.BeforeWrite(
      [](ResourceServer& other) { other.PutSlice(other.slices()[0]); });  // a newer version: 409
  EXPECT_EQ(Must(pool).written, 1);
  EXPECT_EQ(Requests("PUT"), 2U) << "the first one was refused, and the list read anew";
  Taint16(pool, 0, {});
  server.BeforeWrite([](ResourceServer& other) { other.RemoveSlices(); });  // 404
  EXPECT_EQ(Must(pool).written, 2);
  server.RemoveSlices();
  server.BeforeWrite([&](ResourceServer& other) {  // 409: it is there already
    json slice = SlicesOf(pool, "uid-n1", 9).begin()->second;
    other.PutSlice(slice);
  });
  EXPECT_EQ(Must(pool).generation, 10);
  server.http().Instead("/resourceslices?", {410, "{}", ""});
  EXPECT_EQ(Must(pool).written, 0);
}

TEST_F(SlicePublisher, ASliceThatIsMadeAnewIsNotDeletedByItsName) {
  Must(Large());
  server.BeforeWrite([](ResourceServer& other) {
    json slice = other.slices()[0];
    slice["metadata"]["uid"] = "another";
    other.PutSlice(slice);
  });
  const auto removed = RemoveAll(api, kDriver, "n1", Soon());
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(removed->removed, 2);
  EXPECT_EQ(Requests("DELETE"), 3U) << "the first one was refused, and the list read anew";
}

TEST_F(SlicePublisher, AStormOfConflictsEnds) {
  Pool pool = Large();
  Must(pool);
  Taint16(pool, 0, {kDown});
  const size_t before = server.http().seen().size();
  server.http().Instead("/resourceslices/", {409, R"({"message":"the object has been modified"})", ""}, 1000);
  const auto done = Publish(api, pool, Soon());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kBusy);
  EXPECT_THAT(done.error().message,
              AllOf(HasSubstr("offer the devices of node n1 (five times"), HasSubstr("slice railcni-n1-00"),
                    HasSubstr("409: the object has been modified")));
  EXPECT_EQ(server.http().seen().size() - before, 11U) << "the node, then five lists and writes";
  const auto removed = RemoveAll(api, kDriver, "n1", Soon());
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Code::kBusy);
}

TEST_F(SlicePublisher, SaysWhichRightIsMissing) {
  server.Forbid("POST", "/resourceslices");
  const auto done = Publish(api, Large(), Soon());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kPermission);
  EXPECT_THAT(done.error().message, AllOf(HasSubstr("slice railcni-n1-00"), HasSubstr("cannot POST")));
}

TEST_F(SlicePublisher, NeedsItsNode) {
  Pool pool = Large();
  pool.node = "n9";
  const auto done = Publish(api, pool, Soon());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kNotFound);
  EXPECT_THAT(done.error().message, HasSubstr("node n9"));
  EXPECT_EQ(server.writes(), 0);
}

TEST_F(SlicePublisher, AsksNothingForAPoolThatWouldBeRefused) {
  Pool pool = Large();
  pool.devices[5].name = "A";
  const size_t before = server.http().seen().size();
  EXPECT_EQ(Publish(api, pool, Soon()).error().code, Code::kInvalid);
  EXPECT_EQ(RemoveAll(api, "a/b", "n1", Soon()).error().code, Code::kInvalid);
  EXPECT_EQ(server.http().seen().size(), before);
}

TEST_F(SlicePublisher, GoesOnAfterTheServerWasAway) {
  server.Stop();
  auto done = Publish(api, Large(), Soon());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kTransient);
  server.Start();
  server.LoseAnswers(2);  // it stores the first slice, and is gone before it answers
  done = Publish(api, Large(), Soon());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kTransient);
  EXPECT_THAT(server.slices(), SizeIs(1));
  server.Stop();
  server.Start();
  Must(Large());
  EXPECT_EQ(DevicesIn(server.slices()), 128U);
  EXPECT_EQ(GenerationOf(0), GenerationOf(1));
  EXPECT_EQ(Must(Large()).written, 0);
}

TEST_F(SlicePublisher, ALostAnswerMakesNoSecondSlice) {
  server.LoseAnswers(1);  // libcurl asks again, and hears that the slice is there
  Must(Large());
  EXPECT_THAT(server.slices(), SizeIs(2));
  EXPECT_EQ(GenerationOf(0), GenerationOf(1));
}

TEST_F(SlicePublisher, HasADeadline) {
  const auto done = Publish(api, Large(), Clock::now());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kTransient);
  EXPECT_THAT(done.error().message, HasSubstr("no time is left"));
}

TEST_F(SlicePublisher, WaitsNoLongerForAServerThatDoesNotAnswer) {
  server.http().Instead("/resourceslices?", {0, "", ""});  // an answer without an end
  const Deadline begun = Clock::now();
  const auto done = Publish(api, Large(), After(std::chrono::milliseconds(200)));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kTransient);
  EXPECT_LT(Clock::now() - begun, std::chrono::seconds(25)) << "less than one request may take by itself";
}

TEST_F(SlicePublisher, KnowsATextAgainThatIsNoUtf8) {
  Pool pool = Large();
  pool.devices[0].attributes["serial"] = "a\xff";
  Must(pool);
  EXPECT_EQ(Must(pool).written, 0);
}

TEST_F(SlicePublisher, LeavesOutWhatIsTaintedWhereTheServerKeepsNoTaints) {
  server.SetOptions({.keeps_taints = false});
  Pool pool = Large();
  EXPECT_EQ(Must(pool).written, 2);
  EXPECT_TRUE(api.keeps_taints) << "nothing to see yet";
  Taint16(pool, 7, {kDown});
  pool.devices[0].taints = {{"railcni.io/note", "", "None"}};
  Must(pool);
  EXPECT_FALSE(api.keeps_taints);
  EXPECT_EQ(DevicesIn(server.slices()), 112U) << "a taint without effect takes no device away";
  EXPECT_EQ(Must(pool).written, 0);
  Taint16(pool, 7, {});
  EXPECT_EQ(Must(pool).written, 1);
  EXPECT_EQ(DevicesIn(server.slices()), 128U);
}

TEST_F(SlicePublisher, WorksWithEachVersion) {
  for (const char* version : {"v1beta1", "v1beta2", "v1"}) {
    server.SetOptions({.versions = {"v1alpha3", version}});
    api = Find();
    EXPECT_EQ(api.version, version);
    Pool pool = Large();
    Taint16(pool, 2, {kDown});
    server.RemoveSlices();
    EXPECT_EQ(Must(pool).written, 2) << version;
    EXPECT_EQ(Must(pool).written, 0) << version;
    EXPECT_EQ(server.slices()[0]["spec"]["devices"][32]["taints"][0]["value"], "down") << version;
  }
  server.SetOptions({});
  EXPECT_EQ(Find().version, "v1") << "the newest of several";
}

TEST_F(SlicePublisher, SaysWhichKubernetesItNeeds) {
  for (const std::vector<std::string>& versions : {std::vector<std::string>{}, {"v1alpha3"}}) {
    server.SetOptions({.versions = versions});
    const auto found = FindResourceApi(client, Soon());
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Code::kUnsupported);
    EXPECT_THAT(found.error().message, HasSubstr("1.32"));
  }
  server.http().Instead("/apis", {503, "", ""});
  EXPECT_EQ(FindResourceApi(client, Soon()).error().code, Code::kTransient);
}

class SliceContract : public testing::ResourceContract {
 protected:
  void SetUp() override {
    if (GetParam()) node = testing::Variable("RAILCNI_TEST_API_NODE");
    if (node.empty()) GTEST_SKIP() << "RAILCNI_TEST_API_NODE names no node";
    ResourceContract::SetUp();
    if (fake != nullptr) fake->AddNode(node, "uid-n1");
  }
  void TearDown() override {
    if (api.client != nullptr) (void)RemoveAll(api, driver, node, Soon());
  }
  Published Must(const Pool& pool) {
    const auto done = Publish(api, pool, Soon());
    EXPECT_TRUE(done) << done.error().message;
    return done ? *done : Published{.written = -1, .removed = -1, .generation = -1};
  }

  std::string node = "n1";
  const std::string driver = "test-" + std::to_string(::getpid()) + ".railcni.io";
};

TEST_P(SliceContract, KeepsWhatItIsGiven) {
  Pool pool = Large(driver, node);
  EXPECT_EQ(Must(pool).written, 2);
  EXPECT_EQ(Must(pool).written, 0);
  Taint16(pool, 7, {kDown});
  EXPECT_GE(Must(pool).written, 1);
  EXPECT_EQ(Must(pool).written, 0);
  Taint16(pool, 7, {});
  EXPECT_GE(Must(pool).written, 1);
  const auto removed = RemoveAll(api, driver, node, Soon());
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(removed->removed, 2);
}

TEST_P(SliceContract, RefusesA65thDeviceBesideATaint) {
  Pool pool = Large(driver, node);
  pool.devices.resize(64);
  Taint16(pool, 0, {kDown});
  json slice = SlicesOf(pool, "5f8b4d6e-0000-4000-8000-000000000000", 1).begin()->second;
  slice["metadata"] = {{"name", driver}};
  slice["spec"]["devices"].push_back({{"name", "one-more"}});
  const auto answer = client->Ask(
      {.method = "POST", .path = api.Path("resourceslices"), .body = ToServer(api, slice).dump()});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 422) << answer->body;
}

INSTANTIATE_TEST_SUITE_P(Each, SliceContract, ::testing::Bool(),
                         [](const auto& of) { return std::string(of.param ? "Real" : "Fake"); });

}  // namespace
}  // namespace rail::kubernetes
