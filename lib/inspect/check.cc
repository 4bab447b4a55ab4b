#include "lib/inspect/inspector.h"

#include <algorithm>
#include <map>
#include <set>

#include "lib/base/utf8.h"
#include "lib/engine/attach/differences.h"
#include "lib/engine/attach/tenant_link.h"
#include "lib/engine/attach/tenant_rates.h"
#include "lib/engine/repair/representors.h"
#include "lib/inspect/inside.h"
#include "lib/inspect/messages.h"

namespace rail::inspect {
namespace {

using engine::AttachmentView;
using state::Attachment;

class Checker {
 public:
  Checker(engine::Node& node, const tenancy::LoadMap& tenants) : node_(node), tenants_(tenants) {}

  v1::CheckedAttachment Check(const AttachmentView& shown) {
    checked_.Clear();
    *checked_.mutable_attachment() = ToMessage(shown);
    Compare(shown.attachment);
    return checked_;
  }

 private:
  void Compare(const Attachment& attachment) {
    const config::Rail* rail = node_.config.FindRail(attachment.rail);
    if (rail == nullptr)
      return Add("its rail " + attachment.rail + " is not in node.json any more",
                 "put the rail back into node.json, or delete the pod");
    auto steps = node_.store.Steps(attachment.id);
    if (!steps) return Add(steps.error().message, "`railctl doctor` says what is wrong with the record");
    if (attachment.phase == state::Phase::kAdding)
      return Add("its ADD has not finished: it is under way, or has died",
                 "if it stays: delete the pod, and raild undoes what the ADD has made");
    if (attachment.phase == state::Phase::kDeleting) return Pending(*steps);
    steps_.clear();
    for (const state::Step& step : *steps) steps_.insert(step.kind);
    if (attachment.adopted && attachment.representor.empty()) {  // frr-provider alone: no port and no rules
      return Note(Announcement(*rail, attachment), kByRaild);
    }
    if (!steps_.contains(engine::step::kAdmit)) Add("its ADD has not admitted its traffic", "delete the pod");

    Inside(*rail, attachment, *steps);
    Note(engine::PortDiffers(node_, *rail, attachment), kByRaild);
    Representor(attachment);
    Note(Rules(*rail, attachment, *steps), kByRaild);
    Tenant(attachment, *steps);
    Note(Announcement(*rail, attachment), kByRaild);
    Note(Rates(attachment), kByRaild);
  }

  static constexpr const char* kByRaild =
      "raild puts it right by itself within a second; `railctl get node` says what keeps it from doing so";

  // A daemon that does not answer is one problem, however much cannot be known without it.
  void Add(const std::string& what, const std::string& fix) {
    const std::string sentence = ValidUtf8(what);
    if (std::ranges::find(checked_.problems(), sentence) != checked_.problems().end()) return;
    checked_.add_problems(sentence);
    v1::CheckProblem& detail = *checked_.add_details();
    detail.set_what(sentence);
    detail.set_fix(ValidUtf8(fix));
  }

  void Note(const Result<engine::Differences>& found, const std::string& fix) {
    if (!found) return Add(found.error().message, "`railctl doctor` says what does not answer");
    for (const std::string& what : *found) Add(what, fix);
  }

  void Pending(const std::vector<state::Step>& steps) {
    Add("its DEL has begun and is not done", "raild finishes it by itself");
    for (const state::Step& step : steps) {
      if (!step.pending.empty())
        Add("undo of " + step.kind + " failed: " + step.pending,
            "raild tries again by itself; what keeps it from ending is in its reason");
    }
  }

  void Inside(const config::Rail& rail, const Attachment& attachment, const std::vector<state::Step>& steps) {
    if (!engine::PodNamespace(attachment)) {
      return Add("its network namespace " + attachment.netns_path +
                     " is gone: raild undoes the attachment after a grace period",
                 "nothing: its pod has ended");
    }
    for (const auto& found : {LookInside(node_.connections, rail, attachment, steps),
                              LookAtDevice(node_.connections, attachment, steps)}) {
      if (!found) {
        Add(found.error().message, "`railctl doctor` says what raild cannot see");
        continue;
      }
      for (const podnet::Deviation& each : *found) {
        const std::string command = CommandFor(attachment, {each});
        Add(each.what, command.empty() ? "delete the pod: its successor is whole" : command);
      }
    }
  }

