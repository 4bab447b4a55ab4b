#include "lib/engine/record.h"

#include <algorithm>

namespace rail::engine {

Result<Record> Record::Read(state::Store& store) {
  Record record;
  RAIL_ASSIGN(record.attachments, store.List());
  for (const state::Attachment& attachment : record.attachments) {
    RAIL_ASSIGN(record.steps[attachment.id], store.Steps(attachment.id));
  }
  return record;
}

bool Record::Has(int64_t attachment, const char* kind) const {
  const auto it = steps.find(attachment);
  return it != steps.end() &&
         std::ranges::any_of(it->second, [&](const state::Step& step) { return step.kind == kind; });
}

}  // namespace rail::engine
