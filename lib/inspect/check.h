// Compares attachments with their record, as the plugins' CHECK does, and with what only the daemon knows about them.
//
// Use:      const v1::CheckResponse checked = CheckAll(attachments, node, deps.tenants);
// Threads:  one at a time
// Source:   CNI SPEC.md "CHECK"; lib/engine/attach/README.md (the steps)
#pragma once

#include <vector>

#include "lib/engine/attach/attachment.h"
#include "lib/engine/view.h"
#include "lib/tenancy/tenancy.h"

namespace rail::inspect {

// A part that cannot be checked (Open vSwitch is down, the namespace is gone) is a problem, too. The other parts are checked all
// the same.
v1::CheckResponse CheckAll(const std::vector<const engine::AttachmentView*>& attachments, engine::Node& node,
                           const tenancy::LoadMap& tenants);

}  // namespace rail::inspect
