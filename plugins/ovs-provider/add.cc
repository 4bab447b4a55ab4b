#include "plugins/ovs-provider/ovs_provider.h"

#include <algorithm>
#include <future>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/pci_address.h"
#include "lib/base/thread.h"
#include "lib/base/timing.h"
#include "lib/cni/device_info.h"
#include "lib/cni/previous.h"
#include "lib/engine/attach/attachment.h"
#include "lib/engine/attach/tenant_addresses.h"
#include "plugins/ovs-provider/config.h"

namespace rail::ovs_provider {
namespace {

using cni::AddResult;
using cni::CniFail;
using cni::Outcome;
using cni::Request;
using engine::Deps;
using engine::Node;
using engine::VerbContext;
using state::Attachment;

// One ADD, from validated input to the answer. It records every effect before it makes it. The caller undoes.
class Adding {
 public:
  Adding(const Deps& deps, VerbContext& context, const Request& request, const config::Rail& rail,
         const netns::Netns& pod)
      : deps_(deps), context_(context), node_(context.node()), request_(request), rail_(rail), pod_(pod) {}

  // The chain begins here: plumb the device and call IPAM.
  Outcome<std::string> Plumb(const device::Settings& settings) {
    RAIL_ASSIGN(FileLock devices_stay, context_.connections.LockDevices(rail_));
    auto lock = context_.connections.LockDevice(request_.device_id);
    if (!lock) return tl::make_unexpected(cni::CniError(HeldBy(lock.error())));
    device_lock_ = std::move(*lock);
    RAIL_ASSIGN(device::Backend * devices, context_.connections.Devices());
    auto device = devices->Find(rail_, request_.device_id);
    if (!device) return tl::make_unexpected(cni::CniError(HeldBy(device.error())));
    device->settings = settings;
    device_ = *device;
    RAIL_TRY(FreeName());
    RAIL_ASSIGN(const pipeline::BridgeFacts bridge, engine::Facts(node_, rail_));
    attachment_.representor = device->representor;
    attachment_.mac = settings.mac.value_or(device->mac);
    RAIL_TRY(Record());
    devices_stay = {};
    // Before the move: ovs-vswitchd needs the kernel's RTNL lock to take a port, and a move holds it for milliseconds.
    RAIL_TRY(engine::ReadyDevice(node_, attachment_, *device));
    RAIL_TRY(engine::AttachPort(node_, attachment_));
    RAIL_ASSIGN(engine::DeviceMove move, engine::DeviceMove::Begin(node_, attachment_, *device, pod_));

    AddResult addresses;
    if (cni::HasIpam(request_)) {
      RAIL_TRY(engine::RecordStep(node_, attachment_, engine::kOvsProvider, engine::step::kIpam,
                                  cni::MakeIpamCall(request_).ToJson()));
      auto answer = deps_.ipam->Add(request_, context_.connections.IpamDeadline());
      // The rest, or the undo, has its time, however long IPAM has taken.
      context_.connections.GiveTime(After(engine::kVerbDeadline));
      if (!answer) {
        // A plugin that refuses an ADD may refuse its DEL in the same words.
        if (cni::GaveNothing(answer.error())) engine::ForgetLastStep(node_);
        return tl::make_unexpected(answer.error());
      }
      addresses = std::move(*answer);
      RAIL_TRY(CheckStaticAddresses(request_, addresses));
    }
    RAIL_TRY(TakeAddresses(addresses));
    RAIL_TRY(AddressesAreFree());
    if (!addresses.routes.empty()) {
      RAIL_TRY(engine::RecordStep(node_, attachment_, engine::kOvsProvider, engine::step::kRoutes,
                                  engine::RoutesDetail(addresses)));
    }
    // Configures the pod's end as soon as it is there, beside the work on the bridge.
    const auto configure = [&, plan = PlanWith(addresses)]() -> Status {
      RAIL_ASSIGN(const MacAddress mac, move.Join());
      if (mac == plan.mac) return context_.connections.Pods().Configure(pod_, plan);
      return Fail(Code::kInternal, "the device's MAC changed from " + plan.mac.ToString() + " to " +
                                       mac.ToString() + " while it moved into the pod");
    };
    std::future<Status> inside = Beside(configure, context_.connections.beside());
    RAIL_TRY(engine::AdmitTraffic(node_, attachment_, bridge, context_.config.tenancy.mode));
    {
      const Timed timed(Part::kLink);
      RAIL_TRY(inside.get());
    }
    device_lock_ = {};
    return Answer(std::move(addresses));
  }

