#include "lib/engine/repair/frontend.h"

#include <linux/rtnetlink.h>

#include <filesystem>

#include "lib/engine/repair/origin.h"
#include "lib/engine/testing/repair_fixture.h"

namespace rail::engine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class FrontendTest : public testing::RepairTest {
 protected:
  FrontendTest() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    world.origin = std::make_shared<Origin>(folder_ + "/origin.json");
    deps_ = WithHost(world.deps());
    netlink::Link loopback;
    loopback.name = "lo";
    loopback_ = world.host.AddLink(loopback);
    world.config.frontend = {.links = {"mgmt1", "mgmt2"},
                             .addresses = {Ip("192.0.2.11"), Ip("2001:db8::11")},
                             .accept = {*IpPrefix::Parse("0.0.0.0/0"), *IpPrefix::Parse("::/0")}};
    EXPECT_TRUE(world.bgp.EnsureBase({}, {}));
  }
  ~FrontendTest() override { std::filesystem::remove_all(folder_); }

  // An audit's part of the front end.
  Status Ensure() {
    Connections connections(deps_.openers(world.config), After(std::chrono::seconds(10)));
    sent_ = 0;
    return frontend_.Ensure(connections, sent_);
  }
  v1::NodeInfo Look() {
    std::map<std::string, frr::Session> sessions;
    for (const frr::Session& session : world.bgp.SessionsNow()) sessions[session.interface] = session;
    Connections connections(deps_.openers(world.config), After(std::chrono::seconds(10)));
    return LookAtFrontend(world.config, connections, sessions);
  }
  void Established() {
    ASSERT_TRUE(Ensure());
    for (const std::string& link : world.config.frontend.links) world.bgp.SetSession(link, frr::kEstablished);
    for (const std::string& link : world.config.frontend.links) {
      for (const IpPrefix& prefix : world.config.frontend.accept) world.bgp.Learn(prefix, {}, link);
    }
    out_ = {"mgmt1", "mgmt2"};
  }
  std::vector<std::string> OnLoopback() {
    std::vector<std::string> texts;
    const auto addresses = world.host.ListAddresses(loopback_);
    for (const netlink::Address& address : addresses.value()) texts.push_back(address.prefix.ToString());
    return texts;
  }
  // Links with a session, without those of the rails.
  std::vector<std::string> Sessions() {
    std::vector<std::string> links;
    for (const frr::Session& session : world.bgp.SessionsNow()) {
      if (!session.interface.starts_with("br-")) links.push_back(session.interface);
    }
    return links;
  }
  std::vector<IpPrefix> Recorded() { return ReadOrigin(folder_ + "/origin.json").value().loopback; }

  void Mend() {
    Connections connections(deps_.openers(world.config), After(std::chrono::seconds(10)));
    frontend_.MendPaths(Look(), connections);
  }

  std::set<std::string> out_;  // where the host's default routes go
  uint8_t protocol_ = RTPROT_BGP;
  bool zebra_loses_ = false;
  bool bfdd_ = false;
  size_t sent_ = 0;
  int loopback_ = 0;

  Deps WithHost(Deps deps) {
    deps.openers = [this, openers = deps.openers](const config::NodeConfig& node) {
      Openers all = openers(node);
      all.exits = [this](const IpPrefix&) -> Result<netlink::Exits> {
        return netlink::Exits{out_, protocol_};
      };
      all.own_next_hops = [this](const std::function<Status()>& before, Deadline) -> Result<bool> {
        if (!zebra_loses_) return false;
        RAIL_TRY(before());
        return std::exchange(zebra_loses_, false);
      };
      all.daemon_runs = [this](const std::string& daemon) { return bfdd_ && daemon == "bfdd"; };
      return all;
    };
    return deps;
  }

  std::string folder_ = (std::filesystem::temp_directory_path() / "rail-frontend-XXXXXX").string();
  Deps deps_;
  FrontendRepair frontend_{world.config, deps_};  // one for the whole test, as raild has one
};

TEST_F(FrontendTest, TheNodeHasItsAddressesAndEachLinkASession) {
  ASSERT_TRUE(Ensure());
  EXPECT_THAT(OnLoopback(), UnorderedElementsAre("192.0.2.11/32", "2001:db8::11/128"));
  EXPECT_EQ(Recorded().size(), 2U) << "raild --remove has to know whose they are";
  EXPECT_THAT(Sessions(), UnorderedElementsAre("mgmt1", "mgmt2"));
  EXPECT_GT(sent_, 2U);
  ASSERT_TRUE(Ensure());
  EXPECT_EQ(sent_, 0U) << "all is there";
}

