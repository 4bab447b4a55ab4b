// Line A16 of ACCEPTANCE.md: time and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "lib/netlink/testing/scratch.h"
#include "test/contract/acceptance_fixture.h"
#include "test/contract/real_plugin.h"

namespace rail::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// A16: a verb has an end, and a plugin is small.
class A16_Limits : public Acceptance {
 protected:
  // A node whose OVSDB takes connections and never answers.
  testing::Ran AddOnASilentNode() {
    std::filesystem::create_directories(folder_ + "/etc/railcni");
    std::filesystem::create_directories(folder_ + "/var/lib/railcni");
    const std::string socket_path = folder_ + "/db.sock";
    const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener, 8) != 0)
      std::abort();
    std::ofstream(folder_ + "/etc/railcni/node.json")
        << json{{"rails",
                 {{{"name", "rail0"},
                   {"index", 0},
                   {"pf", "p0"},
                   {"bridge", "br-rail0"},
                   {"devices", {{{"device", "lo"}, {"representor", "r0"}}}}}}},
                {"cluster", "c"},
                {"bgp", {{"asn", 65001}, {"router_id", "10.0.0.1"}, {"community_asn", 65000}}},
                {"ovs", {{"db", "unix:" + socket_path}, {"run_dir", folder_}}},
                {"frr", {{"run_dir", folder_}}}};
    const netns::Netns pod = netns::testing::MakeScratch();
    const std::string netns = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(pod.fd());
    testing::Ran ran =
        testing::RunBinary("ovs-provider",
                           {{"CNI_COMMAND", "ADD"},
                            {"CNI_CONTAINERID", "c1"},
                            {"CNI_NETNS", netns},
                            {"CNI_IFNAME", "net1"},
                            {"CNI_PATH", "/usr/lib/cni"},
                            {"RAILCNI_ROOT", folder_}},
                           R"({"cniVersion": "1.0.0", "name": "rail0", "rail": "rail0", "prevResult": {}})");
    ::close(listener);
    return ran;
  }
};

TEST_F(A16_Limits, AnOvsdbThatNeverAnswersEndsAddWithCode11AndItsName) {
  const auto began = Clock::now();
  const testing::Ran ran = AddOnASilentNode();
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(90)) << "its own deadline is 30 s";
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(json::parse(ran.out)["code"], 11);
  EXPECT_THAT(ran.out, HasSubstr("db.sock"));
}

TEST_F(A16_Limits, APluginNeedsLessThan20MiB) {
  if (RAIL_IS_SANITIZED) GTEST_SKIP() << "a sanitizer's own memory is not the plugin's";
  for (const std::string& plugin : testing::AllPlugins()) {
    const testing::Ran ran = testing::RunBinary(
        plugin,
        {{"CNI_COMMAND", "DEL"}, {"CNI_CONTAINERID", "c1"}, {"CNI_IFNAME", "net1"}, {"CNI_PATH", "/x"}},
        R"({"cniVersion": "1.0.0", "name": "rail0", "x": ")" + std::string(1000000, 'x') + "\"}");
    EXPECT_LT(ran.peak_kib, 20 * 1024) << plugin << ", with a configuration of 1 MB";
  }
}

}  // namespace
}  // namespace rail::testing
