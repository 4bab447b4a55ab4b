// frr-provider: announces the pod's addresses as /32 and /128 over BGP, on the rail of its device.
//
// Stands after ovs-provider and tenant-isolation in the chain. README.md of this folder describes its configuration.
#pragma once

#include "lib/cni/plugin.h"
#include "lib/engine/attach/verb_context.h"
#include "plugins/frr-provider/config.h"

namespace rail::frr_provider {

cni::Plugin MakePlugin(const engine::Deps& deps);

// The two below: README.md, "Without ovs-provider". Whether frr-provider has recorded the attachment itself: it has no device and no port of ours.
bool IsAlone(const state::Attachment& attachment);

// The attachment that ovs-provider has recorded, or, where there is none, a new one with the addresses of prevResult.
// Errors: kInvalid the rail is not known, or "rail" is another one than ovs-provider's; there is no address; tenants are kept apart,
//         which needs ovs-provider; kBusy another pod has the address.
Result<state::Attachment> AttachmentOf(engine::VerbContext& context, const cni::Request& request,
                                       const Config& config);

}  // namespace rail::frr_provider
