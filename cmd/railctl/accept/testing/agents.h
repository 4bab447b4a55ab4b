// Agents as processes in two network namespaces that a veth connects: net1 with 10.0.0.1 and fd00::1 here, 10.0.0.2 and fd00::2 there.
//
// Use:      TEST_F(AcceptAgent, ...) { Watch watch(B(), {kMark});  Send(A(), {Frame(kMark)}); ... }
//           The program runs ServeAgent when its first argument is --agent: LISTEN SYSFS [CA CERT KEY [RAILD]].
// Threads:  one
// Owns:     namespaces, processes, a folder
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/netlink/testing/scratch.h"
#include "rail/v1/accept.grpc.pb.h"

namespace rail::accept::testing {

namespace fs = std::filesystem;
using grpc::StatusCode;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr auto kSoon = seconds(10);

template <class F>
bool Eventually(const F& so) {
  const Deadline deadline = After(kSoon);
  while (!so()) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return true;
}

// An agent in a process of its own.
class AgentProcess {
 public:
  struct Options {
    std::string listen;
    std::string sysfs = "/sys";
    std::string path = "/usr/bin:/bin";
    std::string raild = {};  // goes with `tls`
    std::vector<std::string> tls = {};
  };

  AgentProcess(const netns::Netns& pod, Options options) : options_(std::move(options)) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const Fd out(ends[0]);
    const Fd child_out(ends[1]);
    std::vector<std::string> words = {"accept_agent_test", "--agent", options_.listen, options_.sysfs};
    words.insert(words.end(), options_.tls.begin(), options_.tls.end());
    if (!options_.raild.empty()) words.push_back(options_.raild);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::string path = "PATH=" + options_.path;
    char* environment[] = {path.data(), nullptr};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, child_out.get(), STDOUT_FILENO);
    EXPECT_TRUE(pod.Run([&]() -> Status {
      const int error =
          ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments.data(), environment);
      return error == 0 ? Status() : FailErrno(error, "spawn");
    }));
    ::posix_spawn_file_actions_destroy(&actions);
    handle_.Reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    pollfd event{.fd = out.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&event, 1, PollTimeout(After(kSoon))), 1);
    char line[256] = {};
    (void)!::read(out.get(), line, sizeof line - 1);
    said_ = line;
    if (options_.listen.starts_with("unix:")) Connect(grpc::InsecureChannelCredentials());
  }
  ~AgentProcess() {
    if (pid_ > 0) {
      EXPECT_EQ(Stop(SIGTERM), 0);
    }
  }

  void Connect(const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetString(GRPC_SSL_TARGET_NAME_OVERRIDE_ARG, "agent");
    stub_ = v1::AcceptAgent::NewStub(grpc::CreateCustomChannel(options_.listen, credentials, arguments));
  }

  // The exit status; -1: it has not ended in time.
  int Stop(int signal) {
    ::kill(pid_, signal);
    pollfd event{.fd = handle_.get(), .events = POLLIN, .revents = 0};
    const bool ended = ::poll(&event, 1, PollTimeout(After(kSoon))) == 1;
    if (!ended) ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // Sockets of the pod's network namespace: "packet", "udp".
  long Sockets(const std::string& kind) const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/net/" + kind);
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n') - 1;
  }

  template <class Request, class Response>
  grpc::Status Ask(grpc::Status (v1::AcceptAgent::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                 Response*),
                   const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kSoon);
    return (stub_.get()->*method)(&context, request, &response);
  }

  v1::AcceptAgent::Stub& stub() { return *stub_; }
  const std::string& said() const { return said_; }

 private:
  const Options options_;
  pid_t pid_ = -1;
  Fd handle_;
  std::string said_;
  std::unique_ptr<v1::AcceptAgent::Stub> stub_;
};

// One client's watch.
class Watch {
 public:
  Watch(AgentProcess& agent, const std::vector<std::string>& marks) {
    v1::WatchFramesRequest request;
    request.add_interfaces("net1");
    for (const std::string& mark : marks) request.add_marks(mark);
    context_.set_deadline(std::chrono::system_clock::now() + kSoon);
    reader_ = agent.stub().WatchFrames(&context_, request);
  }

