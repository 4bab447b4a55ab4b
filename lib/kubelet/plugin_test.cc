#include "lib/kubelet/plugin.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <latch>
#include <mutex>

#include "lib/base/thread.h"
#include "lib/kubelet/registration.h"
#include "lib/kubelet/testing/device_manager.h"
#include "lib/kubelet/testing/test_folder.h"

namespace rail::kubelet {
namespace {

using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr auto kLong = 30s;
const std::string kResource = "nvidia.com/rail0";
const std::string kA = "0000:3b:00.1", kB = "0000:3b:00.2", kC = "0000:3b:00.3";

using Ids = std::vector<std::string>;

std::vector<Device> Devices(const Ids& ids) {
  std::vector<Device> devices;
  for (const std::string& id : ids) devices.push_back({.id = id});
  return devices;
}

// The last list has these devices.
auto Has(const Ids& ids) {
  return [ids](const testing::Plugin& plugin) {
    return !plugin.lists.empty() && std::ranges::equal(plugin.lists.back(), ids, {}, &Device::id);
  };
}

auto HasEnded() {
  return [](const testing::Plugin& plugin) { return !plugin.ended.empty(); };
}

class Plugin : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::unique_ptr<DevicePlugin> Started(const std::string& name) {
    const Answers answers{.allocate = [this](const Ids& ids) { return allocate_(ids); },
                          .prefer = [this](const Ids& available, const Ids& must_include,
                                           size_t size) { return prefer_(available, must_include, size); }};
    auto plugin = DevicePlugin::Start(Path(name), answers);
    EXPECT_TRUE(plugin) << plugin.error().message;
    return plugin ? std::move(*plugin) : nullptr;
  }
  void Registered(const std::string& name) {
    const auto done = Register(kubelet_.socket(), {name, kResource}, After(kLong));
    EXPECT_TRUE(done) << done.error().message;
  }
  std::unique_ptr<DevicePlugin> Serving(const std::string& name, const Ids& ids) {
    auto plugin = Started(name);
    plugin->Publish(Devices(ids));
    Registered(name);
    EXPECT_TRUE(kubelet_.Waits(name, Has(ids)));
    return plugin;
  }
  Ids Prefer(const Ids& available, const Ids& must_include, int size) {
    const auto ids = kubelet_.Prefer("a.sock", available, must_include, size);
    EXPECT_TRUE(ids) << ids.error().message;
    return ids ? *ids : Ids{};
  }

  const testing::TestFolder folder_;
  std::function<Result<Allocation>(const Ids&)> allocate_ = [](const Ids& ids) {
    return Allocation{.envs = {{"DEVICES", Join(ids)}}};
  };
  std::function<Ids(const Ids&, const Ids&, size_t)> prefer_ = [](const Ids&, const Ids&, size_t) {
    return Ids{};
  };
  testing::FakeDeviceManager kubelet_{folder_.path()};

