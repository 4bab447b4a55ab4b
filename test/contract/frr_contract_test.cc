// What every Bgp promises, on FakeBgp and on a real bgpd with a leaf (frr_fixture.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test/contract/frr_contract.h"

namespace rail::frr::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_P(BgpContract, IsEmptyWithoutAnInstance) {
  EXPECT_THAT(*bgp().Sessions(Soon()), IsEmpty());
  EXPECT_THAT(Announced(), IsEmpty());
  EXPECT_EQ(*bgp().TableVersion(Soon()), 0U);
  EXPECT_FALSE(*bgp().InAdjRibOut(Ip("10.0.3.7"), "br-rail0", Soon()));
  EXPECT_TRUE(bgp().Withdraw(Ip("10.0.3.7"), Soon()));
  const Status status = bgp().Announce(Pod("10.0.3.7", 0, kA), Soon());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kTransient);
  EXPECT_THAT(*bgp().Sessions(Soon()), IsEmpty());
}

TEST_P(BgpContract, SendsTheBaseConfigurationOnce) {
  auto lines = bgp().EnsureBase(Base(), Soon());
  ASSERT_TRUE(lines) << lines.error().message;
  EXPECT_FALSE(lines->empty());
  lines = bgp().EnsureBase(Base(), Soon());
  ASSERT_TRUE(lines) << lines.error().message;
  EXPECT_THAT(*lines, IsEmpty());
}

TEST_P(BgpContract, KeepsAFrontEndBesideTheRails) {
  Frontend front{.links = {"mgmt1", "mgmt2"},
                 .addresses = {Ip("192.0.2.11"), Ip("2001:db8::11")},
                 .accept = {*IpPrefix::Parse("0.0.0.0/0"), *IpPrefix::Parse("::/0")}};
  EXPECT_EQ(bgp().EnsureFrontend(front, Soon()).error().code, Code::kTransient) << "no instance";
  EXPECT_THAT(*bgp().EnsureFrontend({}, Soon()), IsEmpty());
  ASSERT_TRUE(bgp().EnsureBase(Base(), Soon()));
  ASSERT_NO_FATAL_FAILURE(Up());
  auto lines = bgp().EnsureFrontend(front, Soon());
  ASSERT_TRUE(lines) << lines.error().message;
  EXPECT_FALSE(lines->empty());
  EXPECT_THAT(*bgp().EnsureFrontend(front, Soon()), IsEmpty());
  EXPECT_THAT(*bgp().EnsureBase(Base(), Soon()), IsEmpty()) << "neither undoes what the other does";
  EXPECT_TRUE(bgp().SessionState("mgmt2", Soon()));
  EXPECT_THAT(*bgp().AdvertisedTo("mgmt2", Soon()), IsEmpty()) << "it is not up";
  EXPECT_THAT(Announced(), IsEmpty()) << "the node's address is no pod's";
  // The rails' leaves hear nothing of it. bgpd may still be putting the session into another update group: until then it lists nothing.
  ASSERT_TRUE(bgp().Announce(Pod("10.0.3.7", 0, kA), Soon()));
  ASSERT_TRUE(bgp().WaitAdjRibOut({Ip("10.0.3.7")}, "br-rail0", Soon()));
  std::vector<IpPrefix> advertised;
  EXPECT_TRUE(Eventually([&] {
    advertised = *bgp().AdvertisedTo("br-rail0", Soon());
    return !advertised.empty();
  }));
  EXPECT_THAT(advertised, ::testing::ElementsAre(*IpPrefix::Parse("10.0.3.7/32")));
  front.links.pop_back();
  front.links.emplace_back("mgmt3");
  EXPECT_FALSE(bgp().EnsureFrontend(front, Soon())->empty());
  EXPECT_EQ(bgp().SessionState("mgmt2", Soon()).error().code, Code::kNotFound);
  EXPECT_FALSE(bgp().EnsureFrontend({}, Soon())->empty());
  EXPECT_THAT(*bgp().EnsureFrontend({}, Soon()), IsEmpty());
  EXPECT_EQ(bgp().SessionState("mgmt1", Soon()).error().code, Code::kNotFound);
  EXPECT_THAT(*bgp().EnsureBase(Base(), Soon()), IsEmpty());
}

TEST_P(BgpContract, AddsARailLater) {
  BaseConfig base = Base();
  base.rails.pop_back();
  ASSERT_TRUE(bgp().EnsureBase(base, Soon()));
  EXPECT_EQ(bgp().Sessions(Soon())->size(), 1U);
  ASSERT_NO_FATAL_FAILURE(Up());
  EXPECT_THAT(*bgp().EnsureBase(Base(), Soon()), IsEmpty());
}

