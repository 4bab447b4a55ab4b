// raild as the DRA driver of a node: a kubelet that speaks the real protocol on the one side, an API server that refuses what a real one refuses on
// the other.
#include "cmd/raild/workers/claim_offers.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "cmd/raild/workers/rail_resources.h"
#include "cmd/raild/workers/resource_worker.h"
#include "lib/base/whole_file.h"
#include "lib/kubelet/testing/plugin_watcher.h"
#include "lib/kubelet/testing/test_folder.h"
#include "lib/kubernetes/testing/resource_server.h"

namespace rail::raild {
namespace {

using namespace std::chrono_literals;
using kubelet::ClaimName;
using kubelet::DeviceHealth;
using kubelet::testing::Driver;
using kubelet::testing::PluginWatcher;
using kubelet::testing::Version;
using kubernetes::testing::ResourceServer;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const ClaimName kClaim{
    .pod_namespace = "ml", .name = "train-0-rails", .uid = "5f0c7a52-0000-4000-8000-000000000001"};
const ClaimName kOther{
    .pod_namespace = "ml", .name = "train-1-rails", .uid = "5f0c7a52-0000-4000-8000-000000000002"};

// raild's half, as KubeletWorker puts it together.
struct Raild {
  Raild(const config::NodeConfig& config, const engine::ViewPublisher& views, const std::string& root,
        const std::string& api, const RailPools::See& see)
      : libraries(root + "/libs"),
        server({.url = api, .token_file = {}, .ca_file = {}}, "n1", "raild/test"),
        offers(config, views, sriov::Sysfs(root + "/sys"),
               {.kubelet = root + "/kubelet", .claims = root + "/claims", .cdi = root + "/cdi"}, &libraries,
               server, see) {
    EXPECT_TRUE(server.Open());
    server.Start();
  }
  ~Raild() { server.Stop(); }

  LibraryFiles libraries;
  ResourceWorker server;
  ClaimOffers offers;
};

class ClaimOffersTest : public ::testing::Test {
 protected:
  ClaimOffersTest() {
    for (const char* name : {"rail0", "rail1"}) {
      config::Rail rail;
      rail.name = name;
      rail.index = static_cast<uint32_t>(config.rails.size());
      rail.mtu = 4096;
      rail.pf = std::string("p-") + name;
      config.rails.push_back(rail);
      seen[name] = {{.id = std::string(name) + "v0"}, {.id = std::string(name) + "v1"}};
    }
    config.kubelet.dra = true;
    api.AddNode("n1", "node-uid");
    Publish();
  }

  void Publish() {
    engine::NodeView view;
    view.unit = "su-1";
    for (const config::Rail& rail : config.rails) {
      view.rails.emplace_back().rail = rail;
      view.health.push_back({.part = {engine::Part::kRail, rail.name}, .ok = true, .problem = {}});
    }
    view.health.push_back({.part = {engine::Part::kBgpSessions, ""}, .ok = true, .problem = {}});
    for (const auto& [device, address] : attached) {
      state::Attachment a;
      a.id = static_cast<int64_t>(view.attachments.size()) + 1;
      a.key.ifname = "net1";
      a.phase = state::Phase::kReady;
      a.rail = device.substr(0, 5);
      a.pod_namespace = "ml";
      a.pod_name = "train-0";
      a.device = device;
      a.addresses = {*IpAddress::Parse(address)};
      a.mac = *MacAddress::Parse("02:00:00:00:00:07");
      view.attachments.push_back({.attachment = a});
    }
    views.Publish(std::move(view));
  }

  std::unique_ptr<Raild> New() {
    return std::make_unique<Raild>(config, views, folder.path(), api.url(),
                                   [this](const engine::NodeView&) { return seen; });
  }
  std::unique_ptr<Raild> Served() {
    auto raild = New();
    Look(*raild);
    EXPECT_TRUE(kubelet.Waits(Instance(), [](const Driver& driver) { return driver.registered; }));
    EXPECT_TRUE(Has([&] { return Devices().size() == 4; }));
    return raild;
  }
  void Look(Raild& raild, Deadline now = Deadline(1h)) {
    (void)raild.offers.Look(now);
    const Status served = raild.offers.Serve();
    EXPECT_TRUE(served || served.error().code == Code::kTransient) << served.error().message;
  }
  // Of the driver that has come last.
  std::string Instance() {
    std::string name;
    std::filesystem::file_time_type newest = std::filesystem::file_time_type::min();
    for (const auto& entry : std::filesystem::directory_iterator(kubelet.registry())) {
      if (entry.last_write_time() < newest) continue;
      newest = entry.last_write_time();
      name = entry.path().filename();
    }
    const std::string before = std::string(kDriver) + "-", after = "-reg.sock";
    EXPECT_TRUE(name.starts_with(before) && name.ends_with(after)) << name;
    return name.substr(before.size(), name.size() - before.size() - after.size());
  }

