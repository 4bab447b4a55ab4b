// One reading of the node's record: attachments with their steps.
//
// Use:      RecordReader reader(store);
//           RAIL_ASSIGN(const RecordPtr record, reader.Read());   // read it after what it is compared with: README.md
// Threads:  Record: plain data; RecordReader: one
// Owns:     nothing: the store must outlive its reader
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "lib/state/store.h"

namespace rail::engine {

struct Record {
  std::vector<state::Attachment> attachments;
  std::map<int64_t, std::vector<state::Step>> steps;  // by attachment; each has an entry

  bool Has(int64_t attachment, const char* kind) const;
  // Whether the other holds the same of this rail: attachments and their steps.
  bool SameOn(const std::string& rail, const Record& other) const;
};

using RecordPtr = std::shared_ptr<const Record>;

// Reads the record again only after somebody has written to it. On a node with 8 rails and 64 attachments
// raild asks for it many times for each change.
class RecordReader {
 public:
  explicit RecordReader(state::Store& store) : store_(store) {}

  // The same pointer as long as nobody has written. Errors: as state::Store::List.
  Result<RecordPtr> Read();
  state::Store& store() { return store_; }

 private:
  state::Store& store_;
  int64_t version_ = 0;  // of last_
  RecordPtr last_;
};

}  // namespace rail::engine
