#include "cmd/railfabric/service.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "cmd/railfabric/job.h"
#include "lib/base/socket_file.h"
#include "lib/fabric/attachments.h"
#include "lib/rpc/server.h"
#include "lib/rpc/tls.h"
#include "lib/rpc/watches.h"
#include "rail/v1/fabric.grpc.pb.h"

namespace rail::railfabric {
namespace {

// The socket and TCP have limits of their own, so that a client that fills one leaves the other free; lib/rpc/server.cc has those of gRPC.
constexpr size_t kMostWatches = 64;
constexpr size_t kMostTcpWatches = 256;
constexpr size_t kMostMemory = size_t{128} << 20;  // bytes, gRPC's buffers: all rails of 2,000 nodes are 4 MB
constexpr auto kStopTime = std::chrono::seconds(2);
constexpr const char* kGroup = "railcni";

using Call = grpc::CallbackServerContext;
using Reply = grpc::ServerUnaryReactor;

class Service final : public v1::Fabric::CallbackService {
 public:
  Service(const JobSources& sources, rpc::Watches& watches, size_t most_watches)
      : sources_(sources), overview_(sources.overview), watches_(watches), most_watches_(most_watches) {}

  Reply* ListFleetNodes(Call* call, const v1::ListFleetNodesRequest* request,
                        v1::ListFleetNodesResponse* response) override {
    return Say(call, *response,
               [&](const Seen& seen) { return fabric::ListNodes(seen.fleet, seen.grid, *request); });
  }
  Reply* ListFleetRails(Call* call, const v1::ListFleetRailsRequest* request,
                        v1::ListFleetRailsResponse* response) override {
    return Say(call, *response, [&](const Seen& seen) { return fabric::ListRails(seen.grid, *request); });
  }
  Reply* ListFleetAttachments(Call* call, const v1::ListFleetAttachmentsRequest* request,
                              v1::ListFleetAttachmentsResponse* response) override {
    return Say(call, *response,
               [&](const Seen& seen) { return fabric::ListAttachments(seen.fleet, seen.grid, *request); });
  }
  Reply* DiagnoseFleet(Call* call, const v1::DiagnoseFleetRequest* request,
                       v1::DiagnoseFleetResponse* response) override {
    return Say(call, *response, [&](const Seen& seen) {
      return fabric::Diagnose(seen.causes, seen.fleet, seen.grid, *request);
    });
  }
  Reply* GetJob(Call* call, const v1::GetJobRequest* request, v1::GetJobResponse* response) override {
    return AnswerJob(call, *request, *response, sources_);
  }

  grpc::ServerWriteReactor<v1::WatchFleetResponse>* WatchFleet(Call*, const v1::WatchFleetRequest*) override {
    const auto told = std::make_shared<Numbers>();
    // Deletes itself in OnDone.
    return new rpc::Stream<v1::WatchFleetResponse, Overview>(
        watches_, overview_, this, most_watches_, [told](const Numbers& now) { return Changes(*told, now); });
  }

 private:
  // `told`: what the message before has told; the first tells every part.
  static std::vector<v1::WatchFleetResponse> Changes(Numbers& told, const Numbers& now) {
    v1::WatchFleetResponse response;
    response.set_number(now.version);
    for (const auto part : {v1::FLEET_NODES, v1::FLEET_RAILS, v1::FLEET_ATTACHMENTS, v1::FLEET_CAUSES}) {
      if (told.parts.at(part) != now.parts.at(part) + 1) response.add_parts(part);
      told.parts.at(part) = now.parts.at(part) + 1;  // 0: nothing was told
    }
    return response.parts().empty() ? std::vector<v1::WatchFleetResponse>() : std::vector{response};
  }

  template <class Response, class Answer>
  Reply* Say(Call* call, Response& response, Answer answer) {
    Result<Response> found =
        overview_.Look([&](const Seen& seen) -> Result<Response> { return answer(seen); });
    Reply* const reactor = call->DefaultReactor();
    if (found) response = std::move(*found);
    reactor->Finish(found ? grpc::Status::OK : rpc::ToGrpc(found.error()));
    return reactor;
  }

  const JobSources sources_;
  const Overview& overview_;
  rpc::Watches& watches_;
  const size_t most_watches_;
};

}  // namespace

struct Server::Parts {
  Parts(const Overview& overview, ChannelOf of)
      : channel_of(std::move(of)),
        watches(overview, "railfabric"),
        local({overview, channel_of, jobs}, watches, kMostWatches),
        tcp({overview, channel_of, jobs}, watches, kMostTcpWatches) {}

  Status OpenSocket(const std::string& path) {
    RAIL_ASSIGN(SocketFile prepared, SocketFile::Prepare(path));
    file.emplace(std::move(prepared));
    grpc::ServerBuilder builder;
    rpc::Limit(builder, {.name = "railfabric", .most_memory = kMostMemory});
    builder.AddListeningPort("unix:" + file->bind_path(), grpc::InsecureServerCredentials());
    builder.RegisterService(&local);
    RAIL_ASSIGN(servers[0], rpc::Start(builder, path));
    return file->Publish(kGroup);
  }
  Status OpenTcp(const std::string& listen, const rpc::TlsFiles& files) {
    RAIL_ASSIGN_AS(credentials, rpc::ServerTls(files), "serve on " + listen);
    grpc::ServerBuilder builder;
    rpc::Limit(builder, {.name = "railfabric-tcp", .most_memory = kMostMemory});
    rpc::LimitTcp(builder);
    builder.AddListeningPort(listen, credentials);
    builder.RegisterService(&tcp);
    RAIL_ASSIGN(servers[1], rpc::Start(builder, listen));
    return {};
  }
  template <class Act>
  void Each(Act act) {
    for (auto& server : servers) {
      if (server != nullptr) act(*server);
    }
  }

  const ChannelOf channel_of;
  std::optional<SocketFile> file;
  std::shared_ptr<grpc::ServerCredentials> credentials;  // gRPC asks them until its server has ended
  std::atomic<int> jobs = 0;
  rpc::Watches watches;
  Service local;
  Service tcp;
  std::array<std::unique_ptr<grpc::Server>, 2> servers;  // of the two; null where the settings name none
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() {
  Stop();
}

Result<std::unique_ptr<Server>> Server::Start(const Settings& settings, const Overview& overview,
                                              ChannelOf channel_of) {
  // gRPC has only process-wide switches for these two.
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  std::unique_ptr<Server> server(new Server(std::make_unique<Parts>(overview, std::move(channel_of))));
  Parts& parts = *server->parts_;
  if (!settings.socket.empty()) RAIL_TRY(parts.OpenSocket(settings.socket));
  if (!settings.listen.empty()) RAIL_TRY(parts.OpenTcp(settings.listen, settings.tls));
  parts.Each([](grpc::Server& each) {
    each.GetHealthCheckService()->SetServingStatus(v1::Fabric::service_full_name(), false);
  });
  return server;
}

void Server::SetReady() {
  parts_->Each([](grpc::Server& each) {
    each.GetHealthCheckService()->SetServingStatus(v1::Fabric::service_full_name(), true);
  });
}

void Server::Stop() {
  if (parts_ == nullptr) return;
  parts_->Each([](grpc::Server& each) { each.GetHealthCheckService()->Shutdown(); });
  parts_->watches.Stop();
  const auto until = std::chrono::system_clock::now() + kStopTime;
  parts_->Each([&](grpc::Server& each) { each.Shutdown(until); });
  parts_->Each([](grpc::Server& each) { each.Wait(); });
  parts_->servers = {};
  parts_.reset();
}

}  // namespace rail::railfabric
