#include "plugins/ovs-provider/verbs.h"

#include "lib/base/log.h"
#include "lib/cni/previous.h"
#include "lib/engine/attachment.h"

namespace rail::ovs_provider {
namespace {

using cni::AddResult;
using cni::CniFail;
using cni::Outcome;
using cni::Request;
using engine::Deps;

constexpr uint32_t kDefaultMtu = 1500;  // of a link that nobody has set it on

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

}  // namespace

// IPAM is told even when we never heard of the attachment: an ADD may have died before its record reached the disk.
Outcome<void> Del(const Deps& deps, const Request& request) {
  const auto session = engine::Session::OpenToUndo(deps);
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

}  // namespace rail::ovs_provider
