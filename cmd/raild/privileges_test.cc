#include "cmd/raild/privileges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

namespace rail::raild {
namespace {

// "CapEff" -> its bits, as /proc/PID/status has them.
std::map<std::string, uint64_t> Sets(const std::string& file) {
  std::map<std::string, uint64_t> sets;
  std::ifstream status(file);
  for (std::string key, value; status >> key >> value;) {
    if (key.starts_with("Cap")) sets[key] = std::strtoull(value.c_str(), nullptr, 16);
  }
  return sets;
}

// All sets of a process that has dropped its privileges: raild's own, which no execve has narrowed yet.
TEST(Privileges, NothingButWhatIsNeededStays) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has something to give up";
  const pid_t child = ::fork();
  if (child == 0) {
    if (!DropPrivileges()) ::_exit(1);
    auto sets = Sets("/proc/self/status");
    int too_much = 0;
    for (const char* set : {"CapEff:", "CapPrm:", "CapInh:", "CapAmb:"})
      too_much += (sets.at(set) & ~NeededCapabilities()) != 0 ? 1 : 0;
    ::_exit(too_much == 0 ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// As a container's runtime, or systemd, has chosen: the bounding set lacks CAP_SETPCAP.
TEST(Privileges, LookingIntoProcessesStaysOnlyWhereItWasGivenByName) {
  const uint64_t ptrace = uint64_t{1} << CAP_SYS_PTRACE;
  if ((Sets("/proc/self/status")["CapEff:"] & ptrace) == 0) GTEST_SKIP() << "nobody has it here";
  for (const bool by_name : {true, false}) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (by_name && ::prctl(PR_CAPBSET_DROP, CAP_SETPCAP, 0, 0, 0) != 0) ::_exit(1);
      if (!DropPrivileges()) ::_exit(2);
      const bool stays = (Sets("/proc/self/status")["CapEff:"] & ptrace) != 0;
      ::_exit(stays == by_name ? 0 : 3);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << by_name;
  }
}

TEST(Privileges, NothingComesBackThroughExecve) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has something to give up";
  const std::string file = ::testing::TempDir() + "/status-" + std::to_string(::getpid());
  const pid_t child = ::fork();
  if (child == 0) {
    if (!DropPrivileges()) ::_exit(1);
    ::execl("/bin/cp", "cp", "/proc/self/status", file.c_str(), nullptr);
    ::_exit(2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  auto sets = Sets(file);
  ::unlink(file.c_str());
  ASSERT_EQ(sets.count("CapEff:"), 1U);
  for (const char* set : {"CapEff:", "CapPrm:", "CapBnd:", "CapInh:", "CapAmb:"}) {
    EXPECT_EQ(sets[set] & ~NeededCapabilities(), 0U) << set;
  }
  EXPECT_EQ(sets["CapEff:"], Sets("/proc/self/status")["CapEff:"] & NeededCapabilities());
}

}  // namespace
}  // namespace rail::raild
