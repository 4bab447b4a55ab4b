#include "cmd/raild/api/service.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "cmd/raild/api/answers.h"
#include "cmd/raild/api/hardware.h"
#include "cmd/raild/api/messages.h"
#include "cmd/raild/api/question_queue.h"
#include "cmd/raild/api/state_messages.h"
#include "lib/base/socket_file.h"
#include "lib/rpc/server.h"
#include "lib/rpc/tls.h"
#include "lib/rpc/watches.h"
#include "rail/v1/node.grpc.pb.h"
#include "rail/v1/state.grpc.pb.h"

namespace rail::raild {
namespace {

// The socket and TCP have limits of their own, so that a client that fills one leaves the other free; lib/rpc/server.cc has those of gRPC.
constexpr size_t kMostWatches = 64;
constexpr size_t kMostTcpWatches = 32;
constexpr auto kStopTime = std::chrono::seconds(2);
constexpr std::chrono::milliseconds kCountersWait{200};  // for a reading, if the last is older than 1 s

// What the watchdog has said last.
class LastHealth {
 public:
  void Set(Health health) {
    const std::lock_guard lock(mutex_);
    health_ = std::move(health);
  }
  Health Get() const {
    const std::lock_guard lock(mutex_);
    return health_;
  }

 private:
  mutable std::mutex mutex_;
  Health health_;
};

using Call = grpc::CallbackServerContext;
using Reply = grpc::ServerUnaryReactor;
template <class Response>
using Events = grpc::ServerWriteReactor<Response>;

class Service final : public v1::Node::CallbackService {
 public:
  Service(const Sources& sources, const LastHealth& health, rpc::Watches& watches,
          rpc::Watches& counter_watches, QuestionQueue& queue, QuestionQueue& counter_queue,
          size_t most_watches)
      : sources_(sources),
        health_(health),
        watches_(watches),
        counter_watches_(counter_watches),
        questions_(queue),
        counter_questions_(counter_queue),
        most_watches_(most_watches) {}

  Reply* GetNode(Call* call, const v1::GetNodeRequest*, v1::GetNodeResponse* response) override {
    v1::GetNodeResponse answer = raild::GetNode(*View(), health_.Get());
    for (v1::PluginRuns& runs : sources_.runs()) *answer.add_runs() = std::move(runs);
    return Say(call, *response, std::move(answer));
  }
  Reply* ListRails(Call* call, const v1::ListRailsRequest*, v1::ListRailsResponse* response) override {
    return Say(call, *response, raild::ListRails(*View()));
  }
  Reply* ListAttachments(Call* call, const v1::ListAttachmentsRequest* request,
                         v1::ListAttachmentsResponse* response) override {
    return Say(call, *response, raild::ListAttachments(*View(), request->filter()));
  }
  Reply* ListRemotes(Call* call, const v1::ListRemotesRequest* request,
                     v1::ListRemotesResponse* response) override {
    return Say(call, *response, raild::ListRemotes(*View(), *request));
  }
  Reply* ListTenants(Call* call, const v1::ListTenantsRequest*, v1::ListTenantsResponse* response) override {
    return Say(call, *response, inspect::Tenants(*View(), sources_.config.tenancy));
  }
  Reply* GetTopology(Call* call, const v1::GetTopologyRequest*, v1::GetTopologyResponse* response) override {
    return Say(call, *response, raild::GetTopology(*View()));
  }

