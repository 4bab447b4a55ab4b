// An attachment's effects: each is recorded, made, and undone from the record alone. The plugins and the daemon share this.
//
// Use:      Node node{config, *store, connections};
//           RAIL_TRY(AttachPort(node, attachment));             // records "port", then adds it
//           Undone undone = Undo(node, attachment, "");          // everything, newest first, each step on its own
// Threads:  one at a time
// Source:   README.md of this folder (the steps, their order, what each undo needs)
#pragma once

#include <future>
#include <optional>
#include <string>
#include <vector>

#include "lib/cni/request.h"
#include "lib/cni/result.h"
#include "lib/config/node_config.h"
#include "lib/engine/attach/connections.h"
#include "lib/engine/attach/pipeline.h"
#include "lib/podnet/podnet.h"
#include "lib/state/store.h"

namespace rail::engine {

struct Node {
  const config::NodeConfig& config;
  state::Store& store;
  Connections& connections;
  // The steps that this process has made. It undoes them even if a DEL has emptied the record meanwhile.
  std::vector<state::Step> made;
};

// Records a step. Call it before making the effect. Errors: kBusy a DEL of the attachment has begun.
Status RecordStep(Node& node, const state::Attachment& attachment, const char* owner, const char* kind,
                  const std::string& detail);

// Forgets the step that was recorded last: its effect was refused, so there is nothing to undo. What cannot be forgotten is undone.
void ForgetLastStep(Node& node);

// The owner of a step: the plugin whose DEL undoes it.
inline constexpr char kOvsProvider[] = "ovs-provider";
inline constexpr char kTenantIsolation[] = "tenant-isolation";
inline constexpr char kFrrProvider[] = "frr-provider";

// The kinds of steps, in the order in which an ADD makes them.
namespace step {
inline constexpr char kIpam[] = "ipam";  // addresses requested from IPAM
inline constexpr char kRoutes[] =
    "routes";  // routes inside the pod that IPAM asks for; no undo: they go with the device
inline constexpr char kPort[] = "port";          // the representor on the bridge
inline constexpr char kAdopt[] = "adopt";        // our mark on another plugin's port
inline constexpr char kDevice[] = "device";      // the device in the pod
inline constexpr char kAdmit[] = "admit";        // tables 0, 4, 5, 6
inline constexpr char kTenant[] = "tenant";      // tables 1, 2 and 3
inline constexpr char kAnnounce[] = "announce";  // network statements
}  // namespace step

// The key in external_ids that says whose it is. A Port's value is the attachment's id. A Bridge's is the rail: raild has made it.
inline constexpr char kOwnerKey[] = "railcni";
// The key that says which port of such a bridge is its uplink.
inline constexpr char kUplinkKey[] = "railcni-uplink";
// The key that says which device the port stands for (Attachment::device), so that it can be located without the record.
inline constexpr char kDeviceKey[] = "railcni-device";

// Errors: kInvalid node.json has no such rail; the message lists the rails that it has.
Result<const config::Rail*> RailOf(const config::NodeConfig& config, const std::string& name);

// The facts of the bridge that the rules need. Errors: kTransient the bridge does not exist yet, or has no uplink yet.
Result<pipeline::BridgeFacts> Facts(Node& node, const config::Rail& rail);

pipeline::Pod PodOf(const pipeline::BridgeFacts& bridge, const state::Attachment& attachment);
// Writes into the record which interface of which pod it is, where the pod's namespace is and how that is known again.
void SetPod(state::Attachment& attachment, const cni::Request& request, const netns::Netns& pod);
netns::Identity NamespaceOf(const state::Attachment& attachment);
// Whether the record says that the attachment is of another boot than this one. Its pod is gone then, whatever its path leads to and
// wherever its device is.
bool IsKnownToBeOfEarlierBoot(const state::Attachment& attachment);
// The pod's namespace; nullopt: its path leads to no namespace, or to another one than was recorded.
std::optional<netns::Netns> PodNamespace(const state::Attachment& attachment);

// The routes inside the pod that `result` lists, beside the rail's own routes.
std::vector<podnet::RouteSpec> RoutesOf(const cni::AddResult& result);
// The detail of step kRoutes.
std::string RoutesDetail(const cni::AddResult& result);
// Those that an ADD has recorded (step kRoutes). Errors: kInvalid.
Result<std::vector<podnet::RouteSpec>> RecordedRoutes(const std::vector<state::Step>& steps);

// Of IPAM's routes that name none. Rails of a pod may route one prefix: the one with the lowest index goes first.
uint32_t MetricOf(const config::Rail& rail);
// Without `routes`. Its numbers are the attachment's, whatever node.json says by now.
podnet::Plan PlanOf(const config::Rail& rail, const state::Attachment& attachment);
// The detail of a step whose undo needs the bridge.
std::string BridgeDetail(const std::string& bridge);
ovs::ExternalIds PortIds(const state::Attachment& attachment);
ovs::PortSpec PortSpecOf(const config::Rail& rail, const state::Attachment& attachment);
// What the guard of its representor lets pass.
guard::Allowed AllowedOf(const config::Rail& rail, const state::Attachment& attachment);

// Every rule that the record says this attachment must have. `steps`: those of the attachment.
std::vector<ovs::Rule> WantedRules(const pipeline::BridgeFacts& bridge, const state::Attachment& attachment,
                                   const std::vector<state::Step>& steps);

// Each function records its step, then makes the effect. If it fails, the step stays in the record, and the caller must undo it.
// First, the device's: saves its state and readies its representor. The port comes next, then the move (DeviceMove).
Status ReadyDevice(Node& node, const state::Attachment& attachment, const device::Device& device);
// Both close the representor's guard, so that nothing of the pod passes until AdmitTraffic.
Status AttachPort(Node& node, state::Attachment& attachment);  // fills ofport
Status AdoptPort(Node& node, state::Attachment& attachment, const ovs::Port& port);
Status AdmitTraffic(Node& node, const state::Attachment& attachment, const pipeline::BridgeFacts& bridge,
                    config::TenancyMode mode);
Status JoinTenant(Node& node, state::Attachment& attachment, const tenancy::Tenant& tenant);
// Asks bgpd first whether somebody else announces an address (NobodyElseHas).
Status Announce(Node& node, state::Attachment& attachment);

// Whether the addresses of a new attachment are free in the fabric: a new claim never disturbs a pod that has the address already, wherever
// it runs. Costs one question to bgpd for each address. Errors: kBusy another node announces one (it may be a pod that is about to go: the
// runtime tries again); kTransient bgpd does not answer. Without tenants, a bgpd that does not answer is no error.
//   vrf  whose instance announces them; "": the default one
Status NobodyElseHas(Node& node, const state::Attachment& attachment, const std::string& vrf);

// Moves the device into the pod. The kernel needs milliseconds for this, so a thread of its own does it. Until Join has returned,
// the caller may use every connection but Netlink, Devices and Pods. The destructor waits for the thread.
class DeviceMove {
 public:
  // After ReadyDevice, which has recorded the step. `pod` must outlive this.
  static Result<DeviceMove> Begin(Node& node, const state::Attachment& attachment,
                                  const device::Device& device, const netns::Netns& pod);
  // Waits for the move and returns the device's MAC in the pod. Call it only once. Errors: as device::Backend::MoveIn.
  Result<MacAddress> Join();

 private:
  explicit DeviceMove(std::future<Result<MacAddress>> moved) : moved_(std::move(moved)) {}
  std::future<Result<MacAddress>> moved_;
};

struct Undone {
  // One sentence for each step whose undo failed (the record keeps it as pending), or that is still in the record.
  std::vector<std::string> failed;
  bool removed = false;  // nothing is left of the attachment, not even its record
};

// Undoes the steps of `owner` ("": of all owners), newest first. A step or a write to the record that fails stops no other: if
// the record cannot be written, everything is undone all the same. If no step is left and `owner` is "", removes the record, too.
// Safe to repeat. Errors: the record cannot be read.
Result<Undone> Undo(Node& node, state::Attachment attachment, const std::string& owner);

}  // namespace rail::engine
