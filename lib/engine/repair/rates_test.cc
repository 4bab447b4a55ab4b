#include "lib/engine/repair/rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "lib/engine/repair/origin.h"
#include "lib/engine/repair/removal.h"
#include "lib/engine/testing/attach.h"

namespace rail::engine {
namespace {

using netlink::NicPort;
using netlink::Rate;
using netlink::RateLeaf;
using netlink::RateNode;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr char kHandle[] = "pci/0000:3b:00.0";
const netlink::DevlinkHandle kNic{"pci", "0000:3b:00.0"};

Rate Of(uint64_t share, uint64_t max_mbit) {
  return {share * kBytesPerMbit, max_mbit * kBytesPerMbit};
}

// A NIC whose ports 1..3 are rep0..rep2, devices of rail0; rep3 and those of rail1 have no port.
class RatesTest : public ::testing::Test {
 protected:
  RatesTest() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/origin.json";
    for (uint32_t i = 0; i < 3; ++i) {
      world.nics.ports["rep" + std::to_string(i)] = NicPort{kNic, i + 1};
      Tree().leaves.push_back({.port = i + 1, .rate = {}, .parent = ""});
    }
    config::Rates& rates = world.config.rates.emplace();
    rates.usual.max_mbit = 200'000;
    rates.tenants["ns-a"] = {3, 400'000};
  }
  ~RatesTest() override { std::filesystem::remove_all(folder_); }

  netlink::RateTree& Tree() { return world.nics.trees[kHandle]; }
  RateLeaf& Leaf(uint32_t port) { return Tree().leaves.at(port - 1); }
  std::string NodeOf(const std::string& pod_namespace) { return RateNodeOf(world.Tenant(pod_namespace)); }
  testing::PodSpec Attach(const std::string& name, const std::string& pod_namespace,
                          const std::string& device, const std::string& rail = "rail0") {
    const testing::PodSpec pod = world.MakePod(name, pod_namespace, device, rail);
    const auto attached = testing::Attach(world, pod, "10.0.3." + std::to_string(++addresses_));
    EXPECT_TRUE(attached) << attached.error().message;
    return pod;
  }
  void Detach(const testing::PodSpec& pod) {
    Connections connections(world.deps().openers(world.config), After(kRoundLimit));
    const auto store = world.deps().open_store();
    Node node{world.config, **store, connections};
    ASSERT_TRUE(Undo(node, world.Attachment(pod), ""));
  }
  // As a raild that has just been started.
  bool Look() {
    Deps deps = world.deps();
    deps.origin = std::make_shared<Origin>(path_);
    store_ = std::move(*deps.open_store());
    RecordReader record(*store_);
    RatesRepair repair(world.config, deps, *store_, status_);
    const bool changed = repair.Look();
    needed_ = repair.is_needed();
    status_.Publish(record);
    shown_ = views_.Current();
    return changed;
  }
  const RatesView& Shown(size_t rail = 0) { return shown_->rails.at(rail).rates.value(); }
  std::vector<std::string> Refusals(size_t rail = 0) {
    std::vector<std::string> words;
    for (const qos::Difference& each : Shown(rail).problems) words.push_back(each.id + ": " + each.what);
    return words;
  }
  std::vector<std::string> Failing() {
    std::vector<std::string> words;
    for (const Health& health : shown_->health)
      if (!health.ok) words.push_back(ToText(health.part) + ": " + health.problem);
    return words;
  }
  Differences Differ(const testing::PodSpec& pod) {
    Connections connections(world.deps().openers(world.config), After(kRoundLimit));
    const auto store = world.deps().open_store();
    Node node{world.config, **store, connections};
    return RatesDiffer(node, world.Attachment(pod)).value();
  }

