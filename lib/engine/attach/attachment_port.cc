// The steps kPort and kAdopt: the attachment's port of the bridge.
#include <charconv>
#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"
#include "lib/engine/attach/attachment.h"

namespace rail::engine {
namespace {

using state::Attachment;
using state::ClaimKind;

// Removes the port of an attachment that the record does not know any more, and its rules: they name the port's number, and with them
// this pod could speak as that one. Its claim is ours, so no attachment in the record has the port. False: it is no such port.
Result<bool> RemoveLeftPort(Node& node, ovs::Ovsdb& db, const ovs::PortSpec& spec) {
  RAIL_ASSIGN(const auto port, db.FindPort(spec.name, node.connections.CallDeadline()));
  if (!port) return true;
  const auto mark = port->external_ids.find(kOwnerKey);
  if (port->bridge != spec.bridge || mark == port->external_ids.end()) return false;
  uint64_t id = 0;
  const char* end = mark->second.data() + mark->second.size();
  if (std::from_chars(mark->second.data(), end, id).ptr != end) return false;
  RAIL_ASSIGN(ovs::OpenFlow * switch_, node.connections.OpenFlow(spec.bridge));
  RAIL_TRY(switch_->Commit({.remove_by_cookie = {ovs::CookieMatch::Exact(ovs::CookieKind::kAttachment, id),
                                                 ovs::CookieMatch::Exact(ovs::CookieKind::kTenant, id)}},
                           node.connections.CallDeadline()));
  // Until ovs-vswitchd has closed it: a port that comes back at once keeps its number.
  RAIL_TRY(db.DeletePort(spec.bridge, spec.name, {{kOwnerKey, mark->second}}, ovs::Ovsdb::Wait::kClosed,
                         node.connections.CallDeadline()));
  return true;
}

}  // namespace

std::string BridgeDetail(const std::string& bridge) {
  return DumpJson({{"bridge", bridge}});
}

ovs::ExternalIds PortIds(const Attachment& attachment) {
  return {{"contPodUid", attachment.pod_uid},
          {"contNetns", attachment.netns_path},
          {"contIface", attachment.key.ifname},
          {kOwnerKey, std::to_string(attachment.id)},
          {kDeviceKey, attachment.device}};
}

ovs::PortSpec PortSpecOf(const config::Rail& rail, const Attachment& attachment) {
  return {.bridge = rail.bridge,
          .name = attachment.representor,
          .external_ids = PortIds(attachment),
          .mtu = rail.mtu,
          .ofport_request = {}};
}

guard::Allowed AllowedOf(const config::Rail& rail, const Attachment& attachment) {
  return {.mac = attachment.mac, .gateway = rail.GatewayMac(), .addresses = attachment.addresses};
}

Status AttachPort(Node& node, Attachment& attachment) {
  RAIL_ASSIGN(const config::Rail* rail, RailOf(node.config, attachment.rail));
  RAIL_TRY(node.store.Claim(attachment.id, ClaimKind::kPort, attachment.representor));
  RAIL_TRY(RecordStep(node, attachment, kOvsProvider, step::kPort, BridgeDetail(rail->bridge)));
  RAIL_ASSIGN(guard::Guard * guard, node.connections.Guard());
  RAIL_TRY(guard->Close(attachment.representor));
  RAIL_ASSIGN(ovs::Ovsdb * db, node.connections.Ovsdb());
  ovs::PortSpec spec = PortSpecOf(*rail, attachment);
  spec.owner_key = kOwnerKey;
  auto port = db->AddPort(spec, node.connections.CallDeadline());
  if (!port && port.error().code == Code::kExists) {
    RAIL_ASSIGN(const bool gone, RemoveLeftPort(node, *db, spec));
    if (gone) port = db->AddPort(spec, node.connections.CallDeadline());
  }
  if (!port) return tl::make_unexpected(port.error());
  attachment.ofport = static_cast<uint16_t>(port->ofport);
  return node.store.SetOfport(attachment.id, attachment.ofport);
}

Status AdoptPort(Node& node, Attachment& attachment, const ovs::Port& port) {
  RAIL_TRY(node.store.Claim(attachment.id, ClaimKind::kPort, port.name));
  RAIL_TRY(RecordStep(node, attachment, kOvsProvider, step::kAdopt, BridgeDetail(port.bridge)));
  RAIL_ASSIGN(guard::Guard * guard, node.connections.Guard());
  RAIL_TRY(guard->Close(port.name));
  RAIL_ASSIGN(ovs::Ovsdb * db, node.connections.Ovsdb());
  RAIL_TRY(db->SetExternalIds(port.name, {{kOwnerKey, std::to_string(attachment.id)}},
                              node.connections.CallDeadline()));
  attachment.ofport = static_cast<uint16_t>(port.ofport);
  return node.store.SetOfport(attachment.id, attachment.ofport);
}

}  // namespace rail::engine
