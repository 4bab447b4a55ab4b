#include "lib/base/text.h"
#include "lib/inspect/doctor/subjects.h"
#include "lib/inspect/select.h"

namespace rail::inspect {
namespace {

class Rates : Examiner {
 public:
  using Examiner::Examiner;

  void Run() {
    for (const engine::RailView& rail : view_.rails) {
      if (!rail.rates) continue;
      for (const qos::Difference& each : rail.rates->problems)
        Find(Severity::kWarning, each.id, rail.rail.name, each.what, each.why, each.fix);
    }
    for (const engine::AttachmentView& shown : view_.attachments) {
      Differs(shown.attachment);
      Policed(shown.attachment);
    }
  }

 private:
  void Differs(const state::Attachment& a) {
    const auto differ = facts_.rates_differ.find(a.id);
    if (differ == facts_.rates_differ.end()) return;
    std::string what = Join(differ->second, "; ");
    Find(Severity::kWarning, "rates-differ", Name(a), std::move(what),
         "the share and the limit of its tenant (`rates` of node.json) do not hold for what the pod sends",
         "raild sets it by itself, at the latest within 30 s; if this stays, another program sets it: "
         "`devlink monitor` shows each change");
  }

  // tc's police on a representor and devlink's rate set one and the same limit of the NIC (mlx5: the vport's).
  void Policed(const state::Attachment& a) {
    const auto rail = facts_.rails.find(a.rail);
    if (rail == facts_.rails.end() || !rail->second.bridge) return;
    const auto& ports = rail->second.bridge->ports;
    const auto port = std::ranges::find(ports, a.representor, &ovs::Port::name);
    if (port == ports.end() || (port->policed_kbit == 0 && port->policed_kpkts == 0)) return;
    const std::string rate = port->policed_kbit != 0
                                 ? fmt::format("ingress_policing_rate={}", port->policed_kbit)
                                 : fmt::format("ingress_policing_kpkts_rate={}", port->policed_kpkts);
    Find(Severity::kWarning, "ingress-policing", Name(a),
         "Open vSwitch polices what the pod sends: " + rate + " on its port " + port->name,
         "it drops what is above, which RoCE takes badly; and in the NIC it is the same limit as devlink's "
         "rate (max_tx_rate of the network), so the last one who sets it wins",
         fmt::format("`ovs-vsctl set Interface {} ingress_policing_rate=0 ingress_policing_kpkts_rate=0`; "
                     "limit by `rates` of node.json or by max_tx_rate of the network",
                     port->name));
  }
};

}  // namespace

void ExamineRates(const NodeFacts& facts, std::vector<Finding>& found) {
  Rates(facts, found).Run();
}

}  // namespace rail::inspect
