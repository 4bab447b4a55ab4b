#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "lib/inspect/doctor/subjects.h"

namespace rail::inspect {
namespace {

using counters::Direction;
using counters::PortView;

// Of a minute; a shorter time says too little.
constexpr std::chrono::seconds kLeastTime{10};
// A pause of full length is 84 us at 400 Gbit/s and 335 us at 100: 1,000 of them stop a tenth to a third of each second.
constexpr double kPauseStorm = 1000;
constexpr double kSlowPath = 100;  // packets per second; the first of each flow always go this way
constexpr double kLost = 10;       // of each counter of loss, per second
constexpr double kMarked = 100;    // congestion notifications per second
constexpr double kDiscards = 10;   // packets per second
constexpr double kSlower = 0.5;    // of what the pods' other rails carry
constexpr double kIdle = 0.01;     // of line rate: with less, rails are not compared

// As mlx5 names them, and rdma_rxe (out_of_seq_request: of who receives; rcvd_seq_err: of who sends).
constexpr std::array<std::string_view, 6> kLossCounters = {"out_of_sequence",       "packet_seq_err",
                                                           "local_ack_timeout_err", "roce_adp_retrans",
                                                           "out_of_seq_request",    "rcvd_seq_err"};
// mlx5's alone, of the port, so of its PF's device: they count for all VFs.
constexpr std::array<std::string_view, 2> kMarkCounters = {"np_cnp_sent", "rp_cnp_handled"};

uint64_t Grown(uint64_t before, uint64_t now) {
  return now > before ? now - before : 0;  // a counter that begins anew has grown by nothing
}

class Counters : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    if (facts_.ports == nullptr) return;
    for (const PortView& port : facts_.ports->ports) {
      if (!port.earlier) continue;
      seconds_ = std::chrono::duration<double>(port.now.at - port.earlier->at).count();
      if (seconds_ < std::chrono::duration<double>(kLeastTime).count()) continue;
      Discards(port);
      Lost(port);
      if (port.port->is_uplink()) {
        Pauses(port);
        Marked(port);
      } else {
        SlowPath(port);
      }
    }
    SlowRails();
  }

 private:
  double PerSecond(uint64_t before, uint64_t now) const {
    return static_cast<double>(Grown(before, now)) / seconds_;
  }
  // Of the RDMA counters with these names, those that grow faster, as "out_of_sequence 25/s, ...".
  static std::string Growing(const PortView& port, std::span<const std::string_view> names, double than) {
    const std::chrono::duration<double> passed = port.now.rdma_at - port.earlier->rdma_at;
    if (passed < kLeastTime) return {};
    std::string text;
    for (const netlink::RdmaCounter& now : port.now.rdma) {
      const auto before = std::ranges::find(port.earlier->rdma, now.name, &netlink::RdmaCounter::name);
      if (std::ranges::find(names, now.name) == names.end() || before == port.earlier->rdma.end()) continue;
      const double rate = static_cast<double>(Grown(before->value, now.value)) / passed.count();
      if (rate >= than) text += fmt::format("{}{} {:.0f}/s", text.empty() ? "" : ", ", now.name, rate);
    }
    return text;
  }

  void Pauses(const PortView& port) {
    if (!port.now.pfc || !port.earlier->pfc) return;
    for (size_t priority = 0; priority < 8; ++priority) {
      const double received =
          PerSecond(port.earlier->pfc->indications[priority], port.now.pfc->indications[priority]);
      const double sent = PerSecond(port.earlier->pfc->requests[priority], port.now.pfc->requests[priority]);
      if (received >= kPauseStorm) {
        Find(Severity::kWarning, "pause-storm", port.port->rail,
             fmt::format("the leaf pauses {} {:.0f} times a second (priority {}, the last minute)",
                         port.port->link, received, priority),
             "the way behind the leaf is full, or somebody there pauses it: pods on this rail wait with what "
             "they send",
             "look at the pauses of the leaf's other ports, and at ECN on it: marks should slow senders down "
             "before pauses stop them (deploy/leaves)");
        OfAspect(fmt::format("received {}", priority));
      }
      if (sent >= kPauseStorm) {
        Find(Severity::kWarning, "pause-storm", port.port->rail,
             fmt::format("{} pauses its leaf {:.0f} times a second (priority {}, the last minute)",
                         port.port->link, sent, priority),
             "this node does not take what arrives: memory or PCIe behind the NIC is too slow, and the "
             "pauses spread to all who share the leaf",
             "`railctl top` says which pod receives; look at the NIC's PCIe width and speed (`railctl get "
             "nics`), and at relaxed ordering and ATS of the platform");
        OfAspect(fmt::format("sent {}", priority));
      }
    }
  }

  void Lost(const PortView& port) {
    const std::string growing = Growing(port, kLossCounters, kLost);
    if (growing.empty()) return;
    Find(Severity::kWarning, "rdma-out-of-sequence", Subject(port),
         fmt::format("RDMA on {} loses or overtakes packets: {} in the last minute",
                     port.port->is_uplink() ? port.port->link : port.port->ifname + " of the pod", growing),
         "each of them makes a queue pair send again, and a job waits for its slowest",
         "look for discards on the leaf's ports and for priorities that do not pause (`railctl get rails`, "
         "lossless)");
  }