  void Representor(const Attachment& attachment) {
    const auto link = [&]() -> Result<netlink::Link> {
      RAIL_ASSIGN(netlink::Netlink * host, node_.connections.Netlink());
      return host->GetLink(attachment.representor);
    }();
    if (!link) return Add("its representor: " + link.error().message, kByRaild);
    const std::string problem = engine::RepresentorProblem(*link);
    if (problem.empty()) return;
    Add("its representor " + problem + ": nothing reaches the pod, and nothing that it sends is heard",
        engine::RepresentorRemedy(link->name, link->up));
  }

  Result<engine::Differences> Rules(const config::Rail& rail, const Attachment& attachment,
                                    const std::vector<state::Step>& steps) {
    RAIL_ASSIGN(const pipeline::BridgeFacts bridge, engine::Facts(node_, rail));
    std::vector<ovs::Rule> wanted = pipeline::ControlRules(bridge, node_.config.tenancy.mode);
    pipeline::Append(wanted, engine::WantedRules(bridge, attachment, steps));
    return engine::RulesDiffer(node_, attachment, wanted);
  }

  void Tenant(const Attachment& attachment, const std::vector<state::Step>& steps) {
    if (node_.config.tenancy.mode == config::TenancyMode::kOff) return;
    if (!steps_.contains(engine::step::kTenant) || attachment.tenant_id.is_none()) {
      return Add(
          "tenant-isolation has not run: the pod has no tenant and is cut off",
          "put tenant-isolation into the network's plugins after ovs-provider and attach the pod anew");
    }
    Note(engine::TenantDiffers(attachment, steps, node_.config, tenants_),
         "if this stays for more than some seconds: `railctl get node` says what raild could not do");
  }

  Result<engine::Differences> Announcement(const config::Rail& rail, const Attachment& attachment) {
    if (!steps_.contains(engine::step::kAnnounce))
      return engine::Differences();  // a chain without frr-provider
    RAIL_ASSIGN(const engine::Announcer announcer,
                engine::AnnouncerOf(node_.config, rail, attachment.tenant));
    RAIL_ASSIGN(frr::Bgp * bgpd, node_.connections.Bgp());
    frr::Bgp& bgp = bgpd->Instance(announcer.vrf);
    const auto [known, first] = announced_.try_emplace(announcer.vrf);
    if (first) known->second = bgp.Announced(node_.connections.CallDeadline());
    if (!known->second) return tl::make_unexpected(known->second.error());
    const std::vector<frr::Announcement>& announced = *known->second;
    RAIL_ASSIGN(engine::Differences found, engine::AnnouncementDiffers(node_, rail, attachment, announced));
    for (const IpAddress& address : attachment.addresses) {
      if (std::ranges::find(announced, address, &frr::Announcement::address) == announced.end()) continue;
      const auto told = bgp.InAdjRibOut(address, announcer.interface, node_.connections.CallDeadline());
      if (!told) {
        found.push_back(told.error().message);
      } else if (!*told) {
        found.push_back("the leaf of " + rail.name + " has not been told of " + address.ToHostPrefix());
      }
    }
    return found;
  }

  Result<engine::Differences> Rates(const Attachment& attachment) {
    if (!node_.config.rates) return engine::Differences();
    if (!rates_) rates_ = node_.connections.Rates();
    if (!*rates_) return tl::make_unexpected(rates_->error());
    return engine::RatesDiffer(*node_.config.rates, attachment, **rates_);
  }

  engine::Node& node_;
  const tenancy::LoadMap& tenants_;
  v1::CheckedAttachment checked_;
  std::set<std::string> steps_;
  // By VRF; asked once for all attachments.
  std::map<std::string, Result<std::vector<frr::Announcement>>> announced_;
  std::optional<Result<engine::NicRates>> rates_;  // likewise
};

}  // namespace

v1::CheckResponse CheckAll(const std::vector<const AttachmentView*>& attachments, engine::Node& node,
                           const tenancy::LoadMap& tenants) {
  Checker checker(node, tenants);
  v1::CheckResponse response;
  for (const AttachmentView* shown : attachments) *response.add_attachments() = checker.Check(*shown);
  return response;
}

}  // namespace rail::inspect