  testing::World world;
  ViewPublisher views_;
  NodeStatus status_{world.config, {}, views_};
  std::shared_ptr<const NodeView> shown_;
  std::unique_ptr<state::Store> store_;
  int addresses_ = 0;
  bool needed_ = false;
  std::string folder_ = (std::filesystem::temp_directory_path() / "rail-rates-XXXXXX").string();
  std::string path_;
};

TEST_F(RatesTest, MakeANodePerTenantWithItsPortsBelow) {
  Attach("p1", "ns-a", "vf0");
  Attach("p2", "ns-a", "vf1");
  Attach("p3", "ns-b", "vf2");
  EXPECT_TRUE(Look());
  EXPECT_THAT(Tree().nodes, UnorderedElementsAre(RateNode{NodeOf("ns-a"), Of(3, 400'000), ""},
                                                 RateNode{NodeOf("ns-b"), Of(1, 200'000), ""}));
  EXPECT_THAT(Tree().leaves, ElementsAre(RateLeaf{1, {}, NodeOf("ns-a")}, RateLeaf{2, {}, NodeOf("ns-a")},
                                         RateLeaf{3, {}, NodeOf("ns-b")}));
  ASSERT_THAT(Shown().tenants, SizeIs(2));
  const TenantRateView& one = Shown().tenants[Shown().tenants[0].tenant == "ns-a" ? 0 : 1];
  EXPECT_EQ(one, (TenantRateView{"ns-a", world.Tenant("ns-a"), kHandle, 3, 400'000, 2}));
  EXPECT_THAT(Shown().problems, IsEmpty());
  EXPECT_THAT(Shown(1).tenants, IsEmpty()) << "a rail without pods has no node";
  EXPECT_EQ(shown_->attachments[0].rate, (AttachmentRate{3, 400'000, 0, 0}));
  EXPECT_THAT(Failing(), IsEmpty());

  const size_t changes = world.nics.changes.size();
  EXPECT_FALSE(Look()) << "nothing is new";
  EXPECT_EQ(world.nics.changes.size(), changes) << "nothing is set twice";
}

TEST_F(RatesTest, ShowTheRateThatAPortHasOfItsNetwork) {
  Attach("p1", "ns-a", "vf0");
  Leaf(1).rate = Of(50, 1000);
  Look();
  EXPECT_EQ(Leaf(1).rate, Of(50, 1000)) << "that is the plugin's";
  EXPECT_EQ(shown_->attachments[0].rate, (AttachmentRate{3, 400'000, 50, 1000}));
}

TEST_F(RatesTest, GoWithTheLastAttachmentOfTheTenant) {
  const auto p1 = Attach("p1", "ns-a", "vf0");
  const auto p2 = Attach("p2", "ns-a", "vf1");
  Look();
  Detach(p1);
  EXPECT_TRUE(Look());
  EXPECT_EQ(Leaf(1).parent, "");
  EXPECT_THAT(Tree().nodes, SizeIs(1));
  Detach(p2);
  Look();
  EXPECT_EQ(Leaf(2).parent, "");
  EXPECT_THAT(Tree().nodes, IsEmpty());
}

TEST_F(RatesTest, GiveAPortBackToTheNodeThatItHadBefore) {
  Tree().nodes.push_back({"admins", Of(1, 1000), ""});
  Leaf(1).parent = "admins";
  const auto pod = Attach("p1", "ns-a", "vf0");
  Look();
  EXPECT_EQ(Leaf(1).parent, NodeOf("ns-a"));
  EXPECT_THAT(ReadOrigin(path_)->rate_parents,
              ElementsAre(::testing::Pair(std::string(kHandle) + "/1", "admins")));
  Detach(pod);
  Look();
  EXPECT_EQ(Leaf(1).parent, "admins");
  EXPECT_THAT(ReadOrigin(path_)->rate_parents, IsEmpty());
  EXPECT_THAT(Tree().nodes, ElementsAre(RateNode{"admins", Of(1, 1000), ""})) << "another's node stays";
}

TEST_F(RatesTest, GiveAPortToNoNodeWhereItsOldOneIsGone) {
  Tree().nodes.push_back({"admins", {}, ""});
  Leaf(1).parent = "admins";
  const auto pod = Attach("p1", "ns-a", "vf0");
  Look();
  std::erase_if(Tree().nodes, [](const RateNode& node) { return node.name == "admins"; });
  Detach(pod);
  Look();
  EXPECT_EQ(Leaf(1).parent, "");
  EXPECT_THAT(ReadOrigin(path_)->rate_parents, IsEmpty());
}

TEST_F(RatesTest, TakeNoPortWhoseOldNodeCannotBeRecorded) {
  Tree().nodes.push_back({"admins", {}, ""});
  Leaf(1).parent = "admins";
  Attach("p1", "ns-a", "vf0");
  std::filesystem::create_directory(path_);  // no file can be there
  Look();
  EXPECT_EQ(Leaf(1).parent, "admins");
  EXPECT_THAT(Failing(), Contains(HasSubstr("rates: record what was there before")));
}

// Whatever the moment of a crash: the names of nodes say what is ours.
TEST_F(RatesTest, MendByNameWhatACrashHasLeft) {
  Tree().nodes = {{NodeOf("ns-a"), {}, ""}, {NodeOf("ns-b"), Of(1, 1), ""}, {NodeOf("ns-gone"), {}, ""}};
  Leaf(1).parent = NodeOf("ns-b");  // of its pod before
  Leaf(2).parent = NodeOf("ns-gone");
  Leaf(3).parent = NodeOf("ns-b");  // its pod has gone
  Attach("p1", "ns-a", "vf0");
  Look();
  EXPECT_THAT(Tree().nodes, ElementsAre(RateNode{NodeOf("ns-a"), Of(3, 400'000), ""}));
  EXPECT_THAT(Tree().leaves,
              ElementsAre(RateLeaf{1, {}, NodeOf("ns-a")}, RateLeaf{2, {}, ""}, RateLeaf{3, {}, ""}));
}

// A pod that comes changes what is seen, and nothing that was told before is told again.
TEST_F(RatesTest, TellARefusalOnce) {
  Deps deps = world.deps();
  deps.origin = std::make_shared<Origin>(path_);
  store_ = std::move(*deps.open_store());
  RatesRepair repair(world.config, deps, *store_, status_);
  const auto p1 = Attach("p1", "ns-a", "vf3");
  EXPECT_TRUE(repair.Look());
  EXPECT_THAT(repair.news(), ElementsAre(HasSubstr("rail rail0: rates: the devices of 1 pods'")));
  Attach("p2", "ns-a", "vf0", "rail0");
  EXPECT_TRUE(repair.Look()) << "a tenant more has a rate";
  EXPECT_THAT(repair.news(), IsEmpty());
  Attach("p3", "ns-a", "vf10", "rail1");
  EXPECT_TRUE(repair.Look());
  EXPECT_THAT(repair.news(), ElementsAre(HasSubstr("rail rail1: rates:"))) << "this one is new";
  Attach("p5", "ns-a", "vf11", "rail1");
  EXPECT_TRUE(repair.Look());
  EXPECT_THAT(repair.news(), IsEmpty()) << "2 pods now, and the same otherwise";
  Detach(p1);
  EXPECT_TRUE(repair.Look());
  EXPECT_THAT(repair.news(), IsEmpty());
  Attach("p4", "ns-a", "vf3");
  EXPECT_TRUE(repair.Look());
  EXPECT_THAT(repair.news(), SizeIs(1)) << "it had gone meanwhile";
}

// Dies at the change number `at`, before or after it.
class DyingRates : public netlink::testing::FakeRates {
 public:
  DyingRates(netlink::testing::RatesOfNics& nics, int at, bool after)
      : FakeRates(nics), at_(at), after_(after) {}
  Status AddNode(const netlink::DevlinkHandle& nic, const std::string& name, const Rate& rate) override {
    return Through([&] { return FakeRates::AddNode(nic, name, rate); });
  }
  Status SetNode(const netlink::DevlinkHandle& nic, const std::string& name, const Rate& rate) override {
    return Through([&] { return FakeRates::SetNode(nic, name, rate); });
  }
  Status DeleteNode(const netlink::DevlinkHandle& nic, const std::string& name) override {
    return Through([&] { return FakeRates::DeleteNode(nic, name); });
  }
  Status SetLeaf(const netlink::DevlinkHandle& nic, uint32_t port, const std::optional<Rate>& rate,
                 const std::optional<std::string>& parent) override {
    return Through([&] { return FakeRates::SetLeaf(nic, port, rate, parent); });
  }

 private:
  template <class Call>
  Status Through(Call call) {
    const bool dies = ++calls_ == at_;
    if (dies && !after_) throw testing::Crash();
    const Status status = call();
    if (dies) throw testing::Crash();
    return status;
  }
  const int at_;
  const bool after_;
  int calls_ = 0;
};

TEST_F(RatesTest, AreMendedWhereverRaildDies) {
  Tree().nodes.push_back({"admins", Of(1, 1000), ""});
  Leaf(2).parent = "admins";
  const netlink::RateTree untouched = Tree();
  const auto p1 = Attach("p1", "ns-a", "vf0");
  const auto p2 = Attach("p2", "ns-a", "vf1");
  const auto p3 = Attach("p3", "ns-b", "vf2");
  Look();
  const netlink::RateTree whole = Tree();
  // From `from` to `to`, with a crash at each change and then another raild; returns after how many changes there was none.
  const auto crash = [&](const netlink::RateTree& from, const netlink::RateTree& to, bool after) {
    const std::string origin = OriginText(*ReadOrigin(path_));
    for (int at = 1;; ++at) {
      Tree() = from;
      EXPECT_TRUE(WriteOrigin(path_, *ParseOrigin(origin)));
      Deps deps = world.deps();
      deps.origin = std::make_shared<Origin>(path_);
      deps.openers = [&, all = deps.openers](const config::NodeConfig& node) {
        Openers openers = all(node);
        openers.rates = [&]() -> Result<std::unique_ptr<netlink::Rates>> {
          return std::make_unique<DyingRates>(world.nics, at, after);
        };
        return openers;
      };
      bool died = false;
      try {
        store_ = std::move(*deps.open_store());
        RatesRepair(world.config, deps, *store_, status_).Look();
      } catch (const testing::Crash&) {
        died = true;
      }
      Look();
      EXPECT_THAT(Tree().nodes, ::testing::UnorderedElementsAreArray(to.nodes)) << at;
      EXPECT_EQ(Tree().leaves, to.leaves) << at;
      if (!died) return at - 1;
    }
  };
  for (const bool after : {false, true}) {
    EXPECT_TRUE(WriteOrigin(path_, {}));
    EXPECT_EQ(crash(untouched, whole, after), 5) << "two nodes, three ports";
  }
  for (const auto& pod : {p1, p2, p3}) Detach(pod);
  for (const bool after : {false, true}) {
    OriginRecord record;
    record.rate_parents[std::string(kHandle) + "/2"] = "admins";
    EXPECT_TRUE(WriteOrigin(path_, record));
    EXPECT_EQ(crash(whole, untouched, after), 5);
  }
}

TEST_F(RatesTest, FollowNodeJson) {
  Attach("p1", "ns-a", "vf0");
  Look();
  world.config.rates->tenants["ns-a"] = {2, 0};
  EXPECT_TRUE(Look());
  EXPECT_THAT(Tree().nodes, ElementsAre(RateNode{NodeOf("ns-a"), Of(2, 0), ""}));
  EXPECT_TRUE(needed_);
  world.config.rates.reset();
  EXPECT_TRUE(Look());
  EXPECT_THAT(Tree().nodes, IsEmpty());
  EXPECT_EQ(Leaf(1).parent, "");
  EXPECT_FALSE(shown_->rails[0].rates);
  EXPECT_FALSE(shown_->attachments[0].rate);
  EXPECT_FALSE(needed_) << "there is nothing left to do";
  EXPECT_FALSE(Look());
}

TEST_F(RatesTest, ThatWereChangedAreRepairsAndThoseOfNewPodsAreNone) {
  RecordReader record(world.record);
  RatesRepair repair(world.config, world.deps(), world.record, status_);
  const auto count = [&] { return repair.Look(), status_.Publish(record), views_.Current()->repairs; };
  Attach("p1", "ns-a", "vf0");
  EXPECT_EQ(count(), 0U);
  Tree().nodes[0].rate = Of(1, 1);
  EXPECT_EQ(count(), 1U);
  Attach("p2", "ns-b", "vf1");
  Leaf(1).parent = "";
  EXPECT_EQ(count(), 2U);
}

TEST_F(RatesTest, AreSetAgainWhenOthersChangeThem) {
  const auto pod = Attach("p1", "ns-a", "vf0");
  Look();
  EXPECT_THAT(Differ(pod), IsEmpty());
  Tree().nodes[0].rate = Of(1, 1);
  Leaf(1).parent = "";
  EXPECT_THAT(
      Differ(pod),
      ElementsAre(HasSubstr("its port pci/0000:3b:00.0/1 is under no rate node, not under the rate node " +
                            NodeOf("ns-a") + " of tenant ns-a"),
                  HasSubstr("has share 1, at most 1 Mbit/s, and node.json says share 3, at most 400000 "
                            "Mbit/s")));
  Look();
  EXPECT_THAT(Differ(pod), IsEmpty());
  Tree().nodes.push_back({"g1", {}, ""});
  Leaf(1).parent = "g1";
  EXPECT_THAT(Differ(pod), ElementsAre(HasSubstr("is under the rate node g1")));
}

TEST_F(RatesTest, DifferWhereThereIsNoNode) {
  const auto pod = Attach("p1", "ns-a", "vf0");
  EXPECT_THAT(Differ(pod), ElementsAre(HasSubstr("is under no rate node"), HasSubstr("has no rate node")));
  const auto without = Attach("p2", "ns-a", "vf3");
  EXPECT_THAT(Differ(without), ElementsAre(HasSubstr("its device vf3 has no rate in devlink")));
  world.config.rates.reset();
  EXPECT_THAT(Differ(pod), IsEmpty());
}

TEST_F(RatesTest, AreRefusedInTheDriversWords) {
  world.nics.link_speed = 100'000 * kBytesPerMbit;
  Attach("p1", "ns-a", "vf0");
  EXPECT_TRUE(Look());
  EXPECT_THAT(
      Refusals(),
      ElementsAre("rates-refused: tenant ns-a is to have share 3, at most 400000 Mbit/s, and its NIC "
                  "refuses: rate node " +
                  NodeOf("ns-a") + ": Invalid argument (kernel: TX rate value exceed link maximum speed.)"));
  EXPECT_EQ(Leaf(1).parent, "") << "there is no node";
  EXPECT_THAT(Shown().tenants, IsEmpty());
  EXPECT_THAT(Failing(), IsEmpty()) << "raild is well";
  world.config.rates->tenants["ns-a"].max_mbit = 50'000;
  Look();
  EXPECT_THAT(Refusals(), IsEmpty());
  EXPECT_EQ(Leaf(1).parent, NodeOf("ns-a"));
  world.config.rates->tenants["ns-a"].max_mbit = 500'000;
  Look();
  EXPECT_THAT(Refusals(),
              ElementsAre(HasSubstr("has share 3, at most 50000 Mbit/s still, and its NIC refuses")));
  EXPECT_EQ(Leaf(1).parent, NodeOf("ns-a")) << "what it had stays";
  EXPECT_EQ(Shown().tenants.at(0).max_mbit, 50'000U);
}

TEST_F(RatesTest, OfATenantWhoseNodeIsRefusedLeaveItsPortsUnderNobodyElses) {
  Tree().nodes = {{NodeOf("ns-b"), {}, ""}};
  Leaf(1).parent = NodeOf("ns-b");
  world.nics.without_nodes = true;
  Attach("p1", "ns-a", "vf0");
  Look();
  EXPECT_THAT(Refusals(), ElementsAre(HasSubstr("Operation not supported")));
  EXPECT_EQ(Leaf(1).parent, "");
  EXPECT_THAT(Tree().nodes, IsEmpty());
}

TEST_F(RatesTest, ThatADriverAcceptsAndDoesNotSetAreSetOnceAndTold) {
  world.nics.keeps_nothing = true;
  Attach("p1", "ns-a", "vf0");
  Deps deps = world.deps();
  store_ = std::move(*deps.open_store());
  RatesRepair repair(world.config, deps, *store_, status_);
  RecordReader record(*store_);
  for (int look = 0; look < 3; ++look) {
    (void)repair.Look();
    status_.Publish(record);
    shown_ = views_.Current();
    EXPECT_THAT(Refusals(),
                ElementsAre(HasSubstr("its NIC's driver accepted that, and has share 0, no limit")));
  }
  EXPECT_EQ(std::ranges::count(world.nics.changes, "set " + NodeOf("ns-a")), 0);
  world.config.rates->tenants["ns-a"].share = 4;
  (void)repair.Look();
  EXPECT_EQ(std::ranges::count(world.nics.changes, "set " + NodeOf("ns-a")), 1) << "another wish is tried";
}

TEST_F(RatesTest, OfADeviceThatHasNoneAreTold) {
  Attach("p1", "ns-a", "vf3");
  Attach("p2", "ns-b", "vf10", "rail1");
  Attach("p3", "ns-b", "vf11", "rail1");
  Look();
  EXPECT_THAT(Refusals(0), ElementsAre(HasSubstr(
                               "the devices of 1 pods' interfaces have no rate in devlink, such as vf3 of "
                               "ns-a/p1 net1")));
  EXPECT_THAT(Refusals(1), ElementsAre(HasSubstr("the devices of 2 pods' interfaces")));
  EXPECT_THAT(Tree().nodes, IsEmpty());
  EXPECT_THAT(world.nics.changes, IsEmpty());
}

TEST_F(RatesTest, WithoutDevlinkAreTold) {
  Attach("p1", "ns-a", "vf0");
  Deps deps = world.deps();
  deps.openers = [all = deps.openers](const config::NodeConfig& node) {
    Openers openers = all(node);
    openers.rates = []() -> Result<std::unique_ptr<netlink::Rates>> {
      return Fail(Code::kUnsupported, "it has none");
    };
    return openers;
  };
  store_ = std::move(*deps.open_store());
  RatesRepair repair(world.config, deps, *store_, status_);
  EXPECT_TRUE(repair.Look());
  RecordReader record(*store_);
  status_.Publish(record);
  shown_ = views_.Current();
  EXPECT_THAT(Refusals(), ElementsAre(HasSubstr("have no rate in devlink")));
  EXPECT_THAT(Failing(), IsEmpty());
}

TEST_F(RatesTest, WithoutTheSectionNobodyIsLimitedAndNothingIsSaid) {
  world.config.rates.reset();
  Attach("p1", "ns-a", "vf0");
  EXPECT_FALSE(Look());
  EXPECT_THAT(world.nics.changes, IsEmpty());
  EXPECT_FALSE(status_.Knows(Part::kRates)) << "a node without rates has no such part";
}

TEST_F(RatesTest, AreTakenAwayByARemoval) {
  Tree().nodes.push_back({"admins", Of(1, 1000), ""});
  Leaf(1).parent = "admins";
  Attach("p1", "ns-a", "vf0");
  Attach("p2", "ns-b", "vf1");
  Look();
  world.config.rates.reset();  // whatever node.json says by then
  const Deps deps = world.deps();
  const auto store = deps.open_store();
  const Removed removed = Removal(world.config, deps, **store, path_).Run();
  EXPECT_THAT(removed.left, IsEmpty());
  EXPECT_THAT(removed.done, Contains("rate node " + NodeOf("ns-b") + " of pci/0000:3b:00.0"));
  EXPECT_THAT(removed.done, Contains("port pci/0000:3b:00.0/1: under rate node admins, as it was"));
  EXPECT_THAT(Tree().nodes, ElementsAre(RateNode{"admins", Of(1, 1000), ""}));
  EXPECT_THAT(Tree().leaves,
              ElementsAre(RateLeaf{1, {}, "admins"}, RateLeaf{2, {}, ""}, RateLeaf{3, {}, ""}));
  EXPECT_THAT(ReadOrigin(path_)->rate_parents, IsEmpty());
}

TEST(RateNodes, AreOursByTheWholeNameAlone) {
  const tenancy::TenantId tenant{.high = 7, .low = 9};
  EXPECT_TRUE(IsOurRateNode(RateNodeOf(tenant)));
  EXPECT_EQ(RateNodeOf(tenant).size(), 36U);
  for (const char* name : {"railcni-contract", "railcni-", "", "admins",
                           "railcni-0000000000000g00000000000000", "railcni-00000000000000000000000000000"})
    EXPECT_FALSE(IsOurRateNode(name)) << name;
}

TEST(RateNodes, HaveAShareAsMbit) {
  EXPECT_EQ(RateOf({.share = 3, .max_mbit = 400'000}), (Rate{375'000, 50'000'000'000}));
  EXPECT_EQ(InWords(RateOf({.share = 3, .max_mbit = 0})), "share 3, no limit");
}

}  // namespace
}  // namespace rail::engine
