// Prepare, Unprepare and Open killed before each call that changes a file: this program's own definitions of these calls stand before
// the C library's.
#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <iostream>
#include <memory>
#include <string_view>
#include <utility>

#include "lib/kubelet/prepared_claims.h"
#include "lib/kubelet/testing/claims.h"
#include "lib/kubelet/testing/test_folder.h"

namespace {

struct Killing {
  int at = 0;  // the call before which the process dies; 0: it lives
  int calls = 0;
  int names = -1;  // a pipe that gets the name of each call; -1: nobody counts
} g_killing;

template <class Function, class... Arguments>
auto Real(const char* name, Function* function, Arguments... arguments) {
  if (g_killing.names >= 0) {
    if (++g_killing.calls == g_killing.at) ::kill(::getpid(), SIGKILL);
    const int names = std::exchange(g_killing.names, -1);  // the pipe's own write is not one
    (void)!::write(names, name, std::string_view(name).size());
    (void)!::write(names, " ", 1);
    g_killing.names = names;
  }
  using Answer = decltype(std::declval<Function*>()(arguments...));
  return function == nullptr ? Answer{} : reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name))(arguments...);
}

}  // namespace

extern "C" {
int mkostemp(char* path, int flags) {
  return Real("mkostemp", &mkostemp, path, flags);
}
ssize_t write(int file, const void* data, size_t size) {
  return Real("write", &write, file, data, size);
}
int fchmod(int file, mode_t mode) noexcept {
  return Real("fchmod", &fchmod, file, mode);
}
int chmod(const char* path, mode_t mode) noexcept {
  return Real("chmod", &chmod, path, mode);
}
int fsync(int file) {
  return Real("fsync", rail::kubelet::testing::flushes ? &fsync : nullptr, file);
}
int rename(const char* from, const char* to) noexcept {
  return Real("rename", &rename, from, to);
}
int mkdir(const char* path, mode_t mode) noexcept {
  return Real("mkdir", &mkdir, path, mode);
}
int unlink(const char* path) noexcept {
  return Real("unlink", &unlink, path);
}
int remove(const char* path) noexcept {
  return Real("remove", &remove, path);
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  return Real("unlinkat", &unlinkat, folder, path, flags);
}
}

namespace rail::kubelet {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::Claim;
using testing::Edits;
using ::testing::HasSubstr;
using testing::kLong;
using ::testing::StartsWith;
using testing::Tree;
using testing::Vf;

using Devices = std::vector<AllocatedDevice>;

const Devices kDevices = {Vf(1), Vf(2), Vf(3, "rail1")};

Result<Allocation> OtherEdits(const std::string&, const Devices&) {
  return Allocation{.envs = {{"PCIDEVICE_RAIL", "other"}}};
}

class CrashAtEachStep : public ::testing::Test {
 protected:
  using Step = std::function<Status()>;

  // As one process after another: each opens what the last one has left.
  Result<PreparedClaims> Open(const std::string& boot = "boot1") {
    return PreparedClaims::Open({.folder = Folder(), .cdi_folder = Cdi(), .boot = boot}, After(kLong));
  }
  Status Prepare(const std::string& name, const Devices& devices, const std::string& boot = "boot1") {
    RAIL_ASSIGN(PreparedClaims claims, Open(boot));
    RAIL_TRY(claims.Prepare(Claim(name), devices, boot == "boot1" ? Edits : OtherEdits, After(kLong)));
    return {};
  }
  Status Unprepare(const std::string& name) {
    RAIL_ASSIGN(PreparedClaims claims, Open());
    return claims.Unprepare(Claim(name).uid, After(kLong));
  }
  std::string Folder() const { return folder_->path() + "/claims"; }
  std::string Cdi() const { return folder_->path() + "/cdi"; }

