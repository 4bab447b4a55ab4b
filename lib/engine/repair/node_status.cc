#include "lib/engine/repair/node_status.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/base/utf8.h"
#include "lib/engine/attach/attachment.h"
#include "lib/engine/attach/tenant_move.h"
#include "lib/frr/session_down.h"

namespace rail::engine {
namespace {

using google::protobuf::util::TimeUtil;

// The names of the tenants with a pod here.
using TenantNames = std::map<tenancy::TenantId, std::string>;
using RailOfLeaf = std::map<IpAddress, std::string>;

std::string TenantText(tenancy::TenantId tenant, const TenantNames& names) {
  const auto name = names.find(tenant);
  return "tenant " +
         (name == names.end() ? tenant.ToString() : name->second + " (" + tenant.ToString() + ")");
}

// "AS 4200000002 (AS path 4200010001 4200000002, from the leaf fe80::1 on rail0)"
std::string PathText(const HeardPath& path, const RailOfLeaf& rail_of_leaf) {
  const auto rail = rail_of_leaf.find(path.leaf);
  const std::string from =
      "from the leaf " + path.leaf.ToString() + (rail == rail_of_leaf.end() ? "" : " on " + rail->second);
  if (path.as_path.empty()) return "an unknown AS (" + from + ")";
  std::string all;
  for (const uint32_t as : path.as_path) Append(all, " ", std::to_string(as));
  return "AS " + std::to_string(path.origin()) + " (AS path " + all + ", " + from + ")";
}

// Mode `vrf` alone has some.
using VlanOfTenant = std::map<tenancy::TenantId, TenantVlan>;

uint16_t VlanOf(tenancy::TenantId tenant, const VlanOfTenant& vlans) {
  const auto found = vlans.find(tenant);
  return found == vlans.end() ? config::kNoVlan : found->second.vlan;
}

std::vector<RemoteView> Listed(const Learned& learned, const TenantNames& names, const VlanOfTenant& vlans,
                               const std::set<pipeline::VlanAddress>& own, const RailOfLeaf& rails) {
  std::vector<RemoteView> listed;
  listed.reserve(learned.remotes.known);
  for (const auto& [id, remotes] : learned.remotes.by_tenant) {
    const auto here = names.find(id);
    const uint16_t vlan = VlanOf(id, vlans);
    const std::string name = here != names.end()       ? here->second
                             : vlan != config::kNoVlan ? vlans.at(id).tenant
                                                       : "";
    remotes->ForEach([&, tenant = id](const RemoteEntry& entry) {
      if (own.contains({entry.address, vlan})) return;
      const auto replaced = learned.remotes.doubts->replaced.find(entry.address);
      // Mode `vrf`: another tenant's address is another address.
      const bool doubted = vlan == config::kNoVlan && replaced != learned.remotes.doubts->replaced.end() &&
                           replaced->second.tenant != tenant;
      listed.push_back({.remote = {entry.address, tenant, entry.rail, ""},
                        .tenant = name,
                        .vlan = vlan,
                        .installed = here != names.end() && !entry.contested,
                        .contested = entry.contested,
                        .replaced = doubted ? PathText(replaced->second.path, rails) + " for " +
                                                  TenantText(replaced->second.tenant, names)
                                            : "",
                        .as_path = entry.as_path});
    });
  }
  std::ranges::sort(listed, {}, &RemoteView::remote);
  return listed;
}

// Without the addresses of this node's own pods, as in the list.
RemoteCounts Counted(const Learned& learned, const TenantNames& names,
                     const std::vector<state::Attachment>& own) {
  RemoteCounts counts{
      .known = learned.remotes.known, .contested = learned.remotes.contested, .of_tenant = {}};
  for (const auto& [id, name] : names) {
    uint64_t& count = counts.of_tenant[name];  // two ids of one name are one tenant for people
    const auto found = learned.remotes.by_tenant.find(id);
    if (found == learned.remotes.by_tenant.end()) continue;
    const RemoteSet& remotes = *found->second;
    uint64_t ours = 0;
    for (const state::Attachment& attachment : own) {
      if (attachment.tenant_id != id) continue;
      for (const IpAddress& address : attachment.addresses) ours += remotes.Find(address) != nullptr ? 1 : 0;
    }
    count += remotes.size() - ours;
    counts.known -= ours;
  }
  return counts;
}

std::vector<AddressElsewhere> ElsewhereOf(const state::Attachment& attachment, const Learned& learned,
                                          const TenantNames& names, const RailOfLeaf& rails) {
  std::vector<AddressElsewhere> all;
  if (attachment.phase != state::Phase::kReady) return all;
  for (const IpAddress& address : attachment.addresses) {
    const auto found = learned.elsewhere.find({attachment.tenant_id, address});
    if (found == learned.elsewhere.end()) continue;
    AddressElsewhere& one = all.emplace_back(AddressElsewhere{.address = address, .by = {}});
    std::vector<std::string> paths;
    for (const HeardPath& path : found->second.paths) paths.push_back(PathText(path, rails));
    std::vector<std::string> claims;
    for (const tenancy::TenantId tenant : found->second.tenants) {
      one.other_tenant = one.other_tenant || tenant != attachment.tenant_id;
      claims.push_back("for " + TenantText(tenant, names));
    }
    if (found->second.without_tenant) {
      one.other_tenant = true;
      claims.emplace_back("without a tenant's communities");
    }
    one.by = Join(paths, " and ") + " " + Join(claims, " and ");
  }
  return all;
}

}  // namespace

void NodeStatus::Note(const PartId& part, const Status& status) {
  const std::string problem = status ? "" : status.error().message;
  const std::lock_guard lock(mutex_);
  const auto [entry, first] = health_.try_emplace(part, Health{.part = part});
  Health& health = entry->second;
  if (first || health.problem != problem) {
    if (!status) log::Warning("{}: {}", ToText(part), problem);
    if (status && !first) log::Info("{}: right again", ToText(part));
  }
  if (!status) ++health.failures;
  health.ok = status.has_value();
  health.problem = problem;
}

bool NodeStatus::Knows(const PartId& part) const {
  const std::lock_guard lock(mutex_);
  return health_.contains(part);
}

bool NodeStatus::WasRight(const PartId& part) const {
  const std::lock_guard lock(mutex_);
  const auto known = health_.find(part);
  return known != health_.end() && known->second.ok;
}

void NodeStatus::Repaired(const std::string& cause, uint64_t count) {
  if (count == 0) return;
  const std::lock_guard lock(mutex_);
  repairs_[cause] += count;
}

bool NodeStatus::ChangeRail(const std::string& rail, const std::function<void(v1::Rail&)>& change) {
  const std::lock_guard lock(mutex_);
  if (config_.FindRail(rail) == nullptr) return false;
  v1::Rail& known = rails_[rail].section;
  const std::string before = known.SerializeAsString();
  change(known);
  return known.SerializeAsString() != before;
}

void NodeStatus::Unseen(const std::string& rail, const std::string& why) {
  ChangeRail(rail, [&](v1::Rail& seen) {
    seen.set_unseen(ValidUtf8(why));
    if (!seen.has_unseen_since()) *seen.mutable_unseen_since() = TimeUtil::MillisecondsToTimestamp(UnixMs());
  });
}

void NodeStatus::SetPorts(const std::string& rail, PortsSeen seen) {
  const std::lock_guard lock(mutex_);
  rails_[rail].ports = std::move(seen);
}

bool NodeStatus::HasUnrecorded() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(rails_,
                             [](const auto& rail) { return rail.second.section.unrecorded_pods() > 0; });
}