TEST_P(BgpContract, ResetsOneSession) {
  EXPECT_TRUE(bgp().ResetSession("br-rail0", Soon())) << "no instance";
  ASSERT_NO_FATAL_FAILURE(Up());
  EXPECT_TRUE(bgp().ResetSession("br-rail7", Soon())) << "no such session";
  EXPECT_EQ(bgp().ResetSession("br rail0", Soon()).error().code, Code::kInvalid);
  const Status reset = bgp().ResetSession("br-rail0", Soon());
  ASSERT_TRUE(reset) << reset.error().message;
  const auto sessions = bgp().Sessions(Soon());
  ASSERT_TRUE(sessions);
  ASSERT_EQ(sessions->size(), 2U);
  EXPECT_FALSE((*sessions)[0].established()) << "br-rail0";
  EXPECT_TRUE((*sessions)[1].established()) << "br-rail1";
}

TEST_P(BgpContract, RefusesToChangeTheAs) {
  bench_->StartAs(64999);
  const auto lines = bgp().EnsureBase(Base(), Soon());
  ASSERT_FALSE(lines);
  EXPECT_EQ(lines.error().code, Code::kInvalid);
  EXPECT_EQ(bgp().Announce(Pod("10.0.3.7", 0, kA), Soon()).error().code, Code::kInvalid);
}

TEST_P(BgpContract, NamesThePeerOfASession) {
  ASSERT_NO_FATAL_FAILURE(Up());
  const auto sessions = bgp().Sessions(Soon());
  EXPECT_EQ((*sessions)[0].interface, "br-rail0");
  ASSERT_TRUE((*sessions)[0].peer);
  EXPECT_TRUE((*sessions)[0].peer->is_link_local());
}

TEST_P(BgpContract, AnnouncesWithoutRailsFirst) {
  ASSERT_TRUE(bgp().EnsureBase({Ip("10.255.0.1"), {}}, Soon()));
  EXPECT_THAT(*bgp().Sessions(Soon()), IsEmpty());
  ASSERT_NO_FATAL_FAILURE(Announce(Pod("10.0.3.7", 0, kA)));
  ASSERT_NO_FATAL_FAILURE(Up());
  const Status status = bgp().WaitAdjRibOut({Ip("10.0.3.7")}, "br-rail0", Soon());
  EXPECT_TRUE(status) << status.error().message;
}

TEST_P(BgpContract, RemembersWhatItAnnounces) {
  ASSERT_NO_FATAL_FAILURE(Ensure());
  const std::vector<Announcement> pods{Pod("10.0.3.7", 0, kA), Pod("10.0.3.8", 1, {}),
                                       Pod("2001:db8::7", 1, kB)};
  const Status status = bgp().AnnounceAll(pods, Soon());
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(Announced(), pods);
  for (const Announcement& pod : pods) Announce(pod);
  EXPECT_EQ(Announced(), pods);
}

TEST_P(BgpContract, MovesAnAddressToAnotherTenant) {
  ASSERT_NO_FATAL_FAILURE(Ensure());
  Announce(Pod("10.0.3.7", 0, kA));
  Announce(Pod("10.0.3.7", 0, kB));
  EXPECT_EQ(Announced(), std::vector{Pod("10.0.3.7", 0, kB)});
}

TEST_P(BgpContract, WithdrawsAndWithdrawsAgain) {
  ASSERT_NO_FATAL_FAILURE(Ensure());
  Announce(Pod("10.0.3.7", 0, kA));
  Announce(Pod("2001:db8::7", 0, kA));
  ASSERT_TRUE(bgp().Withdraw(Ip("10.0.3.7"), Soon()));
  EXPECT_EQ(Announced(), std::vector{Pod("2001:db8::7", 0, kA)});
  ASSERT_TRUE(bgp().Withdraw(Ip("10.0.3.7"), Soon()));
  ASSERT_TRUE(bgp().Withdraw(Ip("2001:db8::7"), Soon()));
  EXPECT_THAT(Announced(), IsEmpty());
}

TEST_P(BgpContract, RefusesAddressesThatAreNoPods) {
  ASSERT_NO_FATAL_FAILURE(Ensure());
  for (const char* address :
       {"0.0.0.0", "127.0.0.1", "224.0.0.1", "169.254.1.1", "::", "::1", "fe80::1", "ff02::1"}) {
    const Status status = bgp().Announce(Pod(address, 0, kA), Soon());
    ASSERT_FALSE(status) << address;
    EXPECT_EQ(status.error().code, Code::kInvalid) << address;
  }
  EXPECT_THAT(Announced(), IsEmpty());
}