  bool Has(const std::function<bool()>& is) { return api.http().WaitFor(is); }
  std::map<std::string, json> Devices() {
    std::map<std::string, json> devices;
    for (const json& slice : api.slices()) {
      if (slice["spec"]["driver"] != kDriver) continue;
      for (const json& device : slice["spec"]["devices"]) devices[device["name"]] = device;
    }
    return devices;
  }
  kubelet::testing::Answer Prepare(const ClaimName& claim) {
    const auto answers = kubelet.Prepare(Instance(), Version::kV1, {claim});
    EXPECT_TRUE(answers) << answers.error().message;
    return answers && answers->contains(claim.uid) ? answers->at(claim.uid) : kubelet::testing::Answer{};
  }
  std::string Unprepare(const ClaimName& claim) {
    const auto answers = kubelet.Unprepare(Instance(), Version::kV1, {claim});
    EXPECT_TRUE(answers) << answers.error().message;
    return answers && answers->contains(claim.uid) ? answers->at(claim.uid).error : "no answer";
  }
  void AddClaim(const ClaimName& claim, const std::vector<std::string>& devices,
                const std::string& pod_claim = "") {
    std::vector<ResourceServer::Result> results;
    for (const std::string& each : devices)
      results.push_back({.driver = kDriver, .pool = "n1", .device = each});
    api.AddClaim(claim.pod_namespace, claim.name, claim.uid, results, pod_claim);
  }
  std::vector<std::filesystem::path> CdiFiles() {
    std::vector<std::filesystem::path> files;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path() + "/cdi", error))
      files.push_back(entry.path());
    return files;
  }
  // What containers read of their devices.
  std::string Metadata() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path() + "/claims")) {
      if (entry.path().filename().string().ends_with("metadata.json"))
        return std::string(std::istreambuf_iterator<char>(std::ifstream(entry.path()).rdbuf()), {});
    }
    return "";
  }
  json Cdi() {
    const auto files = CdiFiles();
    EXPECT_THAT(files, SizeIs(1));
    return files.empty() ? json() : json::parse(std::ifstream(files.front()));
  }

  const kubelet::testing::TestFolder folder;
  config::NodeConfig config;
  engine::ViewPublisher views;
  std::map<std::string, std::vector<kubelet::Seen>> seen;
  std::map<std::string, std::string> attached;  // device -> address
  ResourceServer api;
  PluginWatcher kubelet{folder.path() + "/kubelet"};
};

TEST_F(ClaimOffersTest, ASchedulerSeesEachDeviceAndWhereItIs) {
  const auto raild = Served();
  const json device = Devices().at("rail1v0");
  const json& attributes = device["attributes"];
  EXPECT_EQ(attributes["rail"]["string"], "rail1");
  EXPECT_EQ(attributes["railNumber"]["int"], 1);
  EXPECT_EQ(attributes["mtu"]["int"], 4096);
  EXPECT_EQ(attributes["su"]["string"], "su-1");
  EXPECT_EQ(attributes["k8s.cni.cncf.io/resourceName"]["string"], "nvidia.com/rail1");
  EXPECT_EQ(attributes["k8s.cni.cncf.io/deviceID"]["string"], "rail1v0");
  EXPECT_FALSE(device.contains("taints"));
}

TEST_F(ClaimOffersTest, NothingIsToldBeforeRaildHasLookedAtEachRail) {
  views.Publish({});
  const auto raild = New();
  Look(*raild);
  EXPECT_TRUE(std::filesystem::is_empty(kubelet.registry()));
  Publish();
  Look(*raild);
  EXPECT_TRUE(kubelet.Waits(Instance(), [](const Driver& driver) { return driver.registered; }));
}

