// What only SQLite's file can show: many processes, and a disk that is full or read-only.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "test/contract/state_record.h"

namespace rail::state {
namespace {

using testing::Draft;
using testing::SqliteRecord;

// Runs `body(i)` in `count` processes that start together; returns how many of them returned true.
int CountSuccesses(int count, const std::function<bool(int)>& body) {
  int start[2];
  if (::pipe(start) != 0) return -1;
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(start[1]);
      char unused;
      (void)!::read(start[0], &unused, 1);  // ends when the parent closes its side
      ::_exit(body(i) ? 0 : 1);
    }
    if (child > 0) children.push_back(child);
  }
  ::close(start[0]);
  ::close(start[1]);
  int successes = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) ++successes;
  }
  return successes;
}

void Tell(const Error& error) {
  (void)!::write(2, (error.message + "\n").c_str(), error.message.size() + 1);
}

TEST(SqliteProcesses, OneOfManyGetsTheDeviceOfAFileThatIsNotThereYet) {
  SqliteRecord record;
  const int winners = CountSuccesses(32, [&](int i) {
    auto store = Sqlite::Open(record.path());
    if (!store) return Tell(store.error()), false;
    const auto created = (*store)->Create(Draft("c" + std::to_string(i), "vf0"));
    if (!created && created.error().code != Code::kBusy) Tell(created.error());
    return created.has_value();
  });
  EXPECT_EQ(winners, 1);
  EXPECT_EQ(record.Connect()->List()->size(), 1U);
}

TEST(SqliteProcesses, AllSucceedWhenTheyDoNotCollide) {
  SqliteRecord record;
  const auto attach = [&](int i) -> Status {
    for (int round = 0; round < 3; ++round) {
      RAIL_ASSIGN(auto store, Sqlite::Open(record.path()));
      RAIL_ASSIGN(const Attachment a,
                  store->Create(Draft("c" + std::to_string(i), "vf" + std::to_string(i))));
      RAIL_ASSIGN(const int64_t step, store->RecordStep(a.id, "ovs-provider", "port", "{}"));
      RAIL_TRY(store->ForgetStep(step));
      RAIL_TRY(store->Remove(a.id));
    }
    return {};
  };
  const int successes = CountSuccesses(64, [&](int i) {
    const auto done = attach(i);
    if (!done) Tell(done.error());
    return done.has_value();
  });
  EXPECT_EQ(successes, 64);
  EXPECT_TRUE(record.Connect()->List()->empty());
}

// A daemon keeps the file open for months.
TEST(SqliteFile, ARecordThatWasReplacedJudgesNothingOnceAndIsReadAnew) {
  for (const std::string how : {"moved away", "removed", "emptied", "another in its place"}) {
    SCOPED_TRACE(how);
    SqliteRecord record;
    const auto daemon = record.Connect();
    ASSERT_TRUE(daemon->Create(Draft("c1", "vf0")));
    const int64_t before = daemon->Version().value();
    if (how == "moved away") std::filesystem::rename(record.path(), record.path() + ".old");
    if (how == "removed") {
      for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(record.path() + suffix);
    }
    if (how == "emptied") std::filesystem::resize_file(record.path(), 0);
    if (how == "another in its place") {
      SqliteRecord other;
      ASSERT_TRUE(other.Connect()->Create(Draft("c7", "vf7")));
      for (const char* suffix : {"", "-wal", "-shm"})
        std::filesystem::rename(other.path() + suffix, record.path() + suffix);
    }
    const auto version = daemon->Version();
    ASSERT_FALSE(version);
    EXPECT_EQ(version.error().code, Code::kTransient);
    EXPECT_NE(version.error().message.find("replaced"), std::string::npos) << version.error().message;
    const auto now = daemon->Version();
    ASSERT_TRUE(now) << now.error().message;
    EXPECT_NE(*now, before);
    const auto plugin = record.Connect();
    ASSERT_TRUE(plugin->Create(Draft("c2", "vf1")));
    EXPECT_EQ(daemon->List()->size(), how == "another in its place" ? 2U : 1U);
    EXPECT_NE(daemon->Version().value(), *now);
    ASSERT_TRUE(daemon->Create(Draft("c3", "vf2")));
    EXPECT_EQ(plugin->List()->size(), daemon->List()->size());
  }
}

// Ports and rules of a record that was lost are still in the switch, under the ids of its attachments.
TEST(SqliteFile, TwoRecordsGiveDifferentIds) {
  SqliteRecord first;
  SqliteRecord second;
  const int64_t one = first.Connect()->Create(Draft("c1", "vf0"))->id;
  EXPECT_NE(one, second.Connect()->Create(Draft("c1", "vf0"))->id);
  EXPECT_GE(one, 0x400000);
  EXPECT_LE(one, 0x800000) << "half of the 24 bits of a cookie are left";
}

