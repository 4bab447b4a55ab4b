#include "lib/engine/attach/record.h"

#include <algorithm>
#include <ranges>

namespace rail::engine {

// Reads the version first, so that a write in between makes the next call read again.
Result<RecordPtr> RecordReader::Read() {
  RAIL_ASSIGN(const int64_t version, store_.Version());
  if (last_ != nullptr && version == version_) return last_;
  auto record = std::make_shared<Record>();
  RAIL_ASSIGN(record->attachments, store_.List());
  for (const state::Attachment& attachment : record->attachments) {
    RAIL_ASSIGN(record->steps[attachment.id], store_.Steps(attachment.id));
  }
  version_ = version;
  last_ = std::move(record);
  return last_;
}

bool Record::Has(int64_t attachment, const char* kind) const {
  const auto it = steps.find(attachment);
  return it != steps.end() &&
         std::ranges::any_of(it->second, [&](const state::Step& step) { return step.kind == kind; });
}

bool Record::SameOn(const std::string& rail, const Record& other) const {
  const auto of_rail = [&](const Record& record) {
    return record.attachments |
           std::views::filter([&](const state::Attachment& one) { return one.rail == rail; });
  };
  return std::ranges::equal(of_rail(*this), of_rail(other),
                            [&](const state::Attachment& one, const state::Attachment& its) {
                              return one == its && steps.at(one.id) == other.steps.at(its.id);
                            });
}

}  // namespace rail::engine
