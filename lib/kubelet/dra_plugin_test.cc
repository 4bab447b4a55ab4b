#include "lib/kubelet/dra_plugin.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <latch>
#include <mutex>
#include <optional>

#include "lib/base/thread.h"
#include "lib/kubelet/testing/name_log.h"
#include "lib/kubelet/testing/plugin_watcher.h"
#include "lib/kubelet/testing/test_folder.h"

namespace rail::kubelet {
namespace {

using namespace std::chrono_literals;
using testing::Driver;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::PluginWatcher;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::Version;

constexpr auto kLong = 30s;

ClaimName Claim(const std::string& name) {
  return {"ml", name, "uid of " + name};
}

std::string Uid(const std::string& name) {
  return Claim(name).uid;
}

bool IsRegistered(const Driver& driver) {
  return driver.registered;
}

std::vector<PreparedDevice> DevicesOf(const ClaimName& claim) {
  return {{{"rail", "node", claim.name}, {"railcni.io/claim=" + claim.uid}}};
}

// What happens, in its order.
class Log {
 public:
  void Add(const std::string& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
    changed_.notify_all();
  }
  bool WaitsFor(const std::string& event, std::ptrdiff_t times = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLong, [&] { return std::ranges::count(events_, event) >= times; });
  }
  std::vector<std::string> All() {
    const std::lock_guard lock(mutex_);
    return events_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> events_;
};

class Dra : public ::testing::Test {
 protected:
  Result<std::unique_ptr<DraPlugin>> TryToStart(const DraPlugin::Options& options) {
    return DraPlugin::Start(
        options,
        {.prepare = [this](const ClaimName& claim, Deadline until) { return prepare_(claim, until); },
         .unprepare = [this](const ClaimName& claim, Deadline until) { return unprepare_(claim, until); },
         .registered = [this] { log_.Add("registered"); }});
  }
  std::unique_ptr<DraPlugin> Started(const std::string& instance) {
    auto plugin = TryToStart(kubelet_.OptionsFor(instance));
    EXPECT_TRUE(plugin) << plugin.error().message;
    return plugin ? std::move(*plugin) : nullptr;
  }
  std::unique_ptr<DraPlugin> Registered(const std::string& instance) {
    auto plugin = Started(instance);
    EXPECT_TRUE(kubelet_.Waits(instance, IsRegistered));
    return plugin;
  }