TEST_P(BgpContract, LeavesANetworkOfSomebodyElseAlone) {
  ASSERT_NO_FATAL_FAILURE(Ensure());
  bench_->AddForeignNetwork(Ip("192.0.2.1"));
  const Status status = bgp().AnnounceAll({Pod("10.0.3.7", 0, kA), Pod("192.0.2.1", 0, kA)}, Soon());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kExists);
  EXPECT_THAT(Announced(), IsEmpty());
  EXPECT_TRUE(bgp().Withdraw(Ip("192.0.2.1"), Soon()));
  EXPECT_TRUE(bench_->HasForeignNetwork(Ip("192.0.2.1")));
}

TEST_P(BgpContract, SendsAnAddressToTheLeafOfItsRailOnly) {
  ASSERT_NO_FATAL_FAILURE(Up());
  Announce(Pod("10.0.3.7", 0, kA));
  Announce(Pod("2001:db8::7", 1, kA));
  Status status = bgp().WaitAdjRibOut({Ip("10.0.3.7")}, "br-rail0", Soon());
  EXPECT_TRUE(status) << status.error().message;
  status = bgp().WaitAdjRibOut({Ip("2001:db8::7")}, "br-rail1", Soon());
  EXPECT_TRUE(status) << status.error().message;
  EXPECT_FALSE(*bgp().InAdjRibOut(Ip("10.0.3.7"), "br-rail1", Soon()));
  EXPECT_FALSE(*bgp().InAdjRibOut(Ip("2001:db8::7"), "br-rail0", Soon()));
  ASSERT_TRUE(bgp().Withdraw(Ip("10.0.3.7"), Soon()));
  EXPECT_FALSE(*bgp().InAdjRibOut(Ip("10.0.3.7"), "br-rail0", Soon()));
}

TEST_P(BgpContract, KnowsWhoElseAnnouncesAnAddress) {
  ASSERT_NO_FATAL_FAILURE(Up());
  const std::string leaf = std::to_string(FrrPair::kLeafAsn);
  for (const std::string text : {"10.0.9.1", "2001:db8::9"}) {
    const IpAddress address = Ip(text);
    const auto elsewhere = [&] { return *bgp().AnnouncedElsewhere(address, Soon()); };
    Announce(Pod(text, 0, kA));
    EXPECT_EQ(elsewhere(), std::nullopt) << "our own announcement is nobody else's";
    bench_->LeafAnnounces(address.ToHostPrefix(), Of(kB));
    EXPECT_TRUE(Eventually([&] { return elsewhere() == leaf; })) << text;
    ASSERT_TRUE(bgp().Withdraw(address, Soon()));
    EXPECT_EQ(elsewhere(), leaf);
    bench_->LeafWithdraws(address.ToHostPrefix());
    EXPECT_TRUE(Eventually([&] { return elsewhere() == std::nullopt; })) << text;
  }
}

TEST_P(BgpContract, KnowsOverWhichLinksAPrefixIsReached) {
  ASSERT_NO_FATAL_FAILURE(Up());
  for (const char* text : {"10.0.9.1/32", "2001:db8::9/128"}) {
    const auto links = [&] { return *bgp().UsedLinks(*IpPrefix::Parse(text), Soon()); };
    EXPECT_THAT(links(), IsEmpty());
    bench_->LeafAnnounces(text, Of(kA));
    EXPECT_TRUE(Eventually([&] { return links().contains("br-rail0"); })) << text;
    bench_->LeafWithdraws(text);
    EXPECT_TRUE(Eventually([&] { return links().empty(); })) << text;
  }
}

TEST_P(BgpContract, SaysThatTheSessionIsDown) {
  ASSERT_NO_FATAL_FAILURE(Up());
  bench_->CutLink(0);
  ASSERT_TRUE(Eventually([&] { return !(*bgp().Sessions(Soon()))[0].established(); }));
  Announce(Pod("10.0.3.7", 0, kA));
  const auto start = Clock::now();
  const Status status = bgp().WaitAdjRibOut({Ip("10.0.3.7")}, "br-rail0", After(milliseconds(150)));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(6));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kTransient);
  EXPECT_THAT(status.error().message, HasSubstr("10.0.3.7/32"));
  EXPECT_THAT(status.error().message, HasSubstr("BGP session on br-rail0 is "));
  EXPECT_THAT(status.error().message, HasSubstr("not Established"));
}