  Reply* ListFlows(Call* call, const v1::ListFlowsRequest* request,
                   v1::ListFlowsResponse* response) override {
    return InItsTurn(call, *response, [this, request]() -> Result<v1::ListFlowsResponse> {
      RAIL_ASSIGN(const inspect::FlowsPage page, ToPage(*request));
      return sources_.inspector.ListFlows(ToSelector(request->selector()), page);
    });
  }
  Reply* Check(Call* call, const v1::CheckRequest* request, v1::CheckResponse* response) override {
    return InItsTurn(call, *response,
                     [this, request] { return sources_.inspector.Check(ToSelector(request->selector())); });
  }
  Reply* Trace(Call* call, const v1::TraceRequest* request, v1::TraceResponse* response) override {
    return InItsTurn(call, *response, [this, request]() -> Result<v1::TraceResponse> {
      RAIL_ASSIGN(const inspect::Question question, ToQuestion(*request));
      return sources_.inspector.Trace(question);
    });
  }
  Reply* Doctor(Call* call, const v1::DoctorRequest*, v1::DoctorResponse* response) override {
    return InItsTurn(call, *response, [this] { return ToMessage(sources_.inspector.Doctor()); });
  }
  Reply* ListNics(Call* call, const v1::ListNicsRequest*, v1::ListNicsResponse* response) override {
    return InItsTurn(call, *response,
                     [this] { return ToNics(sources_.inspector.LookAtHardware(), *View()); });
  }
  Reply* ListGpus(Call* call, const v1::ListGpusRequest*, v1::ListGpusResponse* response) override {
    return InItsTurn(call, *response, [this] { return ToGpus(sources_.inspector.LookAtHardware()); });
  }
  Reply* GetLibs(Call* call, const v1::GetLibsRequest* request, v1::GetLibsResponse* response) override {
    return InItsTurn(call, *response, [this, request]() -> Result<v1::GetLibsResponse> {
      RAIL_ASSIGN(const inspect::LibsQuestion question, ToQuestion(*request));
      RAIL_ASSIGN(const inspect::LibsAnswer answer, sources_.inspector.Libs(question));
      return ToMessage(answer);
    });
  }

  Events<v1::WatchAttachmentsResponse>* WatchAttachments(
      Call*, const v1::WatchAttachmentsRequest* request) override {
    const auto changes = std::make_shared<Changes>(request->filter());
    // Deletes itself in OnDone, here and below.
    return new rpc::Stream<v1::WatchAttachmentsResponse, engine::ViewPublisher>(
        watches_, sources_.views, this, most_watches_,
        [changes](const engine::NodeView& view) { return changes->Next(view); });
  }

  Events<v1::WatchNodeResponse>* WatchNode(Call*, const v1::WatchNodeRequest*) override {
    return new rpc::Stream<v1::WatchNodeResponse, engine::ViewPublisher>(
        watches_, sources_.views, this, most_watches_, [](const engine::NodeView& view) {
          v1::WatchNodeResponse response;
          response.set_view(view.version);
          return std::vector{response};
        });
  }

  Reply* ListCounters(Call* call, const v1::ListCountersRequest* request,
                      v1::ListCountersResponse* response) override {
    return InItsTurn(call, *response, counter_questions_,
                     [this, request]() -> Result<v1::ListCountersResponse> {
                       const auto view = sources_.counters.Fresh(After(kCountersWait));
                       if (view->version == 0)
                         return Fail(Code::kTransient, "raild has not read any counters yet");
                       return raild::ListCounters(*view, request->filter());
                     });
  }

  Reply* ListBursts(Call* call, const v1::ListBurstsRequest* request,
                    v1::ListBurstsResponse* response) override {
    if (sources_.config.bursts.every_ms == 0) {
      return Finish(call, {grpc::StatusCode::FAILED_PRECONDITION,
                           "raild looks for no bursts: put `\"bursts\": {\"every_ms\": 10}` into node.json"});
    }
    return Say(call, *response, raild::ListBursts(sources_.counters, *request, UnixMs()));
  }

  Events<v1::WatchCountersResponse>* WatchCounters(Call*, const v1::WatchCountersRequest* request) override {
    return new rpc::Stream<v1::WatchCountersResponse, counters::Sampler>(
        counter_watches_, sources_.counters, this, most_watches_,
        [filter = request->filter()](const counters::PortsView& view) {
          std::vector<v1::WatchCountersResponse> responses;
          if (view.version > 0)
            *responses.emplace_back().mutable_counters() = raild::ListCounters(view, filter);
          return responses;
        });
  }

