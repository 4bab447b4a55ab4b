// Records for the tests of Store: SQLite's file, and what is written into one.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "lib/state/sqlite.h"

namespace rail::state::testing {

// Two connections to one empty record.
class Record {
 public:
  virtual ~Record() = default;
  virtual std::unique_ptr<Store> Connect() = 0;
};

class SqliteRecord : public Record {
 public:
  SqliteRecord() { std::filesystem::remove_all(folder_); }
  ~SqliteRecord() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/state.db"; }
  std::unique_ptr<Store> Connect() override {
    auto store = Sqlite::Open(path());
    if (!store) ADD_FAILURE() << store.error().message;
    return store ? std::move(*store) : nullptr;
  }

 private:
  inline static int made_ = 0;
  const std::string folder_ = ::testing::TempDir() + "railcni-state-contract-" + std::to_string(::getpid()) +
                              "-" + std::to_string(++made_);
};

inline Attachment Draft(const std::string& container, const std::string& device = "") {
  Attachment draft;
  draft.key = {"rail0", container, "net1"};
  draft.device = device;
  return draft;
}

}  // namespace rail::state::testing
