// The same cases on FakeBgp and on a real bgpd with a leaf (frr_fixture.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <sstream>
#include <thread>

#include "lib/frr/testing/fake.h"
#include "lib/frr/vty_bgp.h"
#include "test/contract/frr_fixture.h"

namespace rail::frr {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using tenancy::LargeCommunity;
using tenancy::TenantId;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint32_t kAsn = 4200000001, kCommunityAsn = 4200000000;
constexpr TenantId kA{0xfedcba98765432, 0x0123456789abcd}, kB{0, 9};

IpAddress Ip(const std::string& text) {
  return *IpAddress::Parse(text);
}
Deadline Soon() {
  return After(seconds(10));
}

// bgpd acts on its own clock; what it must come to is awaited, boundedly.
bool Eventually(const std::function<bool()>& condition) {
  const Deadline deadline = After(seconds(20));
  while (!condition()) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return true;
}

// A bgpd with one leaf on two rails, as a test sees it.
class Bench {
 public:
  virtual ~Bench() = default;
  virtual Bgp& bgp() = 0;
  virtual void StartAs(uint32_t asn) = 0;
  virtual void AddForeignNetwork(const IpAddress& address) = 0;
  virtual bool HasForeignNetwork(const IpAddress& address) = 0;
  virtual void LeafAnnounces(const std::string& prefix, const std::vector<LargeCommunity>& communities) = 0;
  virtual void LeafWithdraws(const std::string& prefix) = 0;
  virtual void CutLink(int rail) = 0;
  virtual void BringUp() {}
};

class FakeBench : public Bench {
 public:
  Bgp& bgp() override { return fake_; }
  void StartAs(uint32_t asn) override { fake_.StartAs(asn); }
  void AddForeignNetwork(const IpAddress& address) override { fake_.AddForeignNetwork(address); }
  bool HasForeignNetwork(const IpAddress& address) override {
    return fake_.foreign_networks().contains(address);
  }
  void LeafAnnounces(const std::string& prefix, const std::vector<LargeCommunity>& communities) override {
    for (const char* interface : {"br-rail0", "br-rail1"})
      fake_.Learn(*IpPrefix::Parse(prefix), communities, interface);
  }
  void LeafWithdraws(const std::string& prefix) override {
    for (const char* interface : {"br-rail0", "br-rail1"}) fake_.Forget(*IpPrefix::Parse(prefix), interface);
  }
  void CutLink(int rail) override { fake_.SetSession("br-rail" + std::to_string(rail), "Idle"); }
  void BringUp() override {
    for (const char* interface : {"br-rail0", "br-rail1"}) fake_.SetSession(interface, "Established");
  }

 private:
  testing::FakeBgp fake_{{kAsn, kCommunityAsn}};
};

class RealBench : public Bench {
 public:
  RealBench() : pair_(testing::FrrPair::Start()) {
    auto bgp = VtyBgp::Open({pair_->host_run_dir(), kAsn, kCommunityAsn}, Soon());
    EXPECT_TRUE(bgp) << bgp.error().message;
    if (bgp) bgp_ = std::move(*bgp);
  }
  Bgp& bgp() override { return *bgp_; }
  void StartAs(uint32_t asn) override { pair_->Host({"router bgp " + std::to_string(asn)}); }
  void AddForeignNetwork(const IpAddress& address) override {
    pair_->Host({"router bgp " + std::to_string(kAsn), Family(address.ToHostPrefix()),
                 "network " + address.ToHostPrefix()});
  }
  bool HasForeignNetwork(const IpAddress& address) override {
    return pair_->ShowHost("show running-config").find("  network " + address.ToHostPrefix() + "\n") !=
           std::string::npos;
  }
  void LeafAnnounces(const std::string& prefix, const std::vector<LargeCommunity>& communities) override {
    const std::string map = "m" + std::to_string(++maps_);
    std::string set = "set large-community";
    for (const LargeCommunity& community : communities) set += " " + community.ToString();
    std::vector<std::string> lines{"route-map " + map + " permit 10"};
    if (!communities.empty()) lines.push_back(set);
    for (std::string line : {"router bgp " + std::to_string(testing::FrrPair::kLeafAsn), Family(prefix),
                             "network " + prefix + " route-map " + map}) {
      lines.push_back(std::move(line));
    }
    pair_->Leaf(lines);
  }
  void LeafWithdraws(const std::string& prefix) override {
    pair_->Leaf(
        {"router bgp " + std::to_string(testing::FrrPair::kLeafAsn), Family(prefix), "no network " + prefix});
  }
  void CutLink(int rail) override { pair_->CutLink(rail); }
  testing::FrrPair& pair() { return *pair_; }

