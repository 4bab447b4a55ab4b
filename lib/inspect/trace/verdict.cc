#include <fmt/core.h>

#include <algorithm>
#include <ranges>

#include "lib/base/text.h"
#include "lib/base/utf8.h"
#include "lib/engine/attach/pipeline.h"
#include "lib/engine/attach/tenant_vlans.h"
#include "lib/engine/repair/representors.h"
#include "lib/inspect/topology.h"
#include "lib/inspect/trace/tracer.h"

namespace rail::inspect {

using engine::AttachmentView;
using engine::RemoteView;
using ovs::CookieKind;
using state::Attachment;
using tenancy::TenantId;

void Tracer::Judge() {
  const SwitchStep& last = steps_.back();
  if (last.matched && !IsOurs(last.cookie)) {
    const bool dropped = Drops(last) || GoesNowhere(answer_);
    return Say(dropped ? Answer::DROPPED : Answer::DOUBTFUL, Answer::FOREIGN_RULE,
               fmt::format("a rule with the cookie {:#x} decides, which is not RailCNI's{}", last.cookie,
                           dropped ? "" : ": the packet passes and the isolation is not asked"),
               "`railctl doctor` names the rules of others on " + rail_->rail.bridge +
                   " and the command that deletes them (foreign-flows)");
  }
  if (Drops(last)) return JudgeDrop(last);
  const auto output = Output(last);
  if (last.table != pipeline::kForwardTable || !output) {
    return Drop(Answer::NOT_FOR_PODS,
                destination() + " is no destination for pods: the switch ends it in table " +
                    std::to_string(last.table),
                "");
  }
  // The comparison in table 3 decides that the packet passes; table 4 only forwards it.
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].table == pipeline::kCompareTable) answer_.set_deciding_step(i);
  }
  if (GoesNowhere(answer_)) {
    answer_.set_deciding_step(static_cast<uint32_t>(steps_.size() - 1));
    const AttachmentView* to = Local();
    return NotWorking(IsOf(last.cookie, CookieKind::kLeaf) ? rail_->rail.pf
                      : to == nullptr                      ? PortName(*output)
                                                           : to->attachment.representor,
                      "the rules forward the packet there and Open vSwitch drops it");
  }
  if (*output == Uplink()) return JudgeLeaving();
  const AttachmentView* local = Local();
  if (local != nullptr &&
      !Carries(local->attachment.representor,
               "the rules forward the packet there, and nothing reaches " + PodName(local->attachment)))
    return;
  Say(Answer::REACHES, Answer::DELIVERED_LOCALLY,
      local == nullptr ? "it is delivered to the pod behind " + PortName(*output)
                       : "it is delivered on this node, to " + PodName(local->attachment) + " (" +
                             local->attachment.representor + "): the same tenant",
      "");
  if (local != nullptr) NoteElsewhere(*local, question_.destination);
}

void Tracer::NotWorking(const std::string& port, const std::string& so) {
  Drop(Answer::PORT_NOT_WORKING, port + " is not a working port of " + rail_->rail.bridge + ": " + so,
       "`railctl doctor` says why; is the device there (`ip link show " + port + "`)?");
}

bool Tracer::Carries(const std::string& representor, const std::string& so) {
  const auto link = facts_.link(representor);
  if (!link) return true;  // what Open vSwitch says of the port is the better answer
  const std::string problem = engine::RepresentorProblem(*link);
  if (problem.empty()) return true;
  Drop(Answer::PORT_NOT_WORKING, "the representor " + problem + ": " + so,
       engine::RepresentorRemedy(representor, link->up));
  return false;
}

