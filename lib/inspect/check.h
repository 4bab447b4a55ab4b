// Compares attachments with their record, as the plugins' CHECK does, and with what only the daemon knows about them.
//
// Use:      for (const Checked& checked : CheckAll(attachments, node, deps.tenants)) ... checked.problems ...
// Threads:  one at a time
// Source:   CNI SPEC.md "CHECK"; lib/engine/attach/README.md (the steps)
#pragma once

#include <string>
#include <vector>

#include "lib/engine/attach/attachment.h"
#include "lib/engine/view.h"
#include "lib/tenancy/tenancy.h"

namespace rail::inspect {

struct Problem {
  std::string what;  // a sentence
  std::string fix;   // what to do: a command in backquotes where one mends it
};

struct Checked {
  engine::AttachmentView shown;
  std::vector<Problem> problems;  // [] everything is as recorded
};

// A part that cannot be checked (Open vSwitch is down, the namespace is gone) is a problem, too. The other parts are checked all
// the same.
std::vector<Checked> CheckAll(const std::vector<const engine::AttachmentView*>& attachments,
                              engine::Node& node, const tenancy::LoadMap& tenants);

}  // namespace rail::inspect
