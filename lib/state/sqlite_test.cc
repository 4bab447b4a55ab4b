#include "lib/state/sqlite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rail::state {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SqliteFile : public ::testing::Test {
 protected:
  SqliteFile() { std::filesystem::remove_all(folder_); }
  ~SqliteFile() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/lib/state.db"; }

  // As another program would.
  void Run(const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  static mode_t ModeOf(const std::string& path) {
    struct stat file{};
    EXPECT_EQ(::stat(path.c_str(), &file), 0) << path;
    return file.st_mode & 07777;
  }

  const std::string folder_ = ::testing::TempDir() + "railcni-sqlite-" + std::to_string(::getpid());
};

Attachment Draft(const std::string& container) {
  Attachment draft;
  draft.key = {"rail0", container, "net1"};
  return draft;
}

TEST_F(SqliteFile, IsMadeWithItsFoldersForUsAlone) {
  const mode_t umask = ::umask(022);
  const auto store = Sqlite::Open(path());
  ::umask(umask);
  ASSERT_TRUE(store) << store.error().message;
  ASSERT_TRUE((*store)->Create(Draft("c1")));
  EXPECT_EQ(ModeOf(path()), 0640U);
  EXPECT_EQ(ModeOf(path() + "-wal"), 0640U);
  EXPECT_EQ(ModeOf(folder_ + "/lib"), 0750U);
  EXPECT_EQ(ModeOf(folder_), 0750U);
}

TEST_F(SqliteFile, KeepsTheRecordAfterClosing) {
  {
    ASSERT_TRUE((*Sqlite::Open(path()))->Create(Draft("c1")));
  }
  const auto store = Sqlite::Open(path());
  ASSERT_TRUE(store);
  EXPECT_EQ((*store)->List()->size(), 1U);
}

TEST_F(SqliteFile, OfANewerFormatIsRefusedAndItsWriterNamed) {
  ASSERT_TRUE(Sqlite::Open(path()));
  Run("UPDATE meta SET written_by = '9.8.7'; PRAGMA user_version = 5");
  const auto store = Sqlite::Open(path());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::kUnsupported);
  EXPECT_THAT(store.error().message,
              AllOf(HasSubstr("format 5"), HasSubstr("RailCNI 9.8.7"), HasSubstr(path())));
}

// As the last version with format 1 left it.
constexpr const char* kBackToFormat1 = R"(
UPDATE attachment SET tenant_id = '';
ALTER TABLE attachment DROP COLUMN tenant_id;
ALTER TABLE attachment ADD COLUMN tenant_id INTEGER NOT NULL DEFAULT 0;
UPDATE attachment SET tenant_id = 0xb04ca063c6b14d WHERE tenant <> '';
ALTER TABLE attachment DROP COLUMN boot;
ALTER TABLE attachment DROP COLUMN route_table;
ALTER TABLE attachment DROP COLUMN route_rule;
ALTER TABLE attachment DROP COLUMN leaving;
ALTER TABLE attachment DROP COLUMN leaving_ms;
PRAGMA user_version = 1)";

TEST_F(SqliteFile, OfFormat1KeepsItsTenantsIds) {
  {
    const auto store = Sqlite::Open(path());
    Attachment in_a_tenant = Draft("c1");
    in_a_tenant.tenant = "team";
    in_a_tenant.tenant_id = {1, 2};
    ASSERT_TRUE((*store)->Create(in_a_tenant));
    ASSERT_TRUE((*store)->Create(Draft("c2")));
  }
  Run(kBackToFormat1);
  const auto untouched = Sqlite::OpenAsItIs(path());
  ASSERT_FALSE(untouched);
  EXPECT_EQ(untouched.error().code, Code::kBusy);
  EXPECT_THAT(untouched.error().message,
              AllOf(HasSubstr("format 1"), HasSubstr("format 4"), HasSubstr(path())));
  const auto store = Sqlite::Open(path());
  ASSERT_TRUE(store) << store.error().message;
  const auto list = (*store)->List();
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->at(0).tenant_id, (tenancy::TenantId{0, 0xb04ca063c6b14d}));
  EXPECT_TRUE(list->at(1).tenant_id.is_none());
  EXPECT_TRUE(Sqlite::OpenAsItIs(path()));
}

TEST_F(SqliteFile, WithADamagedTenantIdIsAnError) {
  {
    ASSERT_TRUE((*Sqlite::Open(path()))->Create(Draft("c1")));
  }
  Run("UPDATE attachment SET tenant_id = 'no hexadecimal digits at all'");
  const auto list = (*Sqlite::Open(path()))->List();
  ASSERT_FALSE(list);
  EXPECT_THAT(list.error().message, ::testing::ContainsRegex("attachment [0-9]+ is damaged"));
}

TEST_F(SqliteFile, LeftEmptyByADeadCreatorIsFilled) {
  std::filesystem::create_directories(folder_ + "/lib");
  {
    std::ofstream empty(path());
  }
  const auto store = Sqlite::Open(path());
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_TRUE((*store)->Create(Draft("c1")));
}

TEST_F(SqliteFile, ThatIsNoDatabaseIsAnErrorThatSaysSo) {
  std::filesystem::create_directories(folder_ + "/lib");
  std::ofstream(path()) << std::string(8192, 'x');
  const auto store = Sqlite::Open(path());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::kDamaged);
  EXPECT_THAT(store.error().message, AllOf(HasSubstr("damaged"), HasSubstr(path())));
}

TEST_F(SqliteFile, WithADamagedAddressIsAnError) {
  {
    ASSERT_TRUE((*Sqlite::Open(path()))->Create(Draft("c1")));
  }
  Run("UPDATE attachment SET addresses = '10.0.0.1,oops'");
  const auto list = (*Sqlite::Open(path()))->List();
  ASSERT_FALSE(list);
  EXPECT_THAT(list.error().message, ::testing::ContainsRegex("attachment [0-9]+ is damaged"));
}

TEST_F(SqliteFile, LockedByAnotherIsTriedAgainThenReported) {
  const auto store = Sqlite::OpenWaiting(path(), std::chrono::milliseconds(50));
  ASSERT_TRUE(store);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const auto created = (*store)->Create(Draft("c1"));
  EXPECT_TRUE((*store)->List()) << "readers need no lock";
  sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, Code::kTransient);
  EXPECT_THAT(created.error().message, AllOf(HasSubstr("locked"), HasSubstr("50 ms"), HasSubstr(path())));
  EXPECT_TRUE((*store)->Create(Draft("c1"))) << "the store works again afterwards";
}

TEST_F(SqliteFile, InAFolderThatCannotBeMadeIsAnErrorWithTheReason) {
  std::ofstream(folder_) << "a file where the folder should be";
  const auto store = Sqlite::Open(path());
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, HasSubstr(folder_));
}

TEST_F(SqliteFile, UsesTheSettingsOfTheFormat) {
  ASSERT_TRUE(Sqlite::Open(path()));
  auto db = Database::Open(path(), std::chrono::seconds(1));
  ASSERT_TRUE(db);
  const auto ask = [&](const char* pragma) {
    auto read = (*db)->Prepare(pragma);
    EXPECT_TRUE(*read->Step());
    return read->Text(0);
  };
  EXPECT_EQ(ask("PRAGMA journal_mode"), "wal");
  EXPECT_EQ(ask("PRAGMA synchronous"), "1");
  EXPECT_EQ(ask("PRAGMA foreign_keys"), "1");
  EXPECT_EQ(ask("PRAGMA user_version"), "4");
}

}  // namespace
}  // namespace rail::state