TEST_F(ClaimOffersTest, AContainerGetsWhatItsClaimHolds) {
  const auto raild = Served();
  AddClaim(kClaim, {"rail0v1", "rail1v0"});
  const auto answer = Prepare(kClaim);
  EXPECT_EQ(answer.error, "");
  ASSERT_THAT(answer.devices, SizeIs(2));
  EXPECT_THAT(answer.devices[0].cdi_names, SizeIs(1));
  const json spec = Cdi();
  EXPECT_EQ(spec["cdiVersion"], "0.5.0");
  const std::string text = spec.dump();
  EXPECT_THAT(text, AllOf(HasSubstr("PCIDEVICE_NVIDIA_COM_RAIL0=rail0v1"),
                          HasSubstr("PCIDEVICE_NVIDIA_COM_RAIL1=rail1v0"), HasSubstr("/etc/railcni/rail0"),
                          HasSubstr("/etc/railcni/rail1")));
  EXPECT_EQ(Prepare(kClaim).devices, answer.devices) << "the kubelet asks twice";
  EXPECT_EQ(Unprepare(kClaim), "");
  EXPECT_THAT(CdiFiles(), IsEmpty());
  EXPECT_EQ(Unprepare(kClaim), "") << "the kubelet asks twice";
}

// A container has one variable of a name: of two CDI devices, the last's.
TEST_F(ClaimOffersTest, TwoRequestsForOneRailAreInOneVariable) {
  const auto raild = Served();
  const auto result = [](const char* device, const char* request) {
    return ResourceServer::Result{
        .driver = kDriver, .pool = "n1", .device = device, .request = request, .share_id = {}};
  };
  api.AddClaim("ml", kClaim.name, kClaim.uid,
               {result("rail0v1", "a"), result("rail0v0", "b"), result("rail1v0", "b")});
  EXPECT_EQ(Prepare(kClaim).error, "");
  const json devices = Cdi()["devices"];
  ASSERT_THAT(devices, SizeIs(2));
  for (const json& device : devices)
    EXPECT_THAT(device.dump(), HasSubstr(R"("PCIDEVICE_NVIDIA_COM_RAIL0=rail0v0,rail0v1")"));
  EXPECT_THAT(devices[0].dump(), Not(HasSubstr("RAIL1"))) << "it is of the other request";
}

TEST_F(ClaimOffersTest, AClaimThatWantsNoFilesGetsNone) {
  const auto raild = Served();
  AddClaim(kClaim, {"rail0v1"});
  json claim = api.claim("ml", kClaim.name);
  const json parameters = {
      {"apiVersion", "rail.railcni.io/v1alpha1"}, {"kind", "RailConfig"}, {"libraries", false}};
  claim["status"]["allocation"]["devices"]["config"] = json::array(
      {{{"source", "FromClaim"}, {"opaque", {{"driver", "gpu.nvidia.com"}, {"parameters", {{"x", 1}}}}}},
       {{"source", "FromClaim"}, {"opaque", {{"driver", kDriver}, {"parameters", parameters}}}}});
  api.http().Instead("/resourceclaims/", {200, claim.dump(), ""});
  EXPECT_EQ(Prepare(kClaim).error, "");
  EXPECT_THAT(Cdi().dump(), AllOf(HasSubstr("PCIDEVICE_NVIDIA_COM_RAIL0=rail0v1"),
                                  Not(HasSubstr("/etc/railcni")), Not(HasSubstr("NCCL_CONF_FILE"))));
}