void NodeStatus::SetRdma(RdmaMode mode) {
  const std::lock_guard lock(mutex_);
  rdma_ = mode;
}

void NodeStatus::SetUplink(const std::string& rail, bool carrier) {
  const std::lock_guard lock(mutex_);
  RailSeen& seen = rails_[rail];
  seen.is_cut_off = !carrier;
  seen.section.set_carrier(carrier);
}

bool NodeStatus::SetRates(RatesSeen seen) {
  const std::lock_guard lock(mutex_);
  if (rates_ == seen) return false;
  rates_ = std::move(seen);
  return true;
}

bool NodeStatus::UplinkIsDown(const std::string& rail) const {
  const std::lock_guard lock(mutex_);
  return IsCutOff(rail);
}

bool NodeStatus::IsCutOff(const std::string& rail) const {
  const auto seen = rails_.find(rail);
  return seen != rails_.end() && seen->second.is_cut_off;
}

bool NodeStatus::SetWhereabouts(WhereaboutsById where) {
  const auto lost = [](const WhereaboutsById& all) {
    std::set<int64_t> ids;
    for (const auto& [id, one] : all) {
      if (one.device_lost()) ids.insert(id);
    }
    return ids;
  };
  const std::lock_guard lock(mutex_);
  const bool other = lost(where) != lost(where_);
  where_ = std::move(where);
  return other;
}

bool NodeStatus::HasLostDevice(int64_t attachment) const {
  const std::lock_guard lock(mutex_);
  const auto it = where_.find(attachment);
  return it != where_.end() && it->second.device_lost();
}

void NodeStatus::SetTenantList(TenantListView list, Result<tenancy::TenantMapPtr> tenants) {
  const std::lock_guard lock(mutex_);
  labels_ = {std::move(list), std::move(tenants)};
}

void NodeStatus::SetFrontend(v1::NodeInfo frontend) {
  const std::lock_guard lock(mutex_);
  frontend_ = std::move(frontend);
}