  void Marked(const PortView& port) {
    const std::string growing = Growing(port, kMarkCounters, kMarked);
    if (growing.empty() || !port.now.pfc || port.now.pfc->enabled != 0) return;
    Find(Severity::kWarning, "congestion-without-pfc", port.port->rail,
         fmt::format("the fabric marks congestion on {} ({}), and no priority of it pauses", port.port->link,
                     growing),
         "when marks do not slow the senders down in time, packets are dropped",
         "let the priority of RoCE pause, here and on the leaf: `lossless.pfc` of node.json with "
         "`manage_qos`, or `dcb pfc set dev " +
             port.port->link + " prio-pfc 3:on`");
  }

  void Discards(const PortView& port) {
    for (const Direction direction : counters::kDirections) {
      const counters::Counts& now = port.now.traffic[direction];
      const counters::Counts& before = port.earlier->traffic[direction];
      const double dropped = PerSecond(before.dropped, now.dropped);
      const double broken = PerSecond(before.errors, now.errors);
      if (dropped + broken < kDiscards) continue;
      const bool sent = direction == Direction::kSent;
      Find(Severity::kWarning, "packets-discarded", Subject(port),
           fmt::format(
               "{} discards {:.0f} packets a second that {} ({:.0f}/s of them with errors, the last minute)",
               port.port->link, dropped + broken, sent ? "are sent" : "arrive", broken),
           "RoCE takes a lost packet for congestion, and sends again what came after it",
           broken >= dropped
               ? "packets with errors come from a cable or an optic: look at the port's FEC and CRC counters"
               : "`railctl top` says who sends; the leaf's counters say whether it discards, too");
      OfAspect(sent ? "sent" : "received");
    }
  }

  void SlowPath(const PortView& port) {
    for (const Direction direction : counters::kDirections) {
      const auto now = port.now.traffic[direction].slow_packets;
      const auto before = port.earlier->traffic[direction].slow_packets;
      if (!now || !before || PerSecond(*before, *now) < kSlowPath) continue;
      Find(Severity::kWarning, "slow-path-used", Subject(port),
           fmt::format("the CPU forwards {:.0f} packets a second of what the pod {} (the last minute)",
                       PerSecond(*before, *now), direction == Direction::kSent ? "sends" : "receives"),
           "the NIC has no flow for them; RDMA that goes this way is slow and out of order",
           "`railctl get flows` shows which flows are not in hardware, and `railctl doctor` why, if Open "
           "vSwitch does not offload");
      OfAspect(direction == Direction::kSent ? "sent" : "received");
    }
  }

  static std::string Subject(const PortView& port) {
    return port.port->is_uplink() ? port.port->rail : port.port->Name() + " on " + port.port->rail;
  }

  // A job spreads over its rails evenly: what one rail's pods do not get there is compared with their other rails.
  void SlowRails() {
    std::map<std::pair<std::string, std::string>, std::map<std::string, double>> pods;  // bytes/s by rail
    std::map<std::string, double> line_rate;
    std::map<std::string, std::string> uplink;
    for (const PortView& port : facts_.ports->ports) {
      if (port.port->is_uplink()) {
        line_rate[port.port->rail] = static_cast<double>(port.line_rate);
        uplink[port.port->rail] = port.port->link;
        continue;
      }
      if (!port.earlier || port.now.at - port.earlier->at < kLeastTime) continue;
      seconds_ = std::chrono::duration<double>(port.now.at - port.earlier->at).count();
      for (const Direction direction : counters::kDirections) {
        pods[{port.port->pod_namespace, port.port->pod}][port.port->rail] +=
            PerSecond(port.earlier->traffic[direction].bytes, port.now.traffic[direction].bytes);
      }
    }
    std::map<std::string, std::pair<double, double>> rails;  // of its pods: there, and on an average other
    for (const auto& [pod, rates] : pods) {
      if (rates.size() < 2) continue;
      const double all = std::accumulate(rates.begin(), rates.end(), 0.0,
                                         [](double sum, const auto& rate) { return sum + rate.second; });
      for (const auto& [rail, rate] : rates) {
        rails[rail].first += rate;
        rails[rail].second += (all - rate) / static_cast<double>(rates.size() - 1);
      }
    }
    for (const auto& [rail, carried] : rails) {
      const auto [own, others] = carried;
      if (line_rate[rail] <= 0 || others < kIdle * line_rate[rail] || own >= kSlower * others) continue;
      Find(
          Severity::kWarning, "rail-slower-than-siblings", rail,
          fmt::format("pods carry {:.0f} Mbit/s on {} and {:.0f} Mbit/s on each of their other rails (the "
                      "last minute)",
                      own * 8 / 1e6, rail, others * 8 / 1e6),
          "a collective is as fast as its slowest rail; where jobs use rails evenly, something slows this "
          "one down",
          "compare the link of " + uplink[rail] +
              " with the others (speed, pauses, discards: `railctl get counters`), and its leaf with theirs");
    }
  }

  double seconds_ = 1;  // between the two readings
};

}  // namespace

void ExamineCounters(const NodeFacts& facts, std::vector<Finding>& found) {
  Counters(facts, found).Run();
}

}  // namespace rail::inspect