  const testing::TestFolder folder_;
  Log log_;
  std::function<Result<std::vector<PreparedDevice>>(const ClaimName&, Deadline)> prepare_ =
      [](const ClaimName& claim, Deadline) { return DevicesOf(claim); };
  std::function<Status(const ClaimName&, Deadline)> unprepare_ = [this](const ClaimName& claim,
                                                                        Deadline) -> Status {
    log_.Add("unprepare " + claim.name);
    return {};
  };
  PluginWatcher kubelet_{folder_.path()};
};

// Registration.

TEST_F(Dra, IsRegisteredWithItsNameItsSocketAndItsVersionsNewestFirst) {
  const auto plugin = Registered("one");
  const Driver driver = kubelet_.Of("one");
  EXPECT_EQ(driver.type, "DRAPlugin");
  EXPECT_EQ(driver.name, "rail.railcni.io");
  EXPECT_EQ(driver.endpoint, kubelet_.OptionsFor("one").socket);
  EXPECT_THAT(driver.versions, ElementsAre("v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth",
                                           "v1alpha1.DRAResourceHealth"));
  EXPECT_EQ(driver.chosen, "v1.DRAPlugin");
  EXPECT_THAT(log_.All(), ElementsAre("registered"));
  EXPECT_EQ(plugin->problem(), "");
}

TEST_F(Dra, AnOldKubeletTakesTheOldVersion) {
  kubelet_.Know({"v1beta1.DRAPlugin"});
  const auto plugin = Registered("one");
  EXPECT_EQ(kubelet_.Of("one").chosen, "v1beta1.DRAPlugin");
}

TEST_F(Dra, TellsTheWordsOfARefusalUntilItIsTaken) {
  kubelet_.Refuse("the node is full");
  const auto plugin = Started("one");
  ASSERT_TRUE(kubelet_.Waits("one", [](const Driver& driver) { return driver.refused; }));
  EXPECT_EQ(plugin->problem(), "the kubelet refuses driver rail.railcni.io: the node is full");
  EXPECT_THAT(log_.All(), IsEmpty());
  kubelet_.Stop();
  kubelet_.Refuse("");
  kubelet_.Start();
  ASSERT_TRUE(kubelet_.Waits("one", IsRegistered));
  EXPECT_EQ(plugin->problem(), "");
  EXPECT_THAT(log_.All(), ElementsAre("registered"));
}

TEST_F(Dra, SaysThatNoKubeletHasComeAndIsTakenWhenItRuns) {
  kubelet_.Set(PluginWatcher::Pace::kHangs);
  const auto plugin = Started("one");
  EXPECT_EQ(plugin->problem(), "the kubelet has not come to " +
                                   kubelet_.OptionsFor("one").registration_socket +
                                   " yet: is that folder its plugins_registry?");
  kubelet_.Set(PluginWatcher::Pace::kRuns);
  EXPECT_TRUE(kubelet_.Waits("one", IsRegistered));
  EXPECT_EQ(plugin->problem(), "");
}

TEST_F(Dra, AKubeletThatStartsAnewRegistersItAgain) {
  const auto plugin = Registered("one");
  kubelet_.Stop();
  EXPECT_TRUE(plugin->IsReachable());
  kubelet_.Start();
  EXPECT_TRUE(log_.WaitsFor("registered", 2));
  ASSERT_TRUE(kubelet_.Waits("one", IsRegistered));
  EXPECT_TRUE(kubelet_.Prepare("one", Version::kV1, {Claim("a")}));
}

TEST_F(Dra, AnInstanceThatStartsAnewIsRegisteredAgain) {
  auto plugin = Registered("one");
  plugin.reset();
  plugin = Started("one");
  ASSERT_TRUE(log_.WaitsFor("registered", 2));
  ASSERT_TRUE(kubelet_.Waits("one", IsRegistered));
  EXPECT_TRUE(kubelet_.Prepare("one", Version::kV1, {Claim("a")}));
}

TEST_F(Dra, TwoInstancesServeBesideEachOther) {
  auto one = Registered("one");
  const auto two = Registered("two");
  EXPECT_TRUE(kubelet_.Prepare("one", Version::kV1, {Claim("a")}));
  one.reset();
  EXPECT_TRUE(kubelet_.Waits("one", [](const Driver& driver) { return !driver.registered; }));
  EXPECT_TRUE(two->IsReachable());
  EXPECT_TRUE(kubelet_.Prepare("two", Version::kV1, {Claim("a")}));
}

// Calls.

class DraCalls : public Dra, public ::testing::WithParamInterface<Version> {
 protected:
  void SetUp() override { plugin_ = Registered("one"); }
  PluginWatcher::Answers Prepare(const std::vector<ClaimName>& claims) {
    auto answers = kubelet_.Prepare("one", GetParam(), claims);
    EXPECT_TRUE(answers) << answers.error().message;
    return answers ? std::move(*answers) : PluginWatcher::Answers();
  }
  PluginWatcher::Answers Unprepare(const std::vector<ClaimName>& claims) {
    auto answers = kubelet_.Unprepare("one", GetParam(), claims);
    EXPECT_TRUE(answers) << answers.error().message;
    return answers ? std::move(*answers) : PluginWatcher::Answers();
  }
  std::unique_ptr<DraPlugin> plugin_;
};

INSTANTIATE_TEST_SUITE_P(Of, DraCalls, ::testing::Values(Version::kV1, Version::kOlder),
                         [](const auto& of) { return of.param == Version::kV1 ? "V1" : "V1beta1"; });

TEST_P(DraCalls, PrepareAnswersWithTheDevicesOfEachClaim) {
  prepare_ = [this](const ClaimName& claim, Deadline) {
    log_.Add(claim.pod_namespace + "/" + claim.name + "/" + claim.uid);
    auto devices = DevicesOf(claim);
    devices.push_back({{"gpus/with-rail", "other", "vf1"}, {}});
    return devices;
  };
  const auto answers = Prepare({Claim("a"), Claim("b")});
  EXPECT_THAT(log_.All(), ::testing::UnorderedElementsAre("registered", "ml/a/uid of a", "ml/b/uid of b"));
  ASSERT_THAT(answers, SizeIs(2));
  for (const std::string name : {"a", "b"}) {
    const testing::Answer& answer = answers.at(Uid(name));
    EXPECT_EQ(answer.error, "");
    // The kubelet knows requests without their subrequests.
    EXPECT_THAT(answer.devices,
                ElementsAre(PreparedDevice{{"rail", "node", name}, {"railcni.io/claim=" + Uid(name)}},
                            PreparedDevice{{"gpus", "other", "vf1"}, {}}));
  }
}

TEST_P(DraCalls, AnErrorOfOneClaimVoidsNoOther) {
  prepare_ = [](const ClaimName& claim, Deadline) -> Result<std::vector<PreparedDevice>> {
    if (claim.name == "b") return Fail(Code::kBusy, "device vf1 is claim c's");
    return DevicesOf(claim);
  };
  const auto prepared = Prepare({Claim("a"), Claim("b"), Claim("c")});
  ASSERT_THAT(prepared, SizeIs(3));
  EXPECT_EQ(prepared.at(Uid("b")).error, "device vf1 is claim c's");
  EXPECT_THAT(prepared.at(Uid("b")).devices, IsEmpty());
  for (const auto* name : {"a", "c"}) {
    EXPECT_EQ(prepared.at(Uid(name)).error, "");
    EXPECT_EQ(prepared.at(Uid(name)).devices, DevicesOf(Claim(name)));
  }
  unprepare_ = [](const ClaimName& claim, Deadline) -> Status {
    if (claim.name == "a") return Fail(Code::kTransient, "the folder is full");
    return {};
  };
  const auto unprepared = Unprepare({Claim("a"), Claim("b"), Claim("c")});
  ASSERT_THAT(unprepared, SizeIs(3));
  EXPECT_EQ(unprepared.at(Uid("a")).error, "the folder is full");
  EXPECT_EQ(unprepared.at(Uid("b")).error, "");
  EXPECT_EQ(unprepared.at(Uid("c")).error, "");
}

TEST_P(DraCalls, AnErrorThatIsNoTextIsStillAnAnswer) {
  prepare_ = [](const ClaimName&, Deadline) -> Result<std::vector<PreparedDevice>> {
    return Fail(Code::kInternal, "of the kernel: \xff");
  };
  EXPECT_EQ(Prepare({Claim("a")}).at(Uid("a")).error, "of the kernel: \xEF\xBF\xBD");
}

TEST_P(DraCalls, ACallForNoClaimIsAnsweredWithNothing) {
  EXPECT_THAT(Prepare({}), IsEmpty());
  EXPECT_THAT(Unprepare({}), IsEmpty());
}

TEST_P(DraCalls, AClaimThatIsAskedForTwiceHasOneAnswer) {
  const auto answers = Prepare({Claim("a"), Claim("a")});
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers.at(Uid("a")).devices, DevicesOf(Claim("a")));
}

TEST_P(DraCalls, AClaimThatIsNotThereIsAnErrorOfPrepareAlone) {
  prepare_ = [](const ClaimName& claim, Deadline) -> Result<std::vector<PreparedDevice>> {
    return Fail(Code::kNotFound, "read claim " + claim.name + ": it is not there");
  };
  EXPECT_EQ(Prepare({Claim("gone")}).at(Uid("gone")).error, "read claim gone: it is not there");
  EXPECT_EQ(Unprepare({Claim("gone")}).at(Uid("gone")).error, "");
  EXPECT_THAT(log_.All(), ElementsAre("registered", "unprepare gone"));
}

// What hangs does so until the test lets it go.
class DraHangs : public Dra {
 protected:
  void SetUp() override {
    prepare_ = [this](const ClaimName& claim, Deadline) {
      log_.Add("prepare " + claim.name);
      if (claim.name == "hangs") go_.wait();
      log_.Add("prepared " + claim.name);
      return DevicesOf(claim);
    };
    plugin_ = Registered("one");
    auto call = OnThread([this] { return kubelet_.Prepare("one", Version::kV1, {Claim("hangs")}); });
    ASSERT_TRUE(call);
    call_ = std::move(*call);
    ASSERT_TRUE(log_.WaitsFor("prepare hangs"));
  }
  void TearDown() override { LetGo(); }
  void LetGo() {
    if (!gone_.exchange(true)) go_.count_down();
  }
  // An unprepare of the claim that hangs; it waits for its turn when this returns.
  void StartToUnprepare(std::chrono::seconds longest = PluginWatcher::kLongest) {
    auto call = OnThread([this, longest] {
      return kubelet_.Unprepare("one", Version::kV1, {Claim("hangs"), Claim("other")}, longest);
    });
    ASSERT_TRUE(call);
    next_ = std::move(*call);
    ASSERT_TRUE(log_.WaitsFor("unprepare other"));
  }

