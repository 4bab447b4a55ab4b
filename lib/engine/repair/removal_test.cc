#include "lib/engine/repair/removal.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "lib/engine/testing/repair_fixture.h"
#include "lib/netlink/testing/dcb.h"

namespace rail::engine {
namespace {

using ::testing::Contains;
using testing::Dependency;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const Error kDown{Code::kTransient, "connect: nobody listens", 0};

// The bridges of World have raild's mark.
class RemovalTest : public testing::RepairTest {
 protected:
  RemovalTest() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/origin.json";
    world.config.ovs.manage_bridges = true;
    world.bgp.Restart();
    world.origin = std::make_shared<Origin>(path_);
  }
  ~RemovalTest() override { std::filesystem::remove_all(folder_); }

  size_t Bridges() { return world.ovsdb.BridgesWith(kOwnerKey, {})->size(); }
  // As a bridge of somebody else is.
  void Unmark() {
    world.ovsdb.ChangeBridge("br-rail0", [](ovs::Bridge& bridge) { bridge.external_ids.clear(); });
  }
  void Install() {
    raild = world.StartRaild(std::chrono::hours(1));
    raild->Audit();
    raild->Audit();  // the sessions come up only now
  }
  void InstallWithAPod() {
    Install();
    pod = world.MakePod("p1", "ns-a", "vf0");
    Attach(pod, "10.0.3.1");
    raild->Audit();
  }
  void Stop() { raild.reset(); }
  std::vector<std::string> Live() {
    const auto deps = world.deps();
    const auto store = deps.open_store();
    auto live = Removal(world.config, deps, **store, path_).Live();
    EXPECT_TRUE(live) << live.error().message;
    return live.value_or(std::vector<std::string>{});
  }
  Removed Run() {
    const auto deps = world.deps();
    const auto store = deps.open_store();
    return Removal(world.config, deps, **store, path_).Run();
  }

