#include "plugins/ovs-provider/ovs_provider.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>

#include "lib/base/log.h"
#include "lib/base/timing.h"
#include "lib/cni/device_info.h"
#include "lib/cni/previous.h"
#include "lib/engine/differences.h"
#include "lib/engine/readiness.h"
#include "lib/podnet/podnet.h"
#include "plugins/ovs-provider/config.h"

namespace rail::ovs_provider {
namespace {

using cni::AddResult;
using cni::CniFail;
using cni::Outcome;
using cni::Request;
using engine::Deps;
using engine::Node;
using engine::Session;
using state::Attachment;

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

constexpr uint32_t kDefaultMtu = 1500;  // of a link that nobody has set it on
constexpr uint32_t kScopeLink = 253;    // RT_SCOPE_LINK, rtnetlink(7)

bool IsPciAddress(const std::string& device) {  // 0000:03:00.2
  return device.size() == 12 && device[4] == ':' && device[7] == ':' && device[10] == '.';
}

// What `result` lists of the pod's inside, beside the rail's own routes.
std::vector<podnet::RouteSpec> RoutesOf(const AddResult& result) {
  std::vector<podnet::RouteSpec> routes;
  for (const cni::RouteConfig& route : result.routes) {
    podnet::RouteSpec spec;
    spec.destination = route.destination;
    spec.gateway = route.gateway;
    spec.mtu = route.mtu;
    spec.advmss = route.advmss;
    spec.priority = route.priority;
    spec.table = route.table;
    if (route.scope == kScopeLink) spec.scope = podnet::Scope::kLink;
    routes.push_back(spec);
  }
  return routes;
}

// One ADD, from validated input to the answer. Whatever it makes is in the record before it is made; the caller undoes.
class Adding {
 public:
  Adding(const Deps& deps, Session& session, const Request& request, const config::Rail& rail,
         const netns::Netns& pod)
      : deps_(deps), session_(session), node_(session.node()), request_(request), rail_(rail), pod_(pod) {}

  // The chain begins here: plumb the device and call IPAM.
  Outcome<std::string> Plumb(const device::Settings& settings) {
    RAIL_ASSIGN(FileLock devices_stay, session_.edges.LockDevices(rail_));
    RAIL_ASSIGN(device::Backend * devices, session_.edges.Devices());
    auto device = devices->Find(rail_, request_.device_id);
    if (!device) return tl::make_unexpected(cni::CniError(HeldBy(device.error())));
    device->settings = settings;
    device_ = *device;
    RAIL_TRY(FreeName());
    RAIL_ASSIGN(const pipeline::BridgeFacts bridge, engine::Facts(node_, rail_));
    attachment_.representor = device->representor;
    attachment_.mac = device->mac;
    RAIL_TRY(Record());
    devices_stay = {};
    RAIL_ASSIGN(engine::DeviceMove move, engine::DeviceMove::Begin(node_, attachment_, *device, pod_));

    AddResult addresses;
    if (cni::HasIpam(request_)) {
      RAIL_TRY(engine::RecordStep(node_, attachment_, engine::kOvsProvider, engine::step::kIpam,
                                  cni::MakeIpamCall(request_).ToJson()));
      auto answer = deps_.ipam->Add(request_, session_.edges.CallDeadline());
      if (!answer) return tl::make_unexpected(answer.error());
      addresses = std::move(*answer);
      RAIL_TRY(CheckStaticAddresses(request_, addresses));
    }
    RAIL_TRY(TakeAddresses(addresses));
    // The pod's end is configured as soon as it is there, beside the work on the bridge.
    std::future<Status> inside =
        std::async(session_.edges.device_work(), [&, plan = PlanWith(addresses)]() -> Status {
          RAIL_ASSIGN(const MacAddress mac, move.Join());
          if (mac == plan.mac) return session_.edges.Pods().Configure(pod_, plan);
          return Fail(Code::kInternal, "the device's MAC changed from " + plan.mac.ToString() + " to " +
                                           mac.ToString() + " while it moved into the pod");
        });
    RAIL_TRY(engine::AttachPort(node_, attachment_));
    RAIL_TRY(engine::AdmitTraffic(node_, attachment_, bridge, session_.config.tenancy.mode));
    {
      const Timed timed(Part::kLink);
      RAIL_TRY(inside.get());
    }
    return Answer(std::move(addresses));
  }