  // The next answer; one without counts at the end.
  v1::WatchFramesResponse Next() {
    v1::WatchFramesResponse response;
    if (!reader_->Read(&response)) response.Clear();
    return response;
  }
  // Reads until mark `i` was seen `frames` times.
  v1::WatchFramesResponse Until(int i, uint64_t frames) {
    for (;;) {
      auto response = Next();
      if (response.counts().empty() || response.counts(i).frames() >= frames) return response;
    }
  }
  grpc::Status End() {
    context_.TryCancel();
    return reader_->Finish();
  }
  grpc::Status Finish() { return reader_->Finish(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchFramesResponse>> reader_;
};

inline const std::string kMark = "mark-one-of-8";
inline const std::string kOtherMark = "mark-two-of-8";

inline std::string Frame(const std::string& payload) {
  return std::string("\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01\x88\xb5", 14) + payload;
}

class AcceptAgent : public ::testing::Test {
 protected:
  AcceptAgent() : folder_(fs::temp_directory_path() / "accept_agent_XXXXXX") {
    ::mkdtemp(folder_.data());
    Shell(a_, "ip link add net1 type veth peer name net1 netns " + Path(b_));
    for (const auto& [pod, n] : {std::pair(&a_, std::string("1")), {&b_, "2"}}) {
      Shell(*pod, "ip link set lo up && ip link set net1 up && ip addr add 10.0.0." + n +
                      "/24 dev net1 && ip addr add fd00::" + n + "/64 dev net1 nodad");
    }
  }
  ~AcceptAgent() override { fs::remove_all(folder_); }

  static std::string Path(const netns::Netns& pod) {
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(pod.fd());
  }
  static void Shell(const netns::Netns& where, const std::string& command) {
    const Status done = netns::testing::Shell(where, command);
    EXPECT_TRUE(done) << done.error().message;
  }
  std::string At(const std::string& name) const { return "unix:" + folder_ + "/" + name; }
  AgentProcess& A() { return Agent(a_agent_, a_, "a"); }
  AgentProcess& B() { return Agent(b_agent_, b_, "b"); }
  AgentProcess& Agent(std::unique_ptr<AgentProcess>& agent, const netns::Netns& pod,
                      const std::string& name) {
    if (!agent) agent = std::make_unique<AgentProcess>(pod, AgentProcess::Options{.listen = At(name)});
    return *agent;
  }

  static uint32_t Send(AgentProcess& from, const std::vector<std::string>& frames, uint32_t rounds = 0) {
    v1::SendFramesRequest request;
    request.set_interface("net1");
    request.set_rounds(rounds);
    for (const std::string& frame : frames) request.add_frames(frame);
    v1::SendFramesResponse response;
    const grpc::Status status = from.Ask(&v1::AcceptAgent::Stub::SendFrames, request, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.sent();
  }
  uint32_t EchoPort() {
    v1::DescribeAgentResponse response;
    EXPECT_TRUE(B().Ask(&v1::AcceptAgent::Stub::DescribeAgent, {}, response).ok());
    return response.echo_port();
  }
  v1::EchoRequest EchoTo(const std::string& address) {
    v1::EchoRequest request;
    request.set_interface("net1");
    request.set_address(address);
    request.set_port(EchoPort());
    request.set_datagrams(50);
    request.set_bytes(1500);
    request.set_patience_ms(2000);
    return request;
  }
  v1::EchoResponse Echo(const v1::EchoRequest& request) {
    v1::EchoResponse response;
    const grpc::Status status = A().Ask(&v1::AcceptAgent::Stub::Echo, request, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  template <class Request, class Response>
  void ExpectRefused(grpc::Status (v1::AcceptAgent::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                   Response*),
                     const Request& good, const std::string& key,
                     const std::function<void(Request&)>& spoil) {
    Request request = good;
    spoil(request);
    Response response;
    const grpc::Status status = A().Ask(method, request, response);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << key << ": " << status.error_message();
    EXPECT_THAT(status.error_message(), ::testing::StartsWith(key));
  }

  // A sysfs with the device rdma0, and a program that PATH has first.
  AgentProcess WithProgram(const std::string& script) {
    fs::create_directories(folder_ + "/sys/class/infiniband/rdma0");
    fs::create_directories(folder_ + "/bin");
    std::ofstream(folder_ + "/bin/ib_write_bw") << "#!/bin/sh\n" << script;
    ::chmod((folder_ + "/bin/ib_write_bw").c_str(), 0755);
    return {a_, {.listen = At("p"), .sysfs = folder_ + "/sys", .path = folder_ + "/bin:/usr/bin:/bin"}};
  }
  static v1::RunPerftestRequest Perftest() {
    v1::RunPerftestRequest request;
    request.set_program("ib_write_bw");
    request.set_rdma_device("rdma0");
    request.set_port(18515);
    request.set_seconds(1);
    return request;
  }

  std::string folder_;
  const netns::Netns a_ = netns::testing::MakeScratch();
  const netns::Netns b_ = netns::testing::MakeScratch();
  std::unique_ptr<AgentProcess> a_agent_;
  std::unique_ptr<AgentProcess> b_agent_;
};

}  // namespace rail::accept::testing
