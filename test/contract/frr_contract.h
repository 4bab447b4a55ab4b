// What the tests of Bgp run on: FakeBgp, or a real bgpd with a leaf (frr_fixture.h), behind one face.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/frr/vty_bgp.h"
#include "test/contract/frr_fixture.h"

namespace rail::frr::testing {

constexpr uint32_t kAsn = 4200000001, kCommunityAsn = 4200000000;
constexpr tenancy::TenantId kA{0xfedcba98765432, 0x0123456789abcd}, kB{0, 9};

IpAddress Ip(const std::string& text);
Deadline Soon();

// bgpd acts on its own clock; what it must come to is awaited, boundedly.
bool Eventually(const std::function<bool()>& condition);

// Two rails.
BaseConfig Base();
Announcement Pod(const std::string& address, uint32_t rail, tenancy::TenantId tenant);

// A bgpd with one leaf on two rails, as a test sees it.
class Bench {
 public:
  virtual ~Bench() = default;
  virtual Bgp& bgp() = 0;
  virtual void StartAs(uint32_t asn) = 0;
  virtual void AddForeignNetwork(const IpAddress& address) = 0;
  virtual bool HasForeignNetwork(const IpAddress& address) = 0;
  virtual void LeafAnnounces(const std::string& prefix,
                             const std::vector<tenancy::LargeCommunity>& communities) = 0;
  virtual void LeafWithdraws(const std::string& prefix) = 0;
  virtual void CutLink(int rail) = 0;
  virtual void BringUp() {}
};

class RealBench : public Bench {
 public:
  RealBench();
  Bgp& bgp() override { return *bgp_; }
  void StartAs(uint32_t asn) override;
  void AddForeignNetwork(const IpAddress& address) override;
  bool HasForeignNetwork(const IpAddress& address) override;
  void LeafAnnounces(const std::string& prefix,
                     const std::vector<tenancy::LargeCommunity>& communities) override;
  void LeafWithdraws(const std::string& prefix) override;
  void CutLink(int rail) override { pair_->CutLink(rail); }
  FrrPair& pair() { return *pair_; }

 private:
  std::unique_ptr<FrrPair> pair_;
  std::unique_ptr<VtyBgp> bgp_;
  int maps_ = 0;
};

enum class Kind { kFake, kReal };

class BgpContract : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override;
  Bgp& bgp() { return bench_->bgp(); }

  void Ensure();
  void Up();
  void Announce(const Announcement& announcement);
  std::vector<Announcement> Announced();
  // Prefixes that the leaf has sent on the session of rail 0.
  uint32_t Received();
  // What a pod of the tenant is announced with, before `more`.
  std::vector<tenancy::LargeCommunity> Of(tenancy::TenantId id,
                                          const std::vector<tenancy::LargeCommunity>& more = {});
  std::string TextOf(tenancy::TenantId id) { return Of(id)[0].ToString() + " " + Of(id)[1].ToString(); }
  tenancy::LargeCommunity Rail(uint32_t index) { return tenancy::RailCommunity(kCommunityAsn, index); }

  std::unique_ptr<Bench> bench_;
};

}  // namespace rail::frr::testing
