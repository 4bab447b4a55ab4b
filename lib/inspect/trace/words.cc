#include <fmt/core.h>

#include <algorithm>

#include "lib/base/parse.h"
#include "lib/engine/attach/pipeline.h"
#include "lib/inspect/sample.h"
#include "lib/inspect/trace/tracer.h"

namespace rail::inspect {

using engine::AttachmentView;
using ovs::CookieKind;
using state::Attachment;
using tenancy::TenantId;

bool IsOurs(uint64_t cookie) {
  return ovs::CookieMatch::Ours().Selects(cookie);
}
bool IsOf(uint64_t cookie, CookieKind kind) {
  return ovs::CookieMatch::Kind(kind).Selects(cookie);
}

bool Holds(const Attachment& attachment, const IpAddress& address) {
  return std::ranges::find(attachment.addresses, address) != attachment.addresses.end();
}

std::string Packet::ToText() const {
  const bool v6 = destination.is_v6();
  const std::string tag = vlan == config::kNoVlan ? "" : fmt::format("dl_vlan={},", vlan);
  std::string text = fmt::format("in_port={},{}dl_src={},dl_dst={},", in_port, tag, source_mac.ToString(),
                                 destination_mac.ToString());
  const bool icmp = protocol == v1::TraceRequest::ICMP;
  const char* name = protocol == v1::TraceRequest::TCP ? "tcp" : icmp ? "icmp" : "udp";
  text += name;
  if (v6) text += '6';
  text += fmt::format(",{}={},{}={},nw_ttl=64", v6 ? "ipv6_src" : "nw_src", source.ToString(),
                      v6 ? "ipv6_dst" : "nw_dst", destination.ToString());
  if (icmp) return text + (v6 ? ",icmpv6_type=128,icmpv6_code=0" : ",icmp_type=8,icmp_code=0");
  return text + fmt::format(",{0}_src={1},{0}_dst={2}", name, source_port, destination_port);
}

TenantId Tracer::TenantSetBy(const SwitchStep& step, bool leaving) {
  for (const std::string& action : step.actions) {
    const size_t arrow = action.find("->xxreg");
    if (!action.starts_with("set_field:0x") || arrow == std::string::npos) continue;
    if (leaving != (action.ends_with("->xxreg2") || action.ends_with("->xxreg3"))) continue;
    return TenantId::Parse(fmt::format("{:0>28}", action.substr(12, arrow - 12))).value_or(TenantId());
  }
  return {};
}

std::string Tracer::TenantsSetBy(const SwitchStep& step) const {
  const TenantId id = TenantSetBy(step);
  if (id.is_none()) return {};
  const TenantId left = TenantSetBy(step, true);
  return TenantText(NameOfTenant(id), id) +
         (left.is_none() ? "" : " and, for a moment, still of " + TenantText(NameOfTenant(left), left));
}

std::string Tracer::TenantText(const std::string& name, TenantId id) const {
  const std::string hex = id.ToString();
  if (name.empty()) return "tenant " + hex;
  const bool itself = tenancy::IsNamespaceItself(facts_.config, name, id);
  return (itself ? "namespace " : "tenant ") + name + " (" + hex + ")";
}

std::string Tracer::NameOfTenant(TenantId id) const {
  for (const AttachmentView& a : view_.attachments) {
    if (a.attachment.tenant_id == id) return a.attachment.tenant;
  }
  return {};
}

bool Tracer::Drops(const SwitchStep& step) {
  return !step.matched || step.actions.empty() || step.actions == std::vector<std::string>{"drop"};
}

bool Tracer::Admits(const SwitchStep& step) {
  return step.actions == std::vector<std::string>{"resubmit(,1)"};
}

std::optional<int64_t> Tracer::Output(const SwitchStep& step) const {
  for (const std::string& action : step.actions) {
    if (!action.starts_with("output:")) continue;
    const std::string_view to = std::string_view(action).substr(7);
    if (const auto number = Number<int64_t>(to)) return number;
    const auto named = ports_.find(std::string(to));
    if (named != ports_.end()) return named->second;
  }
  return std::nullopt;
}

std::string Tracer::Words(const SwitchStep& step, const Packet& packet) const {
  if (step.matched && !IsOurs(step.cookie)) return "a rule that is not RailCNI's";
  const std::string to = packet.destination.ToString();
  switch (step.table) {
    case pipeline::kAdmitTable:
      if (!Drops(step)) {
        if (packet.in_port != Uplink()) return "from the pod, untagged";
        return "may enter: from the leaf, " +
               (packet.vlan == config::kNoVlan ? "" : fmt::format("in VLAN {}, ", packet.vlan)) +
               "for a pod of this node";
      }
      return "may not enter";
    case pipeline::kSenderTable:
      return Admits(step) ? "may enter: MAC and address are the pod's own"
                          : "MAC or address is not the pod's";
    case pipeline::kRefuseTable: return "may not enter";
    case pipeline::kSourceTable:
      if (const std::string tenants = TenantsSetBy(step); !tenants.empty())
        return "the sender is of " + tenants;
      if (step.priority > 0) return "the sender is on another node";
      return Drops(step) ? "nobody knows whose the sender is" : "tenancy is off: not asked";
    case pipeline::kDestinationTable:
      if (const std::string tenants = TenantsSetBy(step); !tenants.empty()) {
        return to + " is of " + tenants + ", on this node";
      }
      if (step.priority > 0) return to + " is of no pod of this node";
      return Drops(step) ? "nobody knows " + to : "tenancy is off: not asked";
    case pipeline::kCompareTable:
      if (Drops(step)) return step.priority > 0 ? "nobody knows whose one end is" : "two tenants";
      return step.priority == 0 ? "tenancy is off: not asked" : "the same tenant";
    case pipeline::kRemoteTable: {
      const IpAddress& asked = packet.in_port == Uplink() ? packet.source : packet.destination;
      const std::string tenants = TenantsSetBy(step);
      if (tenants.empty()) return "nobody knows " + asked.ToString();
      return asked.ToString() + " is of " + tenants + ", learned from BGP";
    }
    case pipeline::kForwardTable: {
      const auto output = Output(step);
      if (!output) return "no way on";
      if (*output == Uplink())
        return "to the leaf " + LeafMac().ToString() + " through " + rail_->rail.pf +
               (source_.vlan == config::kNoVlan ? "" : fmt::format(", in VLAN {}", source_.vlan));
      return "to the pod behind " + PortName(*output);
    }
    default: return {};
  }
}

std::string TableName(uint8_t table) {
  if (table >= kOfGuard)
    return std::string("guard_") + guard::Name(static_cast<guard::Reason>(table - kOfGuard));
  static constexpr const char* kNames[] = {"admit",   "source", "destination", "compare",
                                           "forward", "sender", "refuse",      "remote"};
  return table < std::size(kNames) ? kNames[table] : "";
}

}  // namespace rail::inspect