TEST(SqliteProcesses, WhatADeadProcessHasRecordedIsThere) {
  SqliteRecord record;
  const int returned = CountSuccesses(1, [&](int) -> bool {
    auto store = Sqlite::Open(record.path());
    const auto a = (*store)->Create(Draft("c1", "vf0"));
    (void)(*store)->RecordStep(a->id, "ovs-provider", "port", "{}");
    ::kill(::getpid(), SIGKILL);
    return true;
  });
  EXPECT_EQ(returned, 0);
  const auto store = record.Connect();
  const auto list = store->List();
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 1U);
  EXPECT_EQ(store->Steps((*list)[0].id)->size(), 1U);
}

// A file system of its own, 256 KiB large, in a mount namespace of a process of its own.
class SqliteOnASmallDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root: mounts a file system in a mount namespace of its own";
  }

  // True when `body`, run in the child on the mounted folder, returned true.
  bool Run(const std::function<bool(const std::string& folder)>& body) {
    const std::string folder = ::testing::TempDir() + "railcni-disk-" + std::to_string(::getpid());
    std::filesystem::create_directories(folder);
    const int successes = CountSuccesses(1, [&](int) {
      return ::unshare(CLONE_NEWNS) == 0 &&
             ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
             ::mount("none", folder.c_str(), "tmpfs", 0, "size=256k") == 0 && body(folder);
    });
    std::filesystem::remove(folder);
    return successes == 1;
  }

  // True when `error` has `code` and names `path`; else tells what it was.
  static bool Is(const Error& error, Code code, const std::string& path) {
    if (error.code == code && error.message.find(path) != std::string::npos) return true;
    return Tell(error), false;
  }
};

TEST_F(SqliteOnASmallDisk, IsTransientWhenFullAndWorksWhenThereIsRoomAgain) {
  EXPECT_TRUE(Run([](const std::string& folder) {
    const std::string path = folder + "/state.db";
    auto store = Sqlite::Open(path);
    if (!store) return Tell(store.error()), false;
    for (int i = 0;; ++i) {
      auto created = (*store)->Create(Draft("c" + std::to_string(i)));
      if (created) continue;
      if (!Is(created.error(), Code::kTransient, path)) return false;
      if (created.error().message.find("disk is full") == std::string::npos)
        return Tell(created.error()), false;
      if ((*store)->List()->size() != static_cast<size_t>(i)) return false;
      if (::mount("none", folder.c_str(), nullptr, MS_REMOUNT, "size=4m") != 0) return false;
      created = (*store)->Create(Draft("last"));
      if (!created) return Tell(created.error()), false;
      return true;
    }
  }));
}

TEST_F(SqliteOnASmallDisk, IsPermissionWhenReadOnly) {
  EXPECT_TRUE(Run([](const std::string& folder) {
    const std::string path = folder + "/state.db";
    if (auto store = Sqlite::Open(path); !store) return Tell(store.error()), false;
    if (::mount("none", folder.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) return false;
    const auto there = Sqlite::Open(path);
    const auto not_there = Sqlite::Open(folder + "/sub/state.db");
    return !there && Is(there.error(), Code::kPermission, path) && !not_there &&
           Is(not_there.error(), Code::kPermission, folder + "/sub");
  }));
}

TEST_F(SqliteOnASmallDisk, IsReadAsItIsWhenReadOnly) {
  EXPECT_TRUE(Run([](const std::string& folder) {
    const std::string path = folder + "/state.db";
    {
      auto store = Sqlite::Open(path);
      if (!store) return Tell(store.error()), false;
      const auto made = (*store)->Create(Draft("c1", "vf0"));
      if (!made || !(*store)->RecordStep(made->id, "p", "k", "")) return false;
    }
    if (::mount("none", folder.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) return false;
    auto store = Sqlite::OpenAsItIs(path);
    if (!store) return Tell(store.error()), false;
    const auto all = (*store)->List();
    if (!all) return Tell(all.error()), false;
    if (all->size() != 1 || (*store)->Steps((*all)[0].id)->size() != 1) return false;
    const Status written = (*store)->SetPhase((*all)[0].id, Phase::kDeleting);
    const auto nothing = Sqlite::OpenAsItIs(folder + "/other.db");
    return !written && Is(written.error(), Code::kPermission, path) && !nothing &&
           Is(nothing.error(), Code::kNotFound, folder + "/other.db");
  }));
}

}  // namespace
}  // namespace rail::state
