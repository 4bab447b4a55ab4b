// The chain as a runtime calls it: whole lives, edges that fail, pods that race. Everything outside is a fake.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plugins/testing/rail_chain.h"

namespace rail {
namespace {

using engine::testing::Answer;
using engine::testing::Chain;
using engine::testing::Edge;
using engine::testing::Name;
using engine::testing::PodSpec;
using engine::testing::World;
using ovs::CookieKind;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr Edge kEdges[] = {Edge::kOvsdb,   Edge::kOpenFlow, Edge::kBgp,  Edge::kNetlink,
                           Edge::kDevices, Edge::kPods,     Edge::kIpam, Edge::kState};

IpAddress Ip(const char* text) {
  return *IpAddress::Parse(text);
}

class ChainTest : public ::testing::Test {
 protected:
  void ExpectDone(const Answer& answer) {
    EXPECT_TRUE(answer) << answer.plugin << ": " << answer.code << " " << answer.text;
  }
  void MustAdd(const PodSpec& pod) {
    const Answer answer = chain.Add(pod);
    ASSERT_TRUE(answer) << answer.plugin << ": " << answer.code << " " << answer.text;
  }
  std::string OwnerOfPort(const std::string& port) {
    const auto found = *world.ovsdb.FindPort(port, {});
    return found ? found->external_ids.at(engine::kOwnerKey) : "no such port";
  }

  World world;
  Chain chain = testing::RailChain(world);
};

TEST_F(ChainTest, AddMakesAllAndDelLeavesNothing) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  const state::Attachment attachment = world.Attachment(pod);
  EXPECT_EQ(attachment.phase, state::Phase::kReady);
  EXPECT_EQ(world.devices.Where("vf0"), pod.identity);
  EXPECT_EQ(OwnerOfPort("rep0"), std::to_string(attachment.id));
  EXPECT_THAT(world.RulesOf(CookieKind::kPipeline), Not(IsEmpty()));
  EXPECT_THAT(world.RulesOf(CookieKind::kAttachment), Not(IsEmpty()));
  EXPECT_THAT(world.RulesOf(CookieKind::kTenant), SizeIs(2));
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(1));
  EXPECT_THAT(*world.bgp.Announced({}),
              ElementsAre(frr::Announcement{Ip("10.0.3.1"), "rail0", 0, world.Tenant("ns-a")}));
  EXPECT_THAT(world.pods.configured(), SizeIs(1));
  EXPECT_EQ(world.pokes, 2) << "raild is told when there is a tenant to learn for, and at the end";
  ExpectDone(chain.Check(pod));

  ExpectDone(chain.Del(pod));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(ChainTest, DelMayBeRepeatedAndNeedsNoAdd) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  ExpectDone(chain.Del(pod));
  MustAdd(pod);
  ExpectDone(chain.Del(pod));
  ExpectDone(chain.Del(pod));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(ChainTest, DelSucceedsWhenTheNamespaceIsGone) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  world.EndNamespace(pod);
  ExpectDone(chain.Del(pod));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(ChainTest, AnswersWithAHostRouteOnTheInterfaceInThePod) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  const Answer answer = chain.Add(pod);
  ASSERT_TRUE(answer);
  const auto result = nlohmann::json::parse(answer.result);
  EXPECT_EQ(result["ips"][0]["address"], "10.0.3.1/32");
  EXPECT_EQ(result["ips"][0]["interface"], 1);
  EXPECT_EQ(result["ips"][0]["gateway"], "169.254.1.1");
  EXPECT_EQ(result["interfaces"][0]["name"], "rep0");
  EXPECT_EQ(result["interfaces"][1]["name"], "net1");
  EXPECT_EQ(result["interfaces"][1]["sandbox"], pod.netns);
}