TEST_P(BgpContract, SaysWhatStateASessionIsIn) {
  EXPECT_EQ(bgp().SessionState("br-rail0", Soon()).error().code, Code::kNotFound) << "no instance";
  ASSERT_NO_FATAL_FAILURE(Up());
  EXPECT_EQ(*bgp().SessionState("br-rail1", Soon()), kEstablished);
  EXPECT_EQ(bgp().SessionState("br-rail9", Soon()).error().code, Code::kNotFound);
  EXPECT_EQ(bgp().SessionState("br rail0", Soon()).error().code, Code::kInvalid);
  bench_->CutLink(0);
  EXPECT_TRUE(Eventually([&] { return *bgp().SessionState("br-rail0", Soon()) != kEstablished; }));
}

TEST_P(BgpContract, WaitsForAnEstablishedSession) {
  ASSERT_NO_FATAL_FAILURE(Ensure());
  Status status = bgp().WaitEstablished("br-rail9", After(milliseconds(1)));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kTransient) << "raild may be about to make it";
  EXPECT_THAT(status.error().message, HasSubstr("no neighbor br-rail9"));
  bench_->BringUp();
  status = bgp().WaitEstablished("br-rail0", Soon());
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(*bgp().SessionState("br-rail0", Soon()), kEstablished);
  EXPECT_TRUE(bgp().WaitEstablished("br-rail0", Clock::now())) << "at once";
  bench_->CutLink(0);
  ASSERT_TRUE(Eventually([&] { return *bgp().SessionState("br-rail0", Soon()) != kEstablished; }));
  int helped = 0;
  status = bgp().WaitEstablished("br-rail0", After(milliseconds(50)), {[&] { ++helped; }, ": is it well?"});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kTransient);
  EXPECT_THAT(status.error().message, EndsWith("not Established: is it well?"));
  EXPECT_EQ(helped, 1) << "at once, and not again within 500 ms";
}

TEST_P(BgpContract, SaysThatThereIsNoSuchNeighbor) {
  ASSERT_NO_FATAL_FAILURE(Ensure());
  Announce(Pod("10.0.3.7", 0, kA));
  const Status status = bgp().WaitAdjRibOut({Ip("10.0.3.7")}, "br-rail9", After(milliseconds(1)));
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("no neighbor br-rail9"));
}

TEST_P(BgpContract, CountsTheChangesOfItsTables) {
  ASSERT_NO_FATAL_FAILURE(Up());
  // A leaf may not tell both rails at once, nor at all what it withdraws too soon: each step waits until the one before has come to
  // an end. bgpd counts what it has received 50 ms later.
  uint64_t before = 0;
  const auto settle = [&](uint32_t received) {
    EXPECT_TRUE(Eventually([&] {
      const auto sessions = bgp().Sessions(Soon());
      return sessions && std::ranges::all_of(*sessions, [&](const Session& session) {
               return session.prefixes_received == received;
             });
    }));
    EXPECT_TRUE(Eventually([&] {
      std::this_thread::sleep_for(milliseconds(150));
      const uint64_t now = *bgp().TableVersion(Soon());
      return std::exchange(before, now) == now;
    }));
  };
  const auto changed = [&] { return *bgp().TableVersion(Soon()) != before; };
  bench_->LeafAnnounces("10.0.9.1/32", Of(kA));
  settle(1);
  bench_->LeafAnnounces("10.0.9.1/32", Of(kB));
  EXPECT_TRUE(Eventually(changed));
  settle(1);
  bench_->LeafAnnounces("2001:db8::9/128", Of(kB));
  EXPECT_TRUE(Eventually(changed));
  settle(2);
  bench_->LeafWithdraws("2001:db8::9/128");
  EXPECT_TRUE(Eventually(changed));
}