  std::string folder_ = (std::filesystem::temp_directory_path() / "rail-removal-XXXXXX").string();
  std::string path_;
};

TEST_F(RemovalTest, NamesThePodsThatLive) {
  InstallWithAPod();
  EXPECT_THAT(Live(), ElementsAre("pod ns-a/p1 net1 on rail0 (device vf0)"));
  world.EndNamespace(pod);
  EXPECT_THAT(Live(), IsEmpty());
}

TEST_F(RemovalTest, RemovesWhatRaildHasMade) {
  InstallWithAPod();
  EXPECT_FALSE(world.Bridge().rules().empty());
  Stop();
  world.EndNamespace(pod);
  const Removed removed = Run();
  EXPECT_THAT(removed.left, IsEmpty());
  EXPECT_THAT(removed.done, Contains("bridge br-rail0"));
  EXPECT_THAT(removed.told, Contains(HasSubstr("uplink ens0 keeps its MTU")));
  EXPECT_EQ(Bridges(), 0U);
  EXPECT_THAT(*world.bgp.Sessions({}), IsEmpty());
  EXPECT_THAT(world.Leftovers(), IsEmpty());
  EXPECT_THAT(Run().done, IsEmpty()) << "a second time there is nothing to do";
}

TEST_F(RemovalTest, FindsABridgeOfARailThatNodeJsonDoesNotHaveAnyMore) {
  Install();
  Stop();
  world.config.rails.pop_back();
  EXPECT_THAT(Run().left, IsEmpty());
  EXPECT_EQ(Bridges(), 0U);
}

TEST_F(RemovalTest, KnowsTheUplinkOfABridgeOfAnEarlierVersion) {
  world.ovsdb.ChangeBridge("br-rail0", [](ovs::Bridge& bridge) { bridge.external_ids.erase(kUplinkKey); });
  EXPECT_THAT(Run().left, IsEmpty());
  EXPECT_EQ(Bridges(), 0U);
}

// Also that of a representor whose pod has gone.
TEST_F(RemovalTest, TakesTheGuardsOfRepresentors) {
  InstallWithAPod();
  Stop();
  ASSERT_TRUE(world.guard.Close("rep1"));
  ASSERT_TRUE(world.guard.Open("rep1"));
  world.EndNamespace(pod);
  const Removed removed = Run();
  EXPECT_THAT(removed.left, IsEmpty());
  EXPECT_THAT(removed.done, Contains("guard of representor rep0"));
  EXPECT_THAT(removed.done, Contains("guard of representor rep1"));
  EXPECT_THAT(world.guard.guards(), IsEmpty());
}

TEST_F(RemovalTest, TakesTheVrfsOfTenantsAndNobodyElses) {
  Install();
  Stop();
  ASSERT_TRUE(world.host.AddVrf("railcni-0-101", VrfTable(world.config.rails[0], 101)));
  ASSERT_TRUE(world.host.AddVrf("railcni-7-101", VrfTable({.index = 7}, 101)));
  ASSERT_TRUE(world.host.AddVrf("railcni-0-102", 7));
  ASSERT_TRUE(world.host.AddVrf("railcni-mgmt", 8));
  // Somebody else has removed one between the look and the removal.
  world.host.FailOn("DeleteLink", {Code::kNotFound, "No such device", 0});
  const Removed removed = Run();
  EXPECT_THAT(removed.left, IsEmpty());
  EXPECT_FALSE(world.host.GetLink("railcni-7-101") && world.host.GetLink("railcni-0-101"));
  EXPECT_TRUE(world.host.GetLink("railcni-0-102"));
  EXPECT_TRUE(world.host.GetLink("railcni-mgmt"));
}

TEST_F(RemovalTest, GivesThePrioritiesOfUplinksBack) {
  OriginRecord before;
  before.qos["p0"] = {.pfc = 1, .dscp = {{26, {}}}};
  ASSERT_TRUE(WriteOrigin(path_, before));
  netlink::testing::DcbLinks links;
  links.links["p0"] = {.pfc = netlink::DcbPfc{.enabled = 8}, .ets = {}, .apps = {}, .peer_pfc = {}};
  links.links["p0"].apps = {{.selector = netlink::DcbApp::kDscp, .priority = 3, .protocol = 26}};
  links.read_only = true;
  Deps deps = world.deps();
  deps.openers = [&, openers = deps.openers](const config::NodeConfig& node) {
    Openers all = openers(node);
    all.dcb = [&]() -> Result<std::unique_ptr<netlink::Dcb>> {
      return std::make_unique<netlink::testing::FakeDcb>(links);
    };
    return all;
  };
  const auto store = deps.open_store();
  EXPECT_THAT(Removal(world.config, deps, **store, path_).Run().left,
              Contains(HasSubstr("priorities of uplinks: ")));
  EXPECT_EQ(ReadOrigin(path_)->qos.size(), 1U) << "for the next call";
  links.read_only = false;
  EXPECT_THAT(Removal(world.config, deps, **store, path_).Run().done,
              Contains("uplink p0, as it was: PFC for priority 0, DSCP 26 no more to priority 3"));
  EXPECT_EQ(links.links["p0"].pfc->enabled, 1);
  EXPECT_THAT(links.links["p0"].apps, IsEmpty());
  EXPECT_THAT(ReadOrigin(path_)->qos, IsEmpty());
}

TEST_F(RemovalTest, ByForceUndoesAttachmentsAndWaitsForTheirPods) {
  InstallWithAPod();
  Stop();
  Removed removed = Run();
  EXPECT_THAT(removed.left, IsEmpty());
  EXPECT_THAT(removed.done, Contains(HasSubstr("pod ns-a/p1 net1 on rail0 (device vf0): its attachment")));
  EXPECT_THAT(removed.waiting, ElementsAre("ns-a/p1"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
  EXPECT_THAT(Run().waiting, ElementsAre("ns-a/p1"));
  world.EndNamespace(pod);
  EXPECT_THAT(Run().waiting, IsEmpty());
}

TEST_F(RemovalTest, DoesTheRestWhenADependencyIsDownAndGoesOnLater) {
  for (const Dependency down : {Dependency::kOvsdb, Dependency::kBgp, Dependency::kNetlink}) {
    Install();
    Stop();
    world.faults.down.insert(down);
    EXPECT_THAT(Run().left, Not(IsEmpty())) << static_cast<int>(down);
    world.faults.down.clear();
    const Removed removed = Run();
    EXPECT_THAT(removed.left, IsEmpty());
    EXPECT_EQ(Bridges(), 0U) << static_cast<int>(down);
    EXPECT_THAT(*world.bgp.Sessions({}), IsEmpty());
    world.origin = std::make_shared<Origin>(path_);
  }
}

TEST_F(RemovalTest, LeavesWhatAVersionWithoutARecordMayHaveFoundInBgpd) {
  Install();
  Stop();
  std::filesystem::remove(path_);
  world.origin = std::make_shared<Origin>(path_);
  Install();
  Stop();
  const Removed removed = Run();
  EXPECT_THAT(removed.left, IsEmpty());
  EXPECT_THAT(removed.told, Contains(HasSubstr("bgpd: a version that kept no record")));
  EXPECT_EQ(Bridges(), 0U) << "the mark says who made them";
}

TEST_F(RemovalTest, LeavesABridgeThatAnEarlierVersionTookOver) {
  OriginRecord record;
  record.adopted = {{"br-rail0", "{}"}};
  ASSERT_TRUE(WriteOrigin(path_, record));
  world.origin = std::make_shared<Origin>(path_);
  Install();
  EXPECT_THAT(Problems(), Not(Contains(HasSubstr("raild has not made it")))) << "it goes on as before";
  Stop();
  const ovs::Rule theirs{.table = 9, .priority = 7, .cookie = 0x77, .match = "in_port=42", .actions = "drop"};
  ASSERT_TRUE(Commit({.add = {theirs}}));
  const Removed removed = Run();
  EXPECT_THAT(removed.left, IsEmpty());
  EXPECT_THAT(removed.told, Contains(HasSubstr("bridge br-rail0 stays with its uplink")));
  const auto bridge = *world.ovsdb.FindBridge("br-rail0", {});
  ASSERT_TRUE(bridge);
  EXPECT_THAT(bridge->external_ids, IsEmpty());
  EXPECT_THAT(bridge->ports, SizeIs(2));
  EXPECT_THAT(world.Bridge().rules(), ElementsAre(theirs));
  EXPECT_THAT(ReadOrigin(path_)->adopted, IsEmpty());
}

TEST_F(RemovalTest, ABridgeOfOthersIsNotChanged) {
  Unmark();
  const ovs::Rule theirs{.table = 0, .priority = 7, .cookie = 0x77, .match = "in_port=42", .actions = "drop"};
  ASSERT_TRUE(Commit({.add = {theirs}}));
  const ovs::Bridge was = **world.ovsdb.FindBridge("br-rail0", {});
  Install();
  EXPECT_THAT(Problems(), Contains(HasSubstr("bridge br-rail0 is there and raild has not made it")));
  EXPECT_THAT(world.Bridge().rules(), ElementsAre(theirs));
  Stop();
  EXPECT_THAT(Run().left, IsEmpty());
  EXPECT_TRUE(**world.ovsdb.FindBridge("br-rail0", {}) == was);
  EXPECT_THAT(world.Bridge().rules(), ElementsAre(theirs));
}

// raild has made the bridge, and knows it while it runs.
TEST_F(RemovalTest, AMarkThatSomebodyTakesAwayComesBack) {
  Install();
  Unmark();
  raild->Audit();
  EXPECT_THAT(Problems(), Not(Contains(HasSubstr("raild has not made it"))));
  EXPECT_EQ((*world.ovsdb.FindBridge("br-rail0", {}))->external_ids.count(kOwnerKey), 1U);
}

TEST_F(RemovalTest, NothingIsChangedThatCannotBeRecordedBefore) {
  std::filesystem::create_directories(path_);  // so that the record cannot be written
  Install();
  EXPECT_THAT(Problems(), Contains(HasSubstr("record what was there before")));
  EXPECT_THAT(*world.bgp.Sessions({}), IsEmpty());
}

}  // namespace
}  // namespace rail::engine