 private:
  static std::string Family(const std::string& prefix) {
    return prefix.find(':') == std::string::npos ? "address-family ipv4 unicast"
                                                 : "address-family ipv6 unicast";
  }
  std::unique_ptr<testing::FrrPair> pair_;
  std::unique_ptr<VtyBgp> bgp_;
  int maps_ = 0;
};

enum class Kind { kFake, kReal };

BaseConfig Base() {
  return {Ip("10.255.0.1"), {{"rail0", 0, "br-rail0"}, {"rail1", 1, "br-rail1"}}};
}

Announcement Pod(const std::string& address, uint32_t rail, TenantId tenant) {
  return {Ip(address), "rail" + std::to_string(rail), rail, tenant};
}

class BgpContract : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (GetParam() == Kind::kFake) {
      bench_ = std::make_unique<FakeBench>();
      return;
    }
    if (const std::string missing = testing::FrrPair::Missing(); !missing.empty()) GTEST_SKIP() << missing;
    bench_ = std::make_unique<RealBench>();
  }
  Bgp& bgp() { return bench_->bgp(); }

  void Ensure() {
    const auto lines = bgp().EnsureBase(Base(), Soon());
    ASSERT_TRUE(lines) << lines.error().message;
  }
  void Up() {
    ASSERT_NO_FATAL_FAILURE(Ensure());
    bench_->BringUp();
    ASSERT_TRUE(Eventually([&] {
      const auto sessions = bgp().Sessions(Soon());
      return sessions && sessions->size() == 2 && (*sessions)[0].established() &&
             (*sessions)[1].established();
    }));
  }
  void Announce(const Announcement& announcement) {
    const Status status = bgp().Announce(announcement, Soon());
    ASSERT_TRUE(status) << status.error().message;
  }
  std::vector<Announcement> Announced() {
    auto announced = bgp().Announced(Soon());
    EXPECT_TRUE(announced) << announced.error().message;
    return announced ? *announced : std::vector<Announcement>{};
  }
  // Prefixes that the leaf has sent on the session of rail 0.
  uint32_t Received() {
    const auto sessions = bgp().Sessions(Soon());
    EXPECT_TRUE(sessions) << sessions.error().message;
    return sessions && !sessions->empty() ? sessions->front().prefixes_received : 0;
  }
  // What a pod of the tenant is announced with, before `more`.
  std::vector<LargeCommunity> Of(TenantId id, const std::vector<LargeCommunity>& more = {}) {
    const auto halves = tenancy::TenantCommunities(kCommunityAsn, id);
    std::vector<LargeCommunity> all(halves.begin(), halves.end());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::string TextOf(TenantId id) { return Of(id)[0].ToString() + " " + Of(id)[1].ToString(); }
  LargeCommunity Rail(uint32_t index) { return tenancy::RailCommunity(kCommunityAsn, index); }

  std::unique_ptr<Bench> bench_;
};

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

TEST_P(BgpContract, SaysThatTheSessionIsDown) {
  ASSERT_NO_FATAL_FAILURE(Up());
  bench_->CutLink(0);
  ASSERT_TRUE(Eventually([&] { return !(*bgp().Sessions(Soon()))[0].established(); }));
  Announce(Pod("10.0.3.7", 0, kA));
  const auto start = Clock::now();
  const Status status = bgp().WaitAdjRibOut({Ip("10.0.3.7")}, "br-rail0", After(milliseconds(150)));
  EXPECT_LT(Clock::now() - start, milliseconds(600));
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
  status = bgp().WaitEstablished("br-rail0", After(milliseconds(50)));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kTransient);
  EXPECT_THAT(status.error().message, HasSubstr("not Established"));
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
  bench_->LeafAnnounces("10.0.9.1/32", Of(kA));
  ASSERT_TRUE(Eventually([&] { return Received() == 1; }));
  uint64_t before = *bgp().TableVersion(Soon());
  const auto changed = [&] {
    const uint64_t now = *bgp().TableVersion(Soon());
    return std::exchange(before, now) != now;
  };
  EXPECT_TRUE(Eventually([&] { return !changed(); })) << "bgpd counts what it has received after a moment";
  bench_->LeafAnnounces("10.0.9.1/32", Of(kB));
  EXPECT_TRUE(Eventually(changed));
  bench_->LeafAnnounces("2001:db8::9/128", Of(kB));
  EXPECT_TRUE(Eventually(changed));
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