TEST_F(ChainTest, CheckSaysWhatIsMissing) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  ASSERT_TRUE(world.bgp.Withdraw(Ip("10.0.3.1"), {}));
  EXPECT_THAT(chain.Check(pod).text, HasSubstr("does not announce 10.0.3.1/32"));
  world.Bridge().LoseAllRules();
  EXPECT_THAT(chain.Check(pod).text, HasSubstr("lacks the rule table=0"));
  ASSERT_TRUE(world.ovsdb.DeletePort("br-rail0", "rep0", {}, ovs::Ovsdb::Wait::kCommitted, {}));
  EXPECT_THAT(chain.Check(pod).text, HasSubstr("rep0 is not a port of bridge br-rail0"));
  world.pods.RemoveLink(pod.identity, "net1");
  EXPECT_THAT(chain.Check(pod).text, HasSubstr("net1: there is no such interface"));
}

TEST_F(ChainTest, ASecondAddOfAnAttachmentIsRefusedAndHarmsNothing) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  const Answer second = chain.Add(pod);
  EXPECT_EQ(second.code, 102U) << second.text;
  EXPECT_THAT(second.text, HasSubstr("exists already"));
  ExpectDone(chain.Check(pod));
}

// Edges that are down.

TEST_F(ChainTest, AddSaysWhichEdgeIsDownAndLeavesNothing) {
  for (const Edge edge : kEdges) {
    SCOPED_TRACE(Name(edge));
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    world.gate.down = {edge};
    const Answer answer = chain.Add(pod);
    EXPECT_EQ(answer.code, 11U) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(std::string(Name(edge)) + " is down"));
    world.gate.down.clear();
    ExpectDone(chain.Del(pod));
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

// The strongest form: every single call of an ADD fails once.
TEST_F(ChainTest, WhicheverCallOfAddFailsNothingIsLeftOfIt) {
  int failed = 0;
  for (const Edge edge : kEdges) {
    for (int call = 1;; ++call) {
      SCOPED_TRACE(fmt::format("{} call {}", Name(edge), call));
      const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
      world.gate.FailCall(edge, call, {Code::kTransient, "no answer from " + std::string(Name(edge))});
      const Answer answer = chain.Add(pod);
      const bool done = !world.gate.failed();
      world.gate.NoFault();
      if (done) {
        ExpectDone(answer);
        ExpectDone(chain.Del(pod));
        break;
      }
      ++failed;
      EXPECT_EQ(answer.code, 11U) << answer.text;
      EXPECT_THAT(answer.text, HasSubstr("no answer from " + std::string(Name(edge))));
      if (answer.plugin == "ovs-provider") {
        EXPECT_THAT(world.Leftovers(), IsEmpty()) << "a failed ADD cleans up by itself";
      } else {
        EXPECT_EQ(world.Attachment(pod).phase, state::Phase::kReady);
        for (const state::Step& step : world.Steps(pod)) EXPECT_NE(step.owner, answer.plugin) << step.kind;
      }
      ExpectDone(chain.Del(pod));
      EXPECT_THAT(world.Leftovers(), IsEmpty());
    }
  }
  EXPECT_GT(failed, 25);
  std::printf("[          ] %d calls of ADD failed, one at a time\n", failed);
}

// From some call on the edge does not answer any more: the clean-up of the ADD cannot reach it either.
TEST_F(ChainTest, WhereverInAddAnEdgeGoesDownTheDelAfterwardsLeavesNothing) {
  for (const Edge edge : kEdges) {
    for (int at = 1;; ++at) {
      SCOPED_TRACE(fmt::format("{} from call {} on", Name(edge), at));
      const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
      int calls = 0;
      world.gate.before = [&](Edge called, std::string_view) {
        if (called == edge && ++calls == at) world.gate.down.insert(edge);
      };
      const Answer answer = chain.Add(pod);
      world.gate.before = nullptr;
      const bool went_down = !world.gate.down.empty();
      EXPECT_EQ(static_cast<bool>(answer), !went_down);
      if (went_down && edge != Edge::kDevices && edge != Edge::kNetlink && edge != Edge::kState &&
          answer.plugin == "ovs-provider") {
        EXPECT_EQ(world.devices.Where("vf0"), std::nullopt) << "the device is never kept";
      }
      world.gate.down.clear();
      ExpectDone(chain.Del(pod));
      if (edge == Edge::kPods && went_down) world.EndNamespace(pod);
      EXPECT_THAT(world.Leftovers(), IsEmpty());
      if (!went_down) break;
    }
  }
}

TEST_F(ChainTest, DelSucceedsWithAnEdgeDownAndTheSweepFinishes) {
  const struct {
    Edge edge;
    std::vector<std::string> pending;
  } cases[] = {{Edge::kOvsdb, {"port"}},
               {Edge::kOpenFlow, {"admit", "tenant"}},
               {Edge::kBgp, {"announce"}},
               {Edge::kIpam, {"ipam"}}};
  for (const auto& [edge, pending] : cases) {
    SCOPED_TRACE(Name(edge));
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    MustAdd(pod);
    const auto raild = world.StartRaild(std::chrono::hours(1));
    world.gate.down = {edge};
    ExpectDone(chain.Del(pod));
    EXPECT_EQ(world.Pending(pod), pending);
    EXPECT_EQ(world.devices.Where("vf0"), std::nullopt) << "the device is never kept";
    EXPECT_EQ(*world.record.OwnerOf(state::ClaimKind::kDevice, "vf0"), std::nullopt);
    EXPECT_EQ(world.ipam.held().empty(), edge != Edge::kIpam) << "nor is the address";

    raild->Audit();
    EXPECT_EQ(world.Pending(pod), pending) << "the edge is still down";
    world.gate.down.clear();
    raild->Audit();
    EXPECT_THAT(world.Leftovers(), IsEmpty());
    const auto view = raild->board.Current();
    EXPECT_THAT(view->attachments, IsEmpty());
  }
}

// As when a container is started again: its id stays.
TEST_F(ChainTest, TheSameAddAgainSaysWhatItsDelWaitsFor) {
  for (const Edge edge : {Edge::kBgp, Edge::kIpam, Edge::kOvsdb}) {
    SCOPED_TRACE(Name(edge));
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    MustAdd(pod);
    world.gate.down = {edge};
    ExpectDone(chain.Del(pod));
    const Answer answer = chain.Add(pod);
    EXPECT_EQ(answer.code, 11U);
    EXPECT_THAT(answer.text, HasSubstr(" is down"));
    world.gate.down.clear();
    MustAdd(pod);
    ExpectDone(chain.Del(pod));
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

TEST_F(ChainTest, DelWithEverythingDownFreesTheDeviceAndTheSweepDoesTheRest) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  world.gate.down = {Edge::kOvsdb, Edge::kOpenFlow, Edge::kBgp, Edge::kIpam};
  ExpectDone(chain.Del(pod));
  EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
  world.gate.down.clear();
  world.StartRaild(std::chrono::hours(1))->Audit();
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

// Dependencies that DEL does without: it keeps neither the device nor the address.

TEST_F(ChainTest, DelWithARecordThatCannotBeReadGivesDeviceAndAddressBackAndMayBeRepeated) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  world.gate.down = {Edge::kState};
  const Answer answer = chain.Del(pod);
  EXPECT_EQ(answer.code, 11U);
  EXPECT_EQ(answer.plugin, "ovs-provider") << "the others succeed: its DEL must be reached";
  EXPECT_THAT(answer.text, HasSubstr("the node's record cannot be used"));
  EXPECT_THAT(answer.text, HasSubstr("its port, rules and announcement are not undone"));
  EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
  EXPECT_THAT(world.ipam.held(), IsEmpty());
  world.gate.down.clear();
  ExpectDone(chain.Del(pod));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(ChainTest, DelWithARecordThatCannotBeWrittenUndoesAllAndRaildEndsTheRecord) {
  using Disk = engine::testing::Gate::Disk;
  for (const Disk disk : {Disk::kFull, Disk::kReadOnly}) {
    SCOPED_TRACE(disk == Disk::kFull ? "full" : "read-only");
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    MustAdd(pod);
    world.gate.disk = disk;
    ExpectDone(chain.Del(pod));
    EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
    EXPECT_THAT(world.ipam.held(), IsEmpty());
    EXPECT_THAT(*world.bgp.Announced({}), IsEmpty());
    EXPECT_THAT(world.RulesOf(CookieKind::kAttachment), IsEmpty());
    EXPECT_THAT(world.RulesOf(CookieKind::kTenant), IsEmpty());
    EXPECT_EQ(OwnerOfPort("rep0"), "no such port");
    world.gate.disk = Disk::kGood;
    world.EndNamespace(pod);
    world.StartRaild()->Audit();
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

TEST_F(ChainTest, AddWithARecordThatCannotBeWrittenSaysSoAndLeavesNothing) {
  using Disk = engine::testing::Gate::Disk;
  for (const Disk disk : {Disk::kFull, Disk::kReadOnly}) {
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    world.gate.disk = disk;
    const Answer answer = chain.Add(pod);
    EXPECT_EQ(answer.code, 11U) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("state.db"));
    ExpectDone(chain.Del(pod));
    world.gate.disk = Disk::kGood;
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

// From any write on nothing can be written any more.
TEST_F(ChainTest, WhereverInAddTheDiskFillsUpTheDelLeavesNothingButTheRecord) {
  for (int at = 1;; ++at) {
    SCOPED_TRACE(fmt::format("from call {} of the record on", at));
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    int calls = 0;
    world.gate.before = [&](Edge called, std::string_view) {
      if (called == Edge::kState && ++calls == at) world.gate.disk = engine::testing::Gate::Disk::kFull;
    };
    const Answer answer = chain.Add(pod);
    world.gate.before = nullptr;
    const bool filled = world.gate.disk != engine::testing::Gate::Disk::kGood;
    EXPECT_TRUE(answer || answer.code == 11U) << answer.code << " " << answer.text;
    ExpectDone(chain.Del(pod));
    EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
    world.gate.disk = engine::testing::Gate::Disk::kGood;
    for (const std::string& left : world.Leftovers()) EXPECT_THAT(left, ::testing::StartsWith("record: "));
    world.EndNamespace(pod);
    world.StartRaild()->Audit();
    EXPECT_THAT(world.Leftovers(), IsEmpty());
    if (!filled) break;
  }
}

TEST_F(ChainTest, WithoutNodeJsonAddSaysSoAndDelGivesDeviceAndAddressBackAndLeavesTheRestPending) {
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  const auto raild = world.StartRaild(std::chrono::hours(1));  // it has read node.json long ago
  world.config_problem = "node.json: rails: is missing";
  const Answer added = chain.Add(world.MakePod("p2", "ns-a", "vf1"));
  EXPECT_EQ(added.code, 11U);
  EXPECT_THAT(added.text, HasSubstr("node.json: rails: is missing"));
  ExpectDone(chain.Del(pod));
  EXPECT_EQ(world.devices.Where("vf0"), std::nullopt);
  EXPECT_THAT(world.ipam.held(), IsEmpty());
  EXPECT_THAT(world.Pending(pod), ElementsAre("port", "admit", "tenant", "announce"));
  for (const state::Step& step : world.Steps(pod)) EXPECT_THAT(step.pending, HasSubstr("node.json"));
  raild->Audit();
  EXPECT_THAT(world.Leftovers(), ElementsAre("pod: policy rules of net1"));
}

// A runtime that did not wait: DEL comes at any call of the ADD of the same attachment.
TEST_F(ChainTest, ADelAtAnyCallOfItsAddEndsWithNothingLeft) {
  for (int at = 1;; ++at) {
    SCOPED_TRACE(fmt::format("DEL at call {}", at));
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    bool deleted = false;
    int calls = 0;
    world.gate.before = [&](Edge, std::string_view) {
      if (++calls != at) return;
      deleted = true;
      ExpectDone(chain.Del(pod));
    };
    const Answer added = chain.Add(pod);
    world.gate.before = nullptr;
    if (added) {
      ExpectDone(chain.Del(pod));
    } else if (deleted) {
      EXPECT_THAT(added.code, ::testing::AnyOf(11U, 7U, 101U)) << added.text;
    }
    // What an ADD does in a pod that it gives up goes with the interface; rules of a pod that lives on do no harm.
    world.EndNamespace(pod);
    EXPECT_THAT(world.Leftovers(), IsEmpty());
    if (!deleted) break;
  }
}

// The old owner's DEL could not reach OVSDB, or no part of the switch; the device is free all the same.
TEST_F(ChainTest, AnAddTakesTheDeviceAfterADelThatLeftWorkAndFinishesIt) {
  for (const std::set<Edge>& down : {std::set{Edge::kOvsdb}, std::set{Edge::kOpenFlow},
                                     std::set{Edge::kOvsdb, Edge::kOpenFlow, Edge::kBgp, Edge::kIpam}}) {
    const PodSpec old = world.MakePod("p1", "ns-a", "vf0");
    const PodSpec fresh = world.MakePod("p2", "ns-b", "vf0");
    MustAdd(old);
    world.gate.down = down;
    ExpectDone(chain.Del(old));
    EXPECT_THAT(world.Pending(old), Not(IsEmpty()));
    EXPECT_EQ(*world.record.OwnerOf(state::ClaimKind::kDevice, "vf0"), std::nullopt);
    EXPECT_EQ(*world.record.OwnerOf(state::ClaimKind::kPort, "rep0"), std::nullopt);
    world.gate.down.clear();
    MustAdd(fresh);
    EXPECT_EQ(world.FindAttachment(old), std::nullopt) << "the ADD has finished it";
    EXPECT_EQ(OwnerOfPort("rep0"), std::to_string(world.Attachment(fresh).id));
    ExpectDone(chain.Check(fresh));
    ExpectDone(chain.Del(fresh));
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

// While a rule of the last pod stands, the next one could send as that one.
TEST_F(ChainTest, AnAddIsRefusedWhileRulesOfTheLastPodOfItsDeviceStand) {
  const PodSpec old = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec fresh = world.MakePod("p2", "ns-b", "vf0");
  MustAdd(old);
  world.gate.down = {Edge::kOpenFlow};
  ExpectDone(chain.Del(old));
  const Answer answer = chain.Add(fresh);
  EXPECT_EQ(answer.code, 11U);
  EXPECT_THAT(answer.text, HasSubstr("the rules of its last pod (rail0/c-p1/net1) are not removed yet"));
  world.gate.down.clear();
  MustAdd(fresh);
  EXPECT_THAT(world.RulesOf(CookieKind::kTenant), SizeIs(2));
}

// The sweep of the old owner, whose port the new one has taken over.
TEST_F(ChainTest, ThePendingPortOfAnOldOwnerIsTheNewOnes) {
  const PodSpec old = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec fresh = world.MakePod("p2", "ns-a", "vf0");
  MustAdd(old);
  world.gate.down = {Edge::kOvsdb};
  ExpectDone(chain.Del(old));
  world.gate.down.clear();
  const state::Attachment before = world.Attachment(old);
  MustAdd(fresh);
  const auto mark = std::to_string(world.Attachment(fresh).id);
  EXPECT_EQ(OwnerOfPort("rep0"), mark);
  state::Attachment again = before;  // as if the old owner's record had stayed
  again.device.clear();
  again.phase = state::Phase::kReady;
  const auto back = world.record.Create(again);
  ASSERT_TRUE(back);
  ASSERT_TRUE(world.record.RecordStep(back->id, engine::kOvsProvider, engine::step::kPort,
                                      R"({"bridge":"br-rail0"})"));
  ExpectDone(chain.Del(old));
  EXPECT_EQ(OwnerOfPort("rep0"), mark);
  EXPECT_EQ(*world.record.OwnerOf(state::ClaimKind::kPort, "rep0"), world.Attachment(fresh).id);
}

TEST_F(ChainTest, WhicheverCallOfDelFailsTheSweepOrAnotherDelFinishes) {
  int failed = 0;
  for (const Edge edge : kEdges) {
    for (int call = 1;; ++call) {
      SCOPED_TRACE(fmt::format("{} call {}", Name(edge), call));
      const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
      MustAdd(pod);
      world.gate.FailCall(edge, call, {Code::kTransient, "no answer from " + std::string(Name(edge))});
      const Answer answer = chain.Del(pod);
      const bool done = !world.gate.failed();
      world.gate.NoFault();
      if (edge != Edge::kState) ExpectDone(answer);
      if (!answer) {
        EXPECT_EQ(answer.code, 11U) << answer.text;
        ExpectDone(chain.Del(pod));
      }
      // Where its failure could not be recorded it is not known to have ended: raild waits.
      world.StartRaild(edge == Edge::kState ? Clock::duration::zero() : std::chrono::hours(1))->Audit();
      if (edge == Edge::kPods && !done) {
        // Policy rules in a pod that lives on do no harm, and no device waits for their removal.
        EXPECT_THAT(world.Leftovers(), ElementsAre("pod: policy rules of net1"));
        world.EndNamespace(pod);
      }
      EXPECT_THAT(world.Leftovers(), IsEmpty());
      if (done) break;
      ++failed;
    }
  }
  EXPECT_GT(failed, 20);
  std::printf("[          ] %d calls of DEL failed, one at a time\n", failed);
}

// Who owns what.

TEST_F(ChainTest, ADeviceThatAnotherHoldsIsRefusedByItsOwnersName) {
  const PodSpec first = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec second = world.MakePod("p2", "ns-a", "vf0");
  MustAdd(first);
  const Answer answer = chain.Add(second);
  EXPECT_EQ(answer.code, 11U) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("rail0/c-p1/net1"));
  ExpectDone(chain.Del(second));
  ExpectDone(chain.Check(first));
}

TEST_F(ChainTest, OfTwoThatRaceForADeviceExactlyOneWins) {
  for (int at = 1;; ++at) {
    SCOPED_TRACE(fmt::format("the second starts at call {}", at));
    const PodSpec first = world.MakePod("p1", "ns-a", "vf0");
    const PodSpec second = world.MakePod("p2", "ns-a", "vf0");
    std::optional<Answer> raced;
    int calls = 0;
    world.gate.before = [&](Edge, std::string_view) {
      if (++calls == at) raced = chain.Add(second);
    };
    const Answer answer = chain.Add(first);
    world.gate.before = nullptr;
    if (!raced) break;
    EXPECT_NE(static_cast<bool>(answer), static_cast<bool>(*raced)) << answer.text << " | " << raced->text;
    const Answer& lost = answer ? *raced : answer;
    const PodSpec& winner = answer ? first : second;
    EXPECT_EQ(lost.code, 11U) << lost.text;
    EXPECT_THAT(lost.text, HasSubstr("rail0/" + winner.container + "/net1"));
    EXPECT_EQ(world.devices.Where("vf0"), winner.identity);
    ExpectDone(chain.Del(answer ? second : first));
    ExpectDone(chain.Check(winner));
    ExpectDone(chain.Del(winner));
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

TEST_F(ChainTest, OfTwoThatAreGivenOneAddressTheSecondIsRefusedByTheFirstsName) {
  world.ipam = cni::testing::FakeIpam({"10.0.3.1/24", "10.0.3.1/25"});
  const PodSpec first = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec second = world.MakePod("p2", "ns-b", "vf1");
  MustAdd(first);
  const Answer answer = chain.Add(second);
  EXPECT_EQ(answer.code, 11U) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("10.0.3.1"));
  EXPECT_THAT(answer.text, HasSubstr("rail0/c-p1/net1"));
  EXPECT_EQ(world.devices.Where("vf1"), std::nullopt);
  ExpectDone(chain.Del(second));
  ExpectDone(chain.Check(first));
}

TEST_F(ChainTest, TheLateDelOfAnOldOwnerTouchesNothingOfTheNewOne) {
  for (const std::set<Edge>& down :
       {std::set{Edge::kBgp}, std::set{Edge::kOpenFlow}, std::set{Edge::kBgp, Edge::kOpenFlow}}) {
    const PodSpec old = world.MakePod("p1", "ns-a", "vf0");
    const PodSpec fresh = world.MakePod("p2", "ns-a", "vf0");
    MustAdd(old);
    world.gate.down = down;
    ExpectDone(chain.Del(old));
    EXPECT_THAT(world.Pending(old), Not(IsEmpty()));
    world.gate.down.clear();
    MustAdd(fresh);
    ASSERT_EQ(world.Attachment(fresh).addresses, std::vector{Ip("10.0.3.1")})
        << "the same address, as a reused pod gets";
    const auto rules = world.RulesOf(fresh);

    ExpectDone(chain.Del(old));
    EXPECT_EQ(world.FindAttachment(old), std::nullopt);
    EXPECT_EQ(world.RulesOf(fresh), rules);
    EXPECT_EQ(OwnerOfPort("rep0"), std::to_string(world.Attachment(fresh).id));
    EXPECT_EQ(world.devices.Where("vf0"), fresh.identity);
    ExpectDone(chain.Check(fresh));
    ExpectDone(chain.Del(fresh));
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

// The device changes hands between raild's look at the bridge and its look at the record.
TEST_F(ChainTest, RaildDoesNotWriteTheNumberOfTheLastOwnersPort) {
  const PodSpec old = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec other = world.MakePod("p2", "ns-a", "vf1");
  const PodSpec fresh = world.MakePod("p3", "ns-a", "vf0");
  MustAdd(old);
  const auto raild = world.StartRaild(std::chrono::hours(1));
  raild->Audit();
  bool changed = false;
  world.gate.before = [&](Edge edge, std::string_view call) {
    if (changed || edge != Edge::kState || call != "List") return;
    changed = true;
    ExpectDone(chain.Del(old));
    MustAdd(other);  // takes the number
    MustAdd(fresh);
  };
  raild->RecordChanged();
  world.gate.before = nullptr;
  ASSERT_TRUE(changed);
  EXPECT_EQ(world.Attachment(fresh).ofport, (*world.ovsdb.FindPort("rep0", {}))->ofport);
}

TEST_F(ChainTest, TheSweepOfAnOldOwnerTouchesNothingOfTheNewOne) {
  const PodSpec old = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec fresh = world.MakePod("p2", "ns-b", "vf0");
  MustAdd(old);
  world.gate.down = {Edge::kBgp, Edge::kOpenFlow};
  ExpectDone(chain.Del(old));
  world.gate.down.clear();
  MustAdd(fresh);
  world.StartRaild(std::chrono::hours(1))->Audit();
  EXPECT_EQ(world.FindAttachment(old), std::nullopt);
  ExpectDone(chain.Check(fresh));
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(1)) << "ns-a has left";
}

// Tenants.

TEST_F(ChainTest, TheCompareRuleGoesWithTheLastPodOfItsTenant) {
  const PodSpec first = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec second = world.MakePod("p2", "ns-a", "vf1");
  const PodSpec other = world.MakePod("p3", "ns-b", "vf2");
  MustAdd(first);
  MustAdd(second);
  MustAdd(other);
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(2));
  ExpectDone(chain.Del(first));
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(2));
  ExpectDone(chain.Check(second));
  ExpectDone(chain.Del(second));
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(1));
  ExpectDone(chain.Check(other));
}

// At whatever call of the last pod's DEL another pod of the tenant joins, it can talk afterwards.
TEST_F(ChainTest, TheCompareRuleStaysWhenAnotherPodJoinsMeanwhile) {
  for (int at = 1;; ++at) {
    SCOPED_TRACE(fmt::format("it joins at call {}", at));
    const PodSpec last = world.MakePod("p1", "ns-a", "vf0");
    const PodSpec joining = world.MakePod("p2", "ns-a", "vf1");
    MustAdd(last);
    std::optional<Answer> joined;
    int calls = 0;
    world.gate.before = [&](Edge, std::string_view) {
      if (++calls == at) joined = chain.Add(joining);
    };
    ExpectDone(chain.Del(last));
    world.gate.before = nullptr;
    if (!joined) break;
    ExpectDone(*joined);
    EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(1));
    ExpectDone(chain.Check(joining));
    ExpectDone(chain.Del(joining));
    EXPECT_THAT(world.Leftovers(), IsEmpty());
  }
}

TEST_F(ChainTest, WithoutTenantsNothingIsComparedAndNoTenantIsAnnounced) {
  world.config.tenancy.mode = config::TenancyMode::kOff;
  const PodSpec pod = world.MakePod("p1", "", "vf0");
  MustAdd(pod);
  EXPECT_THAT(world.RulesOf(CookieKind::kTenant), IsEmpty());
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), IsEmpty());
  EXPECT_THAT(*world.bgp.Announced({}), ElementsAre(frr::Announcement{Ip("10.0.3.1"), "rail0", 0, {0}}));
  ExpectDone(chain.Check(pod));
  ExpectDone(chain.Del(pod));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(ChainTest, NothingThatAPodWritesChangesItsTenantOrItsDevice) {
  chain.more_config =
      R"("args": {"cni": {"deviceID": "vf1", "K8S_POD_NAMESPACE": "ns-b", "tenant": "ns-b", "rail": "rail1"}},
                         "runtimeConfig": {"mac": "02:00:00:00:00:99", "ips": ["10.9.9.9/32"],
                                           "tenant": "ns-b"})";
  chain.more_args = "IgnoreUnknown=1;deviceID=vf1;tenant=ns-b;MAC=02:00:00:00:00:99;IP=10.9.9.9";
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  MustAdd(pod);
  const state::Attachment attachment = world.Attachment(pod);
  EXPECT_EQ(attachment.device, "vf0");
  EXPECT_EQ(attachment.rail, "rail0");
  EXPECT_EQ(attachment.pod_namespace, "ns-a");
  EXPECT_EQ(attachment.tenant_id, world.Tenant("ns-a"));
  EXPECT_EQ(attachment.mac, world.devices.State("vf0")->mac);
  EXPECT_THAT(attachment.addresses, ElementsAre(Ip("10.0.3.1")));
  EXPECT_EQ(world.devices.Where("vf1"), std::nullopt);
}

TEST_F(ChainTest, APodThatAsksForAnotherDeviceThanItsOwnIsRefused) {
  chain.more_config = R"("runtimeConfig": {"deviceID": "vf1"})";
  const Answer answer = chain.Add(world.MakePod("p1", "ns-a", "vf0"));
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text, HasSubstr("not allocated to it"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(ChainTest, APodWithTwoNamespacesInItsArgumentsIsRefused) {
  chain.more_args = "K8S_POD_NAMESPACE=ns-b";
  const Answer answer = chain.Add(world.MakePod("p1", "ns-a", "vf0"));
  EXPECT_EQ(answer.code, 4U);
  EXPECT_THAT(answer.text, HasSubstr("two namespaces"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

TEST_F(ChainTest, WithoutATopLevelDeviceAPodGetsNoneWhateverItWrites) {
  chain.more_config = R"("args": {"cni": {"deviceID": "vf1"}}, "runtimeConfig": {"deviceID": "vf1"})";
  chain.more_args = "deviceID=vf1";
  PodSpec pod = world.MakePod("p1", "ns-a", "");
  const Answer answer = chain.Add(pod);
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text, HasSubstr("deviceID"));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
}

}  // namespace
}  // namespace rail
