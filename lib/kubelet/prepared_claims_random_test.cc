// Random steps, against a model of who holds what; in a process that is killed, too.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <iostream>
#include <random>

#include "lib/kubelet/prepared_claims.h"
#include "lib/kubelet/testing/claims.h"
#include "lib/kubelet/testing/test_folder.h"

namespace rail::kubelet {
namespace {

namespace fs = std::filesystem;
using testing::Claim;
using testing::Edits;
using testing::kLong;
using testing::RefusalOf;
using testing::Tree;

using Devices = std::vector<AllocatedDevice>;
using Model = std::map<std::string, std::set<std::string>>;  // the devices of each claim, by uid

struct Step {
  std::string name;
  Devices devices;  // none: Unprepare
};

Step RandomStep(std::mt19937& random) {
  const auto below = [&](unsigned end) { return static_cast<int>(random() % end); };
  Step step{.name = std::string(1, static_cast<char>('a' + below(5)))};
  if (below(3) == 0) return step;
  // A claim mostly wants the same devices again.
  std::mt19937 choice(below(4) == 0 ? random() : static_cast<unsigned>(step.name[0]));
  std::set<int> vfs;
  for (unsigned i = 0; i <= choice() % 3; ++i) vfs.insert(static_cast<int>(choice() % 8));
  for (const int vf : vfs) step.devices.push_back(testing::Vf(vf, vf % 2 == 0 ? "rail0" : "rail1"));
  return step;
}

// Whether the step succeeds, and what is held then.
bool Apply(const Step& step, Model& model) {
  const std::string uid = Claim(step.name).uid;
  if (step.devices.empty()) {
    model.erase(uid);
    return true;
  }
  std::set<std::string> wanted;
  for (const AllocatedDevice& each : step.devices) wanted.insert(each.device);
  if (model.contains(uid)) return model.at(uid) == wanted;
  for (const auto& [other, held] : model)
    for (const std::string& device : held)
      if (wanted.contains(device)) return false;
  model[uid] = wanted;
  return true;
}

class Random : public ::testing::Test {
 protected:
  Result<PreparedClaims> Open(const std::string& boot = "") {
    return PreparedClaims::Open({.folder = Folder(), .cdi_folder = Cdi(), .boot = boot}, After(kLong));
  }
  std::string Folder() const { return folder_.path() + "/claims"; }
  std::string Cdi() const { return folder_.path() + "/cdi"; }
  static bool Do(PreparedClaims& claims, const Step& step) {
    if (step.devices.empty()) return claims.Unprepare(Claim(step.name).uid, After(kLong)).has_value();
    return claims.Prepare(Claim(step.name), step.devices, Edits, After(kLong)).has_value();
  }
  static Model Held(const PreparedClaims& claims) {
    Model model;
    const auto held = claims.Held();
    EXPECT_TRUE(held);
    for (const auto& [claim, devices, problem] : *held) {
      EXPECT_EQ(problem, "");
      for (const auto& each : devices) model[claim.uid].insert(each.device.device);
    }
    return model;
  }
  // Each claim has its record, its folder and, unless it is `stale`, its CDI file, and there is nothing else.
  void ExpectFilesOf(const Model& model, const std::set<std::string>& stale = {}) const {
    std::set<std::string> wanted = {"claims", "cdi", "claims/.lock"}, found;
    for (const auto& [uid, devices] : model) {
      wanted.insert({"claims/" + uid, "claims/" + uid + ".json"});
      if (!stale.contains(uid)) wanted.insert("cdi/railcni.io_rail_" + uid + ".json");
    }
    for (const auto& [path, content] : Tree(folder_.path())) {
      found.insert(path);
      if (path.starts_with("cdi/")) {
        EXPECT_EQ(RefusalOf(content), "") << path;
      }
    }
    EXPECT_EQ(found, wanted);
  }
  const testing::TestFolder folder_;
};

TEST_F(Random, TwoThousandStepsAreAsTheModelSays) {
  const testing::WithoutFlushes without_flushes;
  std::mt19937 random(20261128);
  Model model;
  std::set<std::string> stale;  // prepared before the last reboot
  int boot = 0, refused = 0;
  auto claims = Open("0");
  ASSERT_TRUE(claims) << claims.error().message;
  for (int i = 0; i < 2000 && !HasFailure(); ++i) {
    const Step step = RandomStep(random);
    const bool succeeds = Apply(step, model);
    refused += succeeds ? 0 : 1;
    EXPECT_EQ(Do(*claims, step), succeeds) << "step " << i;
    EXPECT_EQ(Held(*claims), model) << "step " << i;
    if (succeeds) stale.erase(Claim(step.name).uid);
    if (i % 10 != 0) continue;
    if (i % 30 == 0) fs::remove(Cdi() + "/railcni.io_rail_uid-a.json");
    if (i % 200 == 0) {
      ++boot;
      for (const auto& [uid, devices] : model) stale.insert(uid);
    }
    claims = Open(std::to_string(boot));
    ASSERT_TRUE(claims) << claims.error().message;
    ExpectFilesOf(model, stale);
  }
  EXPECT_GT(refused, 200) << "both kinds of steps have been taken";
}

struct Shared {
  std::atomic<int> done;  // steps of the child
};

TEST_F(Random, FortyKillsLeaveWhatWasDone) {
  auto* shared = static_cast<Shared*>(
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(shared, MAP_FAILED);
  Model model;
  int steps = 0, in_the_middle = 0;
  std::random_device seeds;
  for (int round = 0; round < 40 && !HasFailure(); ++round) {
    const unsigned seed = seeds();
    const std::string where = "round " + std::to_string(round) + ", seed " + std::to_string(seed);
    shared->done = 0;
    const pid_t child = ::fork();
    if (child == 0) {
      std::mt19937 random(seed);
      sigevent event{};
      event.sigev_notify = SIGEV_SIGNAL;
      event.sigev_signo = SIGKILL;
      timer_t timer{};
      const itimerspec when{.it_interval = {},
                            .it_value = {.tv_sec = 0, .tv_nsec = static_cast<long>(seed % 100'000'000) + 1}};
      if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
          ::timer_settime(timer, 0, &when, nullptr) != 0)
        ::_exit(1);
      auto claims = Open();
      if (!claims) ::_exit(2);
      for (;; ++shared->done) (void)Do(*claims, RandomStep(random));
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    std::mt19937 random(seed);
    for (int i = 0; i < shared->done; ++i) (void)Apply(RandomStep(random), model);
    const Step last = RandomStep(random);
    Model after = model;
    const bool succeeds = Apply(last, after);
    auto claims = Open();
    ASSERT_TRUE(claims) << claims.error().message << where;
    const Model held = Held(*claims);
    EXPECT_TRUE(held == model || held == after) << where;
    in_the_middle += held == after && after != model ? 1 : 0;
    ExpectFilesOf(held);
    EXPECT_EQ(Do(*claims, last), succeeds) << where;
    EXPECT_EQ(Held(*claims), after) << where;
    ExpectFilesOf(after);
    model = after;
    steps += shared->done;
  }
  std::cout << steps << " steps before 40 kills; after " << in_the_middle
            << " of them the step under way was done\n"
            << std::flush;
  EXPECT_GT(steps, 0);
  ::munmap(shared, sizeof(Shared));
}

}  // namespace
}  // namespace rail::kubelet
