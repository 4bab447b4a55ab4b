#include "lib/netlink/netns.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "lib/netlink/sysfs_view.h"
#include "lib/netlink/testing/scratch.h"

namespace rail::netns {
namespace {

TEST(Netns, RunsTheBodyInsideAndLeavesTheCallersThreadWhereItIs) {
  const Netns pod = testing::MakeScratch();
  const auto before = Netns::Current();
  ASSERT_TRUE(before);
  EXPECT_NE(before->identity(), pod.identity());

  Identity inside;
  const Status status = pod.Run([&]() -> Status {
    RAIL_ASSIGN(const Netns here, Netns::Current());
    inside = here.identity();
    return {};
  });
  EXPECT_TRUE(status) << status.error().message;
  EXPECT_EQ(inside, pod.identity());
  EXPECT_EQ(Netns::Current()->identity(), before->identity());
}

TEST(Netns, HasTheSameIdentityByWhateverPath) {
  const auto one = Netns::Open("/proc/self/ns/net");
  const auto other = Netns::Open("/proc/" + std::to_string(::getpid()) + "/ns/net");
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->identity(), other->identity());
}

// The kernel counts inodes of namespaces anew after a boot.
TEST(Netns, HasAnIdentityOfOneBoot) {
  const Identity here = Netns::Current()->identity();
  EXPECT_EQ(here.boot.size(), 36U);
  EXPECT_EQ(here, (Identity{here.device, here.inode, ""})) << "an earlier version did not record the boot";
  EXPECT_NE(here, (Identity{here.device, here.inode, "0f1d9c6a-2f0e-4f6e-8d19-3f6c5b7a9e11"}));
  EXPECT_NE(here, (Identity{here.device, here.inode + 1, here.boot}));
}

TEST(Netns, ReturnsTheErrorOfTheBody) {
  const Netns pod = testing::MakeScratch();
  const Status status = pod.Run([]() -> Status { return Fail(Code::kBusy, "later"); });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kBusy);
}

TEST(Netns, RefusesWhatIsNoNetworkNamespace) {
  EXPECT_EQ(Netns::Open("/proc/self/ns/uts").error().code, Code::kInvalid);
  EXPECT_EQ(Netns::Open("/proc/self/status").error().code, Code::kInvalid);
  EXPECT_EQ(Netns::Open("/").error().code, Code::kInvalid);
  EXPECT_EQ(Netns::Open("/run/netns/there-is-none").error().code, Code::kNotFound);
  EXPECT_NE(Netns::Open("/proc/self/status").error().message.find("/proc/self/status"), std::string::npos);

  const std::string fifo =
      std::filesystem::temp_directory_path() / ("rail-fifo-" + std::to_string(::getpid()));
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(Netns::Open(fifo).error().code, Code::kInvalid);
  ::unlink(fifo.c_str());
}

TEST(Sysctl, IsWrittenAndReadInTheNamespaceOfTheThread) {
  const Netns pod = testing::MakeScratch();
  const std::string key = "net/ipv4/conf/lo/arp_announce";
  const auto outside = ReadSysctl(key);
  ASSERT_TRUE(outside) << outside.error().message;

  std::string inside;
  const Status status = pod.Run([&]() -> Status {
    RAIL_TRY(WriteSysctl(key, *outside == "2" ? "1" : "2"));
    RAIL_ASSIGN(inside, ReadSysctl(key));
    return {};
  });
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(inside, *outside == "2" ? "1" : "2");
  EXPECT_EQ(ReadSysctl(key).value(), *outside);
}

TEST(Sysctl, SaysWhichKeyIsNotThere) {
  const Status status = WriteSysctl("net/ipv4/conf/no-such-link/arp_ignore", "1");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kNotFound);
  EXPECT_NE(status.error().message.find("no-such-link"), std::string::npos);
}

TEST(Sysctl, RefusesAKeyThatLeadsElsewhere) {
  for (const char* key :
       {"", "..", "net/../kernel/hostname", "/kernel/hostname", "net//ipv4", "net/ipv4/", "./net"}) {
    EXPECT_EQ(ReadSysctl(key).error().code, Code::kInvalid) << key;
    EXPECT_EQ(WriteSysctl(key, "1").error().code, Code::kInvalid) << key;
  }
}

TEST(SysfsOfANamespace, ShowsItsOwnLinksInEveryThread) {
  const Netns pod = testing::MakeScratch();
  ASSERT_TRUE(testing::Shell(pod, "ip link add only-here type veth peer name its-peer"));
  std::optional<SysfsView> view;
  const Status status = pod.Run([&]() -> Status {
    RAIL_ASSIGN(view, SysfsView::Open());
    return {};
  });
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_TRUE(std::filesystem::exists(view->path() + "/class/net/only-here/address"));
  EXPECT_FALSE(std::filesystem::exists("/sys/class/net/only-here"));
}

}  // namespace
}  // namespace rail::netns