// What only a real bgpd can show.
class RealBgp : public BgpContract {
 protected:
  testing::FrrPair& pair() { return static_cast<RealBench&>(*bench_).pair(); }
  // Its lines, sorted: a route-map that is made again is printed last.
  std::vector<std::string> Running() {
    std::istringstream text(pair().ShowHost("show running-config"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    std::ranges::sort(lines);
    return lines;
  }
};

TEST_P(RealBgp, KeepsForeignConfiguration) {
  const std::vector<std::string> foreign{"router bgp 4200000001",
                                         " bgp router-id 10.255.0.1",
                                         " no bgp default ipv4-unicast",
                                         " neighbor 192.0.2.9 remote-as 64900",
                                         " address-family ipv4 unicast",
                                         "  network 192.0.2.1/32 route-map operator",
                                         "  network 198.51.100.0/24",
                                         "  neighbor 192.0.2.9 activate",
                                         "  neighbor 192.0.2.9 route-map operator out",
                                         " exit-address-family",
                                         "bgp large-community-list standard operator seq 5 permit 64900:1:1",
                                         "route-map operator permit 10",
                                         " set large-community 64900:1:1"};
  pair().Host(foreign);
  ASSERT_NO_FATAL_FAILURE(Up());  // also shows that "no bgp default ipv4-unicast" is coped with
  Announce(Pod("10.0.3.7", 0, kA));
  EXPECT_TRUE(bgp().WaitAdjRibOut({Ip("10.0.3.7")}, "br-rail0", Soon()));
  EXPECT_TRUE(bgp().Withdraw(Ip("10.0.3.7"), Soon()));
  EXPECT_TRUE(bgp().Withdraw(Ip("192.0.2.1"), Soon()));
  EXPECT_THAT(*bgp().EnsureBase(Base(), Soon()), IsEmpty());
  const std::string running = pair().ShowHost("show running-config");
  for (const std::string& line : foreign) EXPECT_THAT(running, HasSubstr("\n" + line + "\n"));
  EXPECT_EQ(running.find("no bgp ebgp-requires-policy"), std::string::npos);
}

TEST_P(RealBgp, RefusesToReplaceATableMap) {
  pair().Host({"router bgp 4200000001", "address-family ipv6 unicast", "table-map operator"});
  const auto lines = bgp().EnsureBase(Base(), Soon());
  ASSERT_FALSE(lines);
  EXPECT_EQ(lines.error().code, Code::kExists);
  EXPECT_THAT(lines.error().message, HasSubstr("table-map operator"));
  EXPECT_EQ(pair().ShowHost("show running-config").find("railcni"), std::string::npos);
}

TEST_P(RealBgp, ShowsTheLeafItsCommunities) {
  ASSERT_NO_FATAL_FAILURE(Up());
  Announce(Pod("10.0.3.7", 1, kA));
  Announce(Pod("2001:db8::7", 1, {}));
  const std::string both = Rail(1).ToString() + " " + TextOf(kA);
  EXPECT_TRUE(Eventually([&] {
    return pair().ShowLeaf("show bgp ipv4 unicast 10.0.3.7/32 json").find("\"" + both + "\"") !=
           std::string::npos;
  }));
  EXPECT_TRUE(Eventually([&] {
    return pair()
               .ShowLeaf("show bgp ipv6 unicast 2001:db8::7/128 json")
               .find("\"" + Rail(1).ToString() + "\"") != std::string::npos;
  }));
  // A change of tenant is awaited as well, although the prefix has been in the Adj-RIB-Out before.
  Announce(Pod("10.0.3.7", 1, kB));
  EXPECT_FALSE(*bgp().InAdjRibOut(Ip("10.0.3.7"), "br-rail1", Soon()));
  EXPECT_TRUE(bgp().WaitAdjRibOut({Ip("10.0.3.7")}, "br-rail1", Soon()));
  EXPECT_TRUE(Eventually([&] {
    return pair().ShowLeaf("show bgp ipv4 unicast 10.0.3.7/32 json").find(TextOf(kB)) != std::string::npos;
  }));
}

TEST_P(RealBgp, PassesNothingOnAndInstallsNothing) {
  ASSERT_NO_FATAL_FAILURE(Up());
  // With the communities of both rails they would pass every outbound list, were they announced here.
  bench_->LeafAnnounces("10.0.9.1/32", Of(kA, {Rail(0), Rail(1)}));
  bench_->LeafAnnounces("2001:db8::9/128", Of(kA, {Rail(0), Rail(1)}));
  ASSERT_TRUE(Eventually([&] { return Received() == 2; }));
  Announce(Pod("10.0.3.7", 0, kA));
  Announce(Pod("10.0.3.8", 1, kA));
  const auto sent = [&](size_t session) { return (*bgp().Sessions(Soon()))[session].prefixes_sent; };
  EXPECT_TRUE(Eventually([&] { return sent(0) >= 1 && sent(1) >= 1; }));
  EXPECT_EQ(sent(0), 1U);
  EXPECT_EQ(sent(1), 1U);
  EXPECT_EQ((*bgp().Sessions(Soon()))[0].prefixes_received, 2U);
  const std::string routes =
      "ip -n " + pair().host_netns() + " -6 route show proto bgp; ip -n " + pair().host_netns() + " route";
  EXPECT_EQ(std::system(("test -z \"$(" + routes + ")\"").c_str()), 0);
}

// Nothing tells of such an edit, and bgpd acts on it after 5 s.
TEST_P(RealBgp, PutsARouteMapRightThatSomebodyHasEditedOrRemoved) {
  ASSERT_NO_FATAL_FAILURE(Up());
  const std::vector<Announcement> pods{Pod("10.0.3.7", 0, kB), Pod("10.0.3.8", 0, kB),
                                       Pod("2001:db8::7", 0, kB)};
  ASSERT_TRUE(bgp().AnnounceAll(pods, Soon()));
  const auto told = [&](TenantId tenant) {
    return std::ranges::all_of(pods, [&](const Announcement& pod) {
      const std::string family = pod.address.is_v6() ? "ipv6" : "ipv4";
      return pair()
                 .ShowLeaf("show bgp " + family + " unicast " + pod.address.ToHostPrefix() + " json")
                 .find("\"" + Rail(0).ToString() + " " + TextOf(tenant) + "\"") != std::string::npos;
    });
  };
  ASSERT_TRUE(Eventually([&] { return told(kB); }));
  const std::vector<std::string> right = Running();
  const std::string map = "route-map railcni-rail0-0000000000000000000000000009";
  const std::vector<std::vector<std::string>> edits{
      {"no " + map},
      {map + " permit 10", "set large-community " + TextOf(kA) + " " + Rail(0).ToString()},
      {map + " permit 10", "set metric 5"},
      {map + " deny 5"},
      {"no " + map + " permit 10", map + " deny 10"}};
  for (size_t i = 0; i < edits.size(); ++i) {
    SCOPED_TRACE(edits[i].back());
    pair().Host(edits[i]);
    if (i <= 1) {
      EXPECT_TRUE(Eventually([&] { return i == 0 ? !told(kB) : told(kA); })) << "what comes of it";
    }
    std::vector<Announcement> found = Announced();
    ASSERT_EQ(found.size(), pods.size());
    for (Announcement& announcement : found) EXPECT_TRUE(std::exchange(announcement.edited, false));
    EXPECT_EQ(found, pods);
    const Status status = bgp().AnnounceAll(pods, Soon());
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(Announced(), pods);
    EXPECT_EQ(Running(), right);
    EXPECT_TRUE(Eventually([&] { return told(kB); }));
  }
}

TEST_P(RealBgp, RemovesWhatSomebodyAddsToItsRouteMaps) {
  ASSERT_NO_FATAL_FAILURE(Up());
  Announce(Pod("10.0.3.7", 0, kA));
  Announce(Pod("10.0.3.8", 1, kA));
  const auto sent = [&] { return (*bgp().Sessions(Soon()))[0].prefixes_sent; };
  ASSERT_TRUE(Eventually([&] { return sent() == 1; }));
  const std::vector<std::string> right = Running();
  const std::vector<std::vector<std::string>> edits{
      {"route-map railcni-rail0-out permit 5"},
      {"route-map railcni-rail0-out deny 5"},
      {"route-map railcni-in deny 5"},
      {"route-map railcni-nofib permit 5"},
      {"route-map railcni-rail0-out permit 10", "match ip address theirs"},
      {"route-map railcni-rail0-out permit 10", "on-match next"},
      {"no route-map railcni-rail0-out permit 10", "route-map railcni-rail0-out deny 10"},
      {"no route-map railcni-rail0-out"}};
  for (size_t i = 0; i < edits.size(); ++i) {
    SCOPED_TRACE(edits[i].back());
    pair().Host(edits[i]);
    if (i <= 1) {
      EXPECT_TRUE(Eventually([&] { return sent() == (i == 0 ? 2U : 0U); })) << "what comes of it";
    }
    ASSERT_NE(Running(), right);
    const auto lines = bgp().EnsureBase(Base(), Soon());
    ASSERT_TRUE(lines) << lines.error().message;
    EXPECT_EQ(Running(), right);
    if (i <= 1) {
      EXPECT_TRUE(Eventually([&] { return sent() == 1; }));
    }
  }
  EXPECT_TRUE(Eventually([&] { return sent() == 1; }));
}

TEST_P(RealBgp, CompletesARouteMapThatWasLeftHalfMade) {
  ASSERT_NO_FATAL_FAILURE(Up());
  pair().Host({"route-map railcni-rail0-0000000000000000000000000009 permit 10"});
  Announce(Pod("10.0.3.7", 0, kB));
  EXPECT_TRUE(bgp().WaitAdjRibOut({Ip("10.0.3.7")}, "br-rail0", Soon()));
  EXPECT_TRUE(Eventually([&] {  // sent is not yet received
    return pair().ShowLeaf("show bgp ipv4 unicast 10.0.3.7/32 json").find(TextOf(kB)) != std::string::npos;
  }));
}

TEST_P(RealBgp, KnowsThatALeafHasNotToldAllYet) {
  // One that has nothing to tell need not wait with that.
  pair().Leaf({"router bgp 65100", "coalesce-time 1500", "no bgp network import-check",
               "address-family ipv4 unicast", "network 192.0.2.1/32"});
  ASSERT_NO_FATAL_FAILURE(Up());
  const auto owes = [&] { return (*bgp().Sessions(Soon()))[0].owes_end_of_rib; };
  const auto ended = [&] { return !owes(); };
  EXPECT_TRUE(Eventually(ended));
  ASSERT_TRUE(bgp().ResetSession("br-rail0", Soon()));
  const auto again = [&] { return (*bgp().Sessions(Soon()))[0].established() && owes(); };
  EXPECT_TRUE(Eventually(again)) << "the word of the session before does not count";
  EXPECT_TRUE(Eventually(ended));
  EXPECT_TRUE((*bgp().Sessions(Soon()))[0].established());
}

TEST_P(RealBgp, LosesNothingAtTheLeafWhenBgpdRestarts) {
  ASSERT_NO_FATAL_FAILURE(Up());
  std::vector<Announcement> pods;
  for (int i = 0; i < 50; ++i) pods.push_back(Pod("10.0.3." + std::to_string(i), 0, kA));
  ASSERT_TRUE(bgp().AnnounceAll(pods, Soon()));
  ASSERT_TRUE(bgp().WaitAdjRibOut({pods.back().address}, "br-rail0", Soon()));
  const auto at_leaf = [&] {
    const std::string text = pair().ShowLeaf("show bgp ipv4 unicast json");
    size_t count = 0;
    for (size_t at = 0; (at = text.find("\"10.0.3.", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  ASSERT_TRUE(Eventually([&] { return at_leaf() >= 50U; }));
  const size_t all = at_leaf();
  pair().KillHostBgpd();
  EXPECT_EQ(bgp().Announced(Soon()).error().code, Code::kTransient);
  pair().StartHostBgpd();
  auto opened = VtyBgp::Open({pair().host_run_dir(), kAsn, kCommunityAsn}, Soon());
  ASSERT_TRUE(opened) << opened.error().message;
  VtyBgp& anew = **opened;
  ASSERT_TRUE(anew.EnsureBase({Ip("10.255.0.1"), {}}, Soon()));
  ASSERT_TRUE(anew.AnnounceAll(pods, Soon()));
  ASSERT_TRUE(anew.EnsureBase(Base(), Soon()));
  size_t fewest = all;
  const auto watch = [&] {
    fewest = std::min(fewest, at_leaf());
    return anew.WaitAdjRibOut({pods.back().address}, "br-rail0", After(milliseconds(1))).has_value();
  };
  EXPECT_TRUE(Eventually(watch));
  // The leaf drops what is still stale once it has our end-of-RIB.
  const Deadline settled = After(seconds(3));
  EXPECT_TRUE(Eventually([&] { return (void)watch(), Clock::now() > settled; }));
  EXPECT_EQ(fewest, all);
}

INSTANTIATE_TEST_SUITE_P(All, RealBgp, ::testing::Values(Kind::kReal), [](const auto&) { return "Frr"; });

TEST(VtyBgp, SaysThatBgpdDoesNotRun) {
  const auto bgp = VtyBgp::Open({"/nowhere", kAsn, kCommunityAsn}, Soon());
  ASSERT_FALSE(bgp);
  EXPECT_EQ(bgp.error().code, Code::kTransient);
  EXPECT_THAT(bgp.error().message, HasSubstr("/nowhere/bgpd.vty"));
}

}  // namespace
}  // namespace rail::frr
