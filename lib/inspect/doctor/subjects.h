// The subjects that the doctor examines, one file for each (<subject>.cc), and their base class.
//
// Use:      ExamineRails(facts, found);   // adds its findings, in any order
// Threads:  pure functions
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lib/frr/session_down.h"
#include "lib/inspect/doctor/doctor.h"

namespace rail::inspect {

// Holds the facts, and the list to which a subject adds its findings.
class Examiner {
 public:
  Examiner(const NodeFacts& facts, std::vector<Finding>& found)
      : facts_(facts), config_(facts.config), view_(facts.view), found_(found) {}

 protected:
  void Find(Severity severity, std::string id, std::string subject, std::string what, std::string why,
            std::string fix) {
    found_.push_back(
        {severity, std::move(id), std::move(subject), std::move(what), std::move(why), std::move(fix)});
  }
  // Finding::aspect of the finding that was found last.
  void OfAspect(std::string aspect) { found_.back().aspect = std::move(aspect); }
  // The rail that it concerns, where its subject is neither a rail nor an attachment; "": none.
  void OfRail(const std::string& rail) { found_.back().rail = rail; }

  // raild has not looked at everything yet, and what it has not found is not missing: it takes a second, more on a busy node.
  // Before its first view it has not even said when it began.
  bool JustBegun() const {
    return (view_.version == 0 && !facts_.start) || facts_.now_ms - view_.started_ms < 5000;
  }

  // Of the rail with this name, or with this index; nullptr: the view has none.
  const engine::RailView* ViewOf(const std::string& rail) const {
    const auto it = std::ranges::find_if(view_.rails, [&](const auto& r) { return r.rail.name == rail; });
    return it == view_.rails.end() ? nullptr : &*it;
  }
  const engine::RailView* ViewOf(uint32_t index) const {
    const auto it = std::ranges::find_if(view_.rails, [&](const auto& r) { return r.rail.index == index; });
    return it == view_.rails.end() ? nullptr : &*it;
  }
  // As bgpd says it now, with what raild has seen of the session's end; as raild has seen it, when bgpd does not answer.
  std::optional<frr::Session> SessionOn(const engine::RailView& view, const std::string& interface) const {
    const auto now = std::ranges::find(facts_.sessions, interface, &frr::Session::interface);
    const frr::Session* known = view.SessionOn(interface);
    if (now == facts_.sessions.end()) return known == nullptr ? std::nullopt : std::optional(*known);
    frr::Session session = *now;
    if (known != nullptr) frr::Remember(session, *known);
    return session;
  }

  static std::string Octal(uint32_t mode) { return fmt::format("{:04o}", mode & 07777); }

  const NodeFacts& facts_;
  const config::NodeConfig& config_;
  const engine::NodeView& view_;

 private:
  std::vector<Finding>& found_;
};

// The daemons, offload, the datapath.
void ExamineOpenVswitch(const NodeFacts& facts, std::vector<Finding>& found);
// NICs, bridges, uplinks and how they treat RoCE, MTUs, RDMA.
void ExamineRails(const NodeFacts& facts, std::vector<Finding>& found);
// Shares and limits of tenants, and what else limits them.
void ExamineRates(const NodeFacts& facts, std::vector<Finding>& found);
// What the ports have counted in the last minute.
void ExamineCounters(const NodeFacts& facts, std::vector<Finding>& found);
// bgpd, the rails' sessions and leaves.
void ExamineBgp(const NodeFacts& facts, std::vector<Finding>& found);
// Mode `vrf`: the tenants' VLANs, VRFs and sessions.
void ExamineVlans(const NodeFacts& facts, std::vector<Finding>& found);
// The node's own address on its management links.
void ExamineFrontend(const NodeFacts& facts, std::vector<Finding>& found);
// Leaves and cables: what contradicts the other rails and the other nodes.
void ExamineCabling(const NodeFacts& facts, std::vector<Finding>& found);
// Planes of rails: their order in pods, cables between them, what other nodes say of them.
void ExaminePlanes(const NodeFacts& facts, std::vector<Finding>& found);
// The speeds of the uplinks, as the kernel's sysfs has them.
void LookAtSpeeds(NodeFacts& facts, const std::string& sysfs);
// tenancy.tenants of node.json.
void ExamineTenants(const NodeFacts& facts, std::vector<Finding>& found);
// GPUs, and how near each pod's are to its NICs.
void ExamineGpus(const NodeFacts& facts, std::vector<Finding>& found);
// Devices of pods without interfaces, and the reverse.
void ExamineRequests(const NodeFacts& facts, std::vector<Finding>& found);
// Each pod's interface.
void ExamineAttachments(const NodeFacts& facts, std::vector<Finding>& found);
// node.json as it is now, and a raild that does not run.
void ExamineStart(const NodeFacts& facts, std::vector<Finding>& found);
// The record, the API's certificates, raild's parts.
void ExamineRaild(const NodeFacts& facts, std::vector<Finding>& found);

}  // namespace rail::inspect
