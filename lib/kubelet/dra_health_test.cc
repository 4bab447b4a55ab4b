#include <gmock/gmock.h>

#include <algorithm>

#include "lib/kubelet/dra_plugin.h"
#include "lib/kubelet/testing/plugin_watcher.h"
#include "lib/kubelet/testing/test_folder.h"

namespace rail::kubelet {
namespace {

using ::testing::AnyOf;
using testing::Driver;
using testing::HealthStream;
using testing::PluginWatcher;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::Version;

using List = std::vector<DeviceHealth>;

List Devices(const std::vector<std::string>& names) {
  List list;
  for (const std::string& name : names)
    list.push_back({.pool = "node", .device = name, .health = Health::kHealthy});
  return list;
}

// Runs with each version of the service.
class DraHealth : public ::testing::TestWithParam<Version> {
 protected:
  void SetUp() override {
    auto plugin =
        DraPlugin::Start(kubelet_.OptionsFor("one"),
                         {.prepare = [](const ClaimName&, Deadline) { return std::vector<PreparedDevice>(); },
                          .unprepare = [](const ClaimName&, Deadline) { return Status(); },
                          .registered = [] {}});
    ASSERT_TRUE(plugin) << plugin.error().message;
    plugin_ = std::move(*plugin);
  }
  static const HealthStream& Of(const Driver& driver) {
    return driver.health.at(static_cast<size_t>(GetParam()));
  }
  HealthStream Seen() { return Of(kubelet_.Of("one")); }
  bool Waits(const std::function<bool(const HealthStream&)>& is_so) {
    return kubelet_.Waits("one", [&](const Driver& driver) { return is_so(Of(driver)); });
  }
  bool WaitsForList(const std::function<bool(const List&)>& is_so) {
    return Waits(
        [&](const HealthStream& stream) { return !stream.lists.empty() && is_so(stream.lists.back()); });
  }
  // The last list has these devices.
  bool Gets(const std::vector<std::string>& names) {
    return WaitsForList(
        [&](const List& list) { return std::ranges::equal(list, names, {}, &DeviceHealth::device); });
  }
  // What the kubelet gets for a message of this text.
  std::string Sent(const std::string& message) {
    const std::string device = "vf" + std::to_string(++sent_);
    plugin_->PublishHealth({{.pool = "node", .device = device, .message = message}});
    EXPECT_TRUE(Gets({device}));
    const auto lists = Seen().lists;
    return lists.empty() || lists.back().empty() ? "nothing" : lists.back().front().message;
  }

