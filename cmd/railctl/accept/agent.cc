#include "cmd/railctl/accept/agent.h"

#include <sys/utsname.h>

#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <thread>

#include "cmd/railctl/accept/agent_call.h"
#include "cmd/railctl/accept/describe.h"
#include "cmd/railctl/accept/echo.h"
#include "cmd/railctl/accept/frames.h"
#include "cmd/railctl/accept/keeper.h"
#include "cmd/railctl/accept/program.h"
#include "cmd/railctl/accept/relay.h"
#include "lib/base/socket_file.h"
#include "lib/base/thread.h"
#include "lib/rpc/tls.h"

namespace rail::accept {
namespace {

constexpr int kLargestRequest = 128 << 20;  // bytes: 10,000 frames of 9,700
constexpr int kMostStreams = 64;            // calls of a connection at once, each with a thread
constexpr int kAliveEvery = 10'000;         // ms: how often a caller over TCP is asked whether it is there
constexpr int kAliveTime = 5'000;           // ms: how long it may take to answer

// What the kernel refuses is not the fault of the question.
grpc::Status ToGrpc(const Status& status) {
  if (status) return grpc::Status::OK;
  const Error& error = status.error();
  if (error.code == Code::kInvalid && error.sys_errno == 0)
    return {grpc::StatusCode::INVALID_ARGUMENT, error.message};
  return {grpc::StatusCode::FAILED_PRECONDITION, error.message};
}

// A call with a thread of its own, which `end_` tells that the caller has ended it. gRPC's last word comes after the thread's.
template <class Reactor>
class OwnThread : public Reactor {
 public:
  void OnCancel() override { end_.Give(); }
  void OnDone() override {
    // gRPC may say its last word on the thread itself, which then has nothing more to do.
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else if (thread_.joinable()) {
      thread_.join();
    }
    delete this;
  }

 protected:
  // For the method's handler: gRPC calls the functions above when that has returned.
  void Start() {
    auto thread = end_ ? StartThread([this] { this->Finish(ToGrpc(Run())); }) : NoDescriptor();
    if (thread) {
      thread_ = std::move(*thread);
    } else {
      this->Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, thread.error().message});
    }
  }
  virtual Status Run() = 0;
  Wake& end() { return end_; }
  ~OwnThread() override = default;

 private:
  static Result<std::thread> NoDescriptor() { return FailErrno(EMFILE, "wait for the end of the call"); }

  Wake end_;
  std::thread thread_;
};

// A question with one answer.
template <class Work>
class Unary final : public OwnThread<grpc::ServerUnaryReactor> {
 public:
  explicit Unary(Work work) : work_(std::move(work)) { Start(); }

 private:
  Status Run() override { return work_(end()); }

  Work work_;
};

template <class Response>
Status Put(Result<Response> result, Response& response) {
  RAIL_ASSIGN(response, std::move(result));
  return {};
}

class Watching final : public OwnThread<grpc::ServerWriteReactor<v1::WatchFramesResponse>> {
 public:
  explicit Watching(const v1::WatchFramesRequest& request) : request_(request) { Start(); }
  void OnWriteDone(bool ok) override { (ok ? written_ : end()).Give(); }

 private:
  // While a write is under way, what has changed waits for its end.
  Status Run() override {
    if (!written_) return FailErrno(EMFILE, "wait for what the caller has read");
    RAIL_ASSIGN(FrameWatch watch, FrameWatch::Open(request_));
    std::vector<pollfd> events = watch.Events(end(), written_);
    bool changed = true;
    bool writing = false;
    for (;;) {
      if (changed && !writing) {
        response_ = watch.counts();
        StartWrite(&response_);
        writing = true;
        changed = false;
      }
      RAIL_TRY(WaitFor(events, {}));
      if (written_.Take()) writing = false;
      RAIL_ASSIGN(const bool more, watch.Take());
      changed |= more;
    }
  }

  const v1::WatchFramesRequest request_;
  v1::WatchFramesResponse response_;
  Wake written_;
};

Result<std::shared_ptr<grpc::ServerCredentials>> MutualTls(const AgentOptions& options) {
  if (options.ca_file.empty() || options.cert_file.empty() || options.key_file.empty()) {
    return Fail(Code::kInvalid,
                "serve on " + options.listen +
                    ": whoever reaches an agent can send any frame from the pod, so TCP needs --ca-file, "
                    "--cert-file and --key-file; without them serve on unix:/path");
  }
  RAIL_ASSIGN(const rpc::Tls tls, rpc::ReadTls({options.ca_file, options.cert_file, options.key_file}));
  return rpc::ServerTls(tls);
}

