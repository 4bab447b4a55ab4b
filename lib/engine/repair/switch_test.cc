// Bridges and their rules: what the switch has lost, and what others have changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "lib/engine/repair/origin.h"
#include "lib/engine/testing/repair_fixture.h"
#include "lib/netlink/testing/scratch.h"

namespace rail::engine {
namespace {

using ovs::CookieKind;
using ovs::Rule;
using ::testing::Contains;
using testing::Dependency;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::PodSpec;
using testing::RepairTest;

TEST_F(RepairTest, GivesAFreshBridgeItsPipeline) {
  raild = world.StartRaild();
  Audit();
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_THAT(world.RulesOf(CookieKind::kPipeline), Not(IsEmpty()));
  EXPECT_THAT(world.RulesOf(CookieKind::kPipeline, "br-rail1"), Not(IsEmpty()));
  EXPECT_THAT(world.RulesOf(CookieKind::kLeaf), Not(IsEmpty()));
}

TEST_F(RepairTest, SendsNothingWhenAllIsRight) {
  Settle();
  const int commits = world.Bridge().commits();
  const uint64_t repairs = Repairs();
  const uint64_t table = *world.bgp.TableVersion({});
  Audit();
  raild->RecordChanged();
  raild->Poll();
  Audit();
  EXPECT_EQ(world.Bridge().commits(), commits);
  EXPECT_EQ(Repairs(), repairs);
  EXPECT_EQ(*world.bgp.TableVersion({}), table);
}

// Eight rails that wait for a daemon take longer than the watchdog's patience with one step.
TEST_F(RepairTest, TellsTheWatchdogAfterEachRail) {
  raild = world.StartRaild();
  const auto steps = [&](auto&& round) {
    world.steps_ended = 0;
    round();
    return world.steps_ended;
  };
  EXPECT_EQ(steps([&] { raild->the_switch.Audit(); }), 4) << "the NIC and the rest of each of two rails";
  EXPECT_EQ(steps([&] { raild->the_switch.RecordChanged(); }), 2);
  EXPECT_EQ(steps([&] { raild->the_switch.Learned(); }), 3)
      << "what goes to both at once, and the rest of each";
}

class FlowLimit : public RepairTest {
 protected:
  FlowLimit() {
    world.vswitchd = [this](const std::string& command,
                            const std::vector<std::string>& arguments) -> Result<std::string> {
      if (down) return Fail(Code::kTransient, "ovs-vswitchd does not answer");
      if (command == "upcall/set-flow-limit") raised.push_back(arguments.at(0));
      return std::string("system@ovs-system:\n  flows : (current 1) (limit 10000)\n");
    };
    raild = world.StartRaild();
  }

