// What every Rates promises: one in memory; with RAILCNI_TEST_RATES=netdevsim/netdevsim10/128, a port that has rates, the kernel too.
// It leaves that port as it was.
#include <gmock/gmock.h>

#include <cstdlib>

#include "lib/netlink/kernel_rates.h"
#include "lib/netlink/testing/rates.h"

namespace rail::netlink {
namespace {

using ::testing::Contains;
using ::testing::Not;

constexpr uint64_t kMbit = 125'000;
constexpr char kNode[] = "railcni-contract";

struct Place {
  DevlinkHandle nic;
  uint32_t port = 0;
};

Place PlaceOf(const std::string& text) {
  const size_t bus = text.find('/');
  const size_t device = text.rfind('/');
  return {{text.substr(0, bus), text.substr(bus + 1, device - bus - 1)},
          static_cast<uint32_t>(std::stoul(text.substr(device + 1)))};
}

// Text of the environment; "": it is not there.
std::string PortToTest() {
  const char* text = std::getenv("RAILCNI_TEST_RATES");
  return text == nullptr ? "" : text;
}

class RatesContract : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "Kernel") {
      place_ = PlaceOf(PortToTest());
      rates_ = KernelRates::Open().value();
    } else {
      place_ = {{"netdevsim", "netdevsim10"}, 128};
      nics_.trees[place_.nic.ToString()].leaves = {{128, {}, ""}, {129, {}, ""}};
      nics_.ports["rep0"] = {place_.nic, place_.port};
      rates_ = std::make_unique<testing::FakeRates>(nics_);
    }
  }
  void TearDown() override {
    (void)rates_->SetLeaf(place_.nic, place_.port, Rate{}, "");
    (void)rates_->DeleteNode(place_.nic, kNode);
  }
  static void Must(const Status& status) { ASSERT_TRUE(status) << status.error().message; }
  RateTree List() { return rates_->List(place_.nic).value(); }
  RateLeaf Leaf(const Rate& rate, const std::string& parent) const { return {place_.port, rate, parent}; }

  testing::RatesOfNics nics_;
  std::unique_ptr<Rates> rates_;
  Place place_;
};

TEST_P(RatesContract, ANodeIsAddedOnceAndSet) {
  Must(rates_->AddNode(place_.nic, kNode, {.share = 0, .max = 100 * kMbit}));
  EXPECT_THAT(List().nodes, Contains(RateNode{kNode, {0, 100 * kMbit}, ""}));
  const Status again = rates_->AddNode(place_.nic, kNode, {});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kExists) << again.error().message;
  Must(rates_->SetNode(place_.nic, kNode, {.share = 10 * kMbit, .max = 0}));
  EXPECT_THAT(List().nodes, Contains(RateNode{kNode, {10 * kMbit, 0}, ""}));
  Must(rates_->DeleteNode(place_.nic, kNode));
  EXPECT_THAT(List().nodes, Not(Contains(RateNode{kNode, {10 * kMbit, 0}, ""})));
}

TEST_P(RatesContract, ALeafKeepsWhatIsNotSaid) {
  Must(rates_->AddNode(place_.nic, kNode, {}));
  const Rate rate{.share = 5 * kMbit, .max = 50 * kMbit};
  Must(rates_->SetLeaf(place_.nic, place_.port, rate, std::nullopt));
  EXPECT_THAT(List().leaves, Contains(Leaf(rate, "")));
  Must(rates_->SetLeaf(place_.nic, place_.port, std::nullopt, kNode));
  EXPECT_THAT(List().leaves, Contains(Leaf(rate, kNode)));
  Must(rates_->SetLeaf(place_.nic, place_.port, Rate{}, std::nullopt));
  EXPECT_THAT(List().leaves, Contains(Leaf({}, kNode)));
  Must(rates_->SetLeaf(place_.nic, place_.port, std::nullopt, ""));
  EXPECT_THAT(List().leaves, Contains(Leaf({}, "")));
}

TEST_P(RatesContract, AllNicsAreListedAtOnce) {
  Must(rates_->AddNode(place_.nic, kNode, {.share = kMbit, .max = 0}));
  Must(rates_->SetLeaf(place_.nic, place_.port, std::nullopt, kNode));
  const RateTrees all = rates_->ListAll().value();
  ASSERT_TRUE(all.contains(place_.nic));
  EXPECT_EQ(all.at(place_.nic).nodes, List().nodes);
  EXPECT_EQ(all.at(place_.nic).leaves, List().leaves);
  EXPECT_THAT(all.at(place_.nic).leaves, Contains(Leaf({}, kNode)));
}

TEST_P(RatesContract, APortIsKnownByItsLink) {
  const auto ports = rates_->Ports().value();
  EXPECT_THAT(ports, Contains(::testing::Pair(Not(""), NicPort{place_.nic, place_.port})));
}

TEST_P(RatesContract, ARateThatIsNoWholeMbitIsRefusedAndChangesNothing) {
  const Status added = rates_->AddNode(place_.nic, kNode, {.share = 0, .max = kMbit + 1});
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Code::kInvalid) << added.error().message;
  EXPECT_THAT(added.error().message, ::testing::HasSubstr("units of 1Mbps"));
  EXPECT_THAT(List().nodes, Not(Contains(::testing::Field(&RateNode::name, kNode))));
  Must(rates_->AddNode(place_.nic, kNode, {}));
  EXPECT_FALSE(rates_->SetNode(place_.nic, kNode, {.share = 1, .max = 0}));
  EXPECT_THAT(List().nodes, Contains(RateNode{kNode, {}, ""}));
}

TEST_P(RatesContract, ANodeWithALeafStays) {
  Must(rates_->AddNode(place_.nic, kNode, {}));
  Must(rates_->SetLeaf(place_.nic, place_.port, std::nullopt, kNode));
  const Status deleted = rates_->DeleteNode(place_.nic, kNode);
  ASSERT_FALSE(deleted);
  EXPECT_EQ(deleted.error().code, Code::kBusy) << deleted.error().message;
  EXPECT_THAT(List().leaves, Contains(Leaf({}, kNode)));
}

TEST_P(RatesContract, WhatIsNotThereIsNotFound) {
  EXPECT_FALSE(rates_->SetNode(place_.nic, "railcni-nobody", {}));
  EXPECT_FALSE(rates_->DeleteNode(place_.nic, "railcni-nobody"));
  EXPECT_FALSE(rates_->SetLeaf(place_.nic, place_.port, std::nullopt, "railcni-nobody"));
  EXPECT_FALSE(rates_->SetLeaf(place_.nic, 65'000, Rate{}, std::nullopt));
  const auto none = rates_->List({"pci", "0000:ff:00.0"});
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_TRUE(none->nodes.empty() && none->leaves.empty());
}

std::vector<std::string> Implementations() {
  std::vector<std::string> names{"Fake"};
  if (!PortToTest().empty()) names.emplace_back("Kernel");
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, RatesContract, ::testing::ValuesIn(Implementations()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace rail::netlink