  // Another plugin has plumbed the device: adopt its port and its addresses, add what is missing.
  Outcome<std::string> Adopt(AddResult previous) {
    RAIL_ASSIGN(const pipeline::BridgeFacts bridge, engine::Facts(node_, rail_));
    RAIL_ASSIGN(const ovs::Port port, PortOf(previous));
    // The port may be on the rail's bridge while the device is another rail's: the resource hands out the
    // device, and the network names the bridge.
    RAIL_ASSIGN(device::Backend * devices, context_.connections.Devices());
    RAIL_TRY(devices->CheckRail(rail_, request_.device_id));
    const auto inside = std::ranges::find_if(previous.interfaces, [&](const cni::Interface& i) {
      return !i.sandbox.empty() && i.name == request_.ifname;
    });
    if (inside == previous.interfaces.end()) {
      return CniFail(7,
                     "prevResult.interfaces: no interface " + request_.ifname + " with a sandbox to adopt");
    }
    attachment_.adopted = true;
    attachment_.representor = port.name;
    device_.id = request_.device_id;
    device_.representor = port.name;
    RAIL_ASSIGN_AS(attachment_.mac, MacAddress::Parse(inside->mac), "prevResult.interfaces");
    RAIL_TRY(Record());
    RAIL_TRY(TakeAddresses(previous));
    RAIL_TRY(AddressesAreFree());
    RAIL_TRY(engine::AdoptPort(node_, attachment_, port));
    RAIL_TRY(engine::AdmitTraffic(node_, attachment_, bridge, context_.config.tenancy.mode));
    RAIL_TRY(context_.connections.Pods().Configure(pod_, PlanWith(previous)));
    return cni::PassOn(request_);
  }

  // The device of this ADD. If another plugin has plumbed the device, only its names are known.
  const device::Device& device() const { return device_; }

  // Call it after a failure.
  void Undo() {
    device_lock_ = {};
    if (attachment_.id != 0) engine::UndoFailedAdd(node_, attachment_, "");
  }

  Status Finish() {
    attachment_.phase = state::Phase::kReady;
    return context_.store->SetPhase(attachment_.id, attachment_.phase);
  }

 private:
  // A device that is not on the host is most likely in another pod. An error that names its
  // owner says more than one that it is not here.
  Error HeldBy(Error error) {
    if (error.code != Code::kNotFound) return error;
    const auto owner = context_.store->OwnerOf(state::ClaimKind::kDevice, request_.device_id);
    if (!owner || !*owner) return error;
    const auto all = context_.store->List();
    if (!all) return error;
    const auto holder = std::ranges::find(*all, **owner, &Attachment::id);
    if (holder == all->end()) return error;
    return {Code::kBusy,
            "device " + request_.device_id + " belongs to attachment " + holder->key.ToString() + " of pod " +
                holder->pod_namespace + "/" + holder->pod_name,
            0};
  }

  // Fails if the name is taken. The runtime must not ask for such a name, and whoever holds it keeps it.
  Status FreeName() {
    RAIL_ASSIGN(const bool taken, context_.connections.Pods().HasLink(pod_, request_.ifname));
    if (!taken) return {};
    return Fail(Code::kExists,
                "interface " + request_.ifname + " exists already in the pod (" + request_.netns + ")");
  }

  Status Record() {
    engine::SetPod(attachment_, request_, pod_);
    attachment_.rail = rail_.name;
    attachment_.device = request_.device_id;
    attachment_.mtu = rail_.mtu;
    attachment_.created_ms = UnixMs();
    attachment_.table = context_.config.pods.first_table + rail_.index;
    attachment_.rule = context_.config.pods.first_rule + rail_.index;
    RAIL_ASSIGN(attachment_, context_.store->Create(attachment_));
    return {};
  }