  // Another plugin has plumbed the device: adopt its port and its addresses, add what is missing.
  Outcome<std::string> Adopt(AddResult previous) {
    RAIL_ASSIGN(const pipeline::BridgeFacts bridge, engine::Facts(node_, rail_));
    RAIL_ASSIGN(const ovs::Port port, PortOf(previous));
    // The port may be on the rail's bridge and the device another rail's: the resource hands out devices, the network names the bridge.
    RAIL_ASSIGN(device::Backend * devices, session_.edges.Devices());
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
    RAIL_TRY(engine::AdoptPort(node_, attachment_, port));
    RAIL_TRY(engine::AdmitTraffic(node_, attachment_, bridge, session_.config.tenancy.mode));
    RAIL_TRY(session_.edges.Pods().Configure(pod_, PlanWith(previous)));
    return cni::PassOn(request_);
  }

  // What became of it; of a device that another plugin has plumbed only its names are known.
  const device::Device& device() const { return device_; }

  // After a failure.
  void Undo() {
    if (attachment_.id != 0) engine::UndoMade(node_, attachment_);
  }

  Status Finish() {
    attachment_.phase = state::Phase::kReady;
    return session_.store->SetPhase(attachment_.id, attachment_.phase);
  }

 private:
  // A device that is not on the host is most likely in another pod: whose it is says more than that it is not here.
  Error HeldBy(Error error) {
    if (error.code != Code::kNotFound) return error;
    const auto owner = session_.store->OwnerOf(state::ClaimKind::kDevice, request_.device_id);
    if (!owner || !*owner) return error;
    const auto all = session_.store->List();
    if (!all) return error;
    const auto holder = std::ranges::find(*all, **owner, &Attachment::id);
    if (holder == all->end()) return error;
    return {Code::kBusy,
            "device " + request_.device_id + " belongs to attachment " + holder->key.ToString() + " of pod " +
                holder->pod_namespace + "/" + holder->pod_name,
            0};
  }

  // The runtime must not ask for a name that is taken; whoever holds it keeps it.
  Status FreeName() {
    RAIL_ASSIGN(const bool taken, session_.edges.Pods().HasLink(pod_, request_.ifname));
    if (!taken) return {};
    return Fail(Code::kExists,
                "interface " + request_.ifname + " exists already in the pod (" + request_.netns + ")");
  }

  Status Record() {
    attachment_.key = engine::KeyOf(request_);
    attachment_.rail = rail_.name;
    attachment_.pod_namespace = request_.pod.pod_namespace;
    attachment_.pod_name = request_.pod.name;
    attachment_.pod_uid = request_.pod.uid;
    attachment_.netns_path = request_.netns;
    attachment_.netns_device = pod_.identity().device;
    attachment_.netns_inode = pod_.identity().inode;
    attachment_.device = request_.device_id;
    attachment_.mtu = rail_.mtu;
    attachment_.created_ms = NowMs();
    RAIL_ASSIGN(attachment_, session_.store->Create(attachment_));
    return {};
  }

