// What STATUS says when a plugin cannot serve an ADD.
//
// Use:      return NotReady("ovs-provider cannot attach pods", facts.error(), context, request);
// Threads:  one at a time
// Source:   CNI SPEC.md 1.1.0 section 2 "STATUS"
#pragma once

#include <string>

#include "lib/cni/error.h"
#include "lib/cni/request.h"
#include "lib/engine/attach/verb_context.h"

namespace rail::engine {

// 50 "the plugin is not available"; 51 "... and existing containers in the network may have limited connectivity": when the
// record holds attachments of the request's network. `context` is null when it could not be opened.
cni::CniError NotReady(const std::string& what, const Error& why, const VerbContext* context,
                       const cni::Request& request);

}  // namespace rail::engine
