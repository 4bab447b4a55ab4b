#include "lib/kubelet/registration.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <set>

#include "lib/base/fd.h"
#include "lib/kubelet/plugin.h"
#include "lib/kubelet/testing/device_manager.h"
#include "lib/kubelet/testing/test_folder.h"

namespace rail::kubelet {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr auto kLong = 30s;

// A socket at `path`, on which nobody answers; nobody listens, either, once it is closed.
Fd Listen(const std::string& path) {
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(listener.get(), 8), 0);
  return listener;
}

TEST(Register, SaysWhatThePluginIs) {
  const testing::TestFolder folder;
  testing::FakeDeviceManager kubelet(folder.path());
  const auto plugin = DevicePlugin::Start(folder.path() + "/a.sock", {});
  ASSERT_TRUE(plugin) << plugin.error().message;
  for (const bool preferred : {true, false}) {
    const auto done = Register(kubelet.socket(), {"a.sock", "nvidia.com/rail0", preferred}, After(kLong));
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(kubelet.Of("a.sock").resource, "nvidia.com/rail0");
    EXPECT_EQ(kubelet.Of("a.sock").preferred, preferred);
  }
}

TEST(Register, WithoutASocket) {
  const auto done = Register("/nonexistent/kubelet.sock", {"a.sock", "nvidia.com/rail0"}, After(kLong));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kNotFound);
  EXPECT_THAT(done.error().message,
              StartsWith("register nvidia.com/rail0 with the kubelet at /nonexistent/kubelet.sock: "));
}

TEST(Register, AKubeletThatHasDied) {
  const testing::TestFolder folder;
  Listen(folder.path() + "/kubelet.sock");
  const auto done = Register(folder.path() + "/kubelet.sock", {"a.sock", "nvidia.com/rail0"}, After(kLong));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kTransient);
}

TEST(Register, AKubeletThatHangsCostsItsTimeOnly) {
  const testing::TestFolder folder;
  const Fd listener = Listen(folder.path() + "/kubelet.sock");
  const auto done = Register(folder.path() + "/kubelet.sock", {"a.sock", "nvidia.com/rail0"}, After(200ms));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kTransient);
  EXPECT_THAT(done.error().message, HasSubstr("no answer"));
}

TEST(Register, ARefusalIsPassedOn) {
  const testing::TestFolder folder;
  testing::FakeDeviceManager kubelet(folder.path());
  kubelet.Refuse("the ResourceName \"nvidia.com/rail0\" is invalid");
  const auto done = Register(kubelet.socket(), {"a.sock", "nvidia.com/rail0"}, After(kLong));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kInvalid);
  EXPECT_THAT(done.error().message,
              HasSubstr("the kubelet refuses: the ResourceName \"nvidia.com/rail0\" is invalid"));
}

constexpr const char* kFolder = "/var/lib/kubelet/device-plugins";
constexpr const char* kUid = "0d9f6c5e-6f3c-4f43-8a27-0b5a3f1f9c11";

TEST(SocketName, DiffersByInstanceAndResource) {
  std::set<std::string> names;
  for (const char* resource : {"nvidia.com/rail0", "nvidia.com/rail1", "example.com/rail0"}) {
    for (const char* instance : {kUid, "0d9f6c5e-6f3c-4f43-8a27-0b5a3f1f9c12"}) {
      const auto name = SocketNameFor(kFolder, resource, instance);
      ASSERT_TRUE(name) << name.error().message;
      names.insert(*name);
    }
  }
  EXPECT_EQ(names.size(), 6U);
}

TEST(SocketName, IsTheSameForTheSameInstance) {
  const auto name = SocketNameFor(kFolder, "nvidia.com/rail0", kUid);
  ASSERT_TRUE(name);
  EXPECT_THAT(*name, StartsWith("railcni-rail0-"));
  EXPECT_EQ(*name, *SocketNameFor(kFolder, "nvidia.com/rail0", kUid));
}

TEST(SocketName, FitsIntoItsFolder) {
  const std::string resource = "nvidia.com/" + std::string(63, 'r');
  for (size_t length = 1; length <= 77; ++length) {
    const std::string folder = "/" + std::string(length - 1, 'f');
    const auto name = SocketNameFor(folder, resource, kUid);
    ASSERT_TRUE(name) << name.error().message;
    EXPECT_LE((folder + "/" + *name).size(), 107U);
    EXPECT_NE(*name, *SocketNameFor(folder, resource, "another"));
  }
  const auto name = SocketNameFor("/" + std::string(77, 'f'), resource, kUid);
  ASSERT_FALSE(name);
  EXPECT_THAT(name.error().message, HasSubstr("77 bytes at most"));
}

}  // namespace
}  // namespace rail::kubelet