  // Every address is one pod's, whatever IPAM believes.
  Status TakeAddresses(AddResult& addresses) {
    for (cni::IpConfig& ip : addresses.ips) {
      const IpAddress& address = ip.address.address;
      if (address.is_unspecified() || address.is_multicast() || address.is_loopback() ||
          address.is_link_local() || address.is_broadcast()) {
        return Fail(Code::kInvalid, "IPAM gave " + address.ToString() + ", which cannot be a pod's address");
      }
      if (!ip.gateway) ip.gateway = config::DefaultGateway(address.is_v6());
      attachment_.addresses.push_back(address);
      if (std::ranges::find(attachment_.gateways, *ip.gateway) == attachment_.gateways.end()) {
        attachment_.gateways.push_back(*ip.gateway);
      }
      RAIL_TRY(session_.store->Claim(attachment_.id, state::ClaimKind::kAddress, address.ToString()));
    }
    if (attachment_.addresses.empty()) {
      return Fail(Code::kInvalid,
                  "no address for the pod: IPAM gave none (is \"ipam\" in the configuration?)");
    }
    return session_.store->SetAddresses(attachment_.id, attachment_.addresses, attachment_.gateways);
  }

  podnet::Plan PlanWith(const AddResult& addresses) const {
    podnet::Plan plan = engine::PlanOf(rail_, attachment_);
    plan.routes = RoutesOf(addresses);
    return plan;
  }