  std::vector<std::string> raised;
  bool down = false;
};

TEST_F(FlowLimit, IsRaisedOnceInEachAudit) {
  Audit();
  EXPECT_THAT(raised, ElementsAre("200000")) << "once for two rails";
  world.ovsdb.SetOtherConfig("flow-limit", "300000");
  raild->RecordChanged();
  EXPECT_THAT(raised, ElementsAre("200000"));
  Audit();
  EXPECT_THAT(raised, ElementsAre("200000", "300000"));

  down = true;
  Audit();
  EXPECT_THAT(Problems(), ElementsAre("flow limit: ovs-vswitchd does not answer"));
  down = false;
  Audit();
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(FlowLimit, OfASwitchThatComesBackAfterTheAuditIsRaised) {
  world.faults.down = {Dependency::kOpenFlow};
  Audit();
  EXPECT_THAT(raised, IsEmpty());
  world.faults.down.clear();
  std::this_thread::sleep_until(raild->the_switch.next_retry().value());
  raild->the_switch.Retry();
  EXPECT_THAT(raised, ElementsAre("200000"));
}

// A change costs what changed.

class Calls : public RepairTest {
 protected:
  // Counts calls from now on, by their name.
  void Count() {
    calls.clear();
    world.faults.before = [this](Dependency, std::string_view call) { ++calls[std::string(call)]; };
  }
  std::map<std::string, int> calls;
};

TEST_F(Calls, AnAttachmentOfOneRailMakesRaildReadThePortsOfThatRailOnly) {
  Settle();
  Attach(world.MakePod("p2", "ns-b", "vf10", "rail1"), "10.0.3.2");
  Count();
  raild->RecordChanged();
  EXPECT_EQ(calls["FindBridge"], 1);
  Count();
  raild->RecordChanged();
  EXPECT_EQ(calls["FindBridge"], 0) << "nothing has changed";
}

TEST_F(Calls, AnEventOfOvsdbThatChangedNothingReadsTheBridgesAndNoRule) {
  Settle();
  Attach(world.MakePod("p2", "ns-b", "vf1"), "10.0.3.2");
  raild->RecordChanged();
  Count();
  raild->the_switch.DatabaseChanged();
  EXPECT_EQ(calls["FindBridge"], 2);
  EXPECT_EQ(calls["Dump"] + calls["Count"] + calls["GetLink"], 0);
}

TEST_F(Calls, WhatBgpTellsDuringAnAuditWaitsForOneRail) {
  Settle();
  constexpr int kCountsOfARail = 3;  // all rules, ours, those of remotes
  int counts = 0;
  world.faults.before = [&](Dependency, std::string_view call) {
    if (call != "Count") return;  // a rail's audit
    if (++counts == 1) {
      world.LearnRemote("10.0.9.1", "ns-a");
      raild->Learn();
    } else if (counts == kCountsOfARail + 1) {
      EXPECT_THAT(world.RulesOf(CookieKind::kRemote), ::testing::SizeIs(1)) << "before the next rail's audit";
    }
  };
  raild->the_switch.Audit();
  world.faults.before = nullptr;
  EXPECT_EQ(counts, 2 * kCountsOfARail);
}

TEST_F(RepairTest, AfterARailThatHangsTheOthersHaveASecond) {
  Settle();
  std::map<std::string, Clock::duration> time;  // of a call, by bridge
  Clock::duration hangs{};
  Deps deps = world.DepsOfRaild();
  deps.openers = [&, openers = deps.openers](const config::NodeConfig& node) {
    Openers all = openers(node);
    all.openflow = [&, open = all.openflow](const std::string& bridge, Deadline until) {
      time[bridge] = until - Clock::now();
      if (bridge == "br-rail0") world.passed += hangs;
      return open(bridge, until);
    };
    return all;
  };
  SwitchRepair the_switch(world.config, deps, *raild->store, raild->node_status);
  the_switch.Audit();
  EXPECT_GT(time["br-rail1"], std::chrono::seconds(4));
  hangs = std::chrono::seconds(6);
  the_switch.Audit();
  EXPECT_GT(time["br-rail0"], std::chrono::seconds(4));
  EXPECT_LE(time["br-rail1"], std::chrono::seconds(1));
}

TEST_F(RepairTest, AfterARestartOfRaildNothingIsSentEither) {
  Settle();
  const int commits = world.Bridge().commits();
  raild = world.StartRaild(std::chrono::hours(1));
  Audit();
  EXPECT_EQ(world.Bridge().commits(), commits);
  EXPECT_EQ(Repairs(), 0U);
}

TEST_F(RepairTest, PutsEveryRuleBackWhenTheSwitchHasLostThem) {
  Settle();
  const auto before = world.Bridge().rules();
  world.Bridge().LoseAllRules();
  Audit();
  EXPECT_EQ(world.Bridge().rules(), before);
}

TEST_F(RepairTest, RepairsEachDeletedAndEachEditedRule) {
  Settle();
  const auto right = world.Bridge().rules();
  for (const Rule& rule : right) {
    SCOPED_TRACE(rule.match);
    ASSERT_TRUE(Commit({.remove_by_cookie = {}, .remove = {rule}, .add = {}}));
    ASSERT_NE(world.Bridge().rules(), right);
    Audit();
    ASSERT_EQ(world.Bridge().rules(), right);
    Rule edited = rule;
    edited.actions = rule.actions == "drop" ? "NORMAL" : "drop";
    ASSERT_TRUE(Commit({.remove_by_cookie = {}, .remove = {}, .add = {edited}}));
    Audit();
    ASSERT_EQ(world.Bridge().rules(), right);
  }
}

TEST_F(RepairTest, RemovesARuleOfOursThatNobodyWantsAndLeavesOthersRulesAlone) {
  Settle();
  const Rule stray{.table = 0,
                   .priority = 999,
                   .cookie = ovs::Cookie(CookieKind::kAttachment, 77),
                   .match = "in_port=9",
                   .actions = "NORMAL"};
  const Rule foreign{
      .table = 0, .priority = 998, .cookie = 0x1234, .match = "in_port=9", .actions = "NORMAL"};
  ASSERT_TRUE(Commit({.remove_by_cookie = {}, .remove = {}, .add = {stray, foreign}}));
  Audit();
  EXPECT_THAT(world.Bridge().rules(), Not(Contains(Field(&Rule::priority, 999))));
  EXPECT_THAT(world.Bridge().rules(), Contains(Field(&Rule::priority, 998)));
}

// A bridge is raild's own unless origin.json says that an earlier version took it over, or node.json decides.
TEST_F(RepairTest, RemovesRulesOfOthersFromBridgesThatRaildMade) {
  const Rule foreign{
      .table = 0, .priority = 60000, .cookie = 0, .match = "ip,nw_dst=10.0.3.1", .actions = "output:9"};
  const auto stays = [&] { return std::ranges::count(world.Bridge().rules(), foreign) == 1; };
  const auto put = [&] {
    ASSERT_TRUE(Commit({.remove_by_cookie = {}, .remove = {}, .add = {foreign}}));
    raild->the_switch.RulesChanged();
  };
  const auto seen = [&] { return raild->views.Current()->rails.at(0).seen.foreign_flows(); };
  world.config.ovs.remove_foreign_flows = true;
  Settle();
  put();
  EXPECT_FALSE(stays());
  EXPECT_EQ(seen(), 0U);
  EXPECT_EQ(raild->views.Current()->repairs_by_cause.at("foreign flow"), 1U);

  world.config.ovs.remove_foreign_flows.reset();  // the bridges are not managed
  put();
  EXPECT_TRUE(stays());
  EXPECT_EQ(seen(), 1U);
  Audit();
  EXPECT_EQ(seen(), 1U);
  ASSERT_TRUE(Commit({.remove_by_cookie = {}, .remove = {foreign}, .add = {}}));
  raild->the_switch.RulesChanged();
  EXPECT_EQ(seen(), 0U) << "somebody has removed it";

  const std::string path =
      (std::filesystem::temp_directory_path() / ("rail-made-" + std::to_string(::getpid()))).string();
  for (const bool made : {false, true}) {
    OriginRecord record;
    if (!made) record.adopted["br-rail0"] = R"({"existed":true})";
    ASSERT_TRUE(WriteOrigin(path, record));
    world.origin = std::make_shared<Origin>(path);
    world.config.ovs.manage_bridges = true;
    raild = world.StartRaild(std::chrono::hours(1));
    EXPECT_EQ(raild->the_switch.RemovesForeignRules(world.config.rails[0]), made);
    world.config.ovs.remove_foreign_flows = !made;
    EXPECT_EQ(raild->the_switch.RemovesForeignRules(world.config.rails[0]), !made) << "node.json decides";
    world.config.ovs.remove_foreign_flows.reset();
    world.config.ovs.manage_bridges = false;
    EXPECT_FALSE(raild->the_switch.RemovesForeignRules(world.config.rails[0]));
  }
  std::filesystem::remove(path);
}

TEST_F(RepairTest, AnotherLeafMacRewritesTheLeafsRulesOnly) {
  Settle();
  std::vector<Rule> others;
  for (const Rule& rule : world.Bridge().rules()) {
    if (!ovs::CookieMatch::Kind(CookieKind::kLeaf).Selects(rule.cookie)) others.push_back(rule);
  }
  const int commits = world.Bridge().commits();
  world.SetLeafMac("br-rail0", "02:1e:af:00:00:99");
  raild->Poll();
  EXPECT_EQ(world.Bridge().commits(), commits + 1);
  EXPECT_THAT(world.RulesOf(CookieKind::kLeaf), Each(Field(&Rule::actions, HasSubstr("02:1e:af:00:00:99"))));
  std::vector<Rule> now;
  for (const Rule& rule : world.Bridge().rules()) {
    if (rule.table == 4 && ovs::CookieMatch::Kind(CookieKind::kLeaf).Selects(rule.cookie)) continue;
    now.push_back(rule);
  }
  EXPECT_EQ(now, others);
}

TEST_F(RepairTest, AnEdgeThatIsDownIsAProblemAndTheNextRoundFindsItRightAgain) {
  Settle();
  for (const auto& [dependency, part] :
       std::map<Dependency, std::string>{{Dependency::kOvsdb, "rail rail0"},
                                         {Dependency::kOpenFlow, "rail rail0"},
                                         {Dependency::kBgp, "bgp"}}) {
    SCOPED_TRACE(part);
    world.faults.down = {dependency};
    Audit();
    EXPECT_THAT(Problems(), Contains(HasSubstr(part + ": " + testing::Name(dependency) + " is down")));
    world.faults.down.clear();
    Audit();
    EXPECT_THAT(Problems(), IsEmpty());
  }
}

TEST_F(RepairTest, LeavesTheRulesOfAnAttachmentAloneWhosePortCameAfterItLookedAtThePorts) {
  Settle();
  PodSpec late;
  world.faults.before = [&](Dependency dependency, std::string_view call) {
    if (dependency != Dependency::kOpenFlow || call != "Dump" || !late.name.empty()) return;
    late = world.MakePod("p2", "ns-b", "vf1");  // a whole ADD between raild's looks at ports and rules
    Attach(late, "10.0.3.2");
  };
  world.Bridge().LoseAllRules();
  Audit();
  world.faults.before = nullptr;
  ASSERT_FALSE(late.name.empty());
  EXPECT_THAT(world.RulesOf(late), Not(IsEmpty()));
  const auto all = world.Bridge().rules();
  const int commits = world.Bridge().commits();
  Audit();
  EXPECT_EQ(world.Bridge().rules(), all);
  EXPECT_EQ(world.Bridge().commits(), commits);
}

TEST_F(RepairTest, PutsRightWhatOthersHaveChangedInRulesOfOursOrPutInTheirPlace) {
  Settle();
  const auto right = world.Bridge().rules();
  ASSERT_TRUE(Commit({.remove_by_cookie = {}, .remove = {right[0]}, .add = {}}));
  raild->the_switch.RulesChanged();
  EXPECT_EQ(world.Bridge().rules(), right);

  Rule theirs = right[0];
  theirs.cookie = 0x1234;
  theirs.actions = "NORMAL";
  ASSERT_TRUE(Commit({.remove_by_cookie = {}, .remove = {}, .add = {theirs}}));
  raild->the_switch.RulesChanged();
  EXPECT_EQ(world.Bridge().rules(), right);
}

// Bridges, in a namespace with real links: raild writes sysctls of the host's side.
TEST_F(RepairTest, MakesAndMendsItsBridgesWhenItManagesThem) {
  const netns::Netns host = netns::testing::MakeScratch();
  ASSERT_TRUE(netns::testing::Shell(
      host,
      "ip link add ens0 type veth peer name br-rail0 && ip link add ens1 type veth peer name br-rail1"));
  world.config.ovs.manage_bridges = true;
  raild = world.StartRaild();
  std::string uplink;
  std::string local;
  ASSERT_TRUE(host.Run([&]() -> Status {
    Audit();
    RAIL_ASSIGN(uplink, netns::ReadSysctl("net/ipv6/conf/ens0/disable_ipv6"));
    RAIL_ASSIGN(local, netns::ReadSysctl("net/ipv6/conf/br-rail0/accept_ra"));
    return {};
  }));
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(uplink, "1");
  EXPECT_EQ(local, "0");
  const auto bridge = *world.ovsdb.FindBridge("br-rail0", {});
  ASSERT_TRUE(bridge);
  EXPECT_EQ(bridge->hwaddr, "02:00:00:00:00:01") << "the uplink's address";
  EXPECT_EQ(bridge->disable_in_band, ovs::kNoInBand);
  EXPECT_EQ(bridge->external_ids.at(kOwnerKey), "rail0");
  EXPECT_THAT(world.RulesOf(CookieKind::kPipeline), Not(IsEmpty()));
}

// The sysctls of the host's side, on real links.
class HostSysctls : public RepairTest {
 protected:
  static constexpr char kAcceptRa[] = "net/ipv6/conf/br-rail0/accept_ra";

  HostSysctls() {
    const Status made = netns::testing::Shell(
        host_,
        "ip link add ens0 type veth peer name br-rail0 && ip link add ens1 type veth peer name br-rail1");
    EXPECT_TRUE(made) << made.error().message;
    world.config.ovs.manage_bridges = true;
    raild = world.StartRaild();
  }

  // In the mounts of a container, which mounts /proc/sys read-only; with the host's at another path if raild's pod asks for it.
  Status InAContainer(bool with_mount, const std::function<void()>& body) {
    return host_.Run([&]() -> Status {
      std::string other = "/tmp/railcni-proc-sys-XXXXXX";
      if (::mkdtemp(other.data()) == nullptr) return FailErrno(errno, "make a folder");
      const std::string net = other + "/net";
      const bool mounted =
          ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
          ::mount("none", other.c_str(), "tmpfs", 0, nullptr) == 0 && ::mkdir(net.c_str(), 0755) == 0 &&
          ::mount("/proc/sys/net", net.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
          ::mount("/proc/sys", "/proc/sys", nullptr, MS_BIND, nullptr) == 0 &&
          ::mount("none", "/proc/sys", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0;
      if (!mounted) return FailErrno(errno, "make a container's mounts");
      if (with_mount) ::setenv("RAILCNI_PROC_SYS", other.c_str(), 1);
      body();
      ::unsetenv("RAILCNI_PROC_SYS");
      ::umount2(other.c_str(), MNT_DETACH);
      ::rmdir(other.c_str());
      return {};
    });
  }
  uint64_t SysctlRepairs() {
    const auto& by_cause = raild->views.Current()->repairs_by_cause;
    const auto it = by_cause.find("sysctl");
    return it == by_cause.end() ? 0 : it->second;
  }

  const netns::Netns host_ = netns::testing::MakeScratch();
};

// A link that is up solicits routers at once.
TEST_F(HostSysctls, RefuseRouterAdvertisementsBeforeTheLocalPortGoesUp) {
  std::vector<std::string> at_each_set_up;
  world.faults.before = [&](Dependency, std::string_view call) {
    if (call == "SetUp") at_each_set_up.push_back(netns::ReadSysctl(kAcceptRa).value());
  };
  for (const char* link : {"ens0", "br-rail0"})
    ASSERT_TRUE(world.host.SetDown(world.host.GetLink(link)->index));
  ASSERT_TRUE(host_.Run([&]() -> Status {
    Audit();
    return {};
  }));
  EXPECT_THAT(at_each_set_up, ::testing::ElementsAre("0", "0"));
}

TEST_F(HostSysctls, AreRightInAContainerThatHasTheHostsProcSysNetAtAnotherPath) {
  std::string accept_ra;
  const Status ran = InAContainer(true, [&] {
    Audit();
    accept_ra = netns::ReadSysctl(kAcceptRa).value_or("?");
  });
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(accept_ra, "0");
  EXPECT_EQ(SysctlRepairs(), 0U) << "the first time is no repair";
  const Status again = InAContainer(true, [&] {
    Audit();
    (void)netns::WriteSysctl(kAcceptRa, "1");
    Audit();
    accept_ra = netns::ReadSysctl(kAcceptRa).value_or("?");
  });
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(accept_ra, "0");
  EXPECT_EQ(SysctlRepairs(), 1U);
}

TEST_F(HostSysctls, NameTheMountThatAContainerLacksAndCountNoRepairThatWasNotMade) {
  const Status ran = InAContainer(false, [&] {
    Audit();
    Audit();
  });
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_THAT(Problems(),
              ::testing::ElementsAre(
                  AllOf(HasSubstr("sysctls of rail rail0: set sysctl net/ipv6/conf/br-rail0/accept_ra to 0: "
                                  "Read-only file system"),
                        HasSubstr("/host/proc/sys/net"), HasSubstr("RAILCNI_PROC_SYS")),
                  HasSubstr("sysctls of rail rail1: ")));
  EXPECT_EQ(SysctlRepairs(), 0U);
  EXPECT_THAT(world.RulesOf(CookieKind::kPipeline), Not(IsEmpty())) << "the rail works all the same";
}

}  // namespace
}  // namespace rail::engine