  std::latch go_{1};
  std::atomic<bool> gone_ = false;
  std::unique_ptr<DraPlugin> plugin_;
  std::future<Result<PluginWatcher::Answers>> call_;
  std::future<Result<PluginWatcher::Answers>> next_;
  std::future<void> stop_;
};

TEST_F(DraHangs, AndDelaysNoOtherClaim) {
  const auto answers = kubelet_.Prepare("one", Version::kV1, {Claim("a"), Claim("b")});
  ASSERT_TRUE(answers) << answers.error().message;
  EXPECT_EQ(answers->at(Uid("b")).devices, DevicesOf(Claim("b")));
  EXPECT_THAT(log_.All(), ::testing::Not(::testing::Contains("prepared hangs")));
}

TEST_F(DraHangs, AndCallsOfItsClaimWaitForTheirTurn) {
  StartToUnprepare();
  LetGo();
  ASSERT_TRUE(call_.get());
  ASSERT_TRUE(next_.get());
  EXPECT_THAT(log_.All(), ElementsAre("registered", "prepare hangs", "unprepare other", "prepared hangs",
                                      "unprepare hangs"));
}

TEST_F(DraHangs, AndACallThatTheKubeletHasGivenUpIsNotBegun) {
  StartToUnprepare(3s);
  const auto given_up = next_.get();
  ASSERT_FALSE(given_up);
  EXPECT_THAT(given_up.error().message, StartsWith("DEADLINE_EXCEEDED"));
  // The plugin's clock may be a little late: after another one that is given up, the first is past its time there, too.
  ASSERT_FALSE(kubelet_.Prepare("one", Version::kV1, {Claim("hangs")}, 1s));
  LetGo();
  ASSERT_TRUE(call_.get());
  // Its turn is after those.
  ASSERT_TRUE(kubelet_.Prepare("one", Version::kV1, {Claim("hangs")}));
  EXPECT_THAT(log_.All(), ::testing::Not(::testing::Contains("unprepare hangs")));
}

TEST_F(DraHangs, AndIsAnsweredWhenThePluginStopsWhileWhatWaitsIsRefused) {
  StartToUnprepare();
  auto stop = OnThread([this] { plugin_->Stop(); });
  ASSERT_TRUE(stop);
  stop_ = std::move(*stop);
  ASSERT_TRUE(kubelet_.HearsGoodbye("one"));
  // Not after 5 s, when all is dropped.
  EXPECT_TRUE(kubelet_.Waits("one", [](const Driver& driver) { return !driver.health[0].ended.empty(); }));
  LetGo();
  const auto prepared = call_.get();
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(prepared->at(Uid("hangs")).devices, DevicesOf(Claim("hangs")));
  const auto unprepared = next_.get();
  ASSERT_TRUE(unprepared) << unprepared.error().message;
  EXPECT_EQ(unprepared->at(Uid("other")).error, "");
  EXPECT_EQ(unprepared->at(Uid("hangs")).error,
            "claim ml/hangs waits for a call before, or raild stops: the kubelet will ask again");
  EXPECT_THAT(log_.All(), ::testing::Not(::testing::Contains("unprepare hangs")));
}

TEST_F(Dra, AsManyClaimsAsItSaysRunAtATime) {
  std::barrier all(DraPlugin::kMostCalls);
  std::atomic<int> running = 0, most = 0;
  prepare_ = [&](const ClaimName& claim, Deadline) {
    const int now = ++running;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
    all.arrive_and_wait();  // nobody passes unless so many are there
    --running;
    return DevicesOf(claim);
  };
  const auto plugin = Registered("one");
  std::vector<ClaimName> claims;
  for (int i = 0; i < 4 * DraPlugin::kMostCalls; ++i) claims.push_back(Claim(std::to_string(i)));
  const auto answers = kubelet_.Prepare("one", Version::kV1, claims);
  ASSERT_TRUE(answers) << answers.error().message;
  EXPECT_THAT(*answers, SizeIs(claims.size()));
  EXPECT_EQ(most.load(), DraPlugin::kMostCalls);
}

TEST_F(Dra, AnAnswerHasTheTimeThatTheKubeletWaitsAnd45sAtMost) {
  std::atomic<Clock::duration> left{};
  prepare_ = [&](const ClaimName& claim, Deadline until) {
    left = until - Clock::now();
    return DevicesOf(claim);
  };
  const auto plugin = Registered("one");
  ASSERT_TRUE(kubelet_.Prepare("one", Version::kV1, {Claim("a")}, 20s));
  EXPECT_GT(left.load(), 0s);
  EXPECT_LT(left.load(), 21s);
  ASSERT_TRUE(kubelet_.Prepare("one", Version::kV1, {Claim("a")}, 3600s));
  EXPECT_GT(left.load(), 21s);
  EXPECT_LE(left.load(), 45s);
}

// Sockets.

TEST_F(Dra, TheRegistrationIsTheLastToAppearAndTheFirstToGo) {
  const std::string folder = std::filesystem::path(kubelet_.OptionsFor("one").socket).parent_path();
  std::filesystem::create_directories(folder);
  testing::NameLog names({kubelet_.registry(), folder});
  const auto plugin = Registered("one");
  EXPECT_THAT(names.Take(), ElementsAre("+one-dra.sock", "+rail.railcni.io-one-reg.sock"));
  plugin->Stop();
  EXPECT_THAT(names.Take(), ElementsAre("-rail.railcni.io-one-reg.sock", "-one-dra.sock"));
  EXPECT_TRUE(kubelet_.Waits("one", [](const Driver& driver) { return !driver.registered; }));
  EXPECT_FALSE(plugin->IsReachable());
  plugin->Stop();
}

TEST_F(Dra, SocketsThatACrashHasLeftAreReplaced) {
  kubelet_.Stop();
  const auto options = kubelet_.OptionsFor("one");
  {
    const auto dead = Started("dead");
    std::filesystem::create_hard_link(kubelet_.OptionsFor("dead").socket, options.socket);
    std::filesystem::create_hard_link(kubelet_.OptionsFor("dead").registration_socket,
                                      options.registration_socket);
  }
  ASSERT_TRUE(std::filesystem::is_socket(options.socket) &&
              std::filesystem::is_socket(options.registration_socket));
  const auto plugin = Started("one");
  kubelet_.Start();
  ASSERT_TRUE(kubelet_.Waits("one", IsRegistered));
  EXPECT_TRUE(kubelet_.Prepare("one", Version::kV1, {Claim("a")}));
}

TEST_F(Dra, IsReachableWhileBothSocketsAreThere) {
  kubelet_.Stop();
  for (const auto& socket :
       {kubelet_.OptionsFor("one").socket, kubelet_.OptionsFor("one").registration_socket}) {
    const auto plugin = Started("one");
    EXPECT_TRUE(plugin->IsReachable());
    std::filesystem::remove(socket);
    EXPECT_FALSE(plugin->IsReachable()) << socket;
  }
}

TEST_F(Dra, SocketsAreForRootAlone) {
  kubelet_.Stop();
  const auto plugin = Started("one");
  for (const auto& socket :
       {kubelet_.OptionsFor("one").socket, kubelet_.OptionsFor("one").registration_socket})
    EXPECT_EQ(std::filesystem::status(socket).permissions(), std::filesystem::perms(0600)) << socket;
}

TEST_F(Dra, SocketsThatAreServedAreNotTakenAndNothingStaysBehind) {
  const auto plugin = Registered("one");
  auto other = kubelet_.OptionsFor("two");
  for (const bool registration : {false, true}) {
    auto options = other;
    (registration ? options.registration_socket : options.socket) =
        registration ? kubelet_.OptionsFor("one").registration_socket : kubelet_.OptionsFor("one").socket;
    const auto second = TryToStart(options);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::kBusy);
    EXPECT_THAT(second.error().message,
                StartsWith("serve driver rail.railcni.io to the kubelet: another process answers on " +
                           folder_.path()));
  }
  EXPECT_TRUE(plugin->IsReachable());
  const auto names_in = [](const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      names.push_back(entry.path().filename());
    return names;
  };
  EXPECT_THAT(names_in(kubelet_.registry()), ElementsAre("rail.railcni.io-one-reg.sock"));
  EXPECT_THAT(names_in(kubelet_.plugins() + "/rail.railcni.io"), ElementsAre("one-dra.sock"));
  plugin->Stop();
  EXPECT_THAT(names_in(kubelet_.registry()), IsEmpty());
  EXPECT_THAT(names_in(kubelet_.plugins() + "/rail.railcni.io"), IsEmpty());
}