TEST_F(FrontendTest, AnAddressThatWasThereBeforeIsNotOurs) {
  ASSERT_TRUE(world.host.AddAddress({.link = loopback_, .prefix = *IpPrefix::Parse("192.0.2.11/32")}));
  ASSERT_TRUE(Ensure());
  EXPECT_THAT(Recorded(), ElementsAre(*IpPrefix::Parse("2001:db8::11/128")));
  world.config.frontend = {};
  ASSERT_TRUE(Ensure());
  EXPECT_THAT(OnLoopback(), ElementsAre("192.0.2.11/32"));
}

TEST_F(FrontendTest, NothingIsAnnouncedThatTheNodeDoesNotHave) {
  world.host.FailOn("AddAddress", {Code::kPermission, "no right to", EPERM});
  EXPECT_FALSE(Ensure());
  EXPECT_THAT(Sessions(), IsEmpty()) << "an address that is told would draw packets nobody takes";
  EXPECT_EQ(Recorded().size(), 1U) << "recorded before it was tried";
  ASSERT_TRUE(Ensure()) << "the next audit tries again";
  EXPECT_EQ(OnLoopback().size(), 2U);
}

TEST_F(FrontendTest, PutsBackAnAddressThatSomebodyTook) {
  ASSERT_TRUE(Ensure());
  ASSERT_TRUE(world.host.DeleteAddress({.link = loopback_, .prefix = *IpPrefix::Parse("192.0.2.11/32")}));
  ASSERT_TRUE(Ensure());
  EXPECT_EQ(sent_, 1U);
  EXPECT_THAT(OnLoopback(), Contains("192.0.2.11/32"));
  EXPECT_EQ(Recorded().size(), 2U);
}

TEST_F(FrontendTest, WhatNodeJsonNoLongerNamesGoes) {
  ASSERT_TRUE(Ensure());
  world.config.frontend.addresses.erase(world.config.frontend.addresses.begin());
  world.config.frontend.links = {"mgmt2", "mgmt3"};
  ASSERT_TRUE(Ensure());
  EXPECT_THAT(OnLoopback(), ElementsAre("2001:db8::11/128"));
  EXPECT_EQ(Recorded().size(), 1U);
  EXPECT_THAT(Sessions(), UnorderedElementsAre("mgmt2", "mgmt3"));
}

TEST_F(FrontendTest, AnAddressThatSomebodyHasDeletedAlreadyIsGone) {
  ASSERT_TRUE(Ensure());
  ASSERT_TRUE(world.host.DeleteAddress({.link = loopback_, .prefix = *IpPrefix::Parse("192.0.2.11/32")}));
  world.config.frontend = {};
  ASSERT_TRUE(Ensure());
  EXPECT_THAT(OnLoopback(), IsEmpty());
  EXPECT_THAT(Recorded(), IsEmpty());
}

TEST_F(FrontendTest, WithoutAFrontEndTheNodeIsLookedAtOnce) {
  world.config.frontend = {};
  ASSERT_TRUE(Ensure());
  world.bgp.FailAll(Error{Code::kTransient, "bgpd does not answer", 0});
  EXPECT_TRUE(Ensure()) << "nothing more is asked";
}

TEST_F(FrontendTest, WhatIsLeftOfItIsTriedAgainUntilItIsGone) {
  ASSERT_TRUE(Ensure());
  world.config.frontend = {};
  world.bgp.FailAll(Error{Code::kTransient, "bgpd does not answer", 0});
  EXPECT_FALSE(Ensure());
  EXPECT_THAT(OnLoopback(), IsEmpty()) << "the node's part needs no bgpd";
  world.bgp.FailAll(std::nullopt);
  ASSERT_TRUE(Ensure());
  EXPECT_THAT(Sessions(), IsEmpty());
}

TEST_F(FrontendTest, NetworkStatementsOfOthersAreInTheWay) {
  world.bgp.AddForeignNetwork(Ip("192.0.2.11"));
  const Status done = Ensure();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kExists);
}

