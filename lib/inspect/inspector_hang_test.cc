// A part of the node that does not answer is named, and keeps nobody from the answers of the others.
#include <gmock/gmock.h>

#include <algorithm>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <tuple>

#include "lib/inspect/testing/inspector_fixture.h"

namespace rail::inspect {
namespace {

using engine::testing::Dependency;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Whoever hangs is named; nobody else is, for all that the answer took as long as it may.
TEST_F(Attached, TheDoctorAccusesThePartThatHangsAndNoOther) {
  const std::set<std::string> ids = {"ovsdb-down", "vswitchd-down", "bgpd-down", "links-unknown",
                                     "record-unreadable"};
  const std::map<std::string, std::optional<Dependency>> hangs = {{"ovsdb-down", Dependency::kOvsdb},
                                                                  {"vswitchd-down", std::nullopt},
                                                                  {"bgpd-down", Dependency::kBgp},
                                                                  {"links-unknown", Dependency::kNetlink},
                                                                  {"record-unreadable", Dependency::kState}};
  for (const auto& [id, dependency] : hangs) {
    SCOPED_TRACE(id);
    std::promise<void> unlock;
    const std::shared_future<void> lock = unlock.get_future().share();
    world.faults.before = [lock, hung = dependency](Dependency part, std::string_view) {
      if (part == hung) lock.wait();
    };
    if (!dependency) {
      world.vswitchd = [lock](const std::string&, const std::vector<std::string>&) -> Result<std::string> {
        lock.wait();
        return std::string();
      };
    }
    {
      Inspector quick(
          world.config, paths, deps, views(), [] { return int64_t{1}; }, std::chrono::milliseconds(300));
      const auto began = Clock::now();
      std::set<std::string> named;
      for (const Finding& finding : quick.Doctor()) {
        if (!ids.contains(finding.id)) continue;
        named.insert(finding.id);
        EXPECT_THAT(finding.what, HasSubstr("no answer in time"));
      }
      EXPECT_LT(Clock::now() - began, std::chrono::seconds(40)) << "what hangs would take for ever";
      EXPECT_THAT(named, ElementsAre(id));
      unlock.set_value();
    }  // which waits for the look that hung
    world.faults.before = nullptr;
  }
}

TEST_F(Attached, TheDoctorAnswersWhileANicDoesNot) {
  std::promise<void> unlock;
  const std::shared_future<void> lock = unlock.get_future().share();
  engine::Deps with_nic = deps;
  with_nic.openers = [this, lock](const config::NodeConfig& config) {
    engine::Openers openers = deps.openers(config);
    openers.look_at_nic = [lock](const config::Rail&) -> Result<std::vector<sriov::NicState>> {
      lock.wait();
      return std::vector<sriov::NicState>();
    };
    return openers;
  };
  Inspector quick(
      world.config, paths, with_nic, views(), [] { return int64_t{1}; }, std::chrono::milliseconds(300));
  std::vector<std::string> ids;
  for (const Finding& finding : quick.Doctor()) ids.push_back(finding.id);
  unlock.set_value();
  EXPECT_THAT(ids, Contains("hw-offload-off"));
  EXPECT_THAT(ids, Not(Contains("ovsdb-down")));
}

// vf0 of the rail is a device of two resources.
TEST_F(Attached, TheDoctorAsksTheKubeletForAllDevicesAndGoesOnWithout) {
  for (const bool answers : {true, false}) {
    const auto allocatable = [answers](Deadline) -> Result<pcie::ResourceDevices> {
      if (!answers) return Fail(Code::kUnsupported, "unknown method");
      return pcie::ResourceDevices{{"a.com/a", {"vf0"}}, {"b.com/b", {"vf0"}}};
    };
    const Inspector quick(world.config, paths, deps, views(), [] { return int64_t{1}; },
                          std::chrono::seconds(20), {.allocatable = allocatable});
    std::vector<std::string> ids;
    for (const Finding& finding : quick.Doctor()) ids.push_back(finding.id);
    EXPECT_EQ(std::ranges::count(ids, "vf-of-two-owners"), answers ? 1 : 0);
    if (!answers) {
      EXPECT_EQ(ids, Findings()) << "and nothing else is said";
    }
  }
}

// Opens as `open` does, whose last argument is a deadline. `hangs`: as a stopped daemon does, which takes a connection and says nothing.
template <class Open>
Open Limited(const Open& open, const std::string& who, bool hangs) {
  return [open, who, hangs](auto&&... words) -> typename Open::result_type {
    const Deadline until = std::get<sizeof...(words) - 1>(std::tie(words...));
    if (hangs) std::this_thread::sleep_until(until);
    if (Clock::now() >= until) return Fail(Code::kTransient, who + " was given no time, or took it all");
    return open(words...);
  };
}

TEST_F(Attached, CheckLeavesTheOtherPartsTheirTimeWhenOneHangs) {
  for (const std::string hung : {"ovsdb-server", "ovs-vswitchd", "bgpd"}) {
    SCOPED_TRACE(hung);
    engine::Deps with_hung = deps;
    with_hung.openers = [&](const config::NodeConfig& config) {
      engine::Openers openers = deps.openers(config);
      openers.ovsdb = Limited(openers.ovsdb, "ovsdb-server", hung == "ovsdb-server");
      openers.openflow = Limited(openers.openflow, "ovs-vswitchd", hung == "ovs-vswitchd");
      openers.bgp = Limited(openers.bgp, "bgpd", hung == "bgpd");
      return openers;
    };
    Inspector quick(
        world.config, paths, with_hung, views(), [] { return int64_t{1}; }, std::chrono::milliseconds(400));
    const auto checked = quick.Check({});
    ASSERT_TRUE(checked) << checked.error().message;
    ASSERT_EQ(checked->attachments_size(), 1);
    EXPECT_THAT(checked->attachments(0).problems(), ElementsAre(hung + " was given no time, or took it all"));
  }
}

}  // namespace
}  // namespace rail::inspect