TEST_F(Dra, BadPathsAreRefused) {
  kubelet_.Stop();
  const auto code_of = [this](const std::string& socket, const std::string& registration) {
    const auto plugin =
        TryToStart({.driver = "rail.railcni.io", .socket = socket, .registration_socket = registration});
    return plugin ? std::optional<Code>() : plugin.error().code;
  };
  const auto good = kubelet_.OptionsFor("one");
  std::ofstream(folder_.path() + "/file") << "x";
  EXPECT_EQ(code_of("dra.sock", good.registration_socket), Code::kInvalid);
  EXPECT_EQ(code_of(good.socket, "reg.sock"), Code::kInvalid);
  EXPECT_EQ(code_of(folder_.path() + "/file", good.registration_socket), Code::kExists);
  EXPECT_EQ(code_of(good.socket, folder_.path() + "/file"), Code::kExists);
  EXPECT_EQ(code_of(good.socket, folder_.path() + "/no-kubelet/reg.sock"), Code::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/no-kubelet")) << "the kubelet's folder is its own";
  EXPECT_EQ(code_of(good.socket + std::string(108, 'x'), good.registration_socket), Code::kInvalid);
  EXPECT_EQ(code_of(good.socket, good.registration_socket), std::nullopt);
}

}  // namespace
}  // namespace rail::kubelet