TEST_P(BgpContract, IsToldToPushOnce) {
  EXPECT_EQ(bgp().EnsureFeed(Base().rails, 11019, true, Soon()).error().code, Code::kTransient)
      << "no instance";
  ASSERT_NO_FATAL_FAILURE(Up());
  const auto unmanaged = bgp().EnsureFeed(Base().rails, 11019, false, Soon());
  ASSERT_FALSE(unmanaged) << "what is missing is the operator's to add";
  EXPECT_EQ(unmanaged.error().code, Code::kNotFound);
  auto sent = bgp().EnsureFeed(Base().rails, 11019, true, Soon());
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_TRUE(*sent);
  sent = bgp().EnsureFeed(Base().rails, 11019, true, Soon());
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_FALSE(*sent);
  EXPECT_TRUE(bgp().EnsureFeed(Base().rails, 11019, false, Soon()));
  EXPECT_TRUE(*bgp().EnsureFeed(Base().rails, 11020, true, Soon())) << "another port";
  EXPECT_THAT(*bgp().EnsureBase(Base(), Soon()), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, BgpContract, ::testing::Values(Kind::kFake, Kind::kReal),
                         [](const auto& kind) { return kind.param == Kind::kFake ? "Fake" : "Frr"; });

// An instance needs no VRF in the kernel to be configured, so this runs on every kernel.
TEST_P(BgpContract, AnInstanceOfAVrfHasItsOwnAnnouncements) {
  Bgp& red = bgp().Instance("railcni-0-101");
  Bgp& blue = bgp().Instance("railcni-0-102");
  const BaseConfig none{.router_id = Base().router_id, .rails = {}, .max_prefixes = 1000};
  EXPECT_EQ(red.EnsureBase(none, Soon()).error().code, Code::kTransient)
      << "the default instance comes first";
  ASSERT_TRUE(bgp().EnsureBase(none, Soon()));
  EXPECT_THAT(*bgp().OurInstances(Soon()), IsEmpty());
  EXPECT_EQ(red.SessionState("rcvlan-0-101", Soon()).error().code, Code::kNotFound);
  EXPECT_EQ(red.Announce(Pod("10.0.3.7", 0, kA), Soon()).error().code, Code::kTransient);
  for (Bgp* instance : {&red, &blue}) {
    const auto made = instance->EnsureBase(none, Soon());
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_FALSE(made->empty());
    EXPECT_THAT(*instance->EnsureBase(none, Soon()), IsEmpty());
  }
  EXPECT_THAT(*bgp().OurInstances(Soon()), ::testing::ElementsAre("railcni-0-101", "railcni-0-102"));
  // One address of two tenants.
  ASSERT_TRUE(red.Announce(Pod("10.0.3.7", 0, kA), Soon()));
  ASSERT_TRUE(blue.Announce(Pod("10.0.3.7", 0, kB), Soon()));
  EXPECT_EQ(red.Announced(Soon())->front().tenant, kA);
  EXPECT_EQ(blue.Announced(Soon())->front().tenant, kB);
  EXPECT_THAT(Announced(), IsEmpty());
  BaseConfig with_peer = none;
  with_peer.rails = {{"rail0", 0, "rcvlan-0-101"}};
  ASSERT_TRUE(red.EnsureBase(with_peer, Soon()));
  EXPECT_TRUE(red.SessionState("rcvlan-0-101", Soon()));
  EXPECT_EQ(bgp().SessionState("rcvlan-0-101", Soon()).error().code, Code::kNotFound);
  EXPECT_EQ(blue.SessionState("rcvlan-0-101", Soon()).error().code, Code::kNotFound);
  EXPECT_TRUE(*red.EnsureFeed(with_peer.rails, {Ip("127.1.0.101"), 11019}, true, Soon()));
  EXPECT_FALSE(*red.EnsureFeed(with_peer.rails, {Ip("127.1.0.101"), 11019}, true, Soon()));
  ASSERT_TRUE(red.Withdraw(Ip("10.0.3.7"), Soon()));
  EXPECT_EQ(blue.Announced(Soon())->size(), 1U);
  ASSERT_TRUE(bgp().RemoveInstance("railcni-0-102", Soon()));
  ASSERT_TRUE(bgp().RemoveInstance("railcni-0-102", Soon())) << "it is not there";
  EXPECT_EQ(bgp().RemoveInstance("admins", Soon()).error().code, Code::kInvalid);
  EXPECT_EQ(bgp().RemoveInstance("railcni-mgmt", Soon()).error().code, Code::kInvalid);
  EXPECT_THAT(*bgp().OurInstances(Soon()), ::testing::ElementsAre("railcni-0-101"));
}

TEST_P(BgpContract, ReadsTheConfigurationOnceAndAgainAfterAChange) {
  ASSERT_TRUE(bgp().EnsureBase(Base(), Soon()));
  bgp().ReadOnce(true);
  EXPECT_THAT(Announced(), IsEmpty());
  ASSERT_TRUE(bgp().Announce(Pod("10.0.3.7", 0, kA), Soon()));
  EXPECT_EQ(Announced().size(), 1U);
  bgp().ReadOnce(false);
}

}  // namespace
}  // namespace rail::frr::testing
