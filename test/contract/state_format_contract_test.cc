// A record of another format: forward it goes whole and once, backward not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "lib/state/schema.h"
#include "test/contract/state_record.h"

namespace rail::state {
namespace {

using testing::Draft;
using ::testing::HasSubstr;
using testing::SqliteRecord;

// What brings a file of today's format back to an earlier one, as the last version of that format left it.
struct Earlier {
  int64_t format;
  const char* sql;
};
constexpr Earlier kEarlier[] = {{1, R"(
ALTER TABLE attachment DROP COLUMN boot;
UPDATE attachment SET tenant_id = '';
ALTER TABLE attachment DROP COLUMN tenant_id;
ALTER TABLE attachment ADD COLUMN tenant_id INTEGER NOT NULL DEFAULT 0;
UPDATE attachment SET tenant_id = 0xb04ca063c6b14d WHERE tenant <> '';
ALTER TABLE attachment DROP COLUMN route_table;
ALTER TABLE attachment DROP COLUMN route_rule;
ALTER TABLE attachment DROP COLUMN leaving;
ALTER TABLE attachment DROP COLUMN leaving_ms;
UPDATE meta SET written_by = '0.0.1';
PRAGMA user_version = 1)"},
                                {2, R"(
ALTER TABLE attachment DROP COLUMN boot;
ALTER TABLE attachment DROP COLUMN route_table;
ALTER TABLE attachment DROP COLUMN route_rule;
ALTER TABLE attachment DROP COLUMN leaving;
ALTER TABLE attachment DROP COLUMN leaving_ms;
UPDATE meta SET written_by = '0.0.2';
PRAGMA user_version = 2)"},
                                {3, R"(
ALTER TABLE attachment DROP COLUMN boot;
ALTER TABLE attachment DROP COLUMN route_table;
ALTER TABLE attachment DROP COLUMN route_rule;
ALTER TABLE attachment DROP COLUMN leaving;
ALTER TABLE attachment DROP COLUMN leaving_ms;
UPDATE meta SET written_by = '0.0.3';
PRAGMA user_version = 3)"}};

// As another program would.
std::string Ask(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  std::string answer;
  EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  const auto keep = [](void* to, int, char** values, char**) {
    *static_cast<std::string*>(to) = values[0] == nullptr ? "" : values[0];
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(db, sql, keep, &answer, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
  return answer;
}

std::string Bytes(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

// An attachment with all that hangs on it. Returns it as the store has it.
Attachment Fill(SqliteRecord& record) {
  const auto store = record.Connect();
  Attachment draft = Draft("c1", "vf0");
  draft.rail = "rail0";
  draft.pod_name = "a1";
  draft.tenant = "team";
  draft.tenant_id = {0, 0xb04ca063c6b14d};
  const auto made = store->Create(draft);
  EXPECT_TRUE(made);
  EXPECT_TRUE(store->Claim(made->id, ClaimKind::kPort, "rep0"));
  EXPECT_TRUE(store->RecordStep(made->id, "ovs-provider", "port", R"({"bridge": "br-rail0"})"));
  EXPECT_TRUE(store->SetPhase(made->id, Phase::kReady));
  return store->Find(made->key).value().value();
}

TEST(SqliteFormat, AnEarlierOneComesForwardWhole) {
  for (const Earlier& earlier : kEarlier) {
    SCOPED_TRACE(earlier.format);
    SqliteRecord record;
    const Attachment before = Fill(record);
    Ask(record.path(), earlier.sql);
    const auto store = record.Connect();
    ASSERT_TRUE(store);
    EXPECT_EQ(store->List().value(), std::vector<Attachment>{before});
    ASSERT_EQ(store->Steps(before.id)->size(), 1U);
    EXPECT_EQ(store->Steps(before.id)->at(0).detail, R"({"bridge": "br-rail0"})");
    EXPECT_EQ(store->OwnerOf(ClaimKind::kDevice, "vf0").value(), before.id);
    EXPECT_EQ(store->OwnerOf(ClaimKind::kPort, "rep0").value(), before.id);
    EXPECT_EQ(Ask(record.path(), "PRAGMA user_version"), std::to_string(kFormatVersion));
    EXPECT_EQ(Ask(record.path(), "SELECT written_by FROM meta"), kProductVersion);
    EXPECT_EQ(Ask(record.path(), "PRAGMA foreign_key_check"), "");
    EXPECT_NE(store->Create(Draft("c2"))->id, before.id);
  }
}

// After an upgrade, raild and the plugins of many pods open the file at the same time.
TEST(SqliteFormat, ManyThatBringItForwardAtOnceAllFindItThere) {
  constexpr int kProcesses = 16;
  SqliteRecord record;
  const Attachment before = Fill(record);
  Ask(record.path(), kEarlier[0].sql);
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto store = Sqlite::Open(record.path());
      const auto list = store ? (*store)->List() : Result<std::vector<Attachment>>();
      ::_exit(store && list && *list == std::vector<Attachment>{before} ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

TEST(SqliteFormat, AnEarlierOneThatCannotComeForwardStaysAsItWas) {
  SqliteRecord record;
  Fill(record);
  Ask(record.path(), kEarlier[0].sql);
  Ask(record.path(),
      "ALTER TABLE attachment ADD COLUMN old_id INTEGER");  // in the way of the first statement
  EXPECT_FALSE(Sqlite::Open(record.path()));
  EXPECT_EQ(Ask(record.path(), "PRAGMA user_version"), "1");
  EXPECT_EQ(Ask(record.path(), "SELECT tenant_id FROM attachment"), std::to_string(0xb04ca063c6b14d));
}

TEST(SqliteFormat, ANewerOneIsRefusedInWordsAndLeftAlone) {
  SqliteRecord record;
  Fill(record);
  const std::string newer = std::to_string(kFormatVersion + 1);
  Ask(record.path(), ("UPDATE meta SET written_by = '9.8.7'; PRAGMA user_version = " + newer +
                      "; PRAGMA wal_checkpoint(TRUNCATE)")
                         .c_str());
  const std::string before = Bytes(record.path());
  for (const auto open : {Sqlite::Open, Sqlite::OpenAsItIs}) {
    const auto store = open(record.path());
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, Code::kUnsupported);
    EXPECT_THAT(store.error().message,
                HasSubstr(record.path() + ": has format " + newer + ", written by RailCNI 9.8.7; this is "));
    EXPECT_THAT(store.error().message, HasSubstr("install the newer version again"));
  }
  EXPECT_EQ(Bytes(record.path()), before);
}

}  // namespace
}  // namespace rail::state