  // Claims every address, so that it is one pod's, whatever IPAM believes.
  Status TakeAddresses(AddResult& addresses) {
    for (cni::IpConfig& ip : addresses.ips) {
      const IpAddress& address = ip.address.address;
      if (!address.is_routed_unicast()) {
        return Fail(Code::kInvalid, "IPAM gave " + address.ToString() + ", which cannot be a pod's address");
      }
      if (!rail_.pods.empty() &&
          std::ranges::none_of(rail_.pods, [&](const IpPrefix& block) { return block.Contains(address); })) {
        return Fail(Code::kInvalid, "IPAM gave " + address.ToString() +
                                        ", which no pod of this node may have on rail " + rail_.name +
                                        ": it is in no prefix of its \"pods\" in node.json. Is the network's "
                                        "pool this node's block of the rail?");
      }
      // Dual-stack pools may name one gateway for both families (whereabouts). It says nothing to the other one.
      if (ip.gateway && (ip.gateway->is_v6() != address.is_v6() || ip.gateway->is_unspecified()))
        ip.gateway.reset();
      if (!ip.gateway) ip.gateway = config::DefaultGateway(address.is_v6());
      attachment_.addresses.push_back(address);
      if (std::ranges::find(attachment_.gateways, *ip.gateway) == attachment_.gateways.end()) {
        attachment_.gateways.push_back(*ip.gateway);
      }
      // With addresses of its own, its tenant has to be known first: tenant-isolation claims them.
      if (context_.config.tenancy.mode != config::TenancyMode::kVrf)
        RAIL_TRY(context_.store->Claim(attachment_.id, state::ClaimKind::kAddress, address.ToString()));
    }
    if (attachment_.addresses.empty()) {
      return Fail(Code::kInvalid,
                  "no address for the pod: IPAM gave none (is \"ipam\" in the configuration?)");
    }
    return context_.store->SetAddresses(attachment_.id, attachment_.addresses, attachment_.gateways);
  }

  // Before the bridge sends anything to this pod. A tenant that brings its own addresses has them looked up by frr-provider, in the
  // tenant's VRF.
  Status AddressesAreFree() {
    if (context_.config.tenancy.mode == config::TenancyMode::kVrf) return {};
    return engine::NobodyElseHas(node_, attachment_, "");
  }

  podnet::Plan PlanWith(const AddResult& addresses) const {
    podnet::Plan plan = engine::PlanOf(rail_, attachment_);
    plan.routes = engine::RoutesOf(addresses);
    return plan;
  }

  Result<ovs::Port> PortOf(const AddResult& previous) {
    RAIL_ASSIGN(ovs::Ovsdb * db, context_.connections.Ovsdb());
    for (const cni::Interface& interface : previous.interfaces) {
      if (!interface.sandbox.empty()) continue;
      RAIL_ASSIGN(auto port, db->FindPort(interface.name, context_.connections.CallDeadline()));
      if (!port) continue;
      if (port->bridge != rail_.bridge) {
        return Fail(Code::kInvalid, "prevResult: " + port->name + " is a port of bridge " + port->bridge +
                                        ", but rail " + rail_.name + " is bridge " + rail_.bridge);
      }
      if (port->ofport < 1)
        return Fail(Code::kTransient, "port " + port->name + " does not work: " + port->error);
      return std::move(*port);
    }
    return Fail(Code::kInvalid,
                "prevResult.interfaces: none of the host's interfaces is a port of Open vSwitch");
  }