  const testing::TestFolder folder_;
  PluginWatcher kubelet_{folder_.path()};
  std::unique_ptr<DraPlugin> plugin_;
  int sent_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Of, DraHealth, ::testing::Values(Version::kV1, Version::kOlder),
                         [](const auto& of) { return of.param == Version::kV1 ? "V1" : "V1alpha1"; });

TEST_P(DraHealth, AStreamThatOpensGetsTheWholeListAtOnce) {
  ASSERT_TRUE(kubelet_.Waits("one", [](const Driver& driver) { return driver.registered; }));
  plugin_->PublishHealth({{"node", "vf1", Health::kHealthy, 1'700'000'000, ""},
                          {"node", "vf2", Health::kUnhealthy, 1'700'000'001, "rail0 has no carrier"},
                          {"other", "vf3", Health::kUnknown, 0, ""}});
  kubelet_.Stop();
  kubelet_.Start();  // a kubelet that has not seen it published
  ASSERT_TRUE(Gets({"vf1", "vf2", "vf3"}));
  const List list = Seen().lists.front();
  ASSERT_THAT(list, SizeIs(3));
  EXPECT_EQ(list[0].pool, "node");
  EXPECT_EQ(list[0].health, Health::kHealthy);
  EXPECT_EQ(list[0].since, 1'700'000'000);
  EXPECT_EQ(list[0].message, "");
  EXPECT_EQ(list[1].health, Health::kUnhealthy);
  EXPECT_EQ(list[1].message, "rail0 has no carrier");
  EXPECT_EQ(list[2].pool, "other");
  EXPECT_EQ(list[2].health, Health::kUnknown);
}

TEST_P(DraHealth, NothingIsSentBeforeTheFirstList) {
  ASSERT_TRUE(
      kubelet_.Waits("one", [](const Driver& driver) { return driver.registered && Of(driver).opened; }));
  ASSERT_TRUE(kubelet_.Prepare("one", GetParam(),
                               {{"ml", "a", "uid"}}));  // on the connection of the stream, after it
  plugin_->PublishHealth(Devices({"vf1"}));
  ASSERT_TRUE(Gets({"vf1"}));
  EXPECT_THAT(Seen().lists, SizeIs(1));
}

TEST_P(DraHealth, AChangeReachesTheStream) {
  plugin_->PublishHealth(Devices({"vf1"}));
  ASSERT_TRUE(Gets({"vf1"}));
  List list = Devices({"vf1"});
  list[0].health = Health::kUnhealthy;
  plugin_->PublishHealth(list);
  EXPECT_TRUE(
      WaitsForList([](const List& now) { return now.size() == 1 && now[0].health == Health::kUnhealthy; }));
  plugin_->PublishHealth({});
  EXPECT_TRUE(Gets({}));
}

TEST_P(DraHealth, AListThatIsRepeatedIsSentAgain) {
  for (size_t times = 1; times <= 3; ++times) {
    plugin_->PublishHealth(Devices({"vf1"}));
    ASSERT_TRUE(Waits([&](const HealthStream& stream) { return stream.lists.size() == times; })) << times;
  }
  for (const List& list : Seen().lists) EXPECT_EQ(list.front().device, "vf1");
}

TEST_P(DraHealth, AMessageIsCutBetweenCharacters) {
  const std::string fits = std::string(1022, 'x') + "é";  // 1024 bytes
  EXPECT_EQ(Sent(fits), fits);
  EXPECT_EQ(Sent(std::string(1023, 'x') + "é"), std::string(1023, 'x'));
  EXPECT_EQ(Sent(std::string(1021, 'x') + "\U0001F50C"), std::string(1021, 'x'));
  EXPECT_EQ(Sent(std::string(2000, 'x')), std::string(1024, 'x'));
}

TEST_P(DraHealth, AMessageThatIsNoTextIsMadeOne) {
  EXPECT_EQ(Sent("bad \xff"), "bad \xEF\xBF\xBD");
}

TEST_P(DraHealth, StopEndsTheStream) {
  plugin_->PublishHealth(Devices({"vf1"}));
  ASSERT_TRUE(Gets({"vf1"}));
  plugin_->Stop();
  ASSERT_TRUE(Waits([](const HealthStream& stream) { return !stream.ended.empty(); }));
  // The latter if gRPC has not yet told that the list is written.
  EXPECT_THAT(Seen().ended,
              AnyOf("UNAVAILABLE: the DRA driver is stopping", "CANCELLED: Cancelled on the server side"));
  plugin_->PublishHealth(Devices({"vf2"}));
}

// Larger than what gRPC keeps for a call that is not read.
List LargeList(int number) {
  List list = Devices({"list " + std::to_string(number)});
  for (int i = 0; i < 1000; ++i)
    list.push_back({.pool = "node", .device = std::to_string(i), .message = std::string(200, 'x')});
  return list;
}

// A stream whose reader hangs and whose write is under way.
class DraHealthStuck : public DraHealth {
 protected:
  void SetUp() override {
    DraHealth::SetUp();
    plugin_->PublishHealth(Devices({"vf1"}));
    ASSERT_TRUE(Gets({"vf1"}));
    ASSERT_TRUE(kubelet_.Waits("one", [](const Driver& driver) { return driver.registered; }));
    kubelet_.Set(PluginWatcher::Pace::kHangs);
    plugin_->PublishHealth(Devices({"vf2"}));  // for a read that has begun
    ASSERT_TRUE(Waits([](const HealthStream& stream) { return stream.waits; }));
    plugin_->PublishHealth(LargeList(0));
  }
};

INSTANTIATE_TEST_SUITE_P(Of, DraHealthStuck, ::testing::Values(Version::kV1, Version::kOlder),
                         [](const auto& of) { return of.param == Version::kV1 ? "V1" : "V1alpha1"; });

TEST_P(DraHealthStuck, GetsTheNewestListAndNoQueue) {
  for (int i = 1; i < 100; ++i) plugin_->PublishHealth(LargeList(i));
  kubelet_.Set(PluginWatcher::Pace::kRuns);
  ASSERT_TRUE(WaitsForList([](const List& now) { return now.front().device == "list 99"; }));
  EXPECT_LT(Seen().lists.size(), 10U);
}

TEST_P(DraHealthStuck, EndsWhenThePluginStops) {
  plugin_->Stop();
  kubelet_.Set(PluginWatcher::Pace::kRuns);
  ASSERT_TRUE(Waits([](const HealthStream& stream) { return !stream.ended.empty(); }));
  EXPECT_THAT(Seen().ended, StartsWith("CANCELLED"));
}

}  // namespace
}  // namespace rail::kubelet
