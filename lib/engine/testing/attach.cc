#include "lib/engine/testing/attach.h"

namespace rail::engine::testing {

Result<state::Attachment> Attach(World& world, const PodSpec& pod, const std::string& address) {
  RAIL_ASSIGN(const auto context, VerbContext::Open(world.deps()));
  Node node = context->node();
  RAIL_ASSIGN(const config::Rail* rail, RailOf(context->config, pod.rail));
  state::Attachment draft;
  draft.key = {pod.rail, pod.container, pod.ifname};
  draft.rail = pod.rail;
  draft.pod_namespace = pod.pod_namespace;
  draft.pod_name = pod.name;
  draft.netns_path = pod.netns;
  draft.netns_device = pod.identity.device;
  draft.netns_inode = pod.identity.inode;
  draft.device = pod.device;
  draft.mtu = rail->mtu;
  RAIL_ASSIGN(device::Backend * devices, context->connections.Devices());
  RAIL_ASSIGN(const device::Device device, devices->Find(*rail, pod.device));
  draft.representor = device.representor;
  draft.mac = device.mac;
  RAIL_ASSIGN(state::Attachment attachment, context->store->Create(draft));
  RAIL_ASSIGN(const IpAddress ip, IpAddress::Parse(address));
  attachment.addresses = {ip};
  attachment.gateways = {config::DefaultGateway(ip.is_v6())};
  // Mode `vrf`: JoinTenant claims it.
  const bool vrf = context->config.tenancy.mode == config::TenancyMode::kVrf;
  if (!vrf) RAIL_TRY(context->store->Claim(attachment.id, state::ClaimKind::kAddress, address));
  RAIL_TRY(context->store->SetAddresses(attachment.id, attachment.addresses, attachment.gateways));
  RAIL_TRY(ReadyDevice(node, attachment, device));
  RAIL_TRY(AttachPort(node, attachment));
  RAIL_ASSIGN(const netns::Netns inside, netns::Netns::Open(pod.netns));
  RAIL_ASSIGN(DeviceMove move, DeviceMove::Begin(node, attachment, device, inside));
  RAIL_ASSIGN(attachment.mac, move.Join());
  RAIL_ASSIGN(const pipeline::BridgeFacts facts, Facts(node, *rail));
  RAIL_TRY(AdmitTraffic(node, attachment, facts, context->config.tenancy.mode));
  RAIL_ASSIGN(const tenancy::Tenant tenant,
              tenancy::TenantOf(world.config, pod.pod_namespace, [&] { return world.tenants; }));
  RAIL_TRY(JoinTenant(node, attachment, tenant));
  RAIL_TRY(Announce(node, attachment));
  attachment.phase = state::Phase::kReady;
  RAIL_TRY(context->store->SetPhase(attachment.id, attachment.phase));
  return attachment;
}

}  // namespace rail::engine::testing
