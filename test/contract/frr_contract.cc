#include "test/contract/frr_contract.h"

#include <chrono>
#include <thread>

#include "lib/frr/testing/fake.h"

namespace rail::frr::testing {

using std::chrono::milliseconds;
using std::chrono::seconds;
using tenancy::LargeCommunity;
using tenancy::TenantId;

namespace {

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
  FakeBgp fake_{{kAsn, kCommunityAsn}};
};

std::string Family(const std::string& prefix) {
  return prefix.find(':') == std::string::npos ? "address-family ipv4 unicast"
                                               : "address-family ipv6 unicast";
}

}  // namespace

IpAddress Ip(const std::string& text) {
  return *IpAddress::Parse(text);
}

Deadline Soon() {
  return After(seconds(30));
}

bool Eventually(const std::function<bool()>& condition) {
  const Deadline deadline = After(seconds(20));
  while (!condition()) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return true;
}

BaseConfig Base() {
  return {Ip("10.255.0.1"), {{"rail0", 0, "br-rail0"}, {"rail1", 1, "br-rail1"}}, 256000};
}

Announcement Pod(const std::string& address, uint32_t rail, TenantId tenant) {
  return {Ip(address), "rail" + std::to_string(rail), rail, tenant};
}

RealBench::RealBench() : pair_(FrrPair::Start()) {
  auto bgp = VtyBgp::Open({pair_->host_run_dir(), kAsn, kCommunityAsn}, Soon());
  EXPECT_TRUE(bgp) << bgp.error().message;
  if (bgp) bgp_ = std::move(*bgp);
}

void RealBench::StartAs(uint32_t asn) {
  pair_->Host({"router bgp " + std::to_string(asn)});
}

void RealBench::AddForeignNetwork(const IpAddress& address) {
  pair_->Host({"router bgp " + std::to_string(kAsn), Family(address.ToHostPrefix()),
               "network " + address.ToHostPrefix()});
}

bool RealBench::HasForeignNetwork(const IpAddress& address) {
  return pair_->ShowHost("show running-config").find("  network " + address.ToHostPrefix() + "\n") !=
         std::string::npos;
}

void RealBench::LeafAnnounces(const std::string& prefix, const std::vector<LargeCommunity>& communities) {
  const std::string map = "m" + std::to_string(++maps_);
  std::string set = "set large-community";
  for (const LargeCommunity& community : communities) set += " " + community.ToString();
  std::vector<std::string> lines{"route-map " + map + " permit 10"};
  if (!communities.empty()) lines.push_back(set);
  for (std::string line : {"router bgp " + std::to_string(FrrPair::kLeafAsn), Family(prefix),
                           "network " + prefix + " route-map " + map}) {
    lines.push_back(std::move(line));
  }
  pair_->Leaf(lines);
}

void RealBench::LeafWithdraws(const std::string& prefix) {
  pair_->Leaf({"router bgp " + std::to_string(FrrPair::kLeafAsn), Family(prefix), "no network " + prefix});
}

void BgpContract::SetUp() {
  if (GetParam() == Kind::kFake) {
    bench_ = std::make_unique<FakeBench>();
    return;
  }
  if (const std::string missing = FrrPair::Missing(); !missing.empty()) GTEST_SKIP() << missing;
  bench_ = std::make_unique<RealBench>();
}

void BgpContract::Ensure() {
  const auto lines = bgp().EnsureBase(Base(), Soon());
  ASSERT_TRUE(lines) << lines.error().message;
}

void BgpContract::Up() {
  ASSERT_NO_FATAL_FAILURE(Ensure());
  bench_->BringUp();
  ASSERT_TRUE(Eventually([&] {
    const auto sessions = bgp().Sessions(Soon());
    return sessions && sessions->size() == 2 && (*sessions)[0].established() && (*sessions)[1].established();
  }));
}

void BgpContract::Announce(const Announcement& announcement) {
  const Status status = bgp().Announce(announcement, Soon());
  ASSERT_TRUE(status) << status.error().message;
}

std::vector<Announcement> BgpContract::Announced() {
  auto announced = bgp().Announced(Soon());
  EXPECT_TRUE(announced) << announced.error().message;
  return announced ? *announced : std::vector<Announcement>{};
}

uint32_t BgpContract::Received() {
  const auto sessions = bgp().Sessions(Soon());
  EXPECT_TRUE(sessions) << sessions.error().message;
  return sessions && !sessions->empty() ? sessions->front().prefixes_received : 0;
}

std::vector<LargeCommunity> BgpContract::Of(TenantId id, const std::vector<LargeCommunity>& more) {
  const auto halves = tenancy::TenantCommunities(kCommunityAsn, id);
  std::vector<LargeCommunity> all(halves.begin(), halves.end());
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace rail::frr::testing