  Outcome<std::string> Answer(AddResult result) {
    result.interfaces = {
        {.name = attachment_.representor, .mac = {}, .sandbox = {}, .mtu = attachment_.mtu, .pci_id = {}},
        {.name = request_.ifname,
         .mac = attachment_.mac.ToString(),
         .sandbox = request_.netns,
         .mtu = attachment_.mtu,
         .pci_id = IsPciAddress(request_.device_id) ? request_.device_id : ""}};
    RAIL_ASSIGN(netlink::Netlink * host, context_.connections.Netlink());
    RAIL_ASSIGN(const netlink::Link representor, host->GetLink(attachment_.representor));
    result.interfaces[0].mac = representor.mac.ToString();
    for (cni::IpConfig& ip : result.ips) {
      ip.address.length = ip.address.address.bits();
      ip.interface = 1;
    }
    for (cni::RouteConfig& route : result.routes) {
      if (!route.priority) route.priority = engine::MetricOf(rail_);
      if (route.gateway) continue;
      const auto of_family = std::ranges::find_if(result.ips, [&](const cni::IpConfig& ip) {
        return ip.address.address.is_v6() == route.destination.address.is_v6();
      });
      if (of_family != result.ips.end()) route.gateway = of_family->gateway;
    }
    return result.Print(request_.cni_version);
  }

