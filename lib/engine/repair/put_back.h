// Puts a device back into its pod, after the NIC has made the device anew: it was reset, or its VFs were removed and made again.
//
// Use:      RAIL_TRY(PutDeviceBack(node, attachment));
// Threads:  one at a time
// Source:   README.md of this folder ("A device that is made anew")
#pragma once

#include "lib/engine/attach/attachment.h"

namespace rail::engine {

// Gives the device the MAC that the attachment has, applies what its network asked for, moves it in and configures it as the ADD
// did. Does nothing when a DEL has begun meanwhile. What it began and could not finish, it takes back. May be repeated.
// Errors: kNotFound the device does not exist; kUnsupported another plugin has plumbed it; as device::Backend::MoveIn and
//         podnet::PodNet::Configure.
Status PutDeviceBack(Node& node, const state::Attachment& attachment);

}  // namespace rail::engine
