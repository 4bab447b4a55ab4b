// The node's record as one look at it: attachments with their steps.
//
// Use:      RAIL_ASSIGN(const Record record, Record::Read(store));   // after what it is compared with: README.md
// Threads:  plain data
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lib/state/store.h"

namespace rail::engine {

struct Record {
  std::vector<state::Attachment> attachments;
  std::map<int64_t, std::vector<state::Step>> steps;  // by attachment; one entry for each

  // Errors: as state::Store::List.
  static Result<Record> Read(state::Store& store);

  bool Has(int64_t attachment, const char* kind) const;
};

}  // namespace rail::engine
