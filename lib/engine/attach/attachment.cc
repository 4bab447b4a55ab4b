#include "lib/engine/attach/attachment.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "lib/base/log.h"
#include "lib/base/strict_json.h"
#include "lib/base/text.h"
#include "lib/base/thread.h"
#include "lib/base/timing.h"
#include "lib/engine/attach/tenant_addresses.h"
#include "lib/engine/attach/tenant_step.h"
#include "lib/engine/attach/tenant_vlans.h"

namespace rail::engine {
namespace {

using nlohmann::json;
using state::Attachment;
using state::ClaimKind;
using state::Step;

// Checks the step's detail, because even a record of ours may be malformed.
Result<std::string> BridgeOf(const Step& step) {
  RAIL_ASSIGN(const json detail, ParseJson(step.detail));
  JsonErrors errors;
  JsonObject object(detail, "", errors);
  std::string bridge = object.String("bridge");
  RAIL_TRY(errors.ToStatus("the record of step " + step.kind));
  return bridge;
}

// Where the step has announced.
struct AnnouncedAt {
  std::string vrf;  // of the instance of bgpd; "": the default instance
  std::string
      tenant;  // mode `vrf`: whose address it is, which the attachment forgets before; "": an earlier raild has recorded it
};
Result<AnnouncedAt> AnnouncedAtOf(const Step& step) {
  RAIL_ASSIGN(const json detail, ParseJson(step.detail));
  JsonErrors errors;
  JsonObject object(detail, "", errors);
  AnnouncedAt at{object.StringOr("vrf", ""), object.StringOr("tenant", "")};
  RAIL_TRY(errors.ToStatus("the record of step " + step.kind));
  return at;
}

// No error if another has removed the record meanwhile.
Status UnlessGone(Status written) {
  if (!written && written.error().code == Code::kNotFound) return {};
  return written;
}

Status RemoveRules(Node& node, const std::string& bridge, ovs::CookieMatch which) {
  RAIL_ASSIGN(ovs::OpenFlow * switch_, node.connections.OpenFlow(bridge));
  return switch_->Commit({.remove_by_cookie = {which}}, node.connections.CallDeadline());
}

// Whether another local attachment of the rail holds the tenant.
Result<bool> TenantElsewhere(Node& node, const Attachment& attachment) {
  RAIL_ASSIGN(const std::vector<Attachment> all, node.store.List());
  return std::ranges::any_of(all, [&](const Attachment& other) {
    return other.id != attachment.id && other.rail == attachment.rail &&
           other.tenant_id == attachment.tenant_id;
  });
}

// Held: `attachment` is the last of its tenant on the rail, and none joins meanwhile. Nothing held: the rule that the tenant's pods
// have in common stays; if that is for a pod that is still joining, and does not, raild removes it.
Result<FileLock> CloseTenant(Node& node, const Attachment& attachment) {
  if (attachment.tenant_id.is_none()) return FileLock();
  RAIL_ASSIGN(bool elsewhere, TenantElsewhere(node, attachment));
  if (elsewhere) return FileLock();
  auto alone = node.connections.LockTenants(attachment.rail, FileLock::Kind::kAlone);
  if (!alone) return FileLock();
  RAIL_ASSIGN(elsewhere, TenantElsewhere(node, attachment));
  return elsewhere ? FileLock() : std::move(*alone);
}

Status UndoTenant(Node& node, Attachment& attachment, const std::string& bridge) {
  ovs::Change change{.remove_by_cookie = {ovs::CookieMatch::Exact(ovs::CookieKind::kTenant,
                                                                  static_cast<uint64_t>(attachment.id))}};
  RAIL_ASSIGN(const FileLock nobody_joins, CloseTenant(node, attachment));
  if (nobody_joins) change.remove.push_back(pipeline::CompareRule(attachment.tenant_id));
  RAIL_ASSIGN(ovs::OpenFlow * switch_, node.connections.OpenFlow(bridge));
  RAIL_TRY(switch_->Commit(change, node.connections.CallDeadline()));
  // All that it has claimed: an ADD may have died before its tenant, which is in the claim, was in the record.
  if (node.config.tenancy.mode == config::TenancyMode::kVrf)
    RAIL_TRY(node.store.ReleaseAll(attachment.id, ClaimKind::kAddress));
  attachment.tenant_id = {};
  attachment.tenant.clear();
  return UnlessGone(node.store.SetTenant(attachment.id, "", {}));
}

Status UndoAnnounce(Node& node, Attachment& attachment, const Step& step) {
  RAIL_ASSIGN(const AnnouncedAt at, AnnouncedAtOf(step));
  std::vector<IpAddress> own;
  for (const IpAddress& address : attachment.addresses) {
    // IPAM may have given the address to another pod since: then the announcement is that pod's.
    const std::string claim =
        AddressClaim(node.config, at.tenant.empty() ? attachment.tenant : at.tenant, address);
    RAIL_ASSIGN(const auto owner, node.store.OwnerOf(ClaimKind::kAddress, claim));
    if (!owner || *owner == attachment.id) own.push_back(address);
  }
  if (!own.empty()) {
    RAIL_ASSIGN(frr::Bgp * bgp, node.connections.Bgp());
    RAIL_TRY(bgp->Instance(at.vrf).WithdrawAll(own, node.connections.CallDeadline()));
  }
  attachment.announced = false;
  return UnlessGone(node.store.SetAnnounced(attachment.id, false));
}

// A device on its way home.
struct Restoring {
  FileLock lock;                       // of the device, until its claim is released
  std::optional<device::Saved> saved;  // nullopt: the device is not this attachment's any more
  std::string gone;                    // why there is no such device any more; "": there is
  std::future<Status> done;
};

Result<bool> OwnsDevice(Node& node, const Attachment& attachment) {
  RAIL_ASSIGN(const auto owner, node.store.OwnerOf(ClaimKind::kDevice, attachment.device));
  return owner == attachment.id;
}

// Why nothing is to be done with the device of an attachment, for people; "": it has to come home.
Result<std::string> WhyNotOurs(device::Backend& devices, const Attachment& attachment,
                               const device::Saved& saved) {
  RAIL_ASSIGN(std::string gone, devices.WhyGone(saved));
  if (!gone.empty() || !IsKnownToBeOfEarlierBoot(attachment)) return gone;
  // A boot brings every device to the host. One that is not there is another pod's, and nobody knows for how long.
  RAIL_ASSIGN(const device::Location location, devices.Locate(saved));
  if (location == device::Location::kHost) return gone;
  return "the machine has booted since, and the device is not on the host: another pod has it, or there is "
         "none";
}

// A pod that lives on without the interface must not keep the interface's policy rules. But nothing depends on their removal.
void ClearPod(Node& node, const Attachment& attachment, const std::optional<netns::Netns>& pod) {
  const config::Rail* rail = node.config.FindRail(attachment.rail);
  if (pod && rail != nullptr) (void)node.connections.Pods().Deconfigure(*pod, PlanOf(*rail, attachment));
}

// Another undo has the device, or has ended before: then what an ADD has configured since is left to this one.
Result<Restoring> NoneToRestore(Node& node, const Attachment& attachment) {
  RAIL_ASSIGN(const auto now, node.store.Find(attachment.key));
  if (!now || now->id == attachment.id) ClearPod(node, attachment, PodNamespace(attachment));
  return Restoring();
}

// Begins to bring the device home, on a thread of its own: it uses the connections Netlink, Devices and Pods, which no other undo
// uses.
Result<Restoring> BeginRestore(Node& node, const Attachment& attachment, const Step& step) {
  RAIL_ASSIGN(device::Saved saved, device::Saved::FromJson(step.detail));
  // Another undo of the attachment (a DEL, the sweep, the device's next ADD) may have ended first. Then the device is free, or
  // another's, whose ADD may hold the lock for as long as an IPAM plugin takes.
  RAIL_ASSIGN(bool owns, OwnsDevice(node, attachment));
  if (!owns) return NoneToRestore(node, attachment);
  auto lock = node.connections.LockDevice(attachment.device);
  if (!lock && lock.error().code == Code::kBusy) {
    RAIL_TRY(NoneToRestore(node, attachment));
    return tl::make_unexpected(lock.error());
  }
  if (!lock) lock = FileLock();  // a disk that takes no file must not keep the device from the host
  RAIL_ASSIGN(owns, OwnsDevice(node, attachment));
  if (!owns) return NoneToRestore(node, attachment);
  RAIL_ASSIGN(device::Backend * devices, node.connections.Devices());
  RAIL_ASSIGN(std::string gone, WhyNotOurs(*devices, attachment, saved));
  const bool comes_home = gone.empty();
  if (!comes_home)
    log::Warning("attachment {}: its device {} is gone and is not given back: {}", attachment.key.ToString(),
                 attachment.device, gone);
  const auto bring_home = [&node, &attachment, devices, saved, comes_home]() -> Status {
    const std::optional<netns::Netns> pod = PodNamespace(attachment);
    ClearPod(node, attachment, pod);
    if (!comes_home) return {};
    return devices->Restore(saved, pod ? &*pod : nullptr, attachment.key.ifname,
                            node.connections.CallDeadline());
  };
  auto done = Beside(bring_home, node.connections.beside());
  return Restoring{std::move(*lock), std::move(saved), std::move(gone), std::move(done)};
}

// While the port was there, ovs-vswitchd set the representor's MTU to the port's again whenever it looked.
Status MendRepresentorMtu(Node& node, const device::Saved& saved) {
  RAIL_ASSIGN(netlink::Netlink * host, node.connections.Netlink());
  const auto link = host->GetLink(saved.representor);
  if (!link || link->mtu == saved.representor_mtu) return {};  // it may have gone with its device
  return host->SetMtu(link->index, saved.representor_mtu);
}

Status OpenGuard(Node& node, const std::string& representor) {
  RAIL_ASSIGN(guard::Guard * guard, node.connections.Guard());
  return guard->Open(representor);
}

Status FinishRestore(Node& node, const Attachment& attachment, Result<Restoring>& restoring) {
  if (!restoring) return tl::make_unexpected(restoring.error());
  if (!restoring->saved) return {};
  {
    const Timed timed(Part::kLink);
    RAIL_TRY(restoring->done.get());
  }
  // The guard refuses until the port and the device are gone; whoever has the device next may be no pod of ours.
  if (restoring->gone.empty()) {
    RAIL_TRY(MendRepresentorMtu(node, *restoring->saved));
    RAIL_TRY(OpenGuard(node, restoring->saved->representor));
  }
  return node.store.Release(attachment.id, ClaimKind::kDevice, attachment.device);
}

// Releases the claim first, so that it keeps nobody from the device while OVSDB is down. An attachment that takes the port over
// puts its own mark on it. Then DeletePort does not delete it. A port without any mark is this attachment's, too: somebody has made
// it again by hand, and raild has not come round to mark it. ovs-cni marks its ports as "owner".
Status UndoPort(Node& node, const Attachment& attachment, const std::string& bridge) {
  Status released = node.store.Release(attachment.id, ClaimKind::kPort, attachment.representor);
  RAIL_ASSIGN(ovs::Ovsdb * db, node.connections.Ovsdb());
  for (const ovs::ExternalIds& its : {ovs::ExternalIds{{kOwnerKey, std::to_string(attachment.id)}},
                                      ovs::ExternalIds{{kOwnerKey, ""}, {"owner", ""}}}) {
    RAIL_TRY(db->DeletePort(bridge, attachment.representor, its, ovs::Ovsdb::Wait::kCommitted,
                            node.connections.CallDeadline()));
  }
  return released;
}

// The interface stays with the plugin that made it. Of what is inside the pod, only the policy rules would outlive the interface.
Status UndoAdopt(Node& node, const Attachment& attachment) {
  ClearPod(node, attachment, PodNamespace(attachment));
  RAIL_ASSIGN(const auto owner, node.store.OwnerOf(ClaimKind::kPort, attachment.representor));
  // While the claim keeps the next pod from it.
  if (owner == attachment.id) RAIL_TRY(OpenGuard(node, attachment.representor));
  Status released = node.store.Release(attachment.id, ClaimKind::kPort, attachment.representor);
  RAIL_ASSIGN(ovs::Ovsdb * db, node.connections.Ovsdb());
  RAIL_ASSIGN(const auto port, db->FindPort(attachment.representor, node.connections.CallDeadline()));
  const auto mark = port ? port->external_ids.find(kOwnerKey) : ovs::ExternalIds::const_iterator{};
  if (port && mark != port->external_ids.end() && mark->second == std::to_string(attachment.id)) {
    RAIL_TRY(db->RemoveExternalIds(attachment.representor, {kOwnerKey}, node.connections.CallDeadline()));
  }
  return released;
}

Status UndoIpam(Node& node, const Attachment& attachment, const Step& step) {
  RAIL_ASSIGN(const cni::IpamCall call, cni::IpamCall::FromJson(step.detail));
  // Releases the claims first. As soon as IPAM has an address back, it may give it to another pod, and that pod claims it. If the
  // record cannot be written, no pod can claim the address either.
  Status released = node.store.ReleaseAll(attachment.id, ClaimKind::kAddress);
  RAIL_TRY(node.connections.ReleaseAddresses(call));
  return released;
}

Status UndoStep(Node& node, Attachment& attachment, const Step& step) {
  if (step.kind == step::kAnnounce) return UndoAnnounce(node, attachment, step);
  if (step.kind == step::kIpam) return UndoIpam(node, attachment, step);
  if (step.kind == step::kRoutes) return {};
  RAIL_ASSIGN(const std::string bridge, BridgeOf(step));
  if (step.kind == step::kTenant) return UndoTenant(node, attachment, bridge);
  if (step.kind == step::kPort) return UndoPort(node, attachment, bridge);
  if (step.kind == step::kAdopt) return UndoAdopt(node, attachment);
  if (step.kind == step::kAdmit) {
    return RemoveRules(
        node, bridge,
        ovs::CookieMatch::Exact(ovs::CookieKind::kAttachment, static_cast<uint64_t>(attachment.id)));
  }
  return Fail(Code::kInternal, "the record holds a step '" + step.kind + "' that this version does not know");
}

// Whether the effect of a step whose undo has failed may still let somebody reach the attachment's addresses, or speak as them. Not
// where only the record could not be written.
bool HoldsAddresses(const Attachment& attachment, const Step& step) {
  if (step.kind == step::kAnnounce) return attachment.announced;
  if (step.kind == step::kTenant) return !attachment.tenant_id.is_none();
  return step.kind == step::kAdmit;
}

// A DEL that came between the record of a step and its effect has not undone the effect.
// Then whoever made the effect must undo it.
Status StillWanted(Node& node, const Attachment& attachment) {
  RAIL_ASSIGN(const auto now, node.store.Find(attachment.key));
  if (now && now->id == attachment.id && now->phase != state::Phase::kDeleting) return {};
  return Fail(Code::kBusy, "a DEL of " + attachment.key.ToString() + " came while its ADD was under way");
}

}  // namespace

Result<const config::Rail*> RailOf(const config::NodeConfig& config, const std::string& name) {
  if (const config::Rail* rail = config.FindRail(name)) return rail;
  return Fail(Code::kInvalid, "rail: '" + name + "' is not in this node's node.json; its rails are: " +
                                  Join(config.rails, ", ", &config::Rail::name));
}

Result<pipeline::BridgeFacts> Facts(Node& node, const config::Rail& rail) {
  RAIL_ASSIGN(ovs::Ovsdb * db, node.connections.Ovsdb());
  RAIL_ASSIGN(const auto bridge, db->FindBridge(rail.bridge, node.connections.CallDeadline()));
  if (!bridge) {
    return Fail(Code::kTransient,
                "rail " + rail.name + ": Open vSwitch has no bridge " + rail.bridge +
                    "; raild makes it (is raild running?), or make it where ovs.manage_bridges is false");
  }
  if (bridge->fail_mode != "secure") {
    return Fail(Code::kTransient,
                "rail " + rail.name + ": bridge " + rail.bridge +
                    " is not fail_mode=secure and would forward everything while Open vSwitch restarts");
  }
  // Where raild keeps the bridge, it sets this by itself.
  if (!node.config.ovs.manage_bridges && bridge->disable_in_band != ovs::kNoInBand) {
    return Fail(Code::kTransient,
                "rail " + rail.name + ": bridge " + rail.bridge +
                    " may have hidden rules of Open vSwitch's own, by which packets go around the isolation: "
                    "forbid them (`ovs-vsctl set Bridge " +
                    rail.bridge +
                    " other_config:disable-in-band=true`); ovs.manage_bridges is false, so raild does not");
  }
  const auto uplink = std::ranges::find(bridge->ports, rail.pf, &ovs::Port::name);
  if (uplink == bridge->ports.end() || uplink->ofport < 1) {
    return Fail(Code::kTransient, "rail " + rail.name + ": the uplink " + rail.pf +
                                      " is not a working port of bridge " + rail.bridge +
                                      (uplink == bridge->ports.end() ? "" : ": " + uplink->error));
  }
  RAIL_ASSIGN(netlink::Netlink * host, node.connections.Netlink());
  RAIL_ASSIGN_AS(const netlink::Link local, host->GetLink(rail.bridge), "rail " + rail.name);
  return pipeline::BridgeFacts{static_cast<uint16_t>(uplink->ofport), local.mac, rail.GatewayMac(),
                               node.config.tenancy.vlans};
}

pipeline::Pod PodOf(const pipeline::BridgeFacts& bridge, const Attachment& attachment) {
  return {attachment.id, attachment.ofport, attachment.mac, attachment.addresses,
          bridge.vlans.Of(attachment.tenant)};
}

std::vector<ovs::Rule> WantedRules(const pipeline::BridgeFacts& bridge, const Attachment& attachment,
                                   const std::vector<Step>& steps) {
  std::vector<ovs::Rule> rules;
  if (attachment.ofport == 0) return rules;
  pipeline::Pod pod = PodOf(bridge, attachment);
  pod.vlan = VlanOf(bridge.vlans, attachment, steps);
  for (const Step& step : steps) {
    if (step.kind == step::kAdmit) pipeline::Append(rules, pipeline::AdmitRules(bridge, pod));
    if (step.kind == step::kTenant && !attachment.tenant_id.is_none()) {
      pipeline::Append(rules, pipeline::TenantRules(bridge, pod, {attachment.tenant_id, attachment.leaving}));
      rules.push_back(pipeline::CompareRule(attachment.tenant_id));
      if (!attachment.leaving.is_none()) pipeline::Append(rules, pipeline::LeavingRules(attachment.leaving));
    }
  }
  return rules;
}

Status RecordStep(Node& node, const Attachment& attachment, const char* owner, const char* kind,
                  const std::string& detail) {
  RAIL_ASSIGN(const int64_t id, node.store.RecordStep(attachment.id, owner, kind, detail));
  node.made.push_back({id, attachment.id, owner, kind, detail, ""});
  return {};
}

void ForgetLastStep(Node& node) {
  if (node.store.ForgetStep(node.made.back().id)) node.made.pop_back();
}

Status ReadyDevice(Node& node, const Attachment& attachment, const device::Device& device) {
  RAIL_ASSIGN(device::Backend * devices, node.connections.Devices());
  RAIL_ASSIGN(const device::Saved saved, devices->Save(device));
  RAIL_TRY(RecordStep(node, attachment, kOvsProvider, step::kDevice, saved.ToJson()));
  return devices->RaiseRepresentor(device, attachment.mtu);
}

Result<DeviceMove> DeviceMove::Begin(Node& node, const Attachment& attachment, const device::Device& device,
                                     const netns::Netns& pod) {
  RAIL_ASSIGN(device::Backend * devices, node.connections.Devices());
  const auto move = [devices, device, &pod, ifname = attachment.key.ifname] {
    return devices->MoveIn(device, pod, ifname);
  };
  return DeviceMove(Beside(move, node.connections.beside()));
}

Result<MacAddress> DeviceMove::Join() {
  const Timed timed(Part::kLink);
  return moved_.get();
}

Status AdmitTraffic(Node& node, const Attachment& attachment, const pipeline::BridgeFacts& bridge,
                    config::TenancyMode mode) {
  RAIL_ASSIGN(const config::Rail* rail, RailOf(node.config, attachment.rail));
  RAIL_TRY(RecordStep(node, attachment, kOvsProvider, step::kAdmit, BridgeDetail(rail->bridge)));
  RAIL_ASSIGN(guard::Guard * guard, node.connections.Guard());
  RAIL_TRY(guard->Allow(attachment.representor, AllowedOf(*rail, attachment)));
  RAIL_ASSIGN(ovs::OpenFlow * switch_, node.connections.OpenFlow(rail->bridge));
  // The first ADD on a bridge adds the pipeline itself. It does not send again what is right
  // already, so the switch revalidates nothing.
  // Reads by a whole cookie, for which the switch has an index: the switch may hold 200,000 rules of remotes.
  std::vector<ovs::Rule> have;
  RAIL_TRY(switch_->ForEach(
      ovs::CookieMatch::Exact(ovs::CookieKind::kPipeline, 0),
      [&](const ovs::RuleStats& stats) { have.push_back(stats.rule); }, node.connections.CallDeadline()));
  ovs::Change change = ovs::Difference(have, pipeline::ControlRules(bridge, mode));
  pipeline::Append(change.add, pipeline::AdmitRules(bridge, PodOf(bridge, attachment)));
  return switch_->Commit(change, node.connections.CallDeadline());
}

Status JoinTenant(Node& node, Attachment& attachment, const tenancy::Tenant& tenant) {
  RAIL_ASSIGN(const config::Rail* rail, RailOf(node.config, attachment.rail));
  RAIL_TRY(
      RecordStep(node, attachment, kTenantIsolation, step::kTenant,
                 DetailOf({rail->bridge, node.config.tenancy.vlans.Of(tenant.name), tenant.namespace_uid})));
  RAIL_ASSIGN(const FileLock joining, node.connections.LockTenants(attachment.rail, FileLock::Kind::kShared));
  attachment.tenant = tenant.name;
  attachment.tenant_id = tenant.id;
  RAIL_TRY(ClaimAddresses(node, attachment));
  RAIL_TRY(node.store.SetTenant(attachment.id, tenant.name, tenant.id));
  RAIL_ASSIGN(ovs::OpenFlow * switch_, node.connections.OpenFlow(rail->bridge));
  RAIL_ASSIGN(std::vector<ovs::Rule> rules, TenantRulesOf(node, attachment));
  RAIL_TRY(switch_->Commit({.add = std::move(rules)}, node.connections.CallDeadline()));
  return StillWanted(node, attachment);
}

Result<Undone> Undo(Node& node, Attachment attachment, const std::string& owner) {
  Result<std::vector<Step>> recorded = node.store.Steps(attachment.id);
  if (!recorded && node.made.empty()) return tl::make_unexpected(recorded.error());
  std::vector<Step> steps = recorded ? std::move(*recorded) : std::vector<Step>();
  for (const Step& made : node.made) {
    if (made.attachment == attachment.id && std::ranges::find(steps, made.id, &Step::id) == steps.end())
      steps.push_back(made);
  }
  std::erase_if(steps, [&](const Step& step) { return !owner.empty() && step.owner != owner; });
  std::ranges::sort(steps, std::ranges::greater(), &Step::id);

  Undone undone;
  const auto failed = [&](const std::string& doing, const Error& error) {
    undone.failed.push_back(doing + " of " + attachment.key.ToString() + ": " + error.message);
  };
  const auto note = [&](const Step& step, const Status& status) {
    if (!status) failed("undo " + step.kind, status.error());
    const Status written =
        status ? node.store.ForgetStep(step.id) : node.store.SetPending(step.id, status.error().message);
    // The record does not have a step that only node.made has.
    if (!written && written.error().code != Code::kNotFound)
      failed("record the undo of " + step.kind, written.error());
  };
  const Attachment as_recorded = attachment;
  attachment.announced = true;  // the record says so only after it, and an ADD may have died in between
  std::string holds;            // why IPAM does not get the addresses back yet
  const auto undo = [&](const auto& which) {
    for (const Step& step : steps) {
      if (!which(step)) continue;
      const Status status = UndoStep(node, attachment, step);
      if (!status && holds.empty() && HoldsAddresses(attachment, step))
        holds = step.kind + ": " + status.error().message;
      note(step, status);
    }
  };
  const auto is_device = [](const Step& step) { return step.kind == step::kDevice; };
  const auto is_ipam = [](const Step& step) { return step.kind == step::kIpam; };
  // The port goes before the device. ovs-vswitchd needs the kernel's RTNL lock to let the port go, and a device's
  // move holds that lock for milliseconds. The next attachment's rules would wait for ovs-vswitchd. The undo of IPAM
  // needs no daemon and is done beside the move.
  undo([&](const Step& step) { return !is_device(step) && !is_ipam(step); });
  // Two where raild has died while it put the device back: the newest has the device that there is now.
  const auto newest = std::ranges::find_if(steps, is_device);
  std::optional<Result<Restoring>> restoring;
  if (newest != steps.end()) restoring = BeginRestore(node, as_recorded, *newest);
  if (holds.empty()) undo(is_ipam);
  const Status home = restoring ? FinishRestore(node, attachment, *restoring) : Status();
  for (const Step& step : steps) {
    if (is_ipam(step) && !holds.empty()) note(step, Fail(Code::kTransient, "waits for the undo of " + holds));
    if (is_device(step)) note(step, home);
  }
  if (owner.empty() && undone.failed.empty()) {
    if (const Status removed = node.store.Remove(attachment.id); !removed)
      failed("end the record", removed.error());
    else
      undone.removed = true;
  }
  return undone;
}

}  // namespace rail::engine