TEST_F(ClaimOffersTest, AClaimSaysWhatItsPodHasGot) {
  const auto raild = Served();
  AddClaim(kClaim, {"rail0v0"}, "rails");
  EXPECT_EQ(Prepare(kClaim).error, "");
  EXPECT_TRUE(raild->offers.ViewChanged());
  EXPECT_FALSE(api.claim("ml", kClaim.name)["status"].contains("devices")) << "nothing is attached yet";
  attached["rail0v0"] = "10.0.1.7";
  Publish();
  const Status told = raild->offers.ViewChanged();
  EXPECT_TRUE(told) << told.error().message;
  EXPECT_TRUE(Has([&] { return api.claim("ml", kClaim.name)["status"].contains("devices"); }));
  const json status = api.claim("ml", kClaim.name)["status"]["devices"][0];
  EXPECT_EQ(status["device"], "rail0v0");
  EXPECT_EQ(status["conditions"][0]["status"], "True");
  EXPECT_EQ(status["networkData"]["interfaceName"], "net1");
  EXPECT_EQ(status["networkData"]["ips"], json::array({"10.0.1.7/32"}));
  EXPECT_EQ(status["networkData"]["hardwareAddress"], "02:00:00:00:00:07");

  const auto is_told = AllOf(HasSubstr("10.0.1.7/32"), HasSubstr("net1"),
                             HasSubstr("k8s.cni.cncf.io/deviceID"), HasSubstr(R"("podClaimName":"rails")"));
  EXPECT_THAT(Metadata(), is_told);
  EXPECT_EQ(Prepare(kClaim).error, "") << "the kubelet asks again";
  EXPECT_THAT(Metadata(), is_told);
}

TEST_F(ClaimOffersTest, ADeviceIsOfOneClaimAlsoForTwoRaildsSideBySide) {
  const auto before = Served();
  AddClaim(kClaim, {"rail0v0"});
  AddClaim(kOther, {"rail0v0"});
  EXPECT_EQ(Prepare(kClaim).error, "");
  const std::string first = Instance();
  const auto after = Served();
  EXPECT_NE(Instance(), first);
  EXPECT_THAT(Prepare(kOther).error, AllOf(HasSubstr("ml/train-0-rails"), HasSubstr("rail0v0")));
  EXPECT_EQ(Unprepare(kClaim), "") << "the one may end what the other has begun";
  EXPECT_EQ(Prepare(kOther).error, "");
}

TEST_F(ClaimOffersTest, RaildThatStartsAnewKnowsWhatClaimsHold) {
  AddClaim(kClaim, {"rail0v0"});
  AddClaim(kOther, {"rail0v0"});
  const auto devices = [&] {
    const auto raild = Served();
    return Prepare(kClaim).devices;
  }();
  const auto raild = Served();
  EXPECT_EQ(Prepare(kClaim).devices, devices);
  EXPECT_THAT(Prepare(kOther).error, HasSubstr("ml/train-0-rails"));
}

TEST_F(ClaimOffersTest, ARailThatFailsTaintsItsDevicesAndIsUnhealthyUntilItIsBack) {
  const auto raild = Served();
  for (auto& device : seen["rail0"]) device.fault = "p-rail0 has no carrier";
  Look(*raild, Deadline(1h) + 1s);
  EXPECT_FALSE(Devices().at("rail0v0").contains("taints")) << "a flap is no news";
  Look(*raild, Deadline(1h) + 1s + std::chrono::seconds(config.kubelet.grace_s));
  EXPECT_TRUE(Has([&] { return Devices().at("rail0v0").contains("taints"); }));
  EXPECT_EQ(Devices().at("rail0v0")["taints"][0]["effect"], "NoSchedule");
  EXPECT_EQ(Devices().at("rail0v0")["taints"][0]["key"], kUnhealthy);
  EXPECT_FALSE(Devices().at("rail1v0").contains("taints"));
  const auto says = [](kubelet::Health wanted, const std::string& message) {
    return [=](const Driver& driver) {
      for (const auto& stream : driver.health) {
        if (stream.lists.empty()) return false;
        const auto& list = stream.lists.back();
        const auto device = std::ranges::find(list, "rail0v0", &DeviceHealth::device);
        if (device == list.end() || device->health != wanted || device->message != message) return false;
      }
      return true;
    };
  };
  EXPECT_TRUE(kubelet.Waits(Instance(), says(kubelet::Health::kUnhealthy, "p-rail0 has no carrier")));
  for (auto& device : seen["rail0"]) device.fault = "";
  Look(*raild, Deadline(2h));
  EXPECT_TRUE(kubelet.Waits(Instance(), says(kubelet::Health::kHealthy, "")));
  EXPECT_TRUE(Has([&] { return !Devices().at("rail0v0").contains("taints"); }));
}

TEST_F(ClaimOffersTest, AKubeletThatStartsAnewGetsTheSlicesAgain) {
  const auto raild = Served();
  kubelet.Stop();
  api.RemoveSlices();
  EXPECT_THAT(Devices(), IsEmpty());
  kubelet.Start();
  EXPECT_TRUE(Has([&] { return Devices().size() == 4; }));
}