  Result<ovs::Port> PortOf(const AddResult& previous) {
    RAIL_ASSIGN(ovs::Ovsdb * db, session_.edges.Ovsdb());
    for (const cni::Interface& interface : previous.interfaces) {
      if (!interface.sandbox.empty()) continue;
      RAIL_ASSIGN(auto port, db->FindPort(interface.name, session_.edges.CallDeadline()));
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
    RAIL_ASSIGN(netlink::Netlink * host, session_.edges.Netlink());
    RAIL_ASSIGN(const netlink::Link representor, host->GetLink(attachment_.representor));
    result.interfaces[0].mac = representor.mac.ToString();
    for (cni::IpConfig& ip : result.ips) {
      ip.address.length = ip.address.address.bits();
      ip.interface = 1;
    }
    for (cni::RouteConfig& route : result.routes) {
      if (route.gateway) continue;
      for (const cni::IpConfig& ip : result.ips) {
        if (ip.address.address.is_v6() == route.destination.address.is_v6()) route.gateway = ip.gateway;
      }
    }
    return result.Print(request_.cni_version);
  }

  const Deps& deps_;
  Session& session_;
  Node node_;
  const Request& request_;
  const config::Rail& rail_;
  const netns::Netns& pod_;
  Attachment attachment_;
  device::Device device_;
};

Status DeviceWasGiven(const Request& request) {
  if (!request.device_id.empty()) return {};
  return Fail(
      Code::kInvalid,
      "deviceID: no device was allocated to the pod for network " + request.network +
          ": does a container of it request the resource that the NetworkAttachmentDefinition's annotation "
          "k8s.v1.cni.cncf.io/resourceName names, once for each interface?");
}

// For network-status; a pod that has its interface does not fail for it.
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
Status ClearRemains(Session& session, const Request& request) {
  RAIL_ASSIGN(const auto old, session.store->Find(engine::KeyOf(request)));
  if (!old) return {};
  if (old->phase == state::Phase::kReady) {
    return Fail(Code::kExists,
                "attachment " + old->key.ToString() + " exists already; DEL comes before another ADD");
  }
  RAIL_TRY(engine::UndoAttachment(session, old->key, ""));
  RAIL_ASSIGN(const auto left, session.store->Find(old->key));
  if (!left) return {};
  RAIL_ASSIGN(const std::vector<state::Step> steps, session.store->Steps(left->id));
  const auto pending = std::ranges::find_if(steps, IsPending);
  return Fail(
      Code::kTransient,
      "attachment " + old->key.ToString() + " of an earlier ADD is not undone yet: " +
          (pending == steps.end() ? "its DEL is under way" : pending->kind + ": " + pending->pending));
}

// What the DEL of an earlier owner of the device had to leave is done first: while the switch holds a rule of it, this pod could
// speak as that one. A DEL that is under way keeps the device until it has ended.
Status FinishEarlierDels(Session& session, const Request& request) {
  if (request.device_id.empty()) return {};
  RAIL_ASSIGN(const std::vector<Attachment> all, session.store->List());
  Node node = session.node();
  for (const Attachment& old : all) {
    if (old.device != request.device_id || old.phase != state::Phase::kDeleting) continue;
    RAIL_ASSIGN(const std::vector<state::Step> steps, session.store->Steps(old.id));
    if (std::ranges::none_of(steps, IsPending)) continue;
    RAIL_ASSIGN(const engine::Undone undone, engine::Undo(node, old, ""));
    engine::TellNameless(undone);
    RAIL_ASSIGN(const std::vector<state::Step> still, session.store->Steps(old.id));
    for (const state::Step& step : still) {
      if (step.kind != engine::step::kAdmit && step.kind != engine::step::kTenant) continue;
      return Fail(Code::kTransient, "device " + request.device_id + ": the rules of its last pod (" +
                                        old.key.ToString() + ") are not removed yet: " + step.pending);
    }
  }
  return {};
}

Outcome<std::string> Add(const Deps& deps, const Request& request) {
  auto config = ParseConfig(request);
  if (!config) return tl::make_unexpected(config.error());
  AddResult previous;
  const bool adopt = request.prev_result != nullptr;
  if (adopt) {
    RAIL_ASSIGN(previous, cni::PreviousResult(request));
  } else {
    RAIL_TRY(DeviceWasGiven(request));
    RAIL_TRY(CheckPodsWishes(request));
  }
  RAIL_ASSIGN(const std::string device_info, cni::DeviceInfoFile(request));
  RAIL_ASSIGN(const auto session, Session::Open(deps, Session::Use::kQuiet));
  RAIL_ASSIGN(const config::Rail* rail, engine::RailOf(session->config, config->rail));
  RAIL_ASSIGN_AS(const netns::Netns pod, netns::Netns::Open(request.netns), "CNI_NETNS");
  RAIL_TRY(ClearRemains(*session, request));
  RAIL_TRY(FinishEarlierDels(*session, request));

  Adding adding(deps, *session, request, *rail, pod);
  Outcome<std::string> result = adopt ? adding.Adopt(std::move(previous)) : adding.Plumb(config->device);
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

Status GiveAddressesBack(const Deps& deps, const Request& request, Deadline deadline) {
  if (!cni::HasIpam(request)) return {};
  const auto released = deps.ipam->Del(request, deadline);
  if (released) return {};
  return Fail(Code::kTransient, released.error().msg + " " + released.error().details);
}

// As the result of its ADD lists it. The runtime ends the namespace next, and then a device of the bus comes home by itself.
Status BringDeviceBack(const Deps& deps, const Request& request) {
  if (request.device_id.empty() || request.prev_result == nullptr || IsPciAddress(request.device_id))
    return {};
  const auto pod = netns::Netns::Open(request.netns);
  if (!pod) return {};
  const auto previous = cni::PreviousResult(request);
  if (!previous) return Fail(Code::kInvalid, previous.error().msg);
  device::Saved saved;
  saved.id = request.device_id;
  saved.netdev = request.device_id;
  for (const cni::Interface& interface : previous->interfaces) {
    if (interface.sandbox.empty()) {
      saved.representor = interface.name;
    } else if (interface.name == request.ifname) {
      RAIL_ASSIGN(saved.mac, MacAddress::Parse(interface.mac));
    }
    saved.mtu = saved.representor_mtu = interface.mtu != 0 ? interface.mtu : kDefaultMtu;
  }
  if (saved.representor.empty() || saved.mac.is_zero())
    return Fail(Code::kInvalid, "prevResult lists no representor or no interface " + request.ifname);
  saved.representor_up = true;
  engine::Edges edges(deps.openers({}), After(engine::kVerbDeadline));
  RAIL_ASSIGN(netlink::Netlink * host, edges.Netlink());
  RAIL_ASSIGN(const netlink::Link representor, host->GetLink(saved.representor));
  saved.kind = representor.kind;  // the two ends of a veth are of one kind; so are a VF and its representor
  RAIL_ASSIGN(device::Backend * devices, edges.Devices());
  return devices->Restore(saved, &*pod, request.ifname, edges.CallDeadline());
}

// The pod gets its end and the node its device and its addresses back; the rest raild does when it can read the record, or removes
// as what no record explains. An error, because a repeated DEL may do better.
Outcome<void> DelWithoutRecord(const Deps& deps, const Request& request, const Error& why) {
  const auto told = [](const char* what, const Status& done) {
    return std::string(what) + (done ? ": given back" : ": " + done.error().message);
  };
  const std::string device = told("its device", BringDeviceBack(deps, request));
  const std::string addresses =
      told("its addresses", GiveAddressesBack(deps, request, After(std::chrono::seconds(10))));
  return CniFail(11, "DEL of " + engine::KeyOf(request).ToString() + " is not complete: " + why.message,
                 device + "; " + addresses + "; its port, rules and announcement are not undone");
}

// IPAM is told even when we never heard of the attachment: an ADD may have died before its record reached the disk.
Outcome<void> Del(const Deps& deps, const Request& request) {
  const auto session = Session::OpenToUndo(deps);
  if (!session) return DelWithoutRecord(deps, request, session.error());
  const auto found = (*session)->store->Find(engine::KeyOf(request));
  if (!found) return DelWithoutRecord(deps, request, found.error());
  if (*found) {
    const Status undone = engine::UndoAttachment(**session, (*found)->key, "");
    if (!undone) return DelWithoutRecord(deps, request, undone.error());
  } else if (const Status released = GiveAddressesBack(deps, request, (*session)->edges.CallDeadline());
             !released) {
    log::Warning("release addresses of {}: {}", engine::KeyOf(request).ToString(), released.error().message);
  }
  return {};
}

// Where the result that the runtime keeps and the record disagree.
std::vector<std::string> Disagreements(const AddResult& previous, const Attachment& attachment) {
  std::vector<std::string> problems;
  const std::string& ifname = attachment.key.ifname;
  const auto inside = std::ranges::find_if(previous.interfaces, [&](const cni::Interface& interface) {
    return !interface.sandbox.empty() && interface.name == ifname;
  });
  if (inside == previous.interfaces.end()) {
    problems.push_back("prevResult lists no interface " + ifname + " in the pod");
  } else if (const auto mac = MacAddress::Parse(inside->mac);
             !inside->mac.empty() && (!mac || *mac != attachment.mac)) {
    problems.push_back("prevResult says that " + ifname + " has MAC " + inside->mac + ", the record says " +
                       attachment.mac.ToString());
  }
  for (const IpAddress& address : attachment.addresses) {
    if (std::ranges::none_of(previous.ips,
                             [&](const cni::IpConfig& ip) { return ip.address.address == address; }))
      problems.push_back("prevResult does not list address " + address.ToString());
  }
  return problems;
}

Outcome<void> Check(const Deps& deps, const Request& request) {
  auto config = ParseConfig(request);
  if (!config) return tl::make_unexpected(config.error());
  RAIL_ASSIGN(const AddResult previous, cni::PreviousResult(request));
  RAIL_ASSIGN(const auto session, Session::Open(deps, Session::Use::kQuiet));
  RAIL_ASSIGN(const engine::Recorded recorded, engine::RecordedWithSteps(*session, request));
  const Attachment& attachment = recorded.attachment;
  RAIL_ASSIGN(const config::Rail* rail, engine::RailOf(session->config, attachment.rail));
  Node node = session->node();
  std::vector<std::string> problems = Disagreements(previous, attachment);
  if (attachment.rail != config->rail) {
    problems.push_back("the configuration says rail " + config->rail + ", the record says rail " +
                       attachment.rail);
  }
  if (!recorded.Has(engine::step::kAdmit)) problems.emplace_back("its ADD has not finished");

  RAIL_ASSIGN_AS(const netns::Netns pod, netns::Netns::Open(request.netns), "CNI_NETNS");
  podnet::Plan plan = engine::PlanOf(*rail, attachment);
  plan.routes = RoutesOf(previous);
  RAIL_ASSIGN(std::vector<std::string> inside, session->edges.Pods().Verify(pod, plan));
  problems.insert(problems.end(), inside.begin(), inside.end());
  if (const auto device = recorded.Step(engine::step::kDevice)) {
    RAIL_ASSIGN(const device::Saved saved, device::Saved::FromJson(device->detail));
    RAIL_ASSIGN(device::Backend * devices, session->edges.Devices());
    RAIL_ASSIGN(std::vector<std::string> changed, devices->Verify(saved, config->device, pod));
    problems.insert(problems.end(), changed.begin(), changed.end());
  }

  RAIL_ASSIGN(const engine::Differences port, engine::PortDiffers(node, *rail, attachment));
  problems.insert(problems.end(), port.begin(), port.end());
  RAIL_ASSIGN(const pipeline::BridgeFacts bridge, engine::Facts(node, *rail));
  std::vector<ovs::Rule> wanted = pipeline::ControlRules(bridge, session->config.tenancy.mode);
  pipeline::Append(wanted, pipeline::AdmitRules(bridge, engine::PodOf(attachment)));
  RAIL_ASSIGN(const engine::Differences missing, engine::RulesDiffer(node, attachment, wanted));
  problems.insert(problems.end(), missing.begin(), missing.end());
  RAIL_TRY(engine::Problems(problems));
  if (cni::HasIpam(request) && !attachment.adopted) {
    return deps.ipam->Check(request, session->edges.CallDeadline());
  }
  return {};
}

// IPAM collects its own garbage whatever happens to ours.
Outcome<void> Gc(const Deps& deps, const Request& request) {
  Status collected = engine::CollectGarbage(deps, request, "");
  Outcome<void> forwarded;
  if (cni::HasIpam(request)) forwarded = deps.ipam->Forward(request, After(engine::kVerbDeadline));
  if (collected) return forwarded;
  cni::CniError error(collected.error());
  if (!forwarded) error.details = "and of its addresses: " + forwarded.error().msg;
  return tl::make_unexpected(std::move(error));
}

// A PF in legacy mode has no representors: no VF of it can be attached, unless node.json names them.
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
  auto config = ParseConfig(request);
  if (!config) return tl::make_unexpected(config.error());
  auto session = Session::Open(deps, Session::Use::kQuiet);
  const auto not_ready = [&](const Error& error) {
    return tl::make_unexpected(engine::NotReady("ovs-provider cannot attach pods", error,
                                                session ? session->get() : nullptr, request));
  };
  if (!session) return not_ready(session.error());
  auto rail = engine::RailOf((*session)->config, config->rail);
  if (!rail) return not_ready(rail.error());
  Node node = (*session)->node();
  if (auto facts = engine::Facts(node, **rail); !facts) return not_ready(facts.error());
  // The database may answer while the switch itself does not run.
  if (auto bridge = node.edges.OpenFlow((*rail)->bridge); !bridge) return not_ready(bridge.error());
  if (const Status nic = NicHasRepresentors(deps, (*session)->config, **rail); !nic)
    return not_ready(nic.error());
  if (cni::HasIpam(request)) return deps.ipam->Forward(request, (*session)->edges.CallDeadline());
  return {};
}

}  // namespace

cni::Plugin MakePlugin(engine::Deps deps) {
  return {.name = "ovs-provider",
          .about = "RailCNI ovs-provider: attaches a pod's device to its rail's Open vSwitch bridge",
          .check_config = [](const Request& request) -> Outcome<void> {
            auto config = ParseConfig(request);
            if (!config) return tl::make_unexpected(config.error());
            return {};
          },
          .add = [deps](const Request& request) { return Add(deps, request); },
          .del = [deps](const Request& request) { return Del(deps, request); },
          .check = [deps](const Request& request) { return Check(deps, request); },
          .gc = [deps](const Request& request) { return Gc(deps, request); },
          .status = [deps](const Request& request) { return ReadyForAdd(deps, request); }};
}

}  // namespace rail::ovs_provider
