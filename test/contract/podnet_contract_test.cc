// What a PodNet promises, asked of the fake and of the kernel.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "lib/netlink/testing/scratch.h"
#include "lib/podnet/kernel.h"
#include "lib/podnet/testing/fake.h"

namespace rail::podnet {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kMac[] = "02:00:00:00:03:07";

// A PodNet and a way to put an interface into a pod.
class Host {
 public:
  virtual ~Host() = default;
  virtual PodNet& pods() = 0;
  virtual void AddLink(const netns::Netns& pod, const std::string& name) = 0;  // with kMac
  virtual void SetMac(const netns::Netns& pod, const std::string& name, const std::string& mac) = 0;
};

class FakeHost : public Host {
 public:
  PodNet& pods() override { return pods_; }
  void AddLink(const netns::Netns& pod, const std::string& name) override {
    pods_.AddLink(pod.identity(), name);
  }
  void SetMac(const netns::Netns& pod, const std::string& name, const std::string& mac) override {
    pods_.SetMac(pod.identity(), name, *MacAddress::Parse(mac));
  }

 private:
  testing::Fake pods_;
};

class RealHost : public Host {
 public:
  PodNet& pods() override { return pods_; }
  void AddLink(const netns::Netns& pod, const std::string& name) override {
    ASSERT_TRUE(netns::testing::Shell(
        pod, "ip link add " + name + " address " + kMac + " type veth peer name other"));
  }
  void SetMac(const netns::Netns& pod, const std::string& name, const std::string& mac) override {
    ASSERT_TRUE(netns::testing::Shell(pod, "ip link set " + name + " address " + mac));
  }

 private:
  Kernel pods_;
};

struct Kind {
  const char* name;
  std::unique_ptr<Host> (*make)();
};
void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

class PodNetContract : public ::testing::TestWithParam<Kind> {
 protected:
  PodNetContract() {
    plan_.ifname = "net1";
    plan_.mtu = 1400;
    plan_.mac = *MacAddress::Parse(kMac);
    plan_.gateway_mac = *MacAddress::Parse("02:52:41:49:4c:03");
    plan_.addresses = {*IpAddress::Parse("10.0.3.7")};
    plan_.gateways = {*IpAddress::Parse("169.254.1.1")};
    plan_.table = 103;
    plan_.rule = 1003;
  }

  std::vector<std::string> Deviations() {
    auto found = pods().Verify(pod_, plan_);
    EXPECT_TRUE(found) << found.error().message;
    std::vector<std::string> sentences;
    for (const Deviation& each : found.value_or(std::vector<Deviation>{{"Verify failed", ""}}))
      sentences.push_back(each.what);
    return sentences;
  }
  PodNet& pods() { return host_->pods(); }

  const std::unique_ptr<Host> host_ = GetParam().make();
  const netns::Netns pod_ = netns::testing::MakeScratch();
  Plan plan_;
};

TEST_P(PodNetContract, KnowsAnInterfaceByItsName) {
  host_->AddLink(pod_, "net1");
  EXPECT_EQ(pods().HasLink(pod_, "net1").value(), true);
  EXPECT_EQ(pods().HasLink(pod_, "net2").value(), false);
}

TEST_P(PodNetContract, FindsNothingAmissAfterConfigure) {
  host_->AddLink(pod_, "net1");
  ASSERT_TRUE(pods().Configure(pod_, plan_));
  EXPECT_THAT(Deviations(), IsEmpty());
  ASSERT_TRUE(pods().Configure(pod_, plan_));
  EXPECT_THAT(Deviations(), IsEmpty());
}

TEST_P(PodNetContract, ConfigureSaysWhichInterfaceIsMissing) {
  const Status status = pods().Configure(pod_, plan_);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kNotFound);
  EXPECT_THAT(status.error().message, HasSubstr("net1"));
}

TEST_P(PodNetContract, RefusesAPlanWithoutAddresses) {
  host_->AddLink(pod_, "net1");
  plan_.addresses.clear();
  EXPECT_EQ(pods().Configure(pod_, plan_).error().code, Code::kInvalid);
}

TEST_P(PodNetContract, VerifyTellsOfAMissingInterface) {
  EXPECT_THAT(Deviations(), ElementsAre("net1: there is no such interface in the pod"));
}

TEST_P(PodNetContract, VerifyTellsOfAnotherMac) {
  host_->AddLink(pod_, "net1");
  ASSERT_TRUE(pods().Configure(pod_, plan_));
  host_->SetMac(pod_, "net1", "02:66:66:66:66:66");
  // The kernel forgets the neighbours with the address.
  EXPECT_THAT(Deviations(),
              Contains("net1: the MAC address is 02:66:66:66:66:66 instead of 02:00:00:00:03:07"));
  plan_.mac = {};
  EXPECT_THAT(Deviations(), Not(Contains(HasSubstr("the MAC address"))));
}

TEST_P(PodNetContract, VerifyTellsOfAMissingAddress) {
  host_->AddLink(pod_, "net1");
  ASSERT_TRUE(pods().Configure(pod_, plan_));
  plan_.addresses.push_back(*IpAddress::Parse("10.0.3.8"));
  EXPECT_THAT(Deviations(), Contains(HasSubstr("10.0.3.8/32 is missing")));
}

TEST_P(PodNetContract, VerifyTellsOfRulesThatDeconfigureTook) {
  host_->AddLink(pod_, "net1");
  ASSERT_TRUE(pods().Configure(pod_, plan_));
  ASSERT_TRUE(pods().Deconfigure(pod_, plan_));
  EXPECT_THAT(Deviations(), Not(IsEmpty()));
  EXPECT_THAT(Deviations(), Each(HasSubstr("rule")));
}

TEST_P(PodNetContract, DeconfigureMayBeRepeatedAndNeedsNoInterface) {
  EXPECT_TRUE(pods().Deconfigure(pod_, plan_));
  EXPECT_TRUE(pods().Deconfigure(pod_, plan_));
}

INSTANTIATE_TEST_SUITE_P(
    , PodNetContract,
    ::testing::Values(Kind{"fake", []() -> std::unique_ptr<Host> { return std::make_unique<FakeHost>(); }},
                      Kind{"kernel", []() -> std::unique_ptr<Host> { return std::make_unique<RealHost>(); }}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace rail::podnet