TEST_F(FrontendTest, AllIsWellWhenBothLinksTellAllAndCarryBothDefaultRoutes) {
  Established();
  const v1::NodeInfo view = Look();
  EXPECT_TRUE(IsWhole(view));
  ASSERT_EQ(view.frontend_links_size(), 2);
  EXPECT_THAT(view.frontend_links(0).default_routes(), ElementsAre("ipv4", "ipv6"));
  EXPECT_THAT(view.frontend_addresses(), ElementsAre("192.0.2.11/32", "2001:db8::11/128"));
  EXPECT_EQ(view.frontend_links(0).told(), 2U);
  EXPECT_EQ(view.frontend_links(0).problem(), "");
}

TEST_F(FrontendTest, AFamilyWithoutAnAddressNeedsNoDefaultRoute) {
  world.config.frontend.addresses = {Ip("192.0.2.11")};
  Established();
  EXPECT_THAT(Look().frontend_links(0).default_routes(), ElementsAre("ipv4"));
}

TEST_F(FrontendTest, ASessionThatIsDownIsNamedWithItsReason) {
  Established();
  world.bgp.SetSession("mgmt2", "Active");
  out_ = {"mgmt1"};
  const v1::NodeInfo view = Look();
  EXPECT_FALSE(IsWhole(view));
  EXPECT_THAT(view.frontend_links(0).bgp_problem(), IsEmpty());
  EXPECT_THAT(view.frontend_links(1).bgp_problem(), ::testing::Not(IsEmpty()));
  EXPECT_EQ(view.frontend_links(1).problem(), view.frontend_links(1).bgp_problem());
  EXPECT_EQ(view.frontend_links(1).told(), 0U) << "no session";
  EXPECT_THAT(view.frontend_links(1).not_told(), IsEmpty()) << "what it does not tell follows from that";
}

TEST_F(FrontendTest, ALinkThatTheDefaultRouteDoesNotUseIsNamed) {
  Established();
  out_ = {"mgmt1"};
  const v1::NodeInfo view = Look();
  EXPECT_FALSE(IsWhole(view));
  EXPECT_THAT(view.frontend_links(0).missing_default_routes(), IsEmpty());
  EXPECT_THAT(view.frontend_links(1).missing_default_routes(), ElementsAre("ipv4", "ipv6"));
}

TEST_F(FrontendTest, APathThatTheKernelDoesNotUseIsToldFromOneThatIsNotThere) {
  Established();
  out_ = {"mgmt1"};
  EXPECT_THAT(Look().frontend_links(1).unused_default_paths(), ElementsAre("ipv4", "ipv6"));
  EXPECT_EQ(Look().frontend_links(1).problem(), "bgpd has a path for ipv4,ipv6, the kernel does not use it");
  world.bgp.Forget(*IpPrefix::Parse("::/0"), "mgmt2");
  EXPECT_THAT(Look().frontend_links(1).unused_default_paths(), ElementsAre("ipv4"));
  EXPECT_THAT(Look().frontend_links(1).missing_default_routes(), ElementsAre("ipv4", "ipv6"));
  EXPECT_THAT(Look().frontend_links(0).stray_default_routes(), IsEmpty());
}

TEST_F(FrontendTest, ANextHopThatBgpdHasNoPathForIsNamed) {
  Established();
  world.bgp.Forget(*IpPrefix::Parse("0.0.0.0/0"), "mgmt2");
  EXPECT_THAT(Look().frontend_links(1).stray_default_routes(), ElementsAre("ipv4"));
  EXPECT_THAT(Look().frontend_links(1).problem(), HasSubstr("the kernel sends ipv4 here"));
  EXPECT_FALSE(IsWhole(Look()));
  protocol_ = RTPROT_STATIC;
  EXPECT_THAT(Look().frontend_links(1).stray_default_routes(), IsEmpty()) << "the host's own route";
  protocol_ = RTPROT_BGP;
  world.bgp.FailAll(Error{Code::kTransient, "bgpd does not answer", 0});
  EXPECT_THAT(Look().frontend_links(1).stray_default_routes(), IsEmpty()) << "nothing is known of its paths";
}