void Tracer::JudgeDrop(const SwitchStep& last) {
  const ovs::Rule rule{last.table, last.priority, last.cookie, last.match, "drop"};
  switch (pipeline::DropsOf(rule).value_or(last.table)) {
    case pipeline::kAdmitTable:
    case pipeline::kSenderTable:
    case pipeline::kRefuseTable: return JudgeEntry(last);
    case pipeline::kSourceTable:
      if (source().tenant_id.is_none()) {
        return Drop(
            Answer::NO_TENANT, "the pod has no tenant: tenant-isolation has not run in its chain",
            "put tenant-isolation into the network's plugins after ovs-provider and attach the pod anew");
      }
      return Missing("the rule that says which tenant the pod is of");
    case pipeline::kDestinationTable: return JudgeUnknown();
    case pipeline::kCompareTable: return JudgeTenants();
    case pipeline::kForwardTable:
      if (last.priority > 0) {
        return Drop(Answer::NOT_FOR_PODS,
                    destination() + " is of the fabric's own: no packet of a pod to it leaves the node", "");
      }
      if (Local() != nullptr && Local()->attachment.rail == source().rail) {
        return MissingFor(Local()->attachment, "the rule that forwards to " + PodName(Local()->attachment));
      }
      return NoLeaf();
    default:
      return Drop(Answer::RULES_MISSING, "the switch drops it in table " + std::to_string(last.table),
                  "`railctl doctor` knows more");
  }
}

void Tracer::NoLeaf() {
  const v1::RailVlan* vlan = Vlan();
  const std::string& port = vlan == nullptr ? rail_->rail.bridge : vlan->port();
  if (vlan != nullptr && !vlan->port_works()) {
    return Drop(Answer::NO_LEAF_MAC, Session() + " has no port " + port + " on " + rail_->rail.bridge,
                "raild makes it when the tenant's first pod comes: `railctl get node` says what keeps it "
                "from doing so");
  }
  Drop(Answer::NO_LEAF_MAC,
       "the leaf's MAC address is not known: no neighbour that is a router has been heard on " + port,
       "is the cable in, and does the leaf send router advertisements" +
           std::string(vlan == nullptr ? "" : " in this VLAN") + "? `ip -6 neigh show dev " + port +
           "`; `railctl doctor`");
}

std::string Tracer::OthersHaveIt() const {
  if (facts_.config.tenancy.mode != config::TenancyMode::kVrf) return {};
  std::map<TenantId, std::string> others;
  for (const AttachmentView& a : view_.attachments) {
    if (Holds(a.attachment, question_.destination) && !SharesAddresses(a.attachment.tenant_id))
      others[a.attachment.tenant_id] = "pod " + PodName(a.attachment) + " of tenant " + a.attachment.tenant;
  }
  for (const RemoteView& r : view_.remotes) {
    if (r.remote.address == question_.destination && !SharesAddresses(r.remote.tenant))
      others.try_emplace(r.remote.tenant,
                         "a pod of " + TenantText(r.tenant, r.remote.tenant) + " on another node");
  }
  if (others.empty()) return {};
  const std::string who = Join(std::views::values(others), " and ");
  return "no pod of tenant " + source().tenant + " has " + destination() + ", which is an address of " + who +
         ": each tenant has its own addresses (tenancy.mode \"vrf\")";
}

void Tracer::Missing(const std::string& what) {
  const auto health = std::ranges::find(view_.health, engine::PartId(engine::Part::kRail, rail_->rail.name),
                                        &engine::Health::part);
  const bool failing = health != view_.health.end() && !health->ok;
  Drop(Answer::RULES_MISSING, what + " is not in " + rail_->rail.bridge,
       failing ? "raild cannot put it there: " + health->problem
               : "raild puts it back as soon as it sees it, within 30 s at the latest; is raild healthy "
                 "(`railctl get node`)?");
}

void Tracer::MissingFor(const Attachment& to, const std::string& what) {
  if (Works(to.representor)) return Missing(what);
  NotWorking(to.representor, "nothing reaches " + PodName(to));
}

void Tracer::JudgeEntry(const SwitchStep& last) {
  if (!last.matched || !IsOf(last.cookie, CookieKind::kAttachment)) {
    return Missing("every rule of " + PodName(source()));
  }
  if (packet_.source_mac != source().mac) {
    return Drop(Answer::SPOOFED_SOURCE,
                "the source MAC " + packet_.source_mac.ToString() + " is not the pod's (" +
                    source().mac.ToString() + "): the frame is dropped at its port, " + source().representor,
                "the pod's interface must keep its MAC; nothing else may be sent through it");
  }
  if (!Holds(source(), packet_.source)) {
    const std::string own = Join(source().addresses, ", ", &IpAddress::ToString);
    return Drop(Answer::SPOOFED_SOURCE,
                "the source address " + packet_.source.ToString() + " is not the pod's (" + own +
                    "): the packet is dropped at its port, " + source().representor,
                "an application that binds to another rail's address must send through that rail's "
                "interface: its policy routing does that unless the socket is bound to a device");
  }
  Missing("the rule that admits " + packet_.source.ToString() + " from " + source().representor);
}