  // Runs `step` in a process that dies before its call number `at`. The names of the calls; "killed" last if it has died.
  std::string Run(const Step& step, int at) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      g_killing = {.at = at, .names = ends[1]};
      const Status done = step();
      g_killing.names = -1;
      if (!done) std::cerr << done.error().message << "\n";
      ::_exit(done ? 0 : 1);
    }
    ::close(ends[1]);
    std::string names;
    char piece[256];
    for (ssize_t n = 0; (n = ::read(ends[0], piece, sizeof piece)) > 0;)
      names.append(piece, static_cast<size_t>(n));
    ::close(ends[0]);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return names + "killed";
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << names;
    return names;
  }

  // A CDI file or a folder of a claim is there only while its record is.
  void ExpectRecordsFirstAndLast(const std::string& where) const {
    for (const auto& each : fs::directory_iterator(Folder())) {
      if (each.is_directory() && each.path().filename() != "uid-gone") {
        EXPECT_TRUE(fs::exists(each.path().string() + ".json")) << each << where;
      }
    }
    for (const auto& each : fs::directory_iterator(Cdi())) {
      const std::string name = each.path().filename();
      if (name.starts_with("railcni.io_rail_")) {
        EXPECT_TRUE(fs::exists(Folder() + "/" + name.substr(16))) << each << where;
      }
    }
  }
  std::vector<std::string> Holders(int vf) {
    std::vector<std::string> uids;
    const auto held = Open()->Held();
    for (const auto& [claim, devices, problem] : *held) {
      EXPECT_EQ(problem, "");
      for (const auto& each : devices)
        if (each.device.device == Vf(vf).device) uids.push_back(claim.uid);
    }
    return uids;
  }

  // `step` after `before`, killed before each of its calls; then the same again, and in another run a claim that wants its devices.
  // Returns the names of a whole run's calls.
  std::string Matrix(const Step& before, const Step& step) {
    const auto begin_anew = [&] {
      folder_ = std::make_unique<testing::TestFolder>();
      const Status other = Prepare("bystander", {Vf(9)});
      EXPECT_TRUE(other) << other.error().message;
      const Status ready = before();
      EXPECT_TRUE(ready) << ready.error().message;
    };
    begin_anew();
    const std::string whole = Run(step, 0);
    const auto wanted = Tree(folder_->path());
    for (int at = 1;; ++at) {
      begin_anew();
      const std::string names = Run(step, at);
      if (!names.ends_with("killed")) {
        EXPECT_EQ(names, whole);
        std::cout << at - 1 << " steps: " << whole << "\n" << std::flush;  // each child inherits what is not
        return whole;
      }
      const std::string where = ", killed after: " + names;
      ExpectRecordsFirstAndLast(where);
      const Status again = step();
      EXPECT_TRUE(again) << again.error().message << where;
      EXPECT_EQ(Tree(folder_->path()), wanted) << where;

      begin_anew();
      (void)Run(step, at);
      const bool is_held = fs::exists(Folder() + "/uid-a.json");
      EXPECT_EQ(Prepare("b", kDevices).has_value(), !is_held) << where;
      EXPECT_THAT(Holders(1), ::testing::ElementsAre(is_held ? "uid-a" : "uid-b")) << where;
      for (const std::string name : {"a", "b", "bystander"}) EXPECT_TRUE(Unprepare(name)) << where;
      EXPECT_EQ(Tree(folder_->path()),
                (std::map<std::string, std::string>{
                    {"claims", "(folder)"}, {"cdi", "(folder)"}, {"claims/.lock", ""}}))
          << where;
    }
  }

  const testing::WithoutFlushes without_flushes_;
  std::unique_ptr<testing::TestFolder> folder_;
};

Status Nothing() {
  return {};
}

constexpr char kWritten[] = "mkostemp write fchmod fsync rename fsync ";

TEST_F(CrashAtEachStep, OfPrepare) {
  const std::string calls = Matrix(Nothing, [&] { return Prepare("a", kDevices); });
  EXPECT_EQ(calls, std::string(kWritten) + "mkdir chmod " + kWritten)
      << "the record, its folder, its CDI file";
}

TEST_F(CrashAtEachStep, OfPrepareAgain) {
  const auto half = [&]() -> Status {
    RAIL_TRY(Prepare("a", kDevices));
    fs::remove(Cdi() + "/railcni.io_rail_uid-a.json");
    return {};
  };
  EXPECT_EQ(Matrix(half, [&] { return Prepare("a", kDevices); }), kWritten) << "the CDI file";
}

TEST_F(CrashAtEachStep, OfPrepareAfterAReboot) {
  const std::string calls =
      Matrix([&] { return Prepare("a", kDevices); }, [&] { return Prepare("a", kDevices, "boot2"); });
  EXPECT_THAT(calls, ::testing::EndsWith(std::string(kWritten) + kWritten)) << "the record, its CDI file";
}

TEST_F(CrashAtEachStep, OfUnprepare) {
  const auto with_metadata = [&]() -> Status {
    RAIL_TRY(Prepare("a", kDevices));
    fs::create_directory(Folder() + "/uid-a/rail0");
    std::ofstream(Folder() + "/uid-a/rail0/file") << "x";
    return {};
  };
  const std::string calls = Matrix(with_metadata, [&] { return Unprepare("a"); });
  EXPECT_THAT(calls, ::testing::MatchesRegex("unlink fsync (unlinkat |remove )+unlink fsync "))
      << "CDI file, folder, record";
}

TEST_F(CrashAtEachStep, OfOpen) {
  const auto mess = [&]() -> Status {
    RAIL_TRY(Prepare("a", kDevices));
    fs::remove(Cdi() + "/railcni.io_rail_uid-a.json");
    fs::create_directory(Folder() + "/uid-gone");
    for (const std::string& path :
         {Folder() + "/.uid-gone.json.railcni-AbCdEf", Cdi() + "/.railcni.io_rail_x.json.railcni-AbCdEf"})
      std::ofstream(path) << "{";
    return {};
  };
  const auto open = [&]() -> Status {
    RAIL_TRY(Open());
    return {};
  };
  EXPECT_THAT(Matrix(mess, open), AllOf(StartsWith(kWritten), HasSubstr("unlink "), HasSubstr("remove ")));
}

}  // namespace
}  // namespace rail::kubelet
