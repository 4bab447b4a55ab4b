// Who owns what: devices, ports and addresses that change hands, pods that race, a DEL that comes in the middle.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/testing/rail_chain.h"

namespace rail {
namespace {

using engine::testing::Answer;
using engine::testing::Dependency;
using engine::testing::PodSpec;
using ovs::CookieKind;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class OwnerTest : public testing::RailChainTest {};

// A runtime that did not wait: DEL comes at any call of the ADD of the same attachment.
TEST_F(OwnerTest, ADelAtAnyCallOfItsAddEndsWithNothingLeft) {
  for (int at = 1;; ++at) {
    SCOPED_TRACE(fmt::format("DEL at call {}", at));
    const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
    bool deleted = false;
    int calls = 0;
    world.faults.before = [&](Dependency, std::string_view) {
      if (++calls != at) return;
      deleted = true;
      ExpectDone(chain.Del(pod));
    };
    const Answer added = chain.Add(pod);
    world.faults.before = nullptr;
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
TEST_F(OwnerTest, AnAddTakesTheDeviceAfterADelThatLeftWorkAndFinishesIt) {
  for (const std::set<Dependency>& down :
       {std::set{Dependency::kOvsdb}, std::set{Dependency::kOpenFlow},
        std::set{Dependency::kOvsdb, Dependency::kOpenFlow, Dependency::kBgp, Dependency::kIpam}}) {
    const PodSpec old = world.MakePod("p1", "ns-a", "vf0");
    const PodSpec fresh = world.MakePod("p2", "ns-b", "vf0");
    MustAdd(old);
    world.faults.down = down;
    ExpectDone(chain.Del(old));
    EXPECT_THAT(world.Pending(old), Not(IsEmpty()));
    EXPECT_EQ(*world.record.OwnerOf(state::ClaimKind::kDevice, "vf0"), std::nullopt);
    EXPECT_EQ(*world.record.OwnerOf(state::ClaimKind::kPort, "rep0"), std::nullopt);
    world.faults.down.clear();
    MustAdd(fresh);
    EXPECT_EQ(world.FindAttachment(old), std::nullopt) << "the ADD has finished it";
    EXPECT_EQ(OwnerOfPort("rep0"), std::to_string(world.Attachment(fresh).id));
    ExpectSoleOwner(fresh);
  }
}

// While a rule of the last pod stands, the next one could send as that one.
TEST_F(OwnerTest, AnAddIsRefusedWhileRulesOfTheLastPodOfItsDeviceStand) {
  const PodSpec old = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec fresh = world.MakePod("p2", "ns-b", "vf0");
  MustAdd(old);
  world.faults.down = {Dependency::kOpenFlow};
  ExpectDone(chain.Del(old));
  const Answer answer = chain.Add(fresh);
  EXPECT_EQ(answer.code, 11U);
  EXPECT_THAT(answer.text, HasSubstr("the rules of its last pod (rail0/c-p1/net1) are not removed yet"));
  world.faults.down.clear();
  MustAdd(fresh);
  EXPECT_THAT(world.RulesOf(CookieKind::kTenant), SizeIs(2));
  ExpectSoleOwner(fresh);
}

// The DEL, the sweep and the next ADD of a device may all undo its last attachment. One of them is slow: it has seen that the
// device is still the attachment's, and restores it later.
TEST_F(OwnerTest, ASlowUndoNeverMeetsTheNextPodOfItsDevice) {
  const PodSpec old = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec fresh = world.MakePod("p2", "ns-b", "vf0");
  MustAdd(old);
  std::optional<Answer> early;
  world.faults.before = [&](Dependency, std::string_view call) {
    if (call != "Restore" || early) return;
    early = Answer();
    ExpectDone(chain.Del(old));
    early = chain.Add(fresh);
  };
  ExpectDone(chain.Del(old));
  world.faults.before = nullptr;
  ASSERT_TRUE(early);
  EXPECT_EQ(early->code, 11U) << "the device is not free before the slow undo has ended";
  EXPECT_EQ(world.FindAttachment(old), std::nullopt);
  MustAdd(fresh);
  EXPECT_EQ(world.devices.calls().back(), "MoveIn vf0");
  ExpectSoleOwner(fresh);
}

// The sweep of the old owner, whose port the new one has taken over.
TEST_F(OwnerTest, ThePendingPortOfAnOldOwnerIsTheNewOnes) {
  const PodSpec old = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec fresh = world.MakePod("p2", "ns-a", "vf0");
  MustAdd(old);
  world.faults.down = {Dependency::kOvsdb};
  ExpectDone(chain.Del(old));
  world.faults.down.clear();
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
  ASSERT_TRUE(world.guard.guards().contains("rep0"));
  EXPECT_EQ(world.guard.guards().at("rep0").allowed->addresses, world.Attachment(fresh).addresses);
  ExpectSoleOwner(fresh);
}

// Who owns what.

TEST_F(OwnerTest, ADeviceThatAnotherHoldsIsRefusedByItsOwnersName) {
  const PodSpec first = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec second = world.MakePod("p2", "ns-a", "vf0");
  MustAdd(first);
  const Answer answer = chain.Add(second);
  EXPECT_EQ(answer.code, 11U) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("rail0/c-p1/net1"));
  ExpectDone(chain.Del(second));
  ExpectSoleOwner(first);
}

TEST_F(OwnerTest, OfTwoThatRaceForADeviceExactlyOneWins) {
  for (int at = 1;; ++at) {
    SCOPED_TRACE(fmt::format("the second starts at call {}", at));
    const PodSpec first = world.MakePod("p1", "ns-a", "vf0");
    const PodSpec second = world.MakePod("p2", "ns-a", "vf0");
    std::optional<Answer> raced;
    int calls = 0;
    world.faults.before = [&](Dependency, std::string_view) {
      if (++calls == at) raced = chain.Add(second);
    };
    const Answer answer = chain.Add(first);
    world.faults.before = nullptr;
    if (!raced) break;
    EXPECT_NE(static_cast<bool>(answer), static_cast<bool>(*raced)) << answer.text << " | " << raced->text;
    const Answer& lost = answer ? *raced : answer;
    const PodSpec& winner = answer ? first : second;
    EXPECT_EQ(lost.code, 11U) << lost.text;
    // Before the first has recorded its claim nobody knows its name.
    EXPECT_THAT(lost.text, ::testing::AnyOf(HasSubstr("rail0/" + winner.container + "/net1"),
                                            HasSubstr("device vf0 is being moved by another")));
    EXPECT_EQ(world.devices.Where("vf0"), winner.identity);
    ExpectDone(chain.Del(answer ? second : first));
    ExpectSoleOwner(winner);
  }
}

TEST_F(OwnerTest, OfTwoThatAreGivenOneAddressTheSecondIsRefusedByTheFirstsName) {
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
  ExpectSoleOwner(first);
}

// A network of another namespace gives out the address of a pod that runs on another node. That pod keeps it.
TEST_F(OwnerTest, AnAddressThatAnotherNodeAnnouncesIsRefusedBeforeItsPodIsDisturbed) {
  world.LearnRemote("10.0.9.9", "ns-victim");
  const PodSpec thief = world.MakePod("p1", "ns-thief", "vf0");
  world.ipam.GiveNext("10.0.9.9/24");
  const auto rules = world.RulesOf(CookieKind::kAttachment);
  const Answer answer = chain.Add(thief);
  EXPECT_EQ(answer.plugin, "ovs-provider");
  EXPECT_EQ(answer.code, 11U);
  EXPECT_THAT(answer.text,
              HasSubstr("IPAM gave 10.0.9.9, which another node announces already (AS path 65100)"));
  EXPECT_EQ(world.RulesOf(CookieKind::kAttachment), rules);
  EXPECT_THAT(*world.bgp.Announced({}), IsEmpty());
  ExpectDone(chain.Del(thief));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
  // The pod has gone.
  world.bgp.Forget(*IpPrefix::Parse("10.0.9.9/32"), "br-rail0");
  world.ipam.GiveNext("10.0.9.9/24");
  MustAdd(thief);
  ExpectSoleOwner(thief);
}

// The leaf's filter takes no other address of this node; the node refuses it before anybody is disturbed.
TEST_F(OwnerTest, AnAddressOutsideOfTheNodesBlockIsRefused) {
  world.config.rails[0].pods = {*IpPrefix::Parse("10.0.3.0/24"), *IpPrefix::Parse("fd00:3::/64")};
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  world.ipam.GiveNext("10.0.4.7/24");
  const Answer answer = chain.Add(pod);
  EXPECT_EQ(answer.plugin, "ovs-provider");
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text, HasSubstr("IPAM gave 10.0.4.7, which no pod of this node may have on rail rail0"));
  EXPECT_THAT(world.RulesOf(CookieKind::kAttachment), IsEmpty());
  ExpectDone(chain.Del(pod));
  EXPECT_THAT(world.Leftovers(), IsEmpty());
  world.ipam.GiveNext("10.0.3.7/24");
  MustAdd(pod);
  ExpectSoleOwner(pod);
}

TEST_F(OwnerTest, AnIpamPluginThatTheNodeDoesNotNameIsNotAsked) {
  world.config.pods.ipam = {"nv-ipam"};
  const PodSpec pod = world.MakePod("p1", "ns-a", "vf0");
  const Answer answer = chain.Add(pod);
  EXPECT_EQ(answer.code, 7U);
  EXPECT_THAT(answer.text,
              HasSubstr("plugin fake gives no addresses on this node: \"pods.ipam\" of node.json"));
  EXPECT_THAT(world.ipam.held(), IsEmpty());
  EXPECT_THAT(world.Leftovers(), IsEmpty());
  world.config.pods.ipam.push_back("fake");
  MustAdd(pod);
  ExpectSoleOwner(pod);
}

TEST_F(OwnerTest, TheLateDelOfAnOldOwnerTouchesNothingOfTheNewOne) {
  for (const std::set<Dependency>& down : {std::set{Dependency::kBgp}, std::set{Dependency::kOpenFlow},
                                           std::set{Dependency::kBgp, Dependency::kOpenFlow}}) {
    const PodSpec old = world.MakePod("p1", "ns-a", "vf0");
    const PodSpec fresh = world.MakePod("p2", "ns-a", "vf0");
    MustAdd(old);
    world.faults.down = down;
    ExpectDone(chain.Del(old));
    EXPECT_THAT(world.Pending(old), Not(IsEmpty()));
    world.faults.down.clear();
    MustAdd(fresh);
    ASSERT_EQ(world.Attachment(fresh).addresses, std::vector{Ip("10.0.3.1")})
        << "the same address, as a reused pod gets";
    const auto rules = world.RulesOf(fresh);

    ExpectDone(chain.Del(old));
    EXPECT_EQ(world.FindAttachment(old), std::nullopt);
    EXPECT_EQ(world.RulesOf(fresh), rules);
    EXPECT_EQ(OwnerOfPort("rep0"), std::to_string(world.Attachment(fresh).id));
    EXPECT_EQ(world.devices.Where("vf0"), fresh.identity);
    ExpectSoleOwner(fresh);
  }
}

// The device changes hands between raild's look at the bridge and its look at the record.
TEST_F(OwnerTest, RaildDoesNotWriteTheNumberOfTheLastOwnersPort) {
  const PodSpec old = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec other = world.MakePod("p2", "ns-a", "vf1");
  const PodSpec fresh = world.MakePod("p3", "ns-a", "vf0");
  MustAdd(old);
  const auto raild = world.StartRaild(std::chrono::hours(1));
  raild->Audit();
  bool changed = false;
  world.faults.before = [&](Dependency dependency, std::string_view call) {
    if (changed || dependency != Dependency::kState || call != "Version") return;
    changed = true;
    ExpectDone(chain.Del(old));
    MustAdd(other);  // takes the number
    MustAdd(fresh);
  };
  raild->RecordChanged();
  world.faults.before = nullptr;
  ASSERT_TRUE(changed);
  EXPECT_EQ(world.Attachment(fresh).ofport, (*world.ovsdb.FindPort("rep0", {}))->ofport);
}

TEST_F(OwnerTest, TheSweepOfAnOldOwnerTouchesNothingOfTheNewOne) {
  const PodSpec old = world.MakePod("p1", "ns-a", "vf0");
  const PodSpec fresh = world.MakePod("p2", "ns-b", "vf0");
  MustAdd(old);
  world.faults.down = {Dependency::kBgp, Dependency::kOpenFlow};
  ExpectDone(chain.Del(old));
  world.faults.down.clear();
  MustAdd(fresh);
  world.StartRaild(std::chrono::hours(1))->Audit();
  EXPECT_EQ(world.FindAttachment(old), std::nullopt);
  EXPECT_THAT(world.RulesOf(CookieKind::kCompare), SizeIs(1)) << "ns-a has left";
  ExpectSoleOwner(fresh);
}
}  // namespace
}  // namespace rail
