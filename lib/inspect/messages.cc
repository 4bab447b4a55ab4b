#include "lib/inspect/messages.h"

#include <fmt/core.h>

#include <algorithm>

#include "lib/base/utf8.h"

namespace rail::inspect {
namespace {

v1::Attachment::Phase PhaseOf(state::Phase phase) {
  switch (phase) {
    case state::Phase::kAdding: return v1::Attachment::ADDING;
    case state::Phase::kReady: return v1::Attachment::READY;
    case state::Phase::kDeleting: return v1::Attachment::DELETING;
  }
  return v1::Attachment::PHASE_UNSPECIFIED;
}

v1::Attachment::State StateOf(const engine::AttachmentView& view) {
  if (!view.pending.empty()) return v1::Attachment::PENDING;
  if (view.device_lost) return v1::Attachment::NO_DEVICE;
  switch (view.attachment.phase) {
    case state::Phase::kAdding: return v1::Attachment::STATE_ADDING;
    case state::Phase::kReady: return v1::Attachment::STATE_READY;
    case state::Phase::kDeleting: return v1::Attachment::STATE_DELETING;
  }
  return v1::Attachment::STATE_UNSPECIFIED;
}

v1::Attachment::Rules RulesOf(const engine::AttachmentView& view) {
  if (view.rules_unknown_since_ms != 0) return v1::Attachment::RULES_UNKNOWN;
  return view.rules_in_place ? v1::Attachment::RULES_OK : v1::Attachment::RULES_MISSING;
}

v1::Attachment::Announcement AnnouncementOf(const engine::AttachmentView& view) {
  if (!view.withdrawn.empty()) return v1::Attachment::WITHDRAWN;
  if (std::ranges::any_of(view.elsewhere, &engine::AddressElsewhere::other_tenant))
    return v1::Attachment::CONTESTED;
  if (!view.elsewhere.empty()) return v1::Attachment::DUPLICATE;
  return view.attachment.announced ? v1::Attachment::ANNOUNCED : v1::Attachment::ANNOUNCEMENT_UNSPECIFIED;
}

// "pipeline", "attachment", ...; "foreign" for a cookie that is not ours.
std::string KindOf(uint64_t cookie) {
  if (!ovs::CookieMatch::Ours().Selects(cookie)) return "foreign";
  switch (static_cast<ovs::CookieKind>(cookie >> 24 & 0xff)) {
    case ovs::CookieKind::kPipeline: return "pipeline";
    case ovs::CookieKind::kAttachment: return "attachment";
    case ovs::CookieKind::kTenant: return "tenant";
    case ovs::CookieKind::kCompare: return "compare";
    case ovs::CookieKind::kRemote: return "remote";
    case ovs::CookieKind::kLeaf: return "leaf";
  }
  return "foreign";
}

}  // namespace

void SetTime(google::protobuf::Timestamp& time, int64_t unix_ms) {
  time.set_seconds(unix_ms / 1000);
  time.set_nanos(static_cast<int32_t>(unix_ms % 1000) * 1000000);
}

v1::Attachment ToMessage(const engine::AttachmentView& view) {
  const state::Attachment& a = view.attachment;
  v1::Attachment message;
  message.set_id(a.id);
  message.set_network(ValidUtf8(a.key.network));
  message.set_container_id(ValidUtf8(a.key.container_id));
  message.set_ifname(ValidUtf8(a.key.ifname));
  message.set_rail(a.rail);
  SetPlane(message, view.plane);
  message.mutable_pod()->set_namespace_(ValidUtf8(a.pod_namespace));
  message.mutable_pod()->set_name(ValidUtf8(a.pod_name));
  message.mutable_pod()->set_uid(ValidUtf8(a.pod_uid));
  if (!a.tenant.empty() || !a.tenant_id.is_none())
    engine::SetTenant(*message.mutable_tenant(), a.tenant, a.tenant_id);
  message.set_device(ValidUtf8(a.device));
  message.set_representor(ValidUtf8(a.representor));
  message.set_mac(engine::TextOf(a.mac));
  for (const IpAddress& address : a.addresses) message.add_addresses(address.ToString());
  message.set_mtu(a.mtu);
  message.set_phase(PhaseOf(a.phase));
  message.set_state(StateOf(view));
  message.set_rules(RulesOf(view));
  message.set_announcement(AnnouncementOf(view));
  message.set_ofport(a.ofport);
  message.set_announced(a.announced);
  message.set_rules_in_place(view.rules_in_place);
  if (view.rules_unknown_since_ms != 0)
    SetTime(*message.mutable_rules_unknown_since(), view.rules_unknown_since_ms);
  message.set_withdrawn(ValidUtf8(view.withdrawn));
  message.set_pending(ValidUtf8(view.pending));
  SetTime(*message.mutable_created(), a.created_ms);
  message.set_netns(ValidUtf8(a.netns_path));
  message.set_vlan(view.vlan);
  message.set_device_lost(view.device_lost);
  if (view.rate) {
    v1::AttachmentRate& rate = *message.mutable_rate();
    rate.set_tenant_share(view.rate->tenant_share);
    rate.set_tenant_max_mbit(view.rate->tenant_max_mbit);
    rate.set_min_mbit(view.rate->min_mbit);
    rate.set_max_mbit(view.rate->max_mbit);
  }
  message.set_namespace_unseen(ValidUtf8(view.namespace_unseen));
  for (const engine::AddressElsewhere& elsewhere : view.elsewhere) {
    message.add_announced_elsewhere(ValidUtf8(elsewhere.ToText()));
    message.set_contested(message.contested() || elsewhere.other_tenant);
  }
  return message;
}

v1::RuleStats ToMessage(const ovs::Rule& rule) {
  v1::RuleStats message;
  message.set_table(rule.table);
  message.set_priority(rule.priority);
  message.set_cookie(fmt::format("{:#018x}", rule.cookie));
  message.set_kind(KindOf(rule.cookie));
  message.set_match(ValidUtf8(rule.match));
  message.set_actions(ValidUtf8(rule.actions));
  return message;
}

}  // namespace rail::inspect
