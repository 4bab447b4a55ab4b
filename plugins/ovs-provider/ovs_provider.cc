#include "plugins/ovs-provider/ovs_provider.h"

#include "lib/engine/attach/tenant_addresses.h"
#include "lib/engine/attach/verb_context.h"
#include "plugins/ovs-provider/config.h"

namespace rail::ovs_provider {
namespace {

using cni::Outcome;
using cni::Request;
using engine::Deps;
using engine::Node;
using engine::VerbContext;

// IPAM collects its own garbage even if we fail to collect ours.
Outcome<void> Gc(const Deps& deps, const Request& request) {
  Status collected = engine::CollectGarbage(deps, request, "");
  Outcome<void> forwarded;
  if (cni::HasIpam(request)) forwarded = deps.ipam->Forward(request, After(engine::kVerbDeadline));
  if (collected) return forwarded;
  cni::CniError error(collected.error());
  if (!forwarded) error.details = "and of its addresses: " + forwarded.error().msg;
  return tl::make_unexpected(std::move(error));
}

// A PF in legacy mode has no representors, so no VF of it can be attached, unless node.json names the representors.
Status NicHasRepresentors(const Deps& deps, const config::NodeConfig& config, const config::Rail& rail) {
  const engine::Openers openers = deps.openers(config);
  if (!rail.devices.empty() || !openers.look_at_nic) return {};
  const auto nics = openers.look_at_nic(rail);
  if (!nics) return {};  // an uplink that is no PF
  for (const sriov::NicState& nic : *nics) {
    if (nic.vfs == 0 || nic.mode == netlink::EswitchMode::kSwitchdev) continue;
    return Fail(Code::kTransient, "the NIC of rail " + rail.name + " (" + nic.address + ") has " +
                                      std::to_string(nic.vfs) +
                                      " VFs without representors: its eSwitch is not in mode switchdev");
  }
  return {};
}

Outcome<void> ReadyForAdd(const Deps& deps, const Request& request) {
  RAIL_ASSIGN(const Config config, ParseConfig(request));
  auto context = VerbContext::Open(deps, VerbContext::Use::kQuiet);
  const auto not_ready = [&](const Error& error) {
    return tl::make_unexpected(engine::NotReady("ovs-provider cannot attach pods", error,
                                                context ? context->get() : nullptr, request));
  };
  if (!context) return not_ready(context.error());
  auto rail = engine::RailOf((*context)->config, config.rail);
  if (!rail) return not_ready(rail.error());
  if (const Status keeps = engine::KeepsMode(**context); !keeps) return not_ready(keeps.error());
  Node node = (*context)->node();
  if (auto facts = engine::Facts(node, **rail); !facts) return not_ready(facts.error());
  // The database may answer while the switch itself does not run.
  if (auto bridge = node.connections.OpenFlow((*rail)->bridge); !bridge) return not_ready(bridge.error());
  if (const Status nic = NicHasRepresentors(deps, (*context)->config, **rail); !nic)
    return not_ready(nic.error());
  if (cni::HasIpam(request)) return deps.ipam->Forward(request, (*context)->connections.CallDeadline());
  return {};
}

}  // namespace

cni::Plugin MakePlugin(const engine::Deps& deps) {
  return {.name = "ovs-provider",
          .about = "RailCNI ovs-provider: attaches a pod's device to its rail's Open vSwitch bridge",
          .check_config = [](const Request& request) -> Outcome<void> {
            RAIL_TRY(ParseConfig(request));
            return {};
          },
          .add = [deps](const Request& request) { return Add(deps, request); },
          .del = [deps](const Request& request) { return Del(deps, request); },
          .check = [deps](const Request& request) { return Check(deps, request); },
          .gc = [deps](const Request& request) { return Gc(deps, request); },
          .status = [deps](const Request& request) { return ReadyForAdd(deps, request); }};
}

}  // namespace rail::ovs_provider
