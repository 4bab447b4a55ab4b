#include "cmd/raild/api/messages.h"

#include <gtest/gtest.h>

#include "lib/tenancy/tenant_id.h"

namespace rail::raild {
namespace {

using counters::Direction;

counters::PortView APort(const counters::Port& port) {
  counters::PortView view{.port = std::make_shared<const counters::Port>(port), .line_rate = 1000};
  view.now.at = Clock::now();
  view.now.traffic[Direction::kSent].bytes = 900;
  view.before.emplace().at = view.now.at - std::chrono::milliseconds(500);
  view.before->traffic[Direction::kSent].bytes = 400;
  return view;
}

counters::PortsView View() {
  counters::PortsView view{.version = 1, .unix_ms = 1500};
  view.ports.push_back(APort({.rail = "rail0", .link = "p0"}));
  view.ports.push_back(APort({.rail = "rail0",
                              .link = "r",
                              .attachment = 3,
                              .pod_namespace = "ml",
                              .pod = "t",
                              .tenant = "a",
                              .tenant_id = *tenancy::TenantId::Parse("c0ffee00000001ab54a98ceb1f0a")}));
  view.ports.push_back(APort({.rail = "rail1", .link = "p1"}));
  return view;
}

TEST(PortMessagesTest, RatesAreOfTheTimeBetween) {
  const auto response = ListCounters(View(), {});
  ASSERT_EQ(response.ports_size(), 3);
  EXPECT_DOUBLE_EQ(response.ports(0).sent().byte_rate(), 1000);
  EXPECT_DOUBLE_EQ(response.ports(0).received().byte_rate(), 0);
  EXPECT_DOUBLE_EQ(response.ports(0).seconds(), 0.5);
  EXPECT_EQ(response.read().seconds(), 1);
  EXPECT_FALSE(response.ports(0).sent().has_slow_packets());
}

TEST(PortMessagesTest, ACounterThatBeganAnewHasNoRate) {
  counters::PortsView view = View();
  view.ports[0].before->traffic[Direction::kSent].bytes = 5000;
  EXPECT_DOUBLE_EQ(ListCounters(view, {}).ports(0).sent().byte_rate(), 0);
  view.ports[0].before.reset();
  EXPECT_DOUBLE_EQ(ListCounters(view, {}).ports(0).seconds(), 0);
}

TEST(PortMessagesTest, FiltersAsTheyAreNamed) {
  v1::PortFilter filter;
  filter.set_rail("rail0");
  EXPECT_EQ(ListCounters(View(), filter).ports_size(), 2);
  filter.set_tenant("a");
  ASSERT_EQ(ListCounters(View(), filter).ports_size(), 1);
  EXPECT_EQ(ListCounters(View(), filter).ports(0).port().pod(), "t");
  filter.set_tenant("c0ffee00000001ab54a98ceb1f0a");
  EXPECT_EQ(ListCounters(View(), filter).ports_size(), 1) << "by its id, as everywhere";
  filter.set_namespace_("other");
  EXPECT_EQ(ListCounters(View(), filter).ports_size(), 0);
}

TEST(PortMessagesTest, PfcHasPrioritiesThatAreOnOrHaveCounted) {
  counters::PortsView view = View();
  netlink::PfcStats& pfc = view.ports[0].now.pfc.emplace();
  pfc.enabled = 1 << 3;
  pfc.indications[5] = 10;
  view.ports[0].before->pfc.emplace().indications[5] = 4;
  view.ports[0].now.rdma = {{"out_of_sequence", 8}};
  view.ports[0].before->rdma = {{"out_of_sequence", 5}};
  view.ports[0].now.rdma_at = view.ports[0].now.at;
  view.ports[0].before->rdma_at = view.ports[0].now.at - std::chrono::milliseconds(1500);
  const auto port = ListCounters(view, {}).ports(0);
  ASSERT_EQ(port.pfc_size(), 2);
  EXPECT_TRUE(port.pfc(0).enabled());
  EXPECT_EQ(port.pfc(1).priority(), 5U);
  EXPECT_DOUBLE_EQ(port.pfc(1).received_rate(), 12);
  EXPECT_DOUBLE_EQ(port.rdma(0).rate(), 2);
}

TEST(PortMessagesTest, BurstsAreCutToTheMost) {
  counters::BurstList list;
  const auto view = View();
  for (int i = 0; i < 3; ++i)
    list.bursts.push_back(
        {.port = view.ports[0].port, .start_ms = 1234, .ms = 100, .with = {{view.ports[1].port, 7}}});
  v1::ListBurstsRequest request;
  request.set_most(2);
  const auto response = ToMessage(list, request);
  EXPECT_EQ(response.bursts_size(), 2);
  EXPECT_EQ(response.total(), 3U);
  EXPECT_EQ(response.bursts(0).start().nanos(), 234'000'000);
  EXPECT_EQ(response.bursts(0).with(0).port().pod(), "t");
}

}  // namespace
}  // namespace rail::raild
