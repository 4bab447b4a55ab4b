// What raild offers to a kubelet that speaks the real protocol.
#include "cmd/raild/workers/device_offers.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "lib/base/fd.h"
#include "lib/base/strict_json.h"
#include "lib/kubelet/testing/device_manager.h"
#include "lib/kubelet/testing/test_folder.h"

namespace rail::raild {
namespace {

using namespace std::chrono_literals;
using kubelet::testing::FakeDeviceManager;
using kubelet::testing::Plugin;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr auto kGrace = 15s;

class DeviceOffersTest : public ::testing::Test {
 protected:
  DeviceOffersTest() {
    for (const char* name : {"rail0", "rail1"}) {
      config::Rail rail;
      rail.name = name;
      rail.index = static_cast<uint32_t>(config.rails.size());
      config.rails.push_back(rail);
      seen[name] = {{.id = std::string(name) + "-vf0"}, {.id = std::string(name) + "-vf1"}};
    }
    config.kubelet.device_plugin = true;
    config.kubelet.folder = folder.path();
  }

  // What raild publishes once it has looked at every rail and session.
  void Whole() { PublishParts({engine::Part::kRail, engine::Part::kBgpSessions}); }
  void PublishParts(const std::vector<engine::Part>& parts) {
    engine::NodeView view;
    for (const config::Rail& rail : config.rails) {
      view.rails.emplace_back().rail = rail;
      for (const engine::Part part : parts) {
        const bool of_rail = engine::IsOfRail(part);
        if (of_rail || &rail == &config.rails.front())
          view.health.push_back({.part = {part, of_rail ? rail.name : ""}, .ok = true, .problem = {}});
      }
    }
    views.Publish(std::move(view));
  }

  std::unique_ptr<DeviceOffers> Offers() {
    return std::make_unique<DeviceOffers>(config, views, sriov::Sysfs(folder.path() + "/sys"),
                                          folder.path() + "/devinfo/dp", libraries,
                                          [this](const engine::NodeView&) { return seen; });
  }

  // The sockets of a rail's plugins.
  std::vector<std::string> Endpoints(const std::string& rail) const {
    return folder.Names("railcni-" + rail + "-");
  }
  std::string Endpoint(const std::string& rail) const {
    const auto names = Endpoints(rail);
    EXPECT_THAT(names, SizeIs(1));
    return names.empty() ? "" : names.front();
  }
  // Whether the kubelet has so many healthy and unhealthy devices of the rail in its last list.
  bool Has(const std::string& rail, ptrdiff_t healthy, ptrdiff_t unhealthy = 0) {
    return kubelet.Waits(Endpoint(rail), [&](const Plugin& plugin) {
      if (plugin.lists.empty()) return false;
      const auto& list = plugin.lists.back();
      return std::ranges::count(list, true, &kubelet::Device::healthy) == healthy &&
             std::ranges::count(list, false, &kubelet::Device::healthy) == unhealthy;
    });
  }
  std::unique_ptr<DeviceOffers> Served() {
    Whole();
    auto offers = Offers();
    (void)offers->Look(begin);
    const Status served = offers->Serve();
    EXPECT_TRUE(served) << served.error().message;
    return offers;
  }