  const Deps& deps_;
  VerbContext& context_;
  Node node_;
  const Request& request_;
  const config::Rail& rail_;
  const netns::Netns& pod_;
  Attachment attachment_;
  device::Device device_;
  FileLock device_lock_;  // until the device is in the pod
};

Status DeviceWasGiven(const Request& request) {
  if (!request.device_id.empty()) return {};
  return Fail(Code::kInvalid,
              "deviceID: no device was allocated to the pod for network " + request.network +
                  ": does a container of it request the resource that the NetworkAttachmentDefinition's "
                  "annotation k8s.v1.cni.cncf.io/resourceName names, once for each interface?");
}

// Who writes a network in a namespace chooses its IPAM plugin; the node's administrator chooses which plugins give addresses here.
Status IpamMayGive(const config::NodeConfig& config, const Request& request) {
  const std::string type = cni::HasIpam(request) ? cni::MakeIpamCall(request).type : "";
  if (type.empty() || config.pods.ipam.empty() ||
      std::ranges::find(config.pods.ipam, type) != config.pods.ipam.end())
    return {};
  return Fail(Code::kInvalid,
              "\"ipam\" of network " + request.network + ": plugin " + type +
                  " gives no addresses on this node: \"pods.ipam\" of node.json does not name it");
}

// Writes the device's facts for network-status. A pod that has its interface does not fail if that fails.
void TellOfDevice(const std::string& file, const device::Device& device) {
  if (file.empty() || !IsPciAddress(device.id)) return;
  const std::string& renamed = device.settings.rdma_name;
  const Status written = cni::WriteDeviceInfo(file, {.address = device.id,
                                                     .pf = device.pf_address,
                                                     .rdma = renamed.empty() ? device.rdma : renamed,
                                                     .representor = device.representor});
  if (!written)
    log::Warning("the pod's network-status will lack its representor: {}", written.error().message);
}

bool IsPending(const state::Step& step) {
  return !step.pending.empty();
}

// An ADD that died half way left a record: its effects are undone before the same ADD is tried again.
Status ClearRemains(VerbContext& context, const Request& request) {
  RAIL_ASSIGN(const auto old, context.store->Find(engine::KeyOf(request)));
  if (!old) return {};
  if (old->phase == state::Phase::kReady) {
    return Fail(Code::kExists,
                "attachment " + old->key.ToString() + " exists already; DEL comes before another ADD");
  }
  RAIL_TRY(engine::UndoAttachment(context, old->key, ""));
  RAIL_ASSIGN(const auto left, context.store->Find(old->key));
  if (!left) return {};
  RAIL_ASSIGN(const std::vector<state::Step> steps, context.store->Steps(left->id));
  const auto pending = std::ranges::find_if(steps, IsPending);
  return Fail(
      Code::kTransient,
      "attachment " + old->key.ToString() + " of an earlier ADD is not undone yet: " +
          (pending == steps.end() ? "its DEL is under way" : pending->kind + ": " + pending->pending));
}

// A pod has one interface on a rail: both would share the rail's routing table, policy rules and gateway. Judges by the namespace, too: a
// container that was started anew does not share it with its past. What is only left to be undone does not count.
Status RailIsFree(VerbContext& context, const Request& request, const config::Rail& rail,
                  const netns::Identity& pod) {
  RAIL_ASSIGN(const std::vector<Attachment> all, context.store->List());
  for (const Attachment& other : all) {
    if (other.rail != rail.name || other.key.container_id != request.container_id ||
        engine::NamespaceOf(other) != pod || other.phase == state::Phase::kDeleting)
      continue;
    RAIL_ASSIGN(const std::vector<state::Step> steps, context.store->Steps(other.id));
    if (std::ranges::any_of(steps, IsPending)) continue;
    return Fail(
        Code::kInvalid,
        "interface " + request.ifname + " of pod " + request.pod.pod_namespace + "/" + request.pod.name +
            " cannot be attached to rail " + rail.name + ": the pod's interface " + other.key.ifname +
            " (network " + other.key.network + ", device " + other.device +
            ") is on this rail, and a pod has one interface on a rail; name a network of each rail once in "
            "the pod's annotation k8s.v1.cni.cncf.io/networks, and request one device of each");
  }
  return {};
}

// First finishes what the DEL of an earlier owner of the device had to leave: while the switch holds a rule of that owner, this
// pod could speak as that owner. A DEL that is under way keeps the device until it has ended.
Status FinishEarlierDels(VerbContext& context, const Request& request) {
  if (request.device_id.empty()) return {};
  RAIL_ASSIGN(const std::vector<Attachment> all, context.store->List());
  Node node = context.node();
  for (const Attachment& old : all) {
    if (old.device != request.device_id || old.phase != state::Phase::kDeleting) continue;
    RAIL_ASSIGN(const std::vector<state::Step> steps, context.store->Steps(old.id));
    if (std::ranges::none_of(steps, IsPending)) continue;
    RAIL_TRY(engine::Undo(node, old, ""));
    RAIL_ASSIGN(const std::vector<state::Step> still, context.store->Steps(old.id));
    for (const state::Step& step : still) {
      if (step.kind != engine::step::kAdmit && step.kind != engine::step::kTenant) continue;
      return Fail(Code::kTransient, "device " + request.device_id + ": the rules of its last pod (" +
                                        old.key.ToString() + ") are not removed yet: " + step.pending);
    }
  }
  return {};
}

}  // namespace

Outcome<std::string> Add(const Deps& deps, const Request& request) {
  RAIL_ASSIGN(const Config config, ParseConfig(request));
  AddResult previous;
  const bool adopt = request.prev_result != nullptr;
  if (adopt) {
    RAIL_ASSIGN(previous, cni::PreviousResult(request));
  } else {
    RAIL_TRY(DeviceWasGiven(request));
  }
  RAIL_TRY(CheckPodsWishes(request));
  RAIL_ASSIGN(const std::string device_info, cni::DeviceInfoFile(request));
  RAIL_ASSIGN(const auto context, VerbContext::Open(deps, VerbContext::Use::kQuiet));
  RAIL_ASSIGN(const config::Rail* rail, engine::RailOf(context->config, config.rail));
  if (!adopt) RAIL_TRY(IpamMayGive(context->config, request));
  RAIL_TRY(engine::KeepsMode(*context));
  RAIL_ASSIGN_AS(const netns::Netns pod, netns::Netns::Open(request.netns), "CNI_NETNS");
  RAIL_TRY(ClearRemains(*context, request));
  RAIL_TRY(RailIsFree(*context, request, *rail, pod.identity()));
  RAIL_TRY(FinishEarlierDels(*context, request));

  context->connections.LetCallsTake(engine::kAddCallTime);
  Adding adding(deps, *context, request, *rail, pod);
  Outcome<std::string> result = adopt ? adding.Adopt(std::move(previous)) : adding.Plumb(config.device);
  if (result) {
    if (Status finished = adding.Finish(); !finished)
      result = tl::make_unexpected(cni::CniError(finished.error()));
  }
  if (!result) {
    adding.Undo();
    return result;
  }
  TellOfDevice(device_info, adding.device());
  return result;
}

}  // namespace rail::ovs_provider