 private:
  static std::string Join(const Ids& ids) {
    std::string text;
    for (const std::string& id : ids) text += id + ";";
    return text;
  }
};

TEST_F(Plugin, AStreamThatOpensGetsTheListAtOnce) {
  const auto plugin = Started("a.sock");
  plugin->Publish({{.id = kA, .numa = 1}, {.id = kB, .healthy = false, .reason = "no carrier"}});
  Registered("a.sock");
  ASSERT_TRUE(kubelet_.Waits("a.sock", Has({kA, kB})));
  const auto list = kubelet_.Of("a.sock").lists.front();
  EXPECT_TRUE(list[0].healthy);
  EXPECT_EQ(list[0].numa, 1);
  EXPECT_FALSE(list[1].healthy);
  EXPECT_EQ(list[1].numa, std::nullopt);
}

TEST_F(Plugin, AnEmptyListIsAList) {
  const auto plugin = Started("a.sock");
  Registered("a.sock");
  EXPECT_TRUE(kubelet_.Waits("a.sock", Has({})));
}

TEST_F(Plugin, ANewListReachesEachOpenStream) {
  const auto plugin = Serving("a.sock", {kA});
  plugin->Publish(Devices({kA, kB}));
  EXPECT_TRUE(kubelet_.Waits("a.sock", Has({kA, kB})));
  plugin->Publish({});
  EXPECT_TRUE(kubelet_.Waits("a.sock", Has({})));
}

// Larger than what gRPC keeps for a call that is not read.
std::vector<Device> LargeList(int number) {
  std::vector<Device> devices = Devices({"list " + std::to_string(number)});
  for (int i = 0; i < 2000; ++i) devices.push_back({.id = std::to_string(i) + std::string(60, 'x')});
  return devices;
}

// A stream whose reader is off and whose write is under way.
class Stuck : public Plugin {
 protected:
  void SetUp() override {
    plugin_ = Serving("a.sock", {kA});
    kubelet_.Read(testing::FakeDeviceManager::Reading::kOff);
    plugin_->Publish(Devices({kB}));  // for a read that has begun
    ASSERT_TRUE(kubelet_.Waits("a.sock", [](const testing::Plugin& plugin) { return plugin.waits; }));
    plugin_->Publish(LargeList(0));
  }
  std::unique_ptr<DevicePlugin> plugin_;
};

TEST_F(Stuck, GetsTheNewestListAndNoQueue) {
  for (int i = 1; i < 100; ++i) plugin_->Publish(LargeList(i));
  kubelet_.Read(testing::FakeDeviceManager::Reading::kOn);
  ASSERT_TRUE(kubelet_.Waits(
      "a.sock", [](const testing::Plugin& plugin) { return plugin.lists.back().front().id == "list 99"; }));
  EXPECT_LT(kubelet_.Of("a.sock").lists.size(), 10U);
}

TEST_F(Plugin, StopEndsAnOpenStream) {
  const auto plugin = Serving("a.sock", {kA});
  plugin->Stop();
  ASSERT_TRUE(kubelet_.Waits("a.sock", HasEnded()));
  // The latter if gRPC has not yet told that the list is written.
  EXPECT_THAT(kubelet_.Of("a.sock").ended,
              AnyOf("UNAVAILABLE: the device plugin is stopping", "CANCELLED: Cancelled on the server side"));
  EXPECT_FALSE(std::filesystem::exists(Path("a.sock")));
  plugin->Publish(Devices({kB}));
  plugin->Stop();
}

TEST_F(Stuck, EndsWhenThePluginStops) {
  plugin_->Stop();
  kubelet_.Read(testing::FakeDeviceManager::Reading::kOn);
  ASSERT_TRUE(kubelet_.Waits("a.sock", HasEnded()));
  EXPECT_THAT(kubelet_.Of("a.sock").ended, StartsWith("CANCELLED"));
}

TEST_F(Plugin, ACallUnderWayHoldsUpNoListAndIsAnsweredWhenThePluginStops) {
  std::latch begun(1);
  std::promise<void> may_end;
  allocate_ = [&, end = may_end.get_future().share()](const Ids&) -> Result<Allocation> {
    begun.count_down();
    end.wait();
    return Allocation{.cdi_names = {"late"}};
  };
  const auto plugin = Serving("a.sock", {kA});
  auto call = OnThread([&] { return kubelet_.Allocate("a.sock", {{kA}}); });
  ASSERT_TRUE(call);
  begun.wait();
  plugin->Publish(Devices({kA, kB}));
  EXPECT_TRUE(kubelet_.Waits("a.sock", Has({kA, kB})));
  auto stop = OnThread([&] { plugin->Stop(); });
  ASSERT_TRUE(stop);
  EXPECT_TRUE(kubelet_.Waits("a.sock", HasEnded()));
  EXPECT_TRUE(kubelet_.HearsGoodbye("a.sock"));
  may_end.set_value();
  const auto allocated = call->get();
  ASSERT_TRUE(allocated) << allocated.error().message;
  EXPECT_THAT(allocated->front().cdi_names, ElementsAre("late"));
}

TEST_F(Plugin, AsManyCallsAsItSaysRunAtATime) {
  std::latch all(DevicePlugin::kMostCalls);
  allocate_ = [&](const Ids&) -> Result<Allocation> {
    all.arrive_and_wait();
    return Allocation{};
  };
  const auto plugin = Serving("a.sock", {kA});
  std::vector<std::future<bool>> calls;
  for (int i = 0; i < DevicePlugin::kMostCalls; ++i) {
    auto call = OnThread([&] {
      const bool done = kubelet_.Allocate("a.sock", {{kA}}).has_value();
      if (!done) all.count_down();
      return done;
    });
    ASSERT_TRUE(call);
    calls.push_back(std::move(*call));
  }
  for (auto& call : calls) EXPECT_TRUE(call.get());
}

TEST_F(Plugin, AllocateGivesAllThatAContainerNeeds) {
  allocate_ = [](const Ids&) {
    return Allocation{.envs = {{"PCIDEVICE_NVIDIA_COM_RAIL0", kA}},
                      .mounts = {{"/etc/nccl.conf", "/run/railcni/nccl.conf"}, {"/in", "/out", false}},
                      .nodes = {{"/dev/infiniband/uverbs0", "/dev/infiniband/uverbs4", "rwm"}},
                      .annotations = {{"a", "b"}},
                      .cdi_names = {"railcni.io/rail=0"}};
  };
  const auto plugin = Serving("a.sock", {kA});
  const auto allocated = kubelet_.Allocate("a.sock", {{kA}});
  ASSERT_TRUE(allocated) << allocated.error().message;
  ASSERT_THAT(*allocated, SizeIs(1));
  const Allocation& got = allocated->front();
  EXPECT_EQ(got.envs, (std::map<std::string, std::string>{{"PCIDEVICE_NVIDIA_COM_RAIL0", kA}}));
  EXPECT_EQ(got.annotations, (std::map<std::string, std::string>{{"a", "b"}}));
  EXPECT_THAT(got.cdi_names, ElementsAre("railcni.io/rail=0"));
  ASSERT_THAT(got.mounts, SizeIs(2));
  EXPECT_EQ(got.mounts[0].container_path, "/etc/nccl.conf");
  EXPECT_EQ(got.mounts[0].host_path, "/run/railcni/nccl.conf");
  EXPECT_TRUE(got.mounts[0].read_only);
  EXPECT_FALSE(got.mounts[1].read_only);
  ASSERT_THAT(got.nodes, SizeIs(1));
  EXPECT_EQ(got.nodes[0].container_path, "/dev/infiniband/uverbs0");
  EXPECT_EQ(got.nodes[0].host_path, "/dev/infiniband/uverbs4");
  EXPECT_EQ(got.nodes[0].permissions, "rwm");
}

TEST_F(Plugin, EachContainerGetsItsOwnDevicesInOrder) {
  const auto plugin = Serving("a.sock", {kA, kB, kC});
  const auto allocated = kubelet_.Allocate("a.sock", {{kC, kA}, {kB}});
  ASSERT_TRUE(allocated) << allocated.error().message;
  ASSERT_THAT(*allocated, SizeIs(2));
  EXPECT_EQ((*allocated)[0].envs.at("DEVICES"), kA + ";" + kC + ";");
  EXPECT_EQ((*allocated)[1].envs.at("DEVICES"), kB + ";");
}

class Refused : public Plugin {
 protected:
  void SetUp() override {
    allocate_ = [this](const Ids& ids) -> Result<Allocation> {
      ++asked_;
      if (ids.front() == kC) return Fail(Code::kBusy, "device " + kC + " is being attached");
      return Allocation{};
    };
    plugin_ = Started("a.sock");
    plugin_->Publish({{.id = kA}, {.id = kB, .healthy = false, .reason = "no carrier"}, {.id = kC}});
    Registered("a.sock");
  }
  std::string Refusal(const std::vector<Ids>& containers) {
    const auto allocated = kubelet_.Allocate("a.sock", containers);
    EXPECT_FALSE(allocated);
    return allocated ? "" : allocated.error().message;
  }
  std::atomic<int> asked_ = 0;
  std::unique_ptr<DevicePlugin> plugin_;
};

TEST_F(Refused, AnUnknownDevice) {
  EXPECT_EQ(Refusal({{kA}, {"0000:ff:00.0"}}),
            "INVALID_ARGUMENT: device 0000:ff:00.0 is not on this plugin's list, or not any more: "
            "create the pod anew");
  EXPECT_EQ(asked_, 0);
}

TEST_F(Refused, ADeviceThatHasLeftTheList) {
  plugin_->Publish(Devices({kC}));
  EXPECT_THAT(Refusal({{kA}}), StartsWith("INVALID_ARGUMENT: device " + kA + " is not on"));
}

TEST_F(Refused, AnUnhealthyDevice) {
  EXPECT_EQ(Refusal({{kA, kB}}), "FAILED_PRECONDITION: device " + kB +
                                     " is unhealthy (no carrier): mend that, then create the pod anew");
  EXPECT_EQ(asked_, 0);
}

TEST_F(Refused, ADeviceTwice) {
  const std::string sentence =
      "INVALID_ARGUMENT: the request has device " + kA + " twice: report a bug of the kubelet";
  EXPECT_EQ(Refusal({{kA, kA}}), sentence);
  EXPECT_EQ(Refusal({{kA}, {kA}}), sentence);
  EXPECT_EQ(asked_, 0);
}

TEST_F(Refused, OneDeviceThatFailsFailsTheWholeCall) {
  EXPECT_EQ(Refusal({{kA}, {kC}}), "FAILED_PRECONDITION: device " + kC + " is being attached");
  EXPECT_EQ(asked_, 2);
}

TEST_F(Plugin, SaysThatItHasPreferencesAndNoPreStart) {
  const auto plugin = Serving("a.sock", {});
  const auto options = kubelet_.GetOptions("a.sock");
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_TRUE(options->preferred);
  EXPECT_FALSE(options->pre_start);
}

TEST_F(Plugin, APreferenceIsPassedOn) {
  prefer_ = [](const Ids& available, const Ids& must_include, size_t size) {
    EXPECT_THAT(available, ElementsAre(kA, kB, kC));
    EXPECT_THAT(must_include, ElementsAre(kB));
    EXPECT_EQ(size, 2U);
    return Ids{kC, kB};
  };
  const auto plugin = Serving("a.sock", {kA, kB, kC});
  EXPECT_THAT(Prefer({kC, kA, kB}, {kB}, 2), ElementsAre(kC, kB));
}

TEST_F(Plugin, AWrongPreferenceIsReplaced) {
  Ids answer;
  prefer_ = [&](const Ids&, const Ids&, size_t) { return answer; };
  const auto plugin = Serving("a.sock", {kA, kB, kC});
  const std::vector<Ids> wrong{{}, {kB}, {kA, kC}, {kB, kB}, {kB, "unknown"}, {kA, kB, kC}, {kB, kA, kA}};
  for (const Ids& each : wrong) {
    answer = each;
    EXPECT_THAT(Prefer({kC, kA, kB}, {kB}, 2), ElementsAre(kB, kA)) << ::testing::PrintToString(each);
  }
}

TEST_F(Plugin, APreferenceThatNobodyCanHaveIsNoError) {
  const auto plugin = Serving("a.sock", {kA, kB});
  EXPECT_THAT(Prefer({kB, kA}, {}, 3), ElementsAre(kA, kB));
  EXPECT_THAT(Prefer({kB, kA}, {kB}, 0), ElementsAre(kB));
  EXPECT_THAT(Prefer({}, {}, -1), IsEmpty());
}

TEST_F(Plugin, AKubeletThatStartsAnewIsServedAnew) {
  std::ofstream(Path(testing::FakeDeviceManager::kCheckpoint)) << "{}";
  auto plugin = Serving("a.sock", {kA});
  EXPECT_TRUE(plugin->IsReachable());
  kubelet_.Stop();
  EXPECT_TRUE(plugin->IsReachable()) << "only its start empties the folder";
  kubelet_.Start();
  EXPECT_TRUE(std::filesystem::exists(Path(testing::FakeDeviceManager::kCheckpoint)));
  EXPECT_FALSE(plugin->IsReachable());
  const auto next = Serving("a.sock", {kA, kB});  // the same name, while the one before still runs
  plugin.reset();
  EXPECT_TRUE(next->IsReachable());
  next->Publish(Devices({kC}));
  EXPECT_TRUE(kubelet_.Waits("a.sock", Has({kC})));
}

TEST_F(Plugin, TwoInstancesOfAResourceServeBesideEachOther) {
  const auto one = SocketNameFor(folder_.path(), kResource, "one");
  const auto two = SocketNameFor(folder_.path(), kResource, "two");
  ASSERT_TRUE(one && two);
  auto old = Serving(*one, {kA});
  const auto next = Serving(*two, {kA, kB});
  EXPECT_TRUE(kubelet_.Allocate(*one, {{kA}}));
  old.reset();
  EXPECT_TRUE(kubelet_.Waits(*one, HasEnded()));
  EXPECT_TRUE(next->IsReachable());
  EXPECT_TRUE(kubelet_.Allocate(*two, {{kB}}));
  EXPECT_EQ(kubelet_.Of(*two).ended, "");
}

TEST_F(Plugin, ASocketIsForRootAlone) {
  const auto plugin = Started("a.sock");
  EXPECT_EQ(std::filesystem::status(Path("a.sock")).permissions(), std::filesystem::perms(0600));
}

TEST_F(Plugin, NothingStaysBehind) {
  const auto files = [&] {
    const std::filesystem::directory_iterator folder(folder_.path());
    return std::distance(begin(folder), end(folder));
  };
  const auto before = files();
  auto plugin = Started("a.sock");
  EXPECT_EQ(files(), before + 1) << "its socket, and no other name of it";
  plugin.reset();
  EXPECT_EQ(files(), before);
}

TEST_F(Plugin, ASocketThatIsServedIsNotTaken) {
  const auto plugin = Serving("a.sock", {kA});
  const auto second = DevicePlugin::Start(Path("a.sock"), {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kBusy);
  EXPECT_THAT(second.error().message, HasSubstr(Path("a.sock")));
  plugin->Publish(Devices({kB}));
  EXPECT_TRUE(kubelet_.Waits("a.sock", Has({kB})));
}

TEST_F(Plugin, ASocketThatACrashHasLeftIsReplaced) {
  // What a crash leaves: the file of a listener that is gone.
  std::filesystem::create_hard_link(kubelet_.socket(), Path("a.sock"));
  kubelet_.Stop();
  ASSERT_TRUE(std::filesystem::is_socket(Path("a.sock")));
  EXPECT_NE(Started("a.sock"), nullptr);
}

TEST_F(Plugin, BadPathsAreRefused) {
  const auto code_of = [](const std::string& path) {
    const auto plugin = DevicePlugin::Start(path, {});
    return plugin ? std::optional<Code>() : plugin.error().code;
  };
  std::ofstream(Path("file")) << "x";
  EXPECT_EQ(code_of("a.sock"), Code::kInvalid);
  EXPECT_EQ(code_of("/nonexistent/a.sock"), Code::kNotFound);
  EXPECT_EQ(code_of(Path("file")), Code::kExists);
  const std::string longest = Path(std::string(107 - folder_.path().size() - 1, 'x'));
  EXPECT_EQ(code_of(longest), std::nullopt);
  EXPECT_EQ(code_of(longest + "x"), Code::kInvalid);
}

}  // namespace
}  // namespace rail::kubelet
