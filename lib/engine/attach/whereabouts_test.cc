// Whether a pod lives, by whatever path its runtime names it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "lib/engine/testing/repair_fixture.h"

namespace rail::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::PodSpec;
using testing::RepairTest;

// A process in a network namespace of its own, as a sandbox's.
class Sandbox {
 public:
  explicit Sandbox(uid_t user = 0) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const char done = ::unshare(CLONE_NEWNET) == 0 && ::setresuid(user, user, user) == 0 ? 'y' : 'n';
      if (::write(ready[1], &done, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char done = 'n';
    EXPECT_EQ(::read(ready[0], &done, 1), 1);
    EXPECT_EQ(done, 'y') << "these tests need root";
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Sandbox() { End(); }
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;
  void End() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  std::string path() const { return "/proc/" + std::to_string(pid_) + "/ns/net"; }

 private:
  pid_t pid_ = 0;
};

class WhereaboutsTest : public RepairTest {
 protected:
  // A pod whose namespace the runtime names by `path`. It can be entered while `sandbox` lives.
  void AttachBy(const std::string& path) {
    const auto inside = netns::Netns::Open(path);
    ASSERT_TRUE(inside) << inside.error().message;
    pod = world.MakePod("p1", "ns-a", "vf0");
    pod.netns = path;
    pod.identity = inside->identity();
    Attach(pod, "10.0.3.1");
  }
  // The record says that the pod is at `path`; its device is where it was.
  void MoveTo(const std::string& path) {
    state::Attachment attachment = world.Attachment(pod);
    attachment.netns_path = path;
    ASSERT_TRUE(world.record.Put(attachment));
  }
  void AuditWithoutGrace() {
    raild = world.StartRaild(std::chrono::hours(0));
    Audit();
  }
  Whereabouts Look(int64_t booted_ms = 0) {
    Connections connections(world.deps().openers(world.config), After(std::chrono::seconds(5)));
    RecordReader reader(world.record);
    return LookFor(**reader.Read(), connections, booted_ms).at(world.Attachment(pod).id);
  }
};

// containerd and CRI-O mount the namespace on a file; cri-dockerd names the process.
TEST_F(WhereaboutsTest, ASandboxThatAProcessHoldsLivesAsLongAsTheProcess) {
  Sandbox sandbox;
  AttachBy(sandbox.path());
  AuditWithoutGrace();
  EXPECT_TRUE(world.FindAttachment(pod));
  EXPECT_TRUE(Look().visible);
  world.devices.KillNamespace(pod.identity);
  sandbox.End();
  AuditWithoutGrace();
  EXPECT_FALSE(world.FindAttachment(pod));
}

// The process of a sandbox is of another user (pause: 65535). In a container raild has no capability but those that it was given.
TEST_F(WhereaboutsTest, AProcessOfAnotherUserIsSeenOnlyWithTheCapabilityThatTheReasonNames) {
  Settle();
  const Sandbox sandbox(65535);
  MoveTo(sandbox.path());
  Whereabouts where;
  std::thread([&] {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
    ASSERT_EQ(::syscall(SYS_capget, &header, sets), 0);
    sets[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective &= ~CAP_TO_MASK(CAP_SYS_PTRACE);
    ASSERT_EQ(::syscall(SYS_capset, &header, sets), 0);
    where = Look();
  }).join();
  EXPECT_THAT(where.unseen, HasSubstr("needs the capability SYS_PTRACE"));
  EXPECT_EQ(where.pod, Whereabouts::Pod::kLives) << "its device is in it";
}

// Each is what raild sees in a container to which the host's folder was not given, or was given without propagation.
TEST_F(WhereaboutsTest, APodThatHasItsDeviceLivesWhateverItsPathShows) {
  Settle();
  const std::string folder = std::filesystem::path(pod.netns).parent_path();
  std::ofstream(folder + "/cni-5b7c") << "";  // the file that the runtime mounts upon
  for (const std::string& path :
       {folder + "/cni-5b7c", std::string("/var/lib/containerd-state/netns/cni-5b7c"),
        std::string("/var/run/crio-of-the-host/ns/5b7c"), folder + "/cni-that-is-not-there",
        std::string("/proc/4194399/ns/net"), std::string("/proc/self/ns/mnt")}) {
    SCOPED_TRACE(path);
    MoveTo(path);
    EXPECT_EQ(Look().pod, Whereabouts::Pod::kLives);
    AuditWithoutGrace();
    EXPECT_TRUE(world.FindAttachment(pod));
    EXPECT_THAT(world.RulesOf(pod), Not(IsEmpty()));
    EXPECT_TRUE(HasPort("rep0"));
  }
}

TEST_F(WhereaboutsTest, ANamespaceThatCannotBeSeenSaysWhatIsMissing) {
  Settle();
  const std::string folder = std::filesystem::path(pod.netns).parent_path();
  std::ofstream(folder + "/cni-5b7c") << "";
  MoveTo(folder + "/cni-5b7c");
  Audit();
  EXPECT_THAT(Problems(),
              ElementsAre(::testing::AllOf(HasSubstr("namespaces of pods: 1 of 1 cannot be seen"),
                                           HasSubstr(folder + " needs mountPropagation: HostToContainer"))));
  MoveTo("/var/lib/containerd-state/netns/cni-5b7c");
  Audit();
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("mount the host's /var/lib/containerd-state/netns there")));
  MoveTo(pod.netns);
  Audit();
  EXPECT_THAT(Problems(), IsEmpty());
}

// Nothing says that such a pod is gone.
TEST_F(WhereaboutsTest, ANamespaceThatCannotBeSeenStaysEvenWhenItsDeviceIsOnTheHost) {
  Settle();
  world.devices.Reset("vf0");
  MoveTo("/var/lib/containerd-state/netns/cni-5b7c");
  AuditWithoutGrace();
  EXPECT_TRUE(world.FindAttachment(pod));
}

// The kernel returns a physical device.
TEST_F(WhereaboutsTest, ANamespaceWhosePathIsGoneIsGoneWhenItsDeviceIsBack) {
  Settle();
  std::filesystem::remove(pod.netns);
  AuditWithoutGrace();
  EXPECT_TRUE(world.FindAttachment(pod)) << "its device is elsewhere";
  world.devices.Reset("vf0");
  AuditWithoutGrace();
  EXPECT_FALSE(world.FindAttachment(pod));
}

// Without a device that says more (another plugin has plumbed it), a missing mount hides every pod.
TEST_F(WhereaboutsTest, APathThatIsGoneCountsAloneOnlyIfItsFolderHoldsAnotherNamespace) {
  Settle();
  std::filesystem::remove(pod.netns);
  world.faults.down = {testing::Dependency::kNetlink};
  EXPECT_EQ(Look().pod, Whereabouts::Pod::kUnknown);
  world.MakePod("of-another-network", "ns-a", "vf1");
  EXPECT_EQ(Look().pod, Whereabouts::Pod::kGone);
}

TEST_F(WhereaboutsTest, OfPodsThatAreOlderThanTheBootOnlyThoseLiveThatSomethingSpeaksFor) {
  Settle();
  const int64_t booted = world.Attachment(pod).created_ms + 1;
  EXPECT_EQ(Look(booted).pod, Whereabouts::Pod::kLives) << "the clock was set";
  MoveTo("/var/lib/containerd-state/netns/cni-5b7c");
  EXPECT_EQ(Look(booted).pod, Whereabouts::Pod::kLives) << "its device is elsewhere";
  world.devices.Reset("vf0");
  EXPECT_EQ(Look(booted).pod, Whereabouts::Pod::kGone);
  EXPECT_EQ(Look(booted - 1).pod, Whereabouts::Pod::kUnknown);
}

// The path of a process leads to another pod's namespace, and the numbers of that are the same.
TEST_F(WhereaboutsTest, APodOfAnEarlierBootIsGoneWhateverItsPathLeadsToAndWhoeverHasItsDevice) {
  Settle();
  state::Attachment attachment = world.Attachment(pod);
  attachment.created_ms = 2;  // the clock was set back
  attachment.boot = netns::BootId();
  ASSERT_TRUE(world.record.Put(attachment));
  EXPECT_EQ(Look(3).pod, Whereabouts::Pod::kLives);
  attachment.boot = "0f1d9c6a-2f0e-4f6e-8d19-3f6c5b7a9e11";
  ASSERT_TRUE(world.record.Put(attachment));
  EXPECT_EQ(Look(1), (Whereabouts{.pod = Whereabouts::Pod::kGone, .device = device::Location::kElsewhere}));
  raild = world.StartRaild(std::chrono::hours(1));
  Audit();
  EXPECT_FALSE(world.FindAttachment(pod)) << "undone at once: the pods that come back want its device";
  EXPECT_FALSE(HasPort("rep0"));
}

TEST(BootedMs, IsReadFromTheKernel) {
  struct timespec up{};
  ASSERT_EQ(::clock_gettime(CLOCK_BOOTTIME, &up), 0);
  const int64_t expected = ::time(nullptr) - up.tv_sec;
  EXPECT_NEAR(static_cast<double>(BootedMs()) / 1000, static_cast<double>(expected), 5);
  EXPECT_EQ(BootedMs("/nowhere"), 0);
}

}  // namespace
}  // namespace rail::engine
