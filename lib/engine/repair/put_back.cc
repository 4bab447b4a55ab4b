#include "lib/engine/repair/sweep.h"

#include "lib/engine/attach/whereabouts.h"

namespace rail::engine {
namespace {

using state::Attachment;
using state::Step;

Status MoveInAgain(Node& node, const config::Rail& rail, const Attachment& attachment,
                   const netns::Netns& pod, const device::Device& device, const podnet::Plan& plan) {
  RAIL_ASSIGN(device::Backend * devices, node.connections.Devices());
  RAIL_ASSIGN(guard::Guard * guard, node.connections.Guard());
  RAIL_TRY(devices->RaiseRepresentor(device, rail.mtu));
  RAIL_TRY(guard->Allow(attachment.representor, AllowedOf(rail, attachment)));
  RAIL_TRY(devices->MoveIn(device, pod, attachment.key.ifname));
  // The policy rules of the interface that is gone stayed in the pod.
  RAIL_TRY(node.connections.Pods().Deconfigure(pod, plan));
  return node.connections.Pods().Configure(pod, plan);
}

}  // namespace

Status PutDeviceBack(Node& node, const Attachment& attachment) {
  if (attachment.adopted)
    return Fail(Code::kUnsupported,
                "another plugin has plumbed it, and only that one can do so again: delete the pod");
  RAIL_ASSIGN(const FileLock lock, node.connections.LockDevice(attachment.device));
  RAIL_ASSIGN(const auto now, node.store.Find(attachment.key));
  if (!now || now->id != attachment.id || now->phase != state::Phase::kReady) return {};
  const std::optional<netns::Netns> pod = PodNamespace(*now);
  if (!pod) return {};
  RAIL_ASSIGN(const std::vector<Step> steps, node.store.Steps(now->id));
  const device::Location place = LocationOf(*now, steps, node.connections);
  if (place == device::Location::kElsewhere) return {};
  if (place != device::Location::kHost) {
    return Fail(Code::kNotFound, "it does not exist now: raild puts it back as soon as its NIC has it again");
  }
  device::Saved before;
  for (const Step& step : steps) {
    if (step.kind == step::kDevice) {
      RAIL_ASSIGN(before, device::Saved::FromJson(step.detail));
    }
  }
  RAIL_ASSIGN(const config::Rail* rail, RailOf(node.config, now->rail));
  RAIL_ASSIGN(device::Backend * devices, node.connections.Devices());
  RAIL_ASSIGN(device::Device device, devices->Find(*rail, now->device));
  device.settings = before.asked;
  device.settings.mac = now->mac;  // its rules and its neighbours know the pod by this address
  RAIL_ASSIGN(const device::Saved saved, devices->Save(device));
  podnet::Plan plan = PlanOf(*rail, *now);
  RAIL_ASSIGN(plan.routes, RecordedRoutes(steps));
  RAIL_TRY(RecordStep(node, *now, kOvsProvider, step::kDevice, saved.ToJson()));
  for (const Step& step : steps) {
    if (step.kind == step::kDevice)
      RAIL_TRY(node.store.ForgetStep(step.id));  // that device does not exist any more
  }
  Status moved = MoveInAgain(node, *rail, *now, *pod, device, plan);
  if (!moved) (void)devices->Restore(saved, &*pod, now->key.ifname, node.connections.CallDeadline());
  return moved;
}

}  // namespace rail::engine
