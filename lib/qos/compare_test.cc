#include "lib/qos/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rail::qos {
namespace {

using netlink::DcbApp;
using testing::HasSubstr;
using testing::IsEmpty;

config::Lossless Wanted() {
  return {.trust = config::Trust::kDscp,
          .pfc = std::set<uint8_t>{3},
          .ecn = {3},
          .dscp_to_priority = {{26, 3}, {48, 6}},
          .tos = 106};
}

DcbApp Dscp(uint16_t dscp, uint8_t priority) {
  return {.selector = DcbApp::kDscp, .priority = priority, .protocol = dscp};
}

Seen AsWanted() {
  Seen seen;
  netlink::DcbState dcb{
      .pfc = netlink::DcbPfc{.enabled = 8}, .ets = netlink::DcbEts{}, .apps = {}, .peer_pfc = {}};
  dcb.ets->traffic_class = {0, 1, 2, 3, 4, 5, 6, 7};
  dcb.apps = {Dscp(26, 3), Dscp(48, 6)};
  dcb.peer_pfc = 8;
  seen.dcb = dcb;
  for (uint8_t priority = 0; priority < 8; ++priority) seen.ecn[priority] = {false, false};
  seen.ecn[3] = {true, true};
  seen.has_configfs = true;
  seen.tos = {{.device = "mlx5_0", .cm = 106, .all = {}}, {.device = "mlx5_1", .cm = 0, .all = 106}};
  return seen;
}

std::vector<Difference> With(void (*spoil)(Seen&), const config::Lossless& wanted = Wanted()) {
  Seen seen = AsWanted();
  spoil(seen);
  return Compare(wanted, "p0", seen);
}

TEST(Compare, FindsNothingWhereAllIsAsWanted) {
  EXPECT_THAT(Compare(Wanted(), "p0", AsWanted()), IsEmpty());
}

TEST(Compare, DoesNotLookAtWhatNobodyWants) {
  Seen seen;
  seen.dcb = tl::make_unexpected(Error{Code::kUnsupported, "no", 0});
  EXPECT_THAT(Compare({}, "p0", seen), IsEmpty());
}

struct Case {
  const char* id;
  const char* what;
  const char* fix;
  void (*spoil)(Seen&);
};

const Case kCases[] = {
    {"lossless-pfc", "pauses (PFC) for priority none, lossless.pfc wants 3",
     "dcb pfc set dev p0 prio-pfc all:off 3:on", [](Seen& s) { s.dcb->pfc->enabled = 0; }},
    {"lossless-pfc", "for priority 3 and 4,", "all:off 3:on`", [](Seen& s) { s.dcb->pfc->enabled = 0x18; }},
    {"lossless-trust", "does not look at the DSCP", "dcb app replace dev p0 dscp-prio 26:3 48:6",
     [](Seen& s) { s.dcb->apps.clear(); }},
    {"lossless-dscp", "DSCP 48 has priority none instead of 6", "dscp-prio 48:6`",
     [](Seen& s) { s.dcb->apps.pop_back(); }},
    {"lossless-dscp", "DSCP 26 has priority 0 instead of 3", "dscp-prio 26:3`",
     [](Seen& s) { s.dcb->apps[0].priority = 0; }},
    {"lossless-dscp", "DSCP 26 has priority 3 and 4 instead of 3", "26:3",
     [](Seen& s) { s.dcb->apps.push_back(Dscp(26, 4)); }},
    {"lossless-traffic-class", "priority 3 of p0 shares traffic class 0 with priority 0, which may drop",
     "dcb ets set", [](Seen& s) { s.dcb->ets->traffic_class[3] = 0; }},
    {"lossless-neighbour", "says by DCBX that it pauses for priority 4", "leaf",
     [](Seen& s) { s.dcb->peer_pfc = 16; }},
    {"lossless-ecn", "the reaction point of priority 3", "/sys/class/net/p0/ecn/roce_rp/enable/3",
     [](Seen& s) { s.ecn[3].reacts = false; }},
    {"lossless-tos", "1 of 2 RDMA devices of p0 do not have ToS 106: mlx5_0 has 0",
     "echo 106 > /sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos",
     [](Seen& s) { s.tos[0].cm = 0; }},
    {"lossless-tos", "mlx5_0 has none since the boot", "mkdir -p", [](Seen& s) { s.tos[0].cm.reset(); }},
    {"lossless-tos", "mlx5_1 has 96", "/sys/class/infiniband/mlx5_1/tc/1/traffic_class",
     [](Seen& s) { s.tos[1].all = 96; }},
    {"lossless-unknown", "PFC and the trust of DSCP: no dcbnl", "driver",
     [](Seen& s) { s.dcb = tl::make_unexpected(Error{Code::kUnsupported, "no dcbnl", 0}); }},
    {"lossless-unknown", "PFC: the driver of p0", "driver", [](Seen& s) { s.dcb->pfc.reset(); }},
    {"lossless-unknown", "ECN: p0 has no", "driver", [](Seen& s) { s.ecn[3] = {}; }},
    {"lossless-unknown", "configfs", "driver", [](Seen& s) { s.tos[0].cm.reset(), s.has_configfs = false; }},
    {"lossless-unknown", "no RDMA device", "driver", [](Seen& s) { s.tos.clear(); }},
};

TEST(Compare, SaysWhatDiffersAndTheCommandThatMendsIt) {
  for (const Case& each : kCases) {
    const std::vector<Difference> found = With(each.spoil);
    ASSERT_EQ(found.size(), 1U) << each.what;
    EXPECT_EQ(found[0].id, each.id);
    EXPECT_THAT(found[0].what, HasSubstr(each.what));
    EXPECT_THAT(found[0].fix, HasSubstr(each.fix)) << each.what;
    EXPECT_NE(found[0].why, "");
  }
}

TEST(Compare, WantsNoDscpInTheTableWhereThePriorityCodePointIsTrusted) {
  config::Lossless pcp{.trust = config::Trust::kPcp};
  const auto found = With([](Seen&) {}, pcp);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id, "lossless-trust");
  EXPECT_THAT(found[0].fix, HasSubstr("dcb app flush dev p0 dscp-prio"));
  EXPECT_THAT(With([](Seen& s) { s.dcb->apps.clear(); }, pcp), IsEmpty());
}

TEST(Compare, SendsToRaildWhereRaildSetsIt) {
  config::Lossless managed = Wanted();
  managed.manage_qos = true;
  const auto found = With([](Seen& s) { s.dcb->pfc->enabled = 0; }, managed);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].fix, HasSubstr("raild sets it"));
}

}  // namespace
}  // namespace rail::qos
