// Compares attachments with their record, as the plugins' CHECK does, with what only a daemon knows about them.
//
// Use:      for (const Checked& checked : CheckAll(attachments, node)) ... checked.problems ...
// Threads:  one at a time
// Source:   CNI SPEC.md "CHECK"; lib/engine/README.md (the steps)
#pragma once

#include <string>
#include <vector>

#include "lib/engine/attachment.h"
#include "lib/engine/view.h"

namespace rail::inspect {

struct Checked {
  engine::AttachmentView shown;
  std::vector<std::string> problems;  // one sentence each; [] all is as the record says
};

// What cannot be looked at (Open vSwitch is down, the namespace is gone) is a problem too: each part stands alone.
std::vector<Checked> CheckAll(const std::vector<const engine::AttachmentView*>& attachments,
                              engine::Node& node);

}  // namespace rail::inspect