TEST_F(FrontendTest, TheSessionOfAPathThatTheKernelLacksIsEndedOnceAMinute) {
  Established();
  Mend();
  EXPECT_EQ(frontend_.next_mend(), std::nullopt);
  out_ = {"mgmt1"};
  Mend();
  EXPECT_THAT(world.bgp.resets(), IsEmpty()) << "zebra may be about to write it";
  world.passed += std::chrono::seconds(5);
  Mend();
  EXPECT_THAT(world.bgp.resets(), ElementsAre("mgmt2"));
  EXPECT_GT(*frontend_.next_mend(), deps_.now() + std::chrono::seconds(50));
  world.passed += std::chrono::seconds(50);
  Mend();
  EXPECT_EQ(world.bgp.resets().size(), 1U);
  world.passed += std::chrono::seconds(10);
  Mend();
  EXPECT_EQ(world.bgp.resets().size(), 2U);
  out_ = {"mgmt1", "mgmt2"};
  Mend();
  EXPECT_EQ(frontend_.next_mend(), std::nullopt);
}

// A session that ends each minute for it would mend nothing.
TEST_F(FrontendTest, AStaticRouteBeforeBgpsIsNoLostNextHop) {
  Established();
  out_ = {"mgmt1"};
  protocol_ = RTPROT_STATIC;
  EXPECT_THAT(Look().frontend_links(1).unused_default_paths(), IsEmpty());
  EXPECT_THAT(Look().frontend_links(1).missing_default_routes(), ElementsAre("ipv4", "ipv6"));
  Mend();
  world.passed += std::chrono::seconds(6);
  Mend();
  EXPECT_THAT(world.bgp.resets(), IsEmpty());
}

TEST_F(FrontendTest, TheOnlyWayOutIsNotEnded) {
  Established();
  out_ = {};
  Mend();
  world.passed += std::chrono::seconds(6);
  Mend();
  EXPECT_THAT(world.bgp.resets(), IsEmpty());
}

TEST_F(FrontendTest, AZebraThatLosesNextHopsIsToldToKeepThemApart) {
  zebra_loses_ = true;
  ASSERT_TRUE(Ensure());
  EXPECT_FALSE(zebra_loses_);
  EXPECT_TRUE(ReadOrigin(folder_ + "/origin.json")->next_hops) << "raild --remove takes it back";
}

TEST_F(FrontendTest, WithoutAFrontEndZebraStaysAsItIs) {
  world.config.frontend = {};
  zebra_loses_ = true;
  ASSERT_TRUE(Ensure());
  EXPECT_TRUE(zebra_loses_);
}

TEST_F(FrontendTest, WhatIsNoAddressOfTheNodeIsALeak) {
  Established();
  world.bgp.LeakTo("mgmt1", *IpPrefix::Parse("10.0.3.1/32"));
  const v1::NodeInfo view = Look();
  EXPECT_FALSE(IsWhole(view));
  EXPECT_THAT(view.frontend_links(0).leaked(), ElementsAre("10.0.3.1/32"));
  EXPECT_EQ(view.frontend_links(0).problem(), "LEAKED: 10.0.3.1/32");
  EXPECT_THAT(view.frontend_links(1).leaked(), IsEmpty());
}

TEST_F(FrontendTest, AnAddressThatALinkDoesNotTellIsNamed) {
  Established();
  world.config.frontend.addresses.push_back(Ip("192.0.2.12"));  // as before the audit that announces it
  const v1::NodeInfo view = Look();
  EXPECT_FALSE(IsWhole(view));
  EXPECT_THAT(view.frontend_links(0).not_told(), ElementsAre("192.0.2.12"));
  EXPECT_EQ(view.frontend_links(0).problem(), "not told: 192.0.2.12");
  EXPECT_EQ(view.frontend_links(0).told(), 2U);
  EXPECT_EQ(view.frontend_links(0).addresses(), 3U);
}

TEST_F(FrontendTest, BfdThatNobodyRunsIsSaid) {
  world.config.frontend.bfd = true;
  Established();
  EXPECT_THAT(Look().frontend_bfd_problem(), HasSubstr("bfdd does not answer"));
  bfdd_ = true;
  ASSERT_TRUE(Ensure());
  EXPECT_EQ(sent_, 1U) << "bgpd is told of it now";
  EXPECT_TRUE(IsWhole(Look()));
}

TEST_F(FrontendTest, ABgpdThatDoesNotAnswerIsNoLeak) {
  Established();
  world.bgp.FailAll(Error{Code::kTransient, "bgpd does not answer", 0});
  const v1::NodeInfo view = Look();
  for (const v1::FrontendLink& link : view.frontend_links()) {
    EXPECT_THAT(link.leaked(), IsEmpty());
    EXPECT_THAT(link.not_told(), IsEmpty());
  }
}

}  // namespace
}  // namespace rail::engine