  const kubelet::testing::TestFolder folder;
  config::NodeConfig config;
  engine::ViewPublisher views;
  std::map<std::string, std::vector<kubelet::Seen>> seen;
  FakeDeviceManager kubelet{folder.path()};
  const Deadline begin{1h};
  LibraryFiles files{folder.path() + "/libs"};
  LibraryFiles* libraries = nullptr;  // node.json wants none
};

TEST_F(DeviceOffersTest, EachRailIsAResource) {
  const auto offers = Served();
  for (const std::string rail : {"rail0", "rail1"}) {
    EXPECT_TRUE(Has(rail, 2));
    EXPECT_EQ(kubelet.Of(Endpoint(rail)).resource, "nvidia.com/" + rail);
    EXPECT_TRUE(kubelet.Of(Endpoint(rail)).preferred);
  }
}

TEST_F(DeviceOffersTest, NothingIsServedBeforeRaildHasLookedAtEveryRailAndSession) {
  const auto offers = Offers();
  for (const std::vector<engine::Part>& parts :
       {std::vector<engine::Part>{}, {engine::Part::kRail}, {engine::Part::kBgpSessions}}) {
    PublishParts(parts);
    EXPECT_EQ(offers->Look(begin), std::nullopt);
    EXPECT_TRUE(offers->Serve());
    EXPECT_THAT(Endpoints("rail0"), SizeIs(0)) << parts.size();
  }
  Whole();
  (void)offers->Look(begin);
  EXPECT_TRUE(offers->Serve());
  EXPECT_TRUE(Has("rail0", 2));
}

TEST_F(DeviceOffersTest, AKubeletThatStartsAnewHearsOfAllOfThem) {
  const auto offers = Served();
  kubelet.Stop();
  EXPECT_TRUE(offers->Serve()) << "there is no kubelet now";
  kubelet.Start();
  seen["rail1"].pop_back();
  (void)offers->Look(begin + 1s);
  EXPECT_TRUE(offers->Serve());
  EXPECT_TRUE(Has("rail0", 2));
  EXPECT_TRUE(Has("rail1", 1));
  EXPECT_TRUE(offers->Serve()) << "it knows them";
  EXPECT_THAT(kubelet.Of(Endpoint("rail0")).lists, SizeIs(1));
}

TEST_F(DeviceOffersTest, AKubeletThatStartsAnewAndLeavesTheSocketsHearsOfThem) {
  const auto offers = Served();
  const std::string endpoint = Endpoint("rail0");
  const kubelet::testing::TestFolder aside;
  std::filesystem::create_hard_link(folder.path() + "/" + endpoint, aside.path() + "/kept");
  kubelet.Stop();
  kubelet.Start();
  std::filesystem::create_hard_link(aside.path() + "/kept", folder.path() + "/" + endpoint);
  EXPECT_TRUE(offers->Serve());
  EXPECT_EQ(Endpoint("rail0"), endpoint) << "it serves still";
  EXPECT_TRUE(Has("rail0", 2));
}

TEST_F(DeviceOffersTest, AKubeletThatDoesNotAnswerIsAskedForOneRailAlone) {
  kubelet.Stop();
  std::filesystem::remove(folder.path() + "/kubelet.sock");
  const Fd deaf(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ASSERT_GE(deaf.get(), 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  (folder.path() + "/kubelet.sock").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(deaf.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(deaf.get(), 8), 0);
  Whole();
  const auto offers = Offers();
  (void)offers->Look(begin);
  const Status served = offers->Serve();
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().code, Code::kTransient);
  EXPECT_THAT(served.error().message, HasSubstr("register nvidia.com/rail0"));
  EXPECT_THAT(Endpoints("rail1"), SizeIs(0));
}

TEST_F(DeviceOffersTest, AKubeletThatComesLaterHearsOfThem) {
  kubelet.Stop();
  const auto offers = Served();
  EXPECT_THAT(Endpoints("rail0"), SizeIs(0));
  kubelet.Start();
  EXPECT_TRUE(offers->Serve());
  EXPECT_TRUE(Has("rail0", 2));
}

TEST_F(DeviceOffersTest, AFaultReachesTheKubeletAfterTheGracePeriodAndItsEndAtOnce) {
  const auto offers = Served();
  seen["rail0"][1].fault = "p0 has no carrier";
  EXPECT_EQ(offers->Look(begin + 1s), begin + 1s + kGrace);
  EXPECT_EQ(offers->counts()[0].healthy, 2U);
  EXPECT_EQ(offers->Look(begin + 1s + kGrace), std::nullopt);
  EXPECT_TRUE(Has("rail0", 1, 1));
  const RailPools::Count count = offers->counts()[0];
  EXPECT_EQ(count.rail, "rail0");
  EXPECT_THAT(count.devices, testing::ElementsAre("rail0-vf0", "rail0-vf1"));
  EXPECT_EQ(count.healthy, 1U);
  EXPECT_EQ(count.problem, "rail0-vf1: p0 has no carrier");
  seen["rail0"][1].fault = "";
  (void)offers->Look(begin + 2s + kGrace);
  EXPECT_TRUE(Has("rail0", 2));
  EXPECT_THAT(kubelet.Of(Endpoint("rail0")).lists, SizeIs(3)) << "no list for the flap's beginning";
}

TEST_F(DeviceOffersTest, ARefusalIsAnErrorAndTheOtherRailsAreServed) {
  kubelet.Refuse("not now");
  Whole();
  const auto offers = Offers();
  (void)offers->Look(begin);
  const Status refused = offers->Serve();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("register nvidia.com/rail0"));
  EXPECT_THAT(refused.error().message, HasSubstr("not now"));
  EXPECT_THAT(Endpoints("rail1"), SizeIs(1)) << "it was tried";
  kubelet.Refuse("");
  EXPECT_TRUE(offers->Serve());
  EXPECT_TRUE(Has("rail0", 2));
  EXPECT_TRUE(Has("rail1", 2));
}

TEST_F(DeviceOffersTest, ANewRaildServesBesideTheOldOne) {
  auto old = Served();
  const std::string before = Endpoint("rail0");
  const auto later = Served();
  EXPECT_THAT(Endpoints("rail0"), SizeIs(2));
  old.reset();
  EXPECT_NE(Endpoint("rail0"), before);
  EXPECT_TRUE(Has("rail0", 2));
}

TEST_F(DeviceOffersTest, AContainerGetsItsDevicesByTheNameThatPeopleKnow) {
  const auto offers = Served();
  EXPECT_TRUE(Has("rail0", 2));
  const auto given = kubelet.Allocate(Endpoint("rail0"), {{"rail0-vf0", "rail0-vf1"}});
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_EQ(given->front().envs.at("PCIDEVICE_NVIDIA_COM_RAIL0"), "rail0-vf0,rail0-vf1");
  for (const std::string id : {"rail0-vf0", "rail0-vf1"}) {
    const auto told = ReadJsonFile(folder.path() + "/devinfo/dp/nvidia.com-rail0-" + id + "-device.json");
    ASSERT_TRUE(told) << told.error().message;
    EXPECT_EQ(told->at("pci").at("pci-address"), id);
  }
}

TEST_F(DeviceOffersTest, AContainerGetsItsDevicesWhenMultusCannotBeTold) {
  std::ofstream(folder.path() + "/devinfo") << "a file where the folder is to be";
  const auto offers = Served();
  EXPECT_TRUE(Has("rail0", 2));
  EXPECT_TRUE(kubelet.Allocate(Endpoint("rail0"), {{"rail0-vf0"}}));
}

TEST_F(DeviceOffersTest, AContainerSeesTheFolderOfItsLibraries) {
  libraries = &files;
  const auto offers = Served();
  EXPECT_TRUE(Has("rail1", 2));
  const auto given = kubelet.Allocate(Endpoint("rail1"), {{"rail1-vf0", "rail1-vf1"}});
  ASSERT_TRUE(given) << given.error().message;
  ASSERT_THAT(given->front().mounts, SizeIs(1));
  const kubelet::Mount& mount = given->front().mounts[0];
  EXPECT_EQ(mount.container_path, "/etc/railcni/rail1");
  EXPECT_EQ(mount.host_path, folder.path() + "/libs/rail1-vf0");
  EXPECT_TRUE(mount.read_only);
  EXPECT_TRUE(std::filesystem::is_directory(mount.host_path)) << "a mount of what is not there fails";
  EXPECT_TRUE(std::filesystem::is_directory(folder.path() + "/libs/rail1-vf1"))
      << "the doctor reads each device's";
  EXPECT_EQ(given->front().envs.at("NCCL_CONF_FILE"), "/etc/railcni/rail1/nccl.conf");
  EXPECT_EQ(given->front().envs.at("UCX_CONFIG_DIR"), "/etc/railcni/rail1");
}

TEST_F(DeviceOffersTest, AContainerGetsItsDevicesWithoutFilesWhereNoneAreWantedOrPossible) {
  for (const bool wanted : {false, true}) {
    std::ofstream(folder.path() + "/libs") << "a file where the folder is to be";
    libraries = wanted ? &files : nullptr;
    const auto offers = Served();
    EXPECT_TRUE(Has("rail0", 2));
    const auto given = kubelet.Allocate(Endpoint("rail0"), {{"rail0-vf0"}});
    ASSERT_TRUE(given) << given.error().message;
    EXPECT_TRUE(given->front().mounts.empty());
    EXPECT_FALSE(given->front().envs.contains("NCCL_CONF_FILE"));
  }
}

}  // namespace
}  // namespace rail::raild
