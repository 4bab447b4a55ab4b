// What the doctor makes of the counters of the last minute.
#include <gmock/gmock.h>
#include <rdma/rdma_netlink.h>

#include "lib/inspect/doctor/testing/fixture.h"
#include "lib/netlink/builder.h"
#include "lib/netlink/rdma_stats.h"

namespace rail::inspect {
namespace {

using counters::Direction;
using counters::PortsView;
using counters::PortView;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kLineRate = 50'000'000'000;  // bytes per second, 400 Gbit/s
// Counters grow for a minute: by 60 is one a second.
constexpr Clock::time_point kThen{std::chrono::hours(1)};

// Three rails with an uplink each, and a pod on all of them; a minute passed in which each rail carried 10 Gbit/s of the pod.
class CountersTest : public ::testing::Test {
 protected:
  CountersTest() {
    for (const std::string rail : {"rail0", "rail1", "rail2"}) {
      Add({.rail = rail, .link = "p" + rail.substr(4)});
      view.ports.back().now.pfc.emplace().enabled = 8;
      view.ports.back().earlier->pfc = view.ports.back().now.pfc;
      for (const char* name : {"out_of_sequence", "np_cnp_sent", "rx_write_requests"}) {
        view.ports.back().now.rdma.push_back({name, 70});
        view.ports.back().earlier->rdma.push_back({name, 70});
      }
    }
    for (const std::string rail : {"rail0", "rail1", "rail2"}) {
      Add({.rail = rail,
           .link = "rep" + rail.substr(4),
           .attachment = 7,
           .pod_namespace = "ns",
           .pod = "a",
           .ifname = "net1"});
      view.ports.back().now.traffic[Direction::kSent] = {
          .bytes = 75'000'000'000, .packets = 9, .slow_packets = 5};
      view.ports.back().earlier->traffic[Direction::kSent].slow_packets = 5;
    }
  }
  void Add(counters::Port port) {
    PortView& added = view.ports.emplace_back();
    added.port = std::make_shared<const counters::Port>(std::move(port));
    added.line_rate = added.port->is_uplink() ? kLineRate : 0;
    added.now.at = added.now.rdma_at = kThen + std::chrono::minutes(1);
    added.earlier.emplace().at = kThen;
    added.earlier->rdma_at = kThen;
  }
  std::vector<Finding> Found() {
    NodeFacts facts = Well();
    facts.ports = std::make_shared<const PortsView>(view);
    return Diagnose(facts);
  }
  // "id subject: what" of each.
  std::vector<std::string> Findings() {
    std::vector<std::string> found;
    for (const Finding& each : Found()) found.push_back(each.id + " " + each.subject + ": " + each.what);
    return found;
  }
  PortView& Uplink() { return view.ports[1]; }
  PortView& Pods() { return view.ports[4]; }

  PortsView view{.version = 1};
};

TEST_F(CountersTest, SayNothingOfPortsThatAreWell) {
  EXPECT_THAT(Findings(), IsEmpty());
}

TEST_F(CountersTest, ShowAPauseStormAndWhoseItIs) {
  Uplink().now.pfc->indications[3] = 150000;
  EXPECT_THAT(
      Findings(),
      ElementsAre("pause-storm rail1: the leaf pauses p1 2500 times a second (priority 3, the last minute)"));
  Uplink().now.pfc->indications[3] = 59940;
  EXPECT_THAT(Findings(), IsEmpty());
  Uplink().now.pfc->requests[3] = 60000;
  EXPECT_THAT(Findings(), ElementsAre(HasSubstr("p1 pauses its leaf 1000 times a second")));
}

TEST_F(CountersTest, ShowPacketsThatAreDiscarded) {
  Uplink().now.traffic[Direction::kReceived].dropped = 1800;
  EXPECT_THAT(Findings(), ElementsAre("packets-discarded rail1: p1 discards 30 packets a second that arrive "
                                      "(0/s of them with errors, the last minute)"));
  Uplink().now.traffic[Direction::kReceived].errors = 2400;
  EXPECT_THAT(Found()[0].fix, HasSubstr("a cable or an optic"));
  Uplink().now.traffic[Direction::kReceived] = {};
  Pods().now.traffic[Direction::kSent].dropped = 600;
  EXPECT_THAT(Findings(),
              ElementsAre(HasSubstr("packets-discarded ns/a net1 on rail1: rep1 discards 10 packets")));
}

TEST_F(CountersTest, ShowRdmaThatLosesPackets) {
  Uplink().now.rdma[0].value += 1500;
  EXPECT_THAT(Findings(), ElementsAre("rdma-out-of-sequence rail1: RDMA on p1 loses or overtakes packets: "
                                      "out_of_sequence 25/s in the last minute"));
  Uplink().now.rdma[0].value = 3;  // it began anew
  Uplink().now.rdma[2].value += 1'000'000'000;
  EXPECT_THAT(Findings(), IsEmpty()) << "traffic is no loss";
}

TEST_F(CountersTest, ShowThePodWhoseRdmaLosesPackets) {
  Pods().now.rdma = {{"out_of_seq_request", 900}, {"rcvd_pkts", 1'000'000}};
  EXPECT_THAT(Findings(), IsEmpty()) << "it has just got its device";
  Pods().earlier->rdma = {{"out_of_seq_request", 300}, {"rcvd_pkts", 0}};
  EXPECT_THAT(Findings(),
              ElementsAre("rdma-out-of-sequence ns/a net1 on rail1: RDMA on net1 of the pod loses or "
                          "overtakes packets: out_of_seq_request 10/s in the last minute"));
  Pods().earlier->rdma_at = kThen + std::chrono::seconds(51);
  EXPECT_THAT(Findings(), IsEmpty()) << "nine seconds say too little";
}

// A device that counts congestion is a NIC's (mlx5_ib): here is its answer as the kernel makes it, with the driver's names in its order.
std::vector<netlink::RdmaCounter> AnswerOfMlx5(uint64_t np_cnp_sent) {
  netlink::Builder message(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_STAT_GET), 0);
  message.Uint32(RDMA_NLDEV_ATTR_DEV_INDEX, 2)
      .String(RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_1")
      .Uint32(RDMA_NLDEV_ATTR_PORT_INDEX, 1);
  nlattr* table = message.Nest(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
  const std::vector<std::pair<const char*, uint64_t>> counters = {
      {"rx_write_requests", 51},    {"rx_read_requests", 0},
      {"rx_atomic_requests", 0},    {"out_of_buffer", 0},
      {"out_of_sequence", 0},       {"duplicate_request", 0},
      {"rnr_nak_retry_err", 0},     {"packet_seq_err", 0},
      {"implied_nak_seq_err", 0},   {"rp_cnp_ignored", 0},
      {"local_ack_timeout_err", 0}, {"resp_local_length_error", 0},
      {"rp_cnp_handled", 12},       {"np_ecn_marked_roce_packets", 2 * np_cnp_sent},
      {"np_cnp_sent", np_cnp_sent}, {"roce_adp_retrans", 0}};
  for (const auto& [name, value] : counters) {
    nlattr* entry = message.Nest(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
    message.String(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name)
        .Uint64(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, value);
    message.EndNest(entry);
  }
  message.EndNest(table);
  nlmsghdr* header = nlmsg_hdr(message.get());
  return netlink::DecodeRdmaCounters({reinterpret_cast<const char*>(header), header->nlmsg_len})
      .value_or(std::vector<netlink::RdmaCounter>());
}

TEST_F(CountersTest, ShowMarksWithoutPausesOfMlx5) {
  Uplink().earlier->rdma = AnswerOfMlx5(1'000);
  Uplink().now.rdma = AnswerOfMlx5(16'000);
  ASSERT_EQ(Uplink().now.rdma.size(), 16U);
  EXPECT_THAT(Findings(), IsEmpty()) << "a priority pauses";
  Uplink().now.pfc->enabled = 0;
  EXPECT_THAT(Findings(),
              ElementsAre("congestion-without-pfc rail1: the fabric marks congestion on p1 (np_cnp_sent "
                          "250/s), and no priority of it pauses"));
}

TEST_F(CountersTest, ShowMarksWithoutPauses) {
  Uplink().now.rdma[1].value += 6000;
  EXPECT_THAT(Findings(), IsEmpty()) << "congestion control at work";
  Uplink().now.pfc->enabled = 0;
  EXPECT_THAT(Findings(),
              ElementsAre(HasSubstr(
                  "congestion-without-pfc rail1: the fabric marks congestion on p1 (np_cnp_sent 100/s)")));
  Uplink().now.pfc.reset();
  EXPECT_THAT(Findings(), IsEmpty()) << "not known";
}

TEST_F(CountersTest, ShowWhatTheCpuForwards) {
  Pods().now.traffic[Direction::kSent].slow_packets = 5 + 6000;
  EXPECT_THAT(Findings(), ElementsAre("slow-path-used ns/a net1 on rail1: the CPU forwards 100 packets a "
                                      "second of what the pod sends (the last minute)"));
}

TEST_F(CountersTest, ShowTheRailThatIsSlowerThanTheOthersOfItsPods) {
  Pods().now.traffic[Direction::kSent].bytes = 30'000'000'000;
  EXPECT_THAT(Findings(), ElementsAre("rail-slower-than-siblings rail1: pods carry 4000 Mbit/s on rail1 and "
                                      "10000 Mbit/s on each of their other rails (the last minute)"));
  Pods().now.traffic[Direction::kSent].bytes = 37'500'000'000;
  EXPECT_THAT(Findings(), IsEmpty()) << "half is enough";
}

TEST_F(CountersTest, DoNotCompareRailsThatAreIdleOrThatAPodDoesNotHave) {
  for (PortView& port : view.ports) port.now.traffic[Direction::kSent].bytes /= 100;
  Pods().now.traffic[Direction::kSent].bytes = 0;
  EXPECT_THAT(Findings(), IsEmpty()) << "less than 1 % of line rate";
  for (PortView& port : view.ports) port.now.traffic[Direction::kSent].bytes *= 100;
  view.ports.erase(view.ports.begin() + 4);
  EXPECT_THAT(Findings(), IsEmpty()) << "the pod has no interface there";
}

TEST_F(CountersTest, SayNothingBeforeTenSecondsHavePassed) {
  Uplink().now.pfc->indications[3] = 1'000'000;
  Uplink().now.at = kThen + std::chrono::seconds(9);
  EXPECT_THAT(Findings(), IsEmpty());
  Uplink().earlier.reset();
  EXPECT_THAT(Findings(), IsEmpty());
}

}  // namespace

std::vector<std::string> FindingsOfCounters() {
  return {"pause-storm",    "packets-discarded",        "rdma-out-of-sequence", "congestion-without-pfc",
          "slow-path-used", "rail-slower-than-siblings"};
}

}  // namespace rail::inspect
