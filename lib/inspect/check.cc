#include "lib/inspect/check.h"

#include <algorithm>
#include <set>

#include "lib/engine/differences.h"
#include "lib/engine/repair_representors.h"

namespace rail::inspect {
namespace {

using engine::AttachmentView;
using state::Attachment;

class Checker {
 public:
  Checker(engine::Node& node, const tenancy::LoadMap& tenants) : node_(node), tenants_(tenants) {}

  std::vector<std::string> Check(const Attachment& attachment) {
    problems_.clear();
    const config::Rail* rail = node_.config.FindRail(attachment.rail);
    if (rail == nullptr) return {"its rail " + attachment.rail + " is not in node.json any more"};
    auto steps = node_.store.Steps(attachment.id);
    if (!steps) return {steps.error().message};
    if (attachment.phase == state::Phase::kAdding)
      return {"its ADD has not finished: it is under way, or has died"};
    if (attachment.phase == state::Phase::kDeleting) return Pending(*steps);
    steps_.clear();
    for (const state::Step& step : *steps) steps_.insert(step.kind);
    if (attachment.adopted && attachment.representor.empty()) {  // frr-provider alone: no port and no rules
      Note(Announcement(*rail, attachment));
      return problems_;
    }
    if (!steps_.contains(engine::step::kAdmit))
      problems_.emplace_back("its ADD has not admitted its traffic");

    Note(Inside(*rail, attachment));
    Note(Device(attachment, *steps));
    Add(engine::PortDiffers(node_, *rail, attachment));
    Note(Representor(attachment));
    Note(Rules(*rail, attachment, *steps));
    Tenant(attachment);
    Note(Announcement(*rail, attachment));
    return problems_;
  }

 private:
  void Note(const Status& status) {
    if (!status) problems_.push_back(status.error().message);
  }

  void Add(const Result<engine::Differences>& found) {
    if (!found) return problems_.push_back(found.error().message);
    problems_.insert(problems_.end(), found->begin(), found->end());
  }

  static std::vector<std::string> Pending(const std::vector<state::Step>& steps) {
    std::vector<std::string> left = {"its DEL has begun and is not done"};
    for (const state::Step& step : steps) {
      if (!step.pending.empty()) left.push_back("undo of " + step.kind + " failed: " + step.pending);
    }
    return left;
  }

  Status Inside(const config::Rail& rail, const Attachment& attachment) {
    const std::optional<netns::Netns> pod = engine::PodNamespace(attachment);
    if (!pod) {
      problems_.push_back("its network namespace " + attachment.netns_path +
                          " is gone: raild undoes the attachment after a grace period");
      return {};
    }
    RAIL_ASSIGN_AS(const std::vector<std::string> found,
                   node_.connections.Pods().Verify(*pod, engine::PlanOf(rail, attachment)),
                   "look into the pod");
    Add(found);
    return {};
  }

  // Only the CNI verb CHECK gets the network's configuration, so this does not compare the device's settings with it.
  Status Device(const Attachment& attachment, const std::vector<state::Step>& steps) {
    const auto step = std::ranges::find(steps, engine::step::kDevice, &state::Step::kind);
    const std::optional<netns::Netns> pod = engine::PodNamespace(attachment);
    if (step == steps.end() || !pod) return {};
    RAIL_ASSIGN(const device::Saved saved, device::Saved::FromJson(step->detail));
    RAIL_ASSIGN(device::Backend * devices, node_.connections.Devices());
    RAIL_ASSIGN_AS(const std::vector<std::string> found, devices->Verify(saved, std::nullopt, *pod),
                   "look at its device");
    Add(found);
    return {};
  }

  Status Representor(const Attachment& attachment) {
    RAIL_ASSIGN(netlink::Netlink * host, node_.connections.Netlink());
    RAIL_ASSIGN_AS(const netlink::Link link, host->GetLink(attachment.representor), "its representor");
    if (const std::string problem = engine::RepresentorProblem(link); !problem.empty())
      problems_.push_back("its representor " + problem +
                          ": nothing reaches the pod, and nothing that it sends is heard; " +
                          engine::RepresentorRemedy(link.name, link.up));
    return {};
  }

  Status Rules(const config::Rail& rail, const Attachment& attachment,
               const std::vector<state::Step>& steps) {
    RAIL_ASSIGN(const pipeline::BridgeFacts bridge, engine::Facts(node_, rail));
    std::vector<ovs::Rule> wanted = pipeline::ControlRules(bridge, node_.config.tenancy.mode);
    pipeline::Append(wanted, engine::WantedRules(bridge, attachment, steps));
    Add(engine::RulesDiffer(node_, attachment, wanted));
    return {};
  }

  void Tenant(const Attachment& attachment) {
    if (node_.config.tenancy.mode == config::TenancyMode::kOff) return;
    if (!steps_.contains(engine::step::kTenant) || attachment.tenant_id.is_none()) {
      problems_.emplace_back("tenant-isolation has not run: the pod has no tenant and is cut off");
      return;
    }
    Add(engine::TenantDiffers(attachment, node_.config, tenants_));
  }

  Status Announcement(const config::Rail& rail, const Attachment& attachment) {
    if (!steps_.contains(engine::step::kAnnounce)) return {};  // a chain without frr-provider
    RAIL_ASSIGN(frr::Bgp * bgp, node_.connections.Bgp());
    if (!announced_) {
      RAIL_ASSIGN(announced_, bgp->Announced(node_.connections.CallDeadline()));
    }
    Add(engine::AnnouncementDiffers(node_, rail, attachment, *announced_));
    for (const IpAddress& address : attachment.addresses) {
      if (std::ranges::find(*announced_, address, &frr::Announcement::address) == announced_->end()) continue;
      RAIL_ASSIGN(const bool told, bgp->InAdjRibOut(address, rail.bridge, node_.connections.CallDeadline()));
      if (!told)
        problems_.push_back("the leaf of " + rail.name + " has not been told of " + address.ToHostPrefix());
    }
    return {};
  }

  engine::Node& node_;
  const tenancy::LoadMap& tenants_;
  std::vector<std::string> problems_;
  std::set<std::string> steps_;
  std::optional<std::vector<frr::Announcement>> announced_;  // read once for all attachments
};

}  // namespace

std::vector<Checked> CheckAll(const std::vector<const AttachmentView*>& attachments, engine::Node& node,
                              const tenancy::LoadMap& tenants) {
  Checker checker(node, tenants);
  std::vector<Checked> all;
  for (const AttachmentView* shown : attachments) all.push_back({*shown, checker.Check(shown->attachment)});
  return all;
}

}  // namespace rail::inspect