TEST_F(ClaimOffersTest, ALookThatFindsNothingNewAsksTheServerNothing) {
  const auto raild = Served();
  const auto asked = [&](const std::string& what) {
    return std::ranges::count_if(
        api.http().seen(), [&](const auto& request) { return request.path.find(what) != std::string::npos; });
  };
  const auto before = asked("resourceslices");
  for (int i = 1; i <= 3; ++i) Look(*raild, Deadline(1h) + std::chrono::seconds(10 * i));
  raild->server.Report({.pod_namespace = "ml", .name = "gone", .uid = "uid-gone"}, {});
  EXPECT_TRUE(Has([&] { return asked("/gone/status") != 0; })) << "the thread has had its turn";
  EXPECT_EQ(asked("resourceslices"), before);
}

TEST_F(ClaimOffersTest, AnotherDriverThatPublishesADeviceIsKnownAfterTheNextPublish) {
  const auto raild = Served();
  constexpr char kAddress[] = "resource.kubernetes.io/pciBusID";
  json slice = api.slices()[0];
  slice["metadata"] = {{"name", "other"}};
  slice["spec"]["driver"] = "dra.net";
  slice["spec"]["devices"][0]["attributes"][kAddress]["string"] = "0000:3b:00.2";
  api.PutSlice(slice);
  EXPECT_THAT(raild->server.others(), IsEmpty());
  raild->server.Publish(
      {{.name = "a", .attributes = {{kAddress, "0000:3b:00.2"}}, .capacity = {}, .taints = {}}});
  raild->server.Report({.pod_namespace = "ml", .name = "gone", .uid = "uid-gone"}, {});
  EXPECT_TRUE(Has([&] {
    return std::ranges::any_of(api.http().seen(), [](const auto& request) {
      return request.path.find("/gone/status") != std::string::npos;
    });
  })) << "claims come after the slices";
  EXPECT_EQ(raild->server.others(), (kubernetes::OtherOwners{{"dra.net", {"0000:3b:00.2"}}}));
}

TEST_F(ClaimOffersTest, WhatTheServerDoesNotTakeIsTriedAgain) {
  const auto raild = Served();
  api.http().Instead("resourceslices", {.status = 503, .body = "{}", .headers = {}});
  for (auto& device : seen["rail0"]) device = {.id = device.id, .numa = {}, .fault = "lost", .at_once = true};
  Look(*raild);
  EXPECT_TRUE(Has([&] { return Devices().at("rail0v0").contains("taints"); }));
}

TEST_F(ClaimOffersTest, WhatCannotBePreparedIsToldInWordsAndHoldsNothing) {
  const auto raild = Served();
  EXPECT_THAT(Prepare(kClaim).error, HasSubstr(kClaim.name)) << "the server does not know it";
  AddClaim(kClaim, {"rail7v0"});
  EXPECT_THAT(Prepare(kClaim).error,
              AllOf(HasSubstr("node n1 has no device n1/rail7v0"), HasSubstr("railctl get rails")));
  api.AddClaim("ml", kClaim.name, kClaim.uid, {{.driver = kDriver, .pool = "n2", .device = "rail0v0"}});
  EXPECT_THAT(Prepare(kClaim).error, HasSubstr("node n1 has no device n2/rail0v0")) << "another node's";
  api.AddClaim("ml", kOther.name, kOther.uid,
               {{.driver = kDriver,
                 .pool = "n1",
                 .device = "rail0v0",
                 .share_id = "5f0c7a52-0000-4000-8000-00000000000a"}});
  EXPECT_THAT(Prepare(kOther).error, HasSubstr("a VF is of one pod"));
  EXPECT_THAT(CdiFiles(), IsEmpty());
}

TEST_F(ClaimOffersTest, WhileTheApiServerIsAwayAClaimWaits) {
  const auto raild = Served();
  AddClaim(kClaim, {"rail0v0"});
  api.Stop();
  EXPECT_NE(Prepare(kClaim).error, "");
  api.Start();
  EXPECT_EQ(Prepare(kClaim).error, "");
}

}  // namespace
}  // namespace rail::raild
