#include "plugins/frr-provider/frr_provider.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/cni/previous.h"

namespace rail::frr_provider {
namespace {

using engine::VerbContext;
using state::Attachment;

// The rail of the network's configuration, or the only one that the device may serve, or the node's only one.
Result<const config::Rail*> RailFor(VerbContext& context, const cni::Request& request, const Config& config) {
  if (!config.rail.empty()) return engine::RailOf(context.config, config.rail);
  std::vector<const config::Rail*> fit;
  if (!request.device_id.empty()) {
    RAIL_ASSIGN(device::Backend * devices, context.connections.Devices());
    for (const config::Rail& rail : context.config.rails) {
      if (devices->CheckRail(rail, request.device_id)) fit.push_back(&rail);
    }
  }
  if (fit.size() == 1) return fit.front();
  if (context.config.rails.size() == 1) return &context.config.rails.front();
  return Fail(Code::kInvalid, "the rail of network " + request.network +
                                  " is not known: no ovs-provider stands earlier in the chain, and " +
                                  (request.device_id.empty()
                                       ? "the pod has no device"
                                       : "device " + request.device_id + " fits " +
                                             (fit.empty() ? "none" : "several") + " of the node's rails") +
                                  "; write \"rail\" into frr-provider's configuration (" +
                                  Join(context.config.rails, ", ", &config::Rail::name) + ")");
}

// The addresses of the pod's interface.
Result<std::vector<IpAddress>> AddressesOf(const cni::Request& request) {
  const auto previous = cni::PreviousResult(request);
  if (!previous) return Fail(Code::kInvalid, previous.error().msg + ": " + previous.error().details);
  std::vector<IpAddress> addresses;
  for (const cni::IpConfig& ip : previous->ips) {
    const IpAddress& address = ip.address.address;
    if (!address.is_routed_unicast()) {
      return Fail(Code::kInvalid,
                  "prevResult has the address " + address.ToString() + ", which cannot be announced");
    }
    const bool is_its =
        ip.interface < 0 || previous->interfaces[static_cast<size_t>(ip.interface)].name == request.ifname;
    if (is_its) addresses.push_back(address);
  }
  if (!addresses.empty()) return addresses;
  return Fail(Code::kInvalid, "prevResult has no address for " + request.ifname +
                                  ": a plugin with IPAM must stand before frr-provider in the chain");
}

Result<Attachment> Record(VerbContext& context, const cni::Request& request, const Config& config) {
  if (context.config.tenancy.mode != config::TenancyMode::kOff) {
    return Fail(Code::kInvalid, "attachment " + engine::KeyOf(request).ToString() +
                                    " is not in this node's record: ovs-provider and tenant-isolation must "
                                    "stand earlier in the chain, as tenants are kept apart on the rails' "
                                    "bridges (tenancy.mode is not \"off\" in node.json)");
  }
  RAIL_ASSIGN(const config::Rail* rail, RailFor(context, request, config));
  RAIL_ASSIGN(std::vector<IpAddress> addresses, AddressesOf(request));
  RAIL_ASSIGN_AS(const netns::Netns pod, netns::Netns::Open(request.netns), "CNI_NETNS");
  Attachment draft;
  engine::SetPod(draft, request, pod);
  draft.phase = state::Phase::kReady;
  draft.rail = rail->name;
  draft.adopted = true;
  draft.addresses = std::move(addresses);
  draft.created_ms = UnixMs();
  RAIL_ASSIGN(Attachment made, context.store->Create(draft));
  for (const IpAddress& address : made.addresses) {
    const Status claimed = context.store->Claim(made.id, state::ClaimKind::kAddress, address.ToString());
    if (claimed) continue;
    (void)context.store->Remove(made.id);
    return tl::make_unexpected(claimed.error());
  }
  return made;
}

}  // namespace

bool IsAlone(const Attachment& attachment) {
  return attachment.representor.empty() && attachment.device.empty();
}

Result<Attachment> AttachmentOf(VerbContext& context, const cni::Request& request, const Config& config) {
  RAIL_ASSIGN(auto found, context.store->Find(engine::KeyOf(request)));
  if (!found) return Record(context, request, config);
  if (!config.rail.empty() && config.rail != found->rail) {
    return Fail(Code::kInvalid, "\"rail\" is " + config.rail +
                                    " in frr-provider's configuration of network " + request.network +
                                    ", and ovs-provider has attached the pod to " + found->rail +
                                    ": write the same rail for both, or none for frr-provider");
  }
  return std::move(*found);
}

}  // namespace rail::frr_provider