 private:
  std::shared_ptr<const engine::NodeView> View() const { return sources_.views.Current(); }

  static Reply* Finish(Call* call, const grpc::Status& status) {
    Reply* reactor = call->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }

  template <class Response>
  static grpc::Status Take(Response& response, Result<Response> found) {
    if (!found) return rpc::ToGrpc(found.error());
    response = std::move(*found);
    return grpc::Status::OK;
  }

  template <class Response>
  static Reply* Say(Call* call, Response& response, std::type_identity_t<Result<Response>> found) {
    return Finish(call, Take<Response>(response, std::move(found)));
  }

  // A question to Open vSwitch, bgpd or the kernel may take a while, so it never runs on a thread of gRPC.
  template <class Response, class Look>
  Reply* InItsTurn(Call* call, Response& response, Look look) {
    return InItsTurn(call, response, questions_, std::move(look));
  }
  template <class Response, class Look>
  static Reply* InItsTurn(Call* call, Response& response, QuestionQueue& queue, Look look) {
    Reply* reactor = call->DefaultReactor();
    const bool taken =
        queue.Ask([call, reactor, &response, look = std::move(look)](QuestionQueue::Turn turn) {
          if (turn == QuestionQueue::Turn::kClosed)
            return reactor->Finish({grpc::StatusCode::UNAVAILABLE, "raild is stopping"});
          // The client may have gone while others were served.
          if (call->IsCancelled()) return reactor->Finish(grpc::Status::CANCELLED);
          reactor->Finish(Take<Response>(response, look()));
        });
    if (!taken) {
      reactor->Finish({grpc::StatusCode::RESOURCE_EXHAUSTED,
                       "too many questions are waiting already: ask again in a moment"});
    }
    return reactor;
  }

  const Sources sources_;
  const LastHealth& health_;
  rpc::Watches& watches_;
  rpc::Watches& counter_watches_;
  QuestionQueue& questions_;
  QuestionQueue& counter_questions_;  // does not wait behind an Open vSwitch that hangs
  const size_t most_watches_;
};

// What follows the whole state. Its watches count beside those of Node.
class StateService final : public v1::State::CallbackService {
 public:
  StateService(const Sources& sources, const LastHealth& health, rpc::Watches& watches, size_t most_watches,
               StateSnapshots& snapshots)
      : views_(sources.views),
        health_(health),
        watches_(watches),
        most_watches_(most_watches),
        snapshots_(snapshots) {}

  Events<v1::WatchStateResponse>* WatchState(Call*, const v1::WatchStateRequest*) override {
    const auto changes = std::make_shared<StateChanges>();
    return new rpc::Stream<v1::WatchStateResponse, engine::ViewPublisher>(
        watches_, views_, this, most_watches_, [this, changes](const engine::NodeView& view) {
          const auto now = snapshots_.Of(view, health_.Get());
          return now == nullptr ? std::vector<v1::WatchStateResponse>() : changes->Next(*now);
        });
  }

 private:
  const engine::ViewPublisher& views_;
  const LastHealth& health_;
  rpc::Watches& watches_;
  const size_t most_watches_;
  StateSnapshots& snapshots_;
};

// A way in: a listener with limits of its own.
struct Listener {
  Listener(const Sources& sources, const LastHealth& health, rpc::Watches& watches,
           rpc::Watches& counter_watches, QuestionQueue& queue, QuestionQueue& counter_queue,
           StateSnapshots& snapshots, size_t most_watches)
      : service(sources, health, watches, counter_watches, queue, counter_queue, most_watches),
        state(sources, health, watches, most_watches, snapshots) {}