void Tracer::JudgeTenants() {
  const AttachmentView* local = Local();
  const RemoteView* remote = Remote();
  std::string whose = "another tenant";
  TenantId id;
  for (const SwitchStep& step : steps_) {
    if (step.table == pipeline::kDestinationTable || step.table == pipeline::kRemoteTable)
      id = TenantSetBy(step);
  }
  if (local != nullptr) {
    whose = TenantText(local->attachment.tenant, local->attachment.tenant_id) + ", of pod " +
            PodName(local->attachment);
  } else if (remote != nullptr) {
    whose = TenantText(remote->tenant, remote->remote.tenant) + ", on another node";
  } else if (!id.is_none()) {
    whose = TenantText(NameOfTenant(id), id);
  }
  if (!id.is_none() && id == source().tenant_id)
    return Missing("the rule that lets the tenant talk to itself");
  OtherTenant(whose);
}

bool Tracer::Contested() const {
  const RemoteView* remote = Remote();
  return remote != nullptr && remote->contested;
}

std::string Tracer::Claimants() const {
  std::map<TenantId, std::string> tenants;
  for (const RemoteView& r : view_.remotes) {
    if (r.remote.address == question_.destination)
      tenants[r.remote.tenant] = TenantText(r.tenant, r.remote.tenant);
  }
  return Join(std::views::values(tenants), " and ");
}

// Of the sender's own VRF in mode `vrf`: bgpd shows the default instance otherwise.
std::string Tracer::ShowBgp(const std::string& what) const {
  const uint16_t vlan = source_.vlan;
  const std::string vrf = vlan == config::kNoVlan ? "" : "vrf " + engine::VrfName(rail_->rail, vlan) + " ";
  return "`vtysh -c 'show bgp " + vrf + what + "'`";
}

std::string Tracer::ShowBgp(const IpAddress& address) const {
  return ShowBgp(std::string(address.is_v6() ? "ipv6" : "ipv4") + " unicast " + address.ToHostPrefix());
}

std::string Tracer::FindTheWrongOne(const IpAddress& address) const {
  return "one pod must give the address up: " + ShowBgp(address) +
         " says where each comes from, and `railctl doctor` on the node of each pod who else announces its "
         "address (own-address-announced-elsewhere)";
}

void Tracer::NoteElsewhere(const AttachmentView& attachment, const IpAddress& address) {
  for (const engine::AddressElsewhere& elsewhere : attachment.elsewhere) {
    if (elsewhere.address == address) Note(elsewhere.ToText());
  }
}

std::string Tracer::AnnouncedTwice() const {
  const IpAddress& to = question_.destination;
  if (const AttachmentView* local = Local()) {
    for (const engine::AddressElsewhere& elsewhere : local->elsewhere) {
      if (elsewhere.address == to) return elsewhere.ToText();
    }
    return "";
  }
  if (Contested())
    return destination() + " is announced for several tenants, " + Claimants() +
           ": while it is, it reaches nobody";
  const RemoteView* remote = Remote();
  if (remote == nullptr || remote->replaced.empty()) return "";
  return destination() + " is announced for " + TenantText(remote->tenant, remote->remote.tenant) +
         " now; before, and nobody has withdrawn that, it was announced by " + remote->replaced +
         ": two announce it, and the leaf passes one of them on, or the address has moved";
}

// Who labels a namespace where nobody follows labels sees nothing happen.
std::string Tracer::HowTheyShareATenant() const {
  const config::Kubernetes& kubernetes = facts_.config.kubernetes;
  const std::string in_file = "in tenancy.tenants of node.json on every node";
  if (!kubernetes.tenants)
    return " " + in_file + "; this node follows no label of namespaces (kubernetes.tenants is false)";
  const state::Attachment& sender = source();
  const bool unlabelled = tenancy::IsNamespaceItself(facts_.config, sender.tenant, sender.tenant_id);
  return ": by the label " + kubernetes.tenant_label +
         (unlabelled ? ", which namespace " + sender.pod_namespace + " does not have" : "") + ", or " +
         in_file;
}

