#include "test/contract/frr_fixture.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace rail::frr::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kDaemons = "/usr/lib/frr";
constexpr const char* kNames = "rail-frr-";

bool Sh(const std::string& command) {
  return std::system((command + " 2>/dev/null >/dev/null").c_str()) == 0;
}

std::string Output(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> buffer;
  for (size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) text.append(buffer.data(), n);
  ::pclose(pipe);
  return text;
}

// Ends what runs in the namespace and removes it.
void RemoveNetns(const std::string& netns) {
  std::istringstream pids(Output("ip netns pids " + netns));
  for (pid_t pid; pids >> pid;) {
    if (pid > 1) ::kill(pid, SIGKILL);
  }
  Sh("ip netns del " + netns);
}

// Leftovers of test processes that are no more.
void RemoveStale() {
  std::istringstream names(Output("ip netns list"));
  for (std::string line; std::getline(names, line);) {
    const std::string netns = line.substr(0, line.find(' '));
    if (!netns.starts_with(kNames)) continue;
    const std::string pid =
        netns.substr(std::string(kNames).size(), netns.rfind('-') - std::string(kNames).size());
    if (fs::exists("/proc/" + pid)) continue;
    RemoveNetns(netns);
    fs::remove_all("/tmp/" + std::string(kNames) + pid);
  }
}

}  // namespace

std::string FrrPair::Missing() {
  if (::geteuid() != 0) return "needs root for network namespaces";
  for (const char* daemon : {"zebra", "bgpd"}) {
    if (!fs::exists(std::string(kDaemons) + "/" + daemon))
      return "needs Debian's frr: no " + std::string(kDaemons) + "/" + daemon;
  }
  return {};
}

std::unique_ptr<FrrPair> FrrPair::Start() {
  RemoveStale();
  std::unique_ptr<FrrPair> pair(new FrrPair);
  pair->name_ = kNames + std::to_string(::getpid());
  pair->folder_ = "/tmp/" + pair->name_;
  fs::create_directories(pair->folder_);
  for (const std::string node : {"host", "leaf"}) {
    EXPECT_TRUE(Sh("ip netns add " + pair->Netns(node)) &&
                Sh("ip -n " + pair->Netns(node) + " link set lo up"));
    EXPECT_TRUE(Sh("ip netns exec " + pair->Netns(node) +
                   " sysctl -qw net.ipv6.conf.all.forwarding=1 net.ipv6.conf.default.accept_dad=0"));
  }
  for (int i = 0; i < kRails; ++i) {
    const std::string rail = "br-rail" + std::to_string(i), leaf = "l" + std::to_string(i);
    EXPECT_TRUE(Sh("ip link add " + rail + " netns " + pair->Netns("host") + " type veth peer name " + leaf +
                   " netns " + pair->Netns("leaf")));
    EXPECT_TRUE(Sh("ip -n " + pair->Netns("host") + " link set " + rail + " up"));
    EXPECT_TRUE(Sh("ip -n " + pair->Netns("leaf") + " link set " + leaf + " up"));
  }
  pair->StartNode("host");
  pair->StartNode("leaf");
  std::vector<std::string> leaf{"router bgp " + std::to_string(kLeafAsn), "bgp router-id 10.255.0.100",
                                "no bgp ebgp-requires-policy", "no bgp network import-check"};
  for (int i = 0; i < kRails; ++i) {
    leaf.push_back("neighbor l" + std::to_string(i) + " interface remote-as external");
    leaf.push_back("neighbor l" + std::to_string(i) + " timers connect 1");
  }
  leaf.emplace_back("address-family ipv6 unicast");
  for (int i = 0; i < kRails; ++i) leaf.push_back("neighbor l" + std::to_string(i) + " activate");
  pair->Leaf(leaf);
  return pair;
}

FrrPair::~FrrPair() {
  for (const char* node : {"host", "leaf"}) RemoveNetns(Netns(node));
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void FrrPair::StartNode(const std::string& node) {
  const std::string d = folder_ + "/" + node;
  fs::create_directories(d);
  EXPECT_TRUE(Sh("chown frr:frr " + d));
  StartDaemon(node, "zebra");
  StartDaemon(node, "bgpd");
}

void FrrPair::StartDaemon(const std::string& node, const std::string& daemon) {
  const std::string d = folder_ + "/" + node;
  const std::string module = daemon == "bgpd" && node == "host" ? " -M bmp" : "";
  EXPECT_TRUE(Sh("ip netns exec " + Netns(node) + " " + kDaemons + "/" + daemon + module + " -d -i " + d +
                 "/" + daemon + ".pid -z " + d + "/zserv.api --vty_socket " + d +
                 " -f /dev/null -A 127.0.0.1 -P 0 --log file:" + d + "/" + daemon + ".log"))
      << daemon;
}

void FrrPair::KillHostBgpd() {
  pid_t pid = 0;
  std::ifstream(host_run_dir() + "/bgpd.pid") >> pid;
  ASSERT_GT(pid, 1);
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  const Deadline deadline = After(seconds(5));
  while (fs::exists("/proc/" + std::to_string(pid)) && Clock::now() < deadline)
    std::this_thread::sleep_for(milliseconds(5));
}

void FrrPair::Configure(const std::string& node, const std::vector<std::string>& lines) {
  const Deadline deadline = After(seconds(10));
  auto vty = Vty::Open(folder_ + "/" + node + "/bgpd.vty", deadline);
  ASSERT_TRUE(vty) << vty.error().message;
  std::vector<ConfigLine> config;
  for (const std::string& line : lines) config.push_back({line, OnMissing::kAccept});
  const Status status = vty->Configure(config, deadline);
  ASSERT_TRUE(status) << status.error().message;
}

std::string FrrPair::Show(const std::string& node, const std::string& command) {
  const Deadline deadline = After(seconds(10));
  auto vty = Vty::Open(folder_ + "/" + node + "/bgpd.vty", deadline);
  if (!vty) return vty.error().message;
  auto text = vty->Show(command, deadline);
  return text ? *text : text.error().message;
}

void FrrPair::CutLink(int index) {
  EXPECT_TRUE(Sh("ip -n " + Netns("leaf") + " link set l" + std::to_string(index) + " down"));
}

}  // namespace rail::frr::testing