void NodeStatus::SetLearned(std::shared_ptr<const Learned> learned) {
  const std::lock_guard lock(mutex_);
  learned_ = std::move(learned);
}

std::shared_ptr<const Learned> NodeStatus::learned() const {
  const std::lock_guard lock(mutex_);
  return learned_;
}

void NodeStatus::Publish(RecordReader& reader) {
  const auto record = reader.Read();
  Note(Part::kState, record ? Status() : tl::make_unexpected(record.error()));
  if (record) record_ = *record;
  NodeView view;
  {
    const std::lock_guard lock(mutex_);
    view = Compose(*record_);
  }
  views_.Publish(std::move(view));
}

// As BgpRepair::Announcements decides.
std::string NodeStatus::Withdrawn(const AttachmentView& shown) const {
  const state::Attachment& attachment = shown.attachment;
  if (!attachment.announced || attachment.phase != state::Phase::kReady) return "";
  if (shown.device_lost) return "its device is not in the pod";
  const config::Rail* rail = config_.FindRail(attachment.rail);
  if (rail == nullptr || !IsCutOff(attachment.rail)) return "";
  return "the uplink " + rail->pf + " of its rail has no carrier";
}

// Adds what bgpd says of the session on `interface`. Returns why it is not Established; "": it is.
std::string NodeStatus::SessionProblem(const std::string& interface, RailView& shown) const {
  const bool no_carrier = IsCutOff(shown.rail.name);
  const auto it = learned_->sessions.find(interface);
  const frr::Session* session = it == learned_->sessions.end() ? nullptr : &it->second;
  if (session != nullptr) {
    shown.sessions[interface] = *session;
    shown.seen.set_prefixes_received(shown.seen.prefixes_received() + session->prefixes_received);
    shown.seen.set_prefixes_sent(shown.seen.prefixes_sent() + session->prefixes_sent);
    shown.most_prefixes = std::max(shown.most_prefixes, session->most_prefixes);
    const auto& all = learned_->remotes.stripped;
    if (const auto stripped = session->peer ? all.find(*session->peer) : all.end(); stripped != all.end()) {
      shown.seen.set_stripped(static_cast<uint32_t>(stripped->second.addresses));
      shown.stripped_example = stripped->second.example;
    }
  }
  const auto down =
      frr::WhyDown(session, {.bridge = interface, .asn = config_.bgp.asn, .carrier = !no_carrier});
  if (!down) return "";
  const auto asked = health_.find(Part::kBgp);
  const bool asks = asked == health_.end() || asked->second.ok;
  return asks || session != nullptr ? down->what : "bgpd does not answer";
}

// What bgpd says of the rail's session, or of those of its VLANs.
void NodeStatus::ShowSessions(RailView& shown) const {
  const auto state = [&](const std::string& interface) {
    const frr::Session* session = shown.SessionOn(interface);
    return session == nullptr ? std::string() : ValidUtf8(session->state);
  };
  v1::Rail& seen = shown.seen;
  if (!seen.by_vlan()) {
    seen.set_bgp_problem(ValidUtf8(SessionProblem(shown.rail.bridge, shown)));
    seen.set_bgp_state(state(shown.rail.bridge));
    return;
  }
  bool first = true;
  for (v1::RailVlan& vlan : *seen.mutable_vlans()) {
    vlan.set_bgp_problem(ValidUtf8(SessionProblem(vlan.port(), shown)));
    vlan.set_bgp_state(state(vlan.port()));
    if (const frr::Session* session = shown.SessionOn(vlan.port())) {
      vlan.set_prefixes_received(session->prefixes_received);
      vlan.set_prefixes_sent(session->prefixes_sent);
    }
    if (seen.leaf_mac().empty()) seen.set_leaf_mac(vlan.leaf_mac());
    if (!seen.bgp_problem().empty()) continue;
    if (first || !vlan.bgp_problem().empty()) seen.set_bgp_state(vlan.bgp_state());
    if (!vlan.bgp_problem().empty()) {
      seen.set_bgp_problem("VLAN " + std::to_string(vlan.vlan()) + " of tenant " + vlan.tenant().name() +
                           ": " + vlan.bgp_problem());
    }
    first = false;
  }
}

RailView NodeStatus::ComposeRail(const config::Rail& rail) const {
  RailView shown;
  shown.rail = rail;
  if (const auto it = rails_.find(rail.name); it != rails_.end()) shown.seen = it->second.section;
  shown.seen.set_by_vlan(config_.tenancy.mode == config::TenancyMode::kVrf);
  if (const auto it = rates_.rails.find(rail.name); it != rates_.rails.end()) shown.rates = it->second;
  if (const auto it = learned_->leaves.find(rail.name); it != learned_->leaves.end()) shown.leaf = it->second;
  ShowSessions(shown);
  return shown;
}

