#include "plugins/ovs-provider/ovs_provider.h"

#include "lib/base/log.h"

namespace rail::ovs_provider {
namespace {

using cni::CniFail;
using cni::Outcome;
using cni::Request;
using engine::Deps;

Status GiveAddressesBack(const Deps& deps, const Request& request, Deadline deadline) {
  if (!cni::HasIpam(request)) return {};
  const auto released = deps.ipam->Del(request, deadline);
  if (released) return {};
  return Fail(Code::kTransient, released.error().msg + " " + released.error().details);
}

// Only the record says what was made, so this guesses nothing. IPAM knows by itself what it gave. raild undoes the rest when it
// can read the record, or removes what no record explains. Returns an error, because a repeated DEL may do better.
Outcome<void> DelWithoutRecord(const Deps& deps, const Request& request, const Error& why) {
  const Status released = GiveAddressesBack(deps, request, After(engine::kIpamTime));
  return CniFail(11, "DEL of " + engine::KeyOf(request).ToString() + " is not complete: " + why.message,
                 "its addresses: " + (released ? "given back" : released.error().message) +
                     "; its device, port, rules and announcement are not undone");
}

}  // namespace

// Calls IPAM even if the record does not have the attachment: an ADD may have died before its record reached the disk.
Outcome<void> Del(const Deps& deps, const Request& request) {
  const auto context = engine::VerbContext::OpenToUndo(deps);
  if (!context) return DelWithoutRecord(deps, request, context.error());
  const auto meant = engine::MeantByDel(**context, request);
  if (!meant) return DelWithoutRecord(deps, request, meant.error());
  for (const state::Attachment& one : *meant) {
    const Status undone = engine::UndoAttachment(**context, one.key, "");
    if (!undone) return DelWithoutRecord(deps, request, undone.error());
  }
  if (!meant->empty()) return {};
  if (const Status released = GiveAddressesBack(deps, request, (*context)->connections.IpamDeadline());
      !released) {
    log::Warning("release addresses of {}: {}", engine::KeyOf(request).ToString(), released.error().message);
  }
  return {};
}

}  // namespace rail::ovs_provider