// "fd00::7:9500", as Kubernetes puts a pod's address before a port, as "[fd00::7]:9500".
std::string InBrackets(const std::string& listen) {
  const size_t port = listen.rfind(':');
  const bool bare = listen.find(':') != port && !listen.starts_with('[') && !listen.starts_with("unix:");
  return bare ? "[" + listen.substr(0, port) + "]" + listen.substr(port) : listen;
}

}  // namespace

grpc::ServerUnaryReactor* Agent::DescribeAgent(grpc::CallbackServerContext* context,
                                               const v1::DescribeAgentRequest* /*request*/,
                                               v1::DescribeAgentResponse* response) {
  const Status looked = [&]() -> Status {
    RAIL_ASSIGN(const auto interfaces, ListInterfaces());
    RAIL_ASSIGN(const auto devices, ListRdmaDevices(sysfs_, interfaces));
    response->mutable_interfaces()->Add(interfaces.begin(), interfaces.end());
    response->mutable_rdma_devices()->Add(devices.begin(), devices.end());
    return {};
  }();
  utsname kernel{};
  if (::uname(&kernel) == 0) response->set_kernel(kernel.release);
  const std::vector<std::string> programs = ListPrograms();
  response->mutable_programs()->Add(programs.begin(), programs.end());
  response->set_version(RAIL_VERSION);
  response->set_echo_port(echo_port_);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(looked));
  return reactor;
}

grpc::ServerUnaryReactor* Agent::SendFrames(grpc::CallbackServerContext* /*context*/,
                                            const v1::SendFramesRequest* request,
                                            v1::SendFramesResponse* response) {
  return new Unary([=](const Wake& end) -> Status {
    RAIL_ASSIGN(const uint32_t sent, accept::SendFrames(*request, end));
    response->set_sent(sent);
    return {};
  });
}

grpc::ServerWriteReactor<v1::WatchFramesResponse>* Agent::WatchFrames(
    grpc::CallbackServerContext* /*context*/, const v1::WatchFramesRequest* request) {
  return new Watching(*request);
}

grpc::ServerUnaryReactor* Agent::Echo(grpc::CallbackServerContext* /*context*/,
                                      const v1::EchoRequest* request, v1::EchoResponse* response) {
  return new Unary([=](const Wake& end) { return Put(accept::Echo(*request, end), *response); });
}

grpc::ServerUnaryReactor* Agent::RunPerftest(grpc::CallbackServerContext* /*context*/,
                                             const v1::RunPerftestRequest* request,
                                             v1::RunPerftestResponse* response) {
  return new Unary(
      [=, this](const Wake& end) { return Put(accept::RunPerftest(*request, sysfs_, end), *response); });
}

Result<int> ServeAgent(const AgentOptions& options, std::ostream& out) {
  constexpr std::string_view kUnix = "unix:";
  const sigset_t stop = BlockSignals();  // and in each thread that starts from here on

  std::optional<SocketFile> file;
  std::string where = InBrackets(options.listen);
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  if (options.listen.starts_with(kUnix)) {
    RAIL_ASSIGN(SocketFile prepared, SocketFile::Prepare(options.listen.substr(kUnix.size())));
    file.emplace(std::move(prepared));
    where = "unix:" + file->bind_path();
  } else {
    RAIL_ASSIGN(credentials, MutualTls(options));
  }
  RAIL_ASSIGN(const auto echo, EchoServer::Start());
  Agent agent(options.sysfs, echo->port());
  std::unique_ptr<Relay> relay;
  if (!options.raild.empty()) {
    RAIL_ASSIGN(relay, Relay::Make(options.raild));
  }
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kLargestRequest);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreams);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kAliveEvery);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kAliveTime);
  builder.AddListeningPort(where, credentials);
  builder.RegisterService(&agent);
  if (relay != nullptr) builder.RegisterService(relay.get());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    return Fail(Code::kInvalid,
                "serve on " + options.listen +
                    ": gRPC does not start: is the address not the pod's, taken, or a file no certificate?");
  }
  if (file) RAIL_TRY(file->Publish(""));  // no group: 0600
  out << "listening on " << options.listen << std::endl;
  int signal = 0;
  ::sigwait(&stop, &signal);
  server->Shutdown(gpr_time_0(GPR_TIMESPAN));  // the calls end now
  server->Wait();
  return 0;
}

}  // namespace rail::accept
