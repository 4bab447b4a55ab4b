#include "lib/inspect/doctor/subjects.h"

#include <string_view>

#include "lib/base/parse.h"
#include "lib/inspect/select.h"

namespace rail::inspect {
namespace {

constexpr uint64_t kDefaultMaxIdle = 10000;  // ms
constexpr uint64_t kGoodMaxIdle = 60000;
constexpr uint64_t kLongMaxIdle = 300000;
constexpr uint64_t kDefaultMaxRevalidator = 500;  // ms
constexpr size_t kManyDropping = 1000;            // of one pod

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
    for (const auto& [port, flows] : facts_.dropping_megaflows) {
      if (flows < kManyDropping) continue;
      Find(Severity::kWarning, "pod-floods", NameOfPod(port),
           fmt::format("{} datapath flows drop what the pod sends through {}", flows, port),
           "it sends to addresses that its tenant does not have, and each makes a flow, up to 4,000; "
           "above the datapath's flow limit the quiet flows of all pods go",
           "ask who runs the pod, or delete it: nothing of this is traffic that anybody has allowed");
    }
    for (const auto& [family, count] : facts_.masks.Counts()) {
      if (count <= kMostMasks) continue;
      const auto [port, of_port] = facts_.masks.Most(family);
      Find(Severity::kWarning, "masks-many", NameOfPod(port),
           fmt::format("{} masks of {}; flows from {} have {} of them", count, family, port, of_port),
           "each packet is looked up by one mask after another, in software and in many NICs",
           "`ovs-appctl dpctl/dump-flows -m` shows them; tables of RailCNI make few of what pods send, flows "
           "of others (`railctl get flows`) and frames that come from a leaf may make more");
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
  // Of the pod behind a representor; else the port's own.
  std::string NameOfPod(const std::string& port) const {
    const auto of = std::ranges::find(
        view_.attachments, port, [](const engine::AttachmentView& a) { return a.attachment.representor; });
    return of == view_.attachments.end() ? port : Name(of->attachment);
  }
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
           "every packet costs CPU, and RDMA does not pass at all: pods' ports are links of the kernel, of "
           "which no "
           "NIC takes a userspace datapath's flows over, OVS-DPDK's and OVS-DOCA's neither",
           "run Open vSwitch with its kernel datapath on a node with a NIC (NVIDIA's: flavour OVS-Kernel), "
           "and "
           "set ovs.datapath to \"system\"; a lab has to live with it");
    }
    if (!Offloads()) {
      Find(Severity::kWarning, "hw-offload-off", "Open vSwitch",
           "hardware offload is off (other_config:hw-offload is " +
               (Other("hw-offload").empty() ? "not set" : Other("hw-offload")) + ")",
           "every packet of every pod goes through this node's CPU: a fraction of line rate",
           "`ovs-vsctl set Open_vSwitch . other_config:hw-offload=true`, then restart openvswitch-switch: it "
           "is read at start only");
    }
    const uint64_t idle = Number<uint64_t>(Other("max-idle")).value_or(kDefaultMaxIdle);
    if (idle < kGoodMaxIdle) {
      Find(Severity::kWarning, "max-idle-short", "Open vSwitch",
           fmt::format("datapath flows are removed after {} s without a packet{}", idle / 1000,
                       Other("max-idle").empty() ? " (the default)" : ""),
           "a queue pair that is quiet between two steps of a job starts in software again: reordering, "
           "latency",
           "`ovs-vsctl set Open_vSwitch . other_config:max-idle=60000`");
    }
    if (idle > kLongMaxIdle) {
      Find(Severity::kWarning, "max-idle-long", "Open vSwitch",
           fmt::format("datapath flows stay for {} s without a packet", idle / 1000),
           "what a pod makes with frames of thousands of Ethernet types stays as long, and above the flow "
           "limit quiet flows of everybody go",
           "`ovs-vsctl set Open_vSwitch . other_config:max-idle=60000`");
    }
    Revalidator();
    if (Other("min-revalidate-pps") != "0") {
      Find(Severity::kInfo, "min-revalidate-pps", "Open vSwitch",
           "slow flows may be thrown out when the datapath is busy (min-revalidate-pps is " +
               (Other("min-revalidate-pps").empty() ? "5, the default" : Other("min-revalidate-pps")) + ")",
           "with many flows, those of quiet queue pairs leave the NIC and come back through software",
           "`ovs-vsctl set Open_vSwitch . other_config:min-revalidate-pps=0`");
    }
  }

  // ofproto/ofproto-dpif-upcall.c, should_revalidate.
  void Revalidator() {
    const uint64_t bound = Number<uint64_t>(Other("max-revalidator")).value_or(kDefaultMaxRevalidator);
    uint64_t look = 0;
    for (const ovs::DatapathCounts& datapath : facts_.datapaths)
      look = std::max(look, static_cast<uint64_t>(datapath.dump_ms));
    const bool removes = 2 * look > bound;
    if (Other("min-revalidate-pps") == "0" || (bound >= kDefaultMaxRevalidator && !removes)) return;
    Find(Severity::kWarning, "max-revalidator-short", "Open vSwitch",
         fmt::format("Open vSwitch removes flows of few packets, those in the NIC too, {} one look at its "
                     "flows takes more than {} ms, half of max-revalidator (now {} ms)",
                     removes ? "because" : "as soon as", bound / 2, look),
         "the packets of quiet queue pairs come back through software: reordering, latency",
         fmt::format("`ovs-vsctl set Open_vSwitch . other_config:min-revalidate-pps=0` keeps them whatever a "
                     "look takes{}",
                     bound < kDefaultMaxRevalidator ? "; `ovs-vsctl remove Open_vSwitch . other_config "
                                                      "max-revalidator` brings the default back, 500 ms"
                                                    : ""));
  }

  void FlowLimit() {
    // Without OVSDB nobody knows what is configured.
    const uint64_t configured = facts_.ovsdb_down ? 0 : ovs::FlowLimit(facts_.other_config);
    for (const ovs::DatapathCounts& datapath : facts_.datapaths) {
      if (datapath.limit != 0 && datapath.limit < configured) {
        Find(Severity::kWarning, "flow-limit-low", "datapath",
             fmt::format("Open vSwitch lets {} flows into the datapath, and {} are configured",
                         datapath.limit, configured),
             "a pod that sends frames of thousands of Ethernet types reaches the limit: quiet flows of "
             "everybody go",
             fmt::format(
                 "raild raises the limit, except while Open vSwitch takes a second for one look at its flows "
                 "(now {} ms): give ovs-vswitchd CPU time, or set other_config:flow-limit to what it can do",
                 datapath.dump_ms));
      }
      if (datapath.limit == 0 || datapath.flows * 10 < datapath.limit * 8) continue;
      Find(Severity::kWarning, "flow-limit-near", "datapath",
           fmt::format("{} datapath flows of at most {}", datapath.flows, datapath.limit),
           "above the limit idle flows go after 0.1 s, above twice the limit all of them do: traffic falls "
           "back to software in waves",
           "`ovs-vsctl set Open_vSwitch . other_config:flow-limit=400000`; pods that scan addresses make "
           "many flows");
    }
  }
};

}  // namespace

void ExamineOpenVswitch(const NodeFacts& facts, std::vector<Finding>& found) {
  OpenVswitch(facts, found).Run();
}

}  // namespace rail::inspect
