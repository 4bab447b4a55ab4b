// frr-provider without ovs-provider before it in the chain: which rail the pod's addresses belong to, and their record.
//
// Use:      RAIL_ASSIGN(Attachment attachment, AttachmentOf(context, request, config));
//           if (IsAlone(attachment)) ...                 // nobody else undoes its record
// Threads:  one at a time
// Source:   README.md of this folder ("Without ovs-provider")
#pragma once

#include "lib/engine/attach/verb_context.h"
#include "plugins/frr-provider/config.h"

namespace rail::frr_provider {

// Whether frr-provider has recorded the attachment itself: it has no device and no port of ours.
bool IsAlone(const state::Attachment& attachment);

// The attachment that ovs-provider has recorded, or, where there is none, a new one with the addresses of prevResult.
// Errors: kInvalid the rail is not known, or "rail" is another one than ovs-provider's; there is no address; tenants are kept apart,
//         which needs ovs-provider; kBusy another pod has the address.
Result<state::Attachment> AttachmentOf(engine::VerbContext& context, const cni::Request& request,
                                       const Config& config);

}  // namespace rail::frr_provider