void Tracer::OtherTenant(const std::string& whose) {
  if (const std::string twice = AnnouncedTwice(); !twice.empty())
    return Drop(Answer::CONTESTED, twice, FindTheWrongOne(question_.destination));
  Drop(Answer::OTHER_TENANT,
       destination() + " belongs to another tenant: " + whose + "; " + PodName(source()) + " is of " +
           TenantText(source().tenant, source().tenant_id),
       "this is the isolation at work; if the two shall talk, put their namespaces into one tenant" +
           HowTheyShareATenant() +
           (Local() != nullptr ? ""
                               : "; if a pod of the sender's tenant has the address, `railctl doctor` on its "
                                 "node says who else announces it"));
}

void Tracer::NotAcross(const std::string& rail) {
  Drop(Answer::ANOTHER_RAIL,
       destination() + " is on " + (rail.empty() ? "another rail" : rail) +
           ", and this node lets pods reach addresses of " + source().rail +
           " alone from there (tenancy.cross_rail is false in node.json)",
       "send from the pod's interface on " + (rail.empty() ? "that rail" : rail) +
           ", as NCCL with PXN does; or set tenancy.cross_rail to true on every node and restart raild");
}

void Tracer::JudgeUnknown() {
  const IpAddress& to = question_.destination;
  if (!to.is_routed_unicast()) {
    return Drop(
        Answer::NOT_FOR_PODS,
        destination() + " is no pod's address: rails carry unicast between pods of one tenant, nothing else",
        "");
  }
  if (const AttachmentView* local = Local()) {
    if (local->attachment.rail == source().rail) {
      if (local->attachment.tenant_id.is_none()) {
        return Drop(
            Answer::NO_TENANT,
            destination() + " is of " + PodName(local->attachment) + ", which has no tenant",
            "put tenant-isolation into the network's plugins after ovs-provider and attach that pod anew");
      }
      return MissingFor(local->attachment,
                        "the rule that knows " + destination() + " of " + PodName(local->attachment));
    }
    if (local->attachment.tenant_id != source().tenant_id) {
      return OtherTenant(TenantText(local->attachment.tenant, local->attachment.tenant_id) + ", of pod " +
                         PodName(local->attachment));
    }
    if (!facts_.config.tenancy.cross_rail) return NotAcross(local->attachment.rail);
    return Drop(Answer::ANOTHER_RAIL,
                destination() + " is on " + local->attachment.rail + " of this very node (" +
                    PodName(local->attachment) +
                    "): rails are joined by the fabric alone, and it is not known on " + source().rail,
                "send from the pod's interface on " + local->attachment.rail +
                    "; or see whether the leaves pass on the routes of other rails (`railctl get remotes`)");
  }
  if (Contested()) return Drop(Answer::CONTESTED, AnnouncedTwice(), FindTheWrongOne(question_.destination));
  if (const RemoteView* remote = Remote()) {
    if (remote->remote.tenant != source().tenant_id) {
      return OtherTenant(TenantText(remote->tenant, remote->remote.tenant) + ", on another node");
    }
    if (!facts_.config.tenancy.cross_rail && remote->remote.rail_index != rail_->rail.index)
      return NotAcross(RailOfDestination());
    return Drop(Answer::NOT_INSTALLED,
                destination() + " is known from BGP and of the same tenant, and its rules are not on " +
                    rail_->rail.bridge + " yet",
                "raild installs them as soon as it can; `railctl get node` says what keeps it from doing so");
  }
  if (BgpState() != "Established") {
    return Drop(Answer::BGP_DOWN,
                "nobody has told of " + destination() + ", and the BGP session of " + Session() + " is " +
                    (BgpState().empty() ? "not there" : BgpState()) + ": nothing can be learned over it",
                "`railctl doctor`; " + ShowBgp("summary"));
  }
  if (const std::string others = OthersHaveIt(); !others.empty()) {
    return Drop(Answer::OTHER_TENANT, others,
                "this is the isolation at work; if a pod of the sender's tenant should have the address, "
                "`railctl get attachments` on its node says whether it is announced");
  }
  if (const std::string by = view_.without_tenant ? view_.without_tenant(source().tenant_id, to) : "";
      !by.empty()) {
    return Drop(Answer::UNKNOWN_DESTINATION,
                destination() + " is announced by " + by +
                    " without a tenant's communities: nobody can say whose it is",
                "if that is the pod's own node, a leaf or spine on the way strips large communities "
                "(`send-community all` and no route-map that removes them); else somebody announces an "
                "address of pods who is none of theirs: " +
                    ShowBgp(to));
  }
  Drop(Answer::UNKNOWN_DESTINATION,
       "nobody announces " + destination() +
           ": no pod of this node has it, and BGP has not told of it with a " + "tenant's community",
       "is the pod running and its address right? On its node, `railctl get attachments` must say announced; "
       "between the nodes every leaf and spine must pass on large communities");
}