NodeView NodeStatus::Compose(const Record& record) const {
  NodeView view;
  view.hostname = identity_.hostname;
  view.asn = config_.bgp.asn;
  view.unit = learned_->unit;
  view.as_paths = learned_->remotes.as_paths;
  view.seats = learned_->remotes.seats;
  view.raild_version = identity_.raild_version;
  view.started_ms = identity_.started_ms;
  view.rdma = rdma_;
  view.bmp_up = learned_->bmp_up;
  view.bmp_ambiguous = learned_->bmp_ambiguous;
  view.learning_complete = learned_->complete;
  view.tenant_list = labels_.list;
  view.frontend = frontend_;
  view.repairs_by_cause = repairs_;
  for (const auto& [cause, count] : repairs_) view.repairs += count;
  for (const auto& [part, health] : health_) view.health.push_back(health);
  TenantNames names;
  for (const state::Attachment& attachment : record.attachments) {
    if (!attachment.tenant_id.is_none()) names.emplace(attachment.tenant_id, attachment.tenant);
  }
  RailOfLeaf rail_of_leaf;
  for (const config::Rail& rail : config_.rails) {
    for (const auto& [interface, session] : learned_->sessions) {
      if (session.peer && (interface == rail.bridge || VlanOfPortName(rail, interface)))
        rail_of_leaf[*session.peer] = rail.name;
    }
  }
  uint64_t contested_here = 0;
  for (const state::Attachment& attachment : record.attachments) {
    AttachmentView shown;
    shown.attachment = attachment;
    if (const config::Rail* on = config_.FindRail(attachment.rail)) shown.plane = tenancy::PlaneOf(*on);
    const std::vector<state::Step>& steps = record.steps.at(attachment.id);
    shown.vlan = VlanOf(config_.tenancy.vlans, attachment, steps);
    if (const auto to = MovesTo(attachment, steps, config_, [this] { return labels_.tenants; }))
      shown.moves_to = to->name;
    const auto rail = rails_.find(attachment.rail);
    // Another plugin's interface, for which frr-provider announces without a port of ours, has no rules.
    const bool has_no_port = attachment.adopted && attachment.representor.empty();
    shown.rules_in_place = has_no_port || (rail != rails_.end() && rail->second.ports.rules_right &&
                                           record.Has(attachment.id, step::kAdmit) &&
                                           rail->second.ports.ports.contains(attachment.representor));
    if (!has_no_port && rail != rails_.end())
      shown.rules_unknown_since_ms = TimeUtil::TimestampToMilliseconds(rail->second.section.unseen_since());
    for (const state::Step& step : steps) {
      if (step.pending.empty()) continue;
      shown.pending_step = step.kind;
      shown.pending = step.kind + ": " + step.pending;
    }
    if (const auto where = where_.find(attachment.id); where != where_.end()) {
      shown.device_lost = attachment.phase == state::Phase::kReady && where->second.device_lost();
      shown.namespace_unseen = where->second.unseen;
    }
    shown.elsewhere = ElsewhereOf(attachment, *learned_, names, rail_of_leaf);
    shown.withdrawn = Withdrawn(shown);
    if (const auto rate = rates_.attachments.find(attachment.id); rate != rates_.attachments.end())
      shown.rate = rate->second;
    contested_here +=
        static_cast<uint64_t>(std::ranges::count_if(shown.elsewhere, &AddressElsewhere::other_tenant));
    view.attachments.push_back(std::move(shown));
  }
  for (const config::Rail& rail : config_.rails) view.rails.push_back(ComposeRail(rail));
  std::set<pipeline::VlanAddress> own;  // other leaves send them back to us
  for (const state::Attachment& attachment : record.attachments) {
    const uint16_t vlan = VlanOf(attachment.tenant_id, vlans_);
    for (const IpAddress& address : attachment.addresses) own.emplace(address, vlan);
  }
  view.remote_counts = Counted(*learned_, names, record.attachments);
  view.remote_counts.contested += contested_here;
  const bool by_tenant = config_.tenancy.mode == config::TenancyMode::kVrf;
  view.without_tenant = [learned = learned_, rail_of_leaf, by_tenant](
                            const tenancy::TenantId& tenant, const IpAddress& address) -> std::string {
    const auto& all = learned->remotes.doubts->without_tenant;
    const auto found = all.find({by_tenant ? tenant : tenancy::TenantId(), address});
    return found == all.end() ? "" : PathText(found->second, rail_of_leaf);
  };
  view.remotes =
      RemoteList([learned = learned_, names = std::move(names), vlans = vlans_, own = std::move(own),
                  rail_of_leaf] { return Listed(*learned, names, vlans, own, rail_of_leaf); });
  return view;
}

}  // namespace rail::engine
