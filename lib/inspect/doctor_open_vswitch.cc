#include "lib/inspect/doctor_subjects.h"

#include <string_view>

#include "lib/inspect/text.h"

namespace rail::inspect {
namespace {

constexpr uint64_t kDefaultMaxIdle = 10000;  // ms
constexpr uint64_t kGoodMaxIdle = 60000;

class OpenVswitch : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    if (facts_.ovsdb_down) {
      Find(Severity::kCritical, "ovsdb-down", "ovsdb-server",
           "the configuration database does not answer: " + facts_.ovsdb_down->message,
           "no pod can be attached and nothing of the bridges can be repaired",
           "systemctl status openvswitch-switch; is ovs.db in node.json its socket?");
    } else {
      Offload();
    }
    if (facts_.vswitchd_down) {
      Find(Severity::kCritical, "vswitchd-down", "ovs-vswitchd",
           "ovs-vswitchd does not answer: " + facts_.vswitchd_down->message,
           "flows that are in the datapath go on, new pairs of pods get none",
           "systemctl status openvswitch-switch; is ovs.run_dir in node.json its folder?");
    } else {
      FlowLimit();
    }
    if (facts_.megaflows_in_software > 0 && KernelDatapath() && Offloads()) {
      Find(Severity::kWarning, "megaflows-in-software", "datapath",
           fmt::format("{} of {} datapath flows of pods are not in the NIC", facts_.megaflows_in_software,
                       facts_.megaflows),
           "their packets cost CPU and come nowhere near line rate",
           "`railctl get flows` says which and, where it can be known, why");
    }
  }

 private:
  std::string Other(const std::string& key) const {
    const auto it = facts_.other_config.find(key);
    return it == facts_.other_config.end() ? "" : it->second;
  }
  bool KernelDatapath() const { return config_.ovs.datapath == "system"; }
  bool Offloads() const { return Other("hw-offload") == "true"; }

  void Offload() {
    if (!KernelDatapath()) {
      Find(Severity::kWarning, "userspace-datapath", "ovs.datapath",
           "the bridges use the userspace datapath (ovs.datapath is \"netdev\")",
           "every packet costs CPU, and RDMA does not pass at all: no NIC takes these flows over",
           "set ovs.datapath to \"system\" on a node with a NIC; a lab has to live with it");
    }
    if (!Offloads()) {
      Find(Severity::kWarning, "hw-offload-off", "Open vSwitch",
           "hardware offload is off (other_config:hw-offload is " +
               (Other("hw-offload").empty() ? "not set" : Other("hw-offload")) + ")",
           "every packet of every pod goes through this node's CPU: a fraction of line rate",
           "`ovs-vsctl set Open_vSwitch . other_config:hw-offload=true`, then restart openvswitch-switch: it "
           "is read at "
           "start only");
    }
    const uint64_t idle = Number<uint64_t>(Other("max-idle")).value_or(kDefaultMaxIdle);
    if (idle < kGoodMaxIdle) {
      Find(Severity::kWarning, "max-idle-short", "Open vSwitch",
           fmt::format("datapath flows are removed after {} s without a packet{}", idle / 1000,
                       Other("max-idle").empty() ? " (the default)" : ""),
           "a queue pair that is quiet between two steps of a job starts in software again: reordering, "
           "latency",
           "`ovs-vsctl set Open_vSwitch . other_config:max-idle=600000`");
    }
    if (Other("min-revalidate-pps") != "0") {
      Find(Severity::kInfo, "min-revalidate-pps", "Open vSwitch",
           "slow flows may be thrown out when the datapath is busy (min-revalidate-pps is " +
               (Other("min-revalidate-pps").empty() ? "5, the default" : Other("min-revalidate-pps")) + ")",
           "with many flows, those of quiet queue pairs leave the NIC and come back through software",
           "`ovs-vsctl set Open_vSwitch . other_config:min-revalidate-pps=0`");
    }
  }

  void FlowLimit() {
    for (const DatapathCounts& datapath : facts_.datapaths) {
      if (datapath.limit == 0 || datapath.flows * 10 < datapath.limit * 8) continue;
      Find(
          Severity::kWarning, "flow-limit-near", "datapath",
          fmt::format("{} datapath flows of at most {}", datapath.flows, datapath.limit),
          "above the limit idle flows go after 0.1 s, above twice the limit all of them do: traffic falls "
          "back to "
          "software in waves",
          "`ovs-vsctl set Open_vSwitch . other_config:flow-limit=400000`; pods that scan addresses make many "
          "flows");
    }
  }
};

}  // namespace

void ExamineOpenVswitch(const NodeFacts& facts, std::vector<Finding>& found) {
  OpenVswitch(facts, found).Run();
}

}  // namespace rail::inspect