void Tracer::NoteFabricPath(const RemoteView* remote) {
  if (remote != nullptr && rail_ != nullptr)
    answer_.set_fabric_path(
        ValidUtf8(FabricPathText(view_, *rail_, remote->as_path, remote->remote.rail_index)));
}

void Tracer::JudgeLeaving() {
  const RemoteView* remote = Remote();
  const std::string way = "it leaves through " + rail_->rail.pf +
                          (source_.vlan == config::kNoVlan ? "" : fmt::format(" in VLAN {}", source_.vlan)) +
                          " to the leaf " + LeafMac().ToString();
  if (!rail_->seen.carrier()) {
    return Drop(
        Answer::NO_CARRIER,
        "the switch forwards it, and the uplink " + rail_->rail.pf + " has no carrier: it goes nowhere",
        "is the cable in, is the leaf's port up? `ip link show " + rail_->rail.pf + "`");
  }
  if (BgpState() != "Established") {
    return Say(Answer::DOUBTFUL, Answer::BGP_DOWN,
               way + ", but the BGP session of " + Session() + " is " +
                   (BgpState().empty() ? "not there" : BgpState()) +
                   ": the leaf may have forgotten the way back, and what is known here grows old",
               "`railctl doctor`; " + ShowBgp("summary"));
  }
  if (remote == nullptr && facts_.config.tenancy.mode != config::TenancyMode::kOff) {
    const AttachmentView* local = Local();
    if (local == nullptr) {
      return Say(
          Answer::DOUBTFUL, Answer::UNKNOWN_DESTINATION,
          way + "; its rules are there, and BGP does not tell of " + destination() + " any more",
          "its pod has gone, or its leaf has lost its node; the rules go when the sessions have settled");
    }
  }
  if (Contested()) {
    return Say(Answer::DOUBTFUL, Answer::CONTESTED,
               way + ", but " + destination() + " is announced for several tenants, " + Claimants() +
                   ": its rules go as soon as raild can remove them",
               FindTheWrongOne(question_.destination));
  }
  if (!source().announced) {
    return Say(Answer::DOUBTFUL, Answer::NOT_ANNOUNCED,
               way + ", but " + packet_.source.ToString() +
                   " is not announced: no other node lets it in, and no answer finds its way",
               "put frr-provider into the network's plugins and attach the pod anew");
  }
  const auto contested = std::ranges::find_if(source_.elsewhere, [&](const engine::AddressElsewhere& e) {
    return e.other_tenant && e.address == packet_.source;
  });
  if (contested != source_.elsewhere.end()) {
    return Say(Answer::DOUBTFUL, Answer::CONTESTED,
               way + ", but the other node drops it: " + contested->ToText(),
               FindTheWrongOne(packet_.source));
  }
  NoteElsewhere(source_, packet_.source);
  if (const std::string twice = AnnouncedTwice(); !twice.empty()) Note(twice);
  NoteFabricPath(remote);
  const std::string other = RailOfDestination();
  if (!other.empty() && other != source().rail) {
    // One leaf may serve several rails.
    const bool same_leaf =
        remote != nullptr && rail_->leaf && view_.as_paths.Leaf(remote->as_path) == rail_->leaf->leaf.asn;
    if (!same_leaf) {
      Note(destination() + " is on " + other + ": from " + source().rail +
           " the packet crosses the spine; the pod's interface on " + other + " is the short way");
    }
  }
  std::string sentence = way;
  if (remote != nullptr) {
    sentence += ": " + destination() + " is of the same tenant, " + source().tenant + ", on another node";
  }
  Say(Answer::REACHES, Answer::SENT_TO_LEAF, sentence, "");
  if (remote != nullptr) {
    Note("the other node compares the tenants once more; ask there with `railctl trace` for its word");
  }
}

}  // namespace rail::inspect
