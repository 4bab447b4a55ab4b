#include "lib/qos/compare.h"

#include <fmt/core.h>

#include <algorithm>

namespace rail::qos {
namespace {

using config::Lossless;
using netlink::DcbApp;
using netlink::kPriorities;

const std::string kRaildSets =
    "raild sets it (manage_qos): `railctl get node` says what keeps it from doing so";

std::string List(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

class Comparison {
 public:
  Comparison(const Lossless& wanted, const std::string& uplink, const Seen& seen)
      : wanted_(wanted), uplink_(uplink), seen_(seen) {}

  std::vector<Difference> Take() && {
    if (seen_.dcb) {
      Pfc(*seen_.dcb);
      Trust(*seen_.dcb);
      TrafficClasses(*seen_.dcb);
      Neighbour(*seen_.dcb);
    } else if (wanted_.pfc || wanted_.trust || !wanted_.dscp_to_priority.empty()) {
      unknown_.push_back("PFC and the trust of DSCP: " + seen_.dcb.error().message);
    }
    Ecn();
    Tos();
    Unknown();
    return std::move(found_);
  }

 private:
  // `fix`: of what dcbnl can set.
  std::string Remedy(const std::string& fix) const { return wanted_.manage_qos ? kRaildSets : fix; }

  void Pfc(const netlink::DcbState& dcb) {
    if (!wanted_.pfc) return;
    if (!dcb.pfc) return unknown_.push_back("PFC: the driver of " + uplink_ + " does not tell");
    const uint8_t mask = MaskOf(*wanted_.pfc);
    if (dcb.pfc->enabled == mask) return;
    std::string command = "`dcb pfc set dev " + uplink_ + " prio-pfc all:off";
    for (const uint8_t priority : *wanted_.pfc) command += fmt::format(" {}:on", priority);
    found_.push_back(
        {"lossless-pfc",
         fmt::format("{} pauses (PFC) for priority {}, lossless.pfc wants {}", uplink_,
                     Priorities(dcb.pfc->enabled), Priorities(mask)),
         (mask & ~dcb.pfc->enabled) != 0
             ? "packets of RDMA are dropped when the network is full: jobs slow down by go-back-N"
             : "traffic that may be dropped stops others instead, and pauses can spread through the "
               "fabric",
         Remedy(command + "`")});
  }

  void Trust(const netlink::DcbState& dcb) {
    std::vector<DcbApp> map;
    std::ranges::copy_if(dcb.apps, std::back_inserter(map),
                         [](const DcbApp& app) { return app.selector == DcbApp::kDscp; });
    if (wanted_.trust == config::Trust::kPcp && !map.empty()) {
      found_.push_back(
          {"lossless-trust",
           fmt::format("{} makes the priority of the DSCP ({} entries), lossless.trust wants pcp", uplink_,
                       map.size()),
           "packets go to other queues than their VLAN tag says, which may not pause",
           Remedy("`dcb app flush dev " + uplink_ + " dscp-prio`")});
    }
    const bool wants_dscp = wanted_.trust == config::Trust::kDscp || !wanted_.dscp_to_priority.empty();
    if (wanted_.trust == config::Trust::kPcp || !wants_dscp) return;
    std::string command = "`dcb app replace dev " + uplink_ + " dscp-prio";
    std::vector<std::string> wrong;
    for (const auto& [dscp, priority] : wanted_.dscp_to_priority) {
      std::vector<std::string> has;
      for (const DcbApp& app : map)
        if (app.protocol == dscp) has.push_back(std::to_string(app.priority));
      if (has == std::vector{std::to_string(priority)}) continue;
      wrong.push_back(fmt::format("DSCP {} has priority {} instead of {}", dscp,
                                  has.empty() ? "none" : List(has), priority));
      command += fmt::format(" {}:{}", dscp, priority);
    }
    if (map.empty()) {
      found_.push_back(
          {"lossless-trust",
           uplink_ + " does not look at the DSCP (no entry in its table), lossless.trust wants dscp",
           "RoCE without a VLAN tag has the default priority: it does not pause, and is not marked",
           wrong.empty() ? "add the DSCP of RoCE to lossless.dscp_to_priority and set it by `dcb "
                           "app add dev " +
                               uplink_ + " dscp-prio DSCP:PRIORITY`"
                         : Remedy(command + "`")});
    } else if (!wrong.empty()) {
      found_.push_back({"lossless-dscp", uplink_ + ": " + List(wrong),
                        "these packets go to a queue that is not theirs: RoCE may be dropped, others paused",
                        Remedy(command + "`")});
    }
  }

  void TrafficClasses(const netlink::DcbState& dcb) {
    if (!wanted_.pfc || !dcb.ets) return;
    for (const uint8_t priority : *wanted_.pfc) {
      const uint8_t own = dcb.ets->traffic_class[priority];
      std::vector<std::string> others;
      for (uint8_t other = 0; other < kPriorities; ++other) {
        if (!wanted_.pfc->contains(other) && dcb.ets->traffic_class[other] == own)
          others.push_back(std::to_string(other));
      }
      if (others.empty()) continue;
      found_.push_back(
          {"lossless-traffic-class",
           fmt::format("priority {} of {} shares traffic class {} with priority {}, which may drop", priority,
                       uplink_, own, List(others)),
           "one queue holds both: other traffic waits with RoCE while it is paused",
           "`dcb ets set dev " + uplink_ + " prio-tc 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7`"});
    }
  }

  void Neighbour(const netlink::DcbState& dcb) {
    if (!wanted_.pfc || !dcb.peer_pfc || *dcb.peer_pfc == MaskOf(*wanted_.pfc)) return;
    found_.push_back(
        {"lossless-neighbour",
         fmt::format("the neighbor of {} says by DCBX that it pauses for priority {}, lossless.pfc "
                     "wants {}",
                     uplink_, Priorities(*dcb.peer_pfc), Priorities(MaskOf(*wanted_.pfc))),
         "pauses need both ends: what one sends, the other ignores, and it drops",
         "the leaf's port: give it the same PFC, or correct lossless.pfc"});
  }

  void Ecn() {
    std::vector<std::string> off;
    std::vector<std::string> silent;
    std::string command;
    for (const uint8_t priority : wanted_.ecn) {
      const qos::Ecn& now = seen_.ecn.at(priority);
      const auto look = [&](const std::optional<bool>& on, const char* part, const char* role) {
        if (!on) return silent.push_back(fmt::format("{} of priority {}", role, priority));
        if (*on) return;
        off.push_back(fmt::format("{} of priority {}", role, priority));
        if (command.empty())
          command = fmt::format("`echo 1 > /sys/class/net/{}/ecn/{}/enable/{}`", uplink_, part, priority);
      };
      look(now.notifies, "roce_np", "the notification point");
      look(now.reacts, "roce_rp", "the reaction point");
    }
    if (!off.empty()) {
      found_.push_back({"lossless-ecn", "ECN is off on " + uplink_ + ": " + List(off),
                        "congestion is answered by pauses alone, which stop neighbors that have done nothing",
                        off.size() == 1 ? command : command + ", and so on for each"});
    }
    if (!silent.empty())
      unknown_.push_back("ECN: " + uplink_ + " has no /sys/class/net/" + uplink_ +
                         "/ecn (only drivers that NVIDIA ships have it)");
  }

  void Tos() {
    if (!wanted_.tos) return;
    if (seen_.tos.empty())
      return unknown_.push_back("the ToS: " + uplink_ + " has no RDMA device on the host");
    std::vector<std::string> wrong;
    for (const DeviceTos& device : seen_.tos) {
      if (device.all ? *device.all == *wanted_.tos : device.cm == wanted_.tos) continue;
      if (!device.all && !seen_.has_configfs)
        return unknown_.push_back(
            "the ToS: /sys/kernel/config/rdma_cm is not there (is configfs mounted and "
            "rdma_cm loaded?)");
      const auto now = device.all ? device.all : device.cm;
      wrong.push_back(device.device + (now ? fmt::format(" has {}", *now) : " has none since the boot"));
    }
    if (wrong.empty()) return;
    const auto first = std::ranges::find_if(seen_.tos, [&](const DeviceTos& device) {
      return device.all ? *device.all != *wanted_.tos : device.cm != wanted_.tos;
    });
    const std::string& name = first->device;
    const std::string place = "/sys/kernel/config/rdma_cm/" + name;
    std::string fix =
        first->all
            ? fmt::format("`echo {} > /sys/class/infiniband/{}/tc/1/traffic_class`", *wanted_.tos, name)
            : fmt::format("`mkdir -p {0} && echo {1} > {0}/ports/1/default_roce_tos`", place, *wanted_.tos);
    if (wrong.size() > 1) fix += ", and so on for each";
    found_.push_back(
        {"lossless-tos",
         fmt::format("{} of {} RDMA devices of {} do not have ToS {}: {}{}", wrong.size(), seen_.tos.size(),
                     uplink_, *wanted_.tos, wrong.front(), wrong.size() > 1 ? ", ..." : ""),
         "connections of rdma_cm are sent with another DSCP, and so in another queue; programs that "
         "set their own (NCCL_IB_TC) are not concerned",
         std::move(fix)});
  }

  void Unknown() {
    if (unknown_.empty()) return;
    found_.push_back(
        {"lossless-unknown", "cannot be read: " + List(unknown_),
         "nobody knows whether RoCE is lossless here",
         "mend the reason, or take the keys out of \"lossless\" in node.json if this driver never "
         "tells"});
  }

  const Lossless& wanted_;
  const std::string& uplink_;
  const Seen& seen_;
  std::vector<Difference> found_;
  std::vector<std::string> unknown_;
};

}  // namespace

std::string Priorities(uint8_t mask) {
  std::vector<std::string> words;
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    if ((mask >> priority & 1U) != 0) words.push_back(std::to_string(priority));
  }
  return words.empty() ? "none" : List(words);
}

uint8_t MaskOf(const std::set<uint8_t>& priorities) {
  uint8_t mask = 0;
  for (const uint8_t priority : priorities) mask = static_cast<uint8_t>(mask | 1U << priority);
  return mask;
}

std::vector<Difference> Compare(const Lossless& wanted, const std::string& uplink, const Seen& seen) {
  return Comparison(wanted, uplink, seen).Take();
}

}  // namespace rail::qos