  Service service;
  StateService state;
  std::unique_ptr<grpc::Server> server;
};

rpc::TlsFiles FilesOf(const config::Api& api) {
  return {.ca_file = api.client_ca_file, .cert_file = api.cert_file, .key_file = api.key_file};
}

void SetServing(grpc::Server& server, const Health& health) {
  grpc::HealthCheckServiceInterface& service = *server.GetHealthCheckService();
  service.SetServingStatus("", health.hung.empty());
  service.SetServingStatus(v1::Node::service_full_name(), health.hung.empty() && health.ready());
}

Status Open(Listener& listener, grpc::ServerBuilder& builder, const std::string& where) {
  builder.RegisterService(&listener.service);
  builder.RegisterService(&listener.state);
  RAIL_ASSIGN(listener.server, rpc::Start(builder, where));
  SetServing(*listener.server, {});
  return {};
}

}  // namespace

Status CheckTlsFiles(const config::Api& api) {
  return api.listen.empty() ? Status() : rpc::CheckTlsFiles(FilesOf(api));
}

struct Server::Parts {
  Parts(const Sources& sources, SocketFile socket)
      : file(std::move(socket)),
        watches(sources.views, "raild"),
        counter_watches(sources.counters, "raild"),
        local(sources, health, watches, counter_watches, queue, counter_queue, snapshots, kMostWatches),
        tcp(sources, health, watches, counter_watches, queue, counter_queue, snapshots, kMostTcpWatches) {}

  SocketFile file;
  std::shared_ptr<grpc::ServerCredentials> credentials;  // gRPC asks them until its server has ended
  LastHealth health;
  StateSnapshots snapshots{UnixMs};
  rpc::Watches watches;
  rpc::Watches counter_watches;
  QuestionQueue queue;
  QuestionQueue counter_queue{1};  // a reading answers all who wait for it
  Listener local;
  Listener tcp;  // its server is null when node.json names no listener
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() {
  Stop();
}

Result<std::unique_ptr<Server>> Server::Start(const Sources& sources, const std::string& socket,
                                              const std::string& group) {
  const config::Api& api = sources.config.api;
  std::shared_ptr<grpc::ServerCredentials> credentials;
  if (!api.listen.empty()) {
    RAIL_ASSIGN_AS(credentials, rpc::ServerTls(FilesOf(api)), "serve on " + api.listen);
  }
  RAIL_ASSIGN(SocketFile file, SocketFile::Prepare(socket));
  // gRPC has only process-wide switches for these two.
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  auto server = std::unique_ptr<Server>(new Server(std::make_unique<Parts>(sources, std::move(file))));
  Parts& parts = *server->parts_;
  grpc::ServerBuilder local;
  rpc::Limit(local, {.name = "raild"});
  local.AddListeningPort("unix:" + parts.file.bind_path(), grpc::InsecureServerCredentials());
  RAIL_TRY(Open(parts.local, local, socket));
  if (credentials != nullptr) {
    grpc::ServerBuilder tcp;
    rpc::Limit(tcp, {.name = "raild-tcp"});
    rpc::LimitTcp(tcp);
    parts.credentials = std::move(credentials);
    tcp.AddListeningPort(api.listen, parts.credentials);
    RAIL_TRY(Open(parts.tcp, tcp, api.listen));
  }
  RAIL_TRY(parts.file.Publish(group));
  return server;
}

void Server::Tell(const Health& health) {
  parts_->health.Set(health);
  for (Listener* listener : {&parts_->local, &parts_->tcp}) {
    if (listener->server != nullptr) SetServing(*listener->server, health);
  }
}

void Server::Stop() {
  if (parts_ == nullptr) return;
  const auto each = [&](const auto& act) {
    for (Listener* listener : {&parts_->local, &parts_->tcp}) {
      if (listener->server != nullptr) act(*listener->server);
    }
  };
  each([](grpc::Server& server) { server.GetHealthCheckService()->Shutdown(); });
  parts_->watches.Stop();
  parts_->counter_watches.Stop();
  parts_->queue.Close();
  parts_->counter_queue.Close();
  const auto until = std::chrono::system_clock::now() + kStopTime;
  each([&](grpc::Server& server) { server.Shutdown(until); });
  each([](grpc::Server& server) { server.Wait(); });
  parts_->local.server.reset();
  parts_->tcp.server.reset();
  parts_.reset();
}

}  // namespace rail::raild
