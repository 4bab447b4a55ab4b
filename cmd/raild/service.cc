#include "cmd/raild/service.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "cmd/raild/messages.h"
#include "cmd/raild/socket_file.h"
#include "lib/base/clock.h"
#include "rail/v1/node.grpc.pb.h"

namespace rail::raild {
namespace {

// Requests are tiny, answers bounded by the page size; nobody with access needs more, and no client can make
// raild large.
constexpr int kLargestRequest = 64 << 10;         // bytes
constexpr size_t kMostMemory = size_t{64} << 20;  // bytes, gRPC's buffers in all
constexpr int kMostThreads = 8;    // reflection alone; all other methods share gRPC's few callback threads
constexpr int kMostStreams = 128;  // calls at a time of one connection
constexpr size_t kMostWatches = 64;
constexpr auto kStopTime = std::chrono::seconds(2);
// A board cannot be told to stop waiting, so this bounds how long Stop waits for it.
constexpr auto kBoardWait = std::chrono::milliseconds(200);

grpc::StatusCode StatusCodeOf(Code code) {
  switch (code) {
    case Code::kInvalid:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case Code::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case Code::kExists:
      return grpc::StatusCode::ALREADY_EXISTS;
    case Code::kBusy:
    case Code::kTransient:
      return grpc::StatusCode::UNAVAILABLE;
    case Code::kUnsupported:
      return grpc::StatusCode::UNIMPLEMENTED;
    case Code::kPermission:
      return grpc::StatusCode::PERMISSION_DENIED;
    case Code::kInternal:
      return grpc::StatusCode::INTERNAL;
  }
  return grpc::StatusCode::INTERNAL;
}

class Watch;

// All watches, and the thread that tells them of new views.
class Watches {
 public:
  explicit Watches(const engine::Board& board) : board_(board), follower_([this] { Follow(); }) {}
  ~Watches() { Stop(); }

  grpc::Status Add(Watch* watch);
  void Remove(Watch* watch);
  void Stop();
  const engine::Board& board() const { return board_; }

 private:
  void Follow();

  const engine::Board& board_;
  std::mutex mutex_;  // taken before a watch's own
  std::condition_variable changed_;
  std::set<Watch*> watches_;
  enum class Stage { kServing, kStopping } stage_ = Stage::kServing;
  std::thread follower_;
};

// One client's WatchAttachments. While a write is under way nothing is queued beyond the events of one
// comparison; the next comparison is made with whatever is current when they have been taken.
class Watch final : public grpc::ServerWriteReactor<v1::WatchAttachmentsResponse> {
 public:
  Watch(Watches& watches, v1::AttachmentFilter filter) : watches_(watches), changes_(std::move(filter)) {
    // Added first, looked second: a view published in between is told twice rather than never.
    if (grpc::Status status = watches_.Add(this); !status.ok()) {
      End(std::move(status));
    } else {
      Look();
    }
  }

  void Look() {
    const std::lock_guard lock(mutex_);
    SendNext();
  }

  void End(grpc::Status status) {
    const std::lock_guard lock(mutex_);
    EndLocked(std::move(status));
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    write_ = Write::kIdle;
    if (ok) {
      SendNext();
    } else {
      EndLocked(grpc::Status::CANCELLED);
    }
  }

  void OnCancel() override { End(grpc::Status::CANCELLED); }

  void OnDone() override {
    watches_.Remove(this);
    delete this;
  }

 private:
  void SendNext() {
    if (call_ == Call::kEnded || write_ == Write::kUnderWay) return;
    if (next_ == events_.size()) {
      events_.clear();
      next_ = 0;
      const auto view = watches_.board().Current();
      if (compared_ == view->version) return;
      compared_ = view->version;
      events_ = changes_.Next(*view);
      if (events_.empty()) return;
    }
    write_ = Write::kUnderWay;
    StartWrite(&events_[next_++]);
  }

  void EndLocked(grpc::Status status) {
    if (std::exchange(call_, Call::kEnded) == Call::kOpen) Finish(std::move(status));
  }

  Watches& watches_;
  std::mutex mutex_;
  Changes changes_;
  std::vector<v1::WatchAttachmentsResponse> events_;
  size_t next_ = 0;
  std::optional<uint64_t> compared_;  // the version of the last comparison
  enum class Write { kIdle, kUnderWay } write_ = Write::kIdle;
  enum class Call { kOpen, kEnded } call_ = Call::kOpen;
};

grpc::Status Watches::Add(Watch* watch) {
  const std::lock_guard lock(mutex_);
  if (stage_ == Stage::kStopping) return {grpc::StatusCode::UNAVAILABLE, "raild is stopping"};
  if (watches_.size() >= kMostWatches) {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED,
            std::to_string(kMostWatches) + " clients are watching already"};
  }
  watches_.insert(watch);
  changed_.notify_one();
  return grpc::Status::OK;
}

void Watches::Remove(Watch* watch) {
  const std::lock_guard lock(mutex_);
  watches_.erase(watch);
}

void Watches::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stage_ = Stage::kStopping;
    for (Watch* watch : watches_) watch->End({grpc::StatusCode::UNAVAILABLE, "raild is stopping"});
    changed_.notify_one();
  }
  if (follower_.joinable()) follower_.join();
}

void Watches::Follow() {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stage_ == Stage::kStopping || !watches_.empty(); });
    if (stage_ == Stage::kStopping) return;
    lock.unlock();
    const uint64_t now = board_.WaitNewer(seen, After(kBoardWait))->version;
    lock.lock();
    if (std::exchange(seen, now) == now) continue;
    for (Watch* watch : watches_) watch->Look();
  }
}

class Service final : public v1::Node::CallbackService {
 public:
  explicit Service(Watches& watches) : watches_(watches) {}

  grpc::ServerUnaryReactor* GetNode(grpc::CallbackServerContext* context, const v1::GetNodeRequest*,
                                    v1::GetNodeResponse* response) override {
    *response = raild::GetNode(*View());
    return Finish(context, grpc::Status::OK);
  }

  grpc::ServerUnaryReactor* ListRails(grpc::CallbackServerContext* context, const v1::ListRailsRequest*,
                                      v1::ListRailsResponse* response) override {
    *response = raild::ListRails(*View());
    return Finish(context, grpc::Status::OK);
  }

  grpc::ServerUnaryReactor* ListAttachments(grpc::CallbackServerContext* context,
                                            const v1::ListAttachmentsRequest* request,
                                            v1::ListAttachmentsResponse* response) override {
    *response = raild::ListAttachments(*View(), request->filter());
    return Finish(context, grpc::Status::OK);
  }

  grpc::ServerUnaryReactor* ListRemotes(grpc::CallbackServerContext* context,
                                        const v1::ListRemotesRequest* request,
                                        v1::ListRemotesResponse* response) override {
    auto page = raild::ListRemotes(*View(), *request);
    if (!page) return Finish(context, {StatusCodeOf(page.error().code), page.error().message});
    *response = std::move(*page);
    return Finish(context, grpc::Status::OK);
  }

  grpc::ServerWriteReactor<v1::WatchAttachmentsResponse>* WatchAttachments(
      grpc::CallbackServerContext*, const v1::WatchAttachmentsRequest* request) override {
    return new Watch(watches_, request->filter());  // deletes itself in OnDone
  }

 private:
  std::shared_ptr<const engine::NodeView> View() const { return watches_.board().Current(); }

  static grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context, const grpc::Status& status) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }

  Watches& watches_;
};

}  // namespace

struct Server::Parts {
  Parts(const engine::Board& board, SocketFile socket)
      : file(std::move(socket)), watches(board), service(watches) {}

  SocketFile file;
  Watches watches;
  Service service;
  std::unique_ptr<grpc::Server> server;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() {
  Stop();
}

Result<std::unique_ptr<Server>> Server::Start(const engine::Board& board, const std::string& socket,
                                              const std::string& group) {
  RAIL_ASSIGN(SocketFile file, SocketFile::Prepare(socket));
  // Both are switches of the process: gRPC has no other.
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  auto parts = std::make_unique<Parts>(board, std::move(file));
  grpc::ResourceQuota quota("raild");
  quota.Resize(kMostMemory);
  quota.SetMaxThreads(kMostThreads);
  grpc::ServerBuilder builder;
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(kLargestRequest);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreams);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  builder.AddListeningPort("unix:" + parts->file.bind_path(), grpc::InsecureServerCredentials());
  builder.RegisterService(&parts->service);
  parts->server = builder.BuildAndStart();
  if (parts->server == nullptr)
    return Fail(Code::kInternal, "serve gRPC on " + socket + ": gRPC does not start");
  parts->server->GetHealthCheckService()->SetServingStatus(v1::Node::service_full_name(), true);
  auto server = std::unique_ptr<Server>(new Server(std::move(parts)));
  RAIL_TRY(server->parts_->file.Publish(group));
  return server;
}

void Server::Stop() {
  if (parts_ == nullptr) return;
  parts_->server->GetHealthCheckService()->Shutdown();
  parts_->watches.Stop();
  parts_->server->Shutdown(std::chrono::system_clock::now() + kStopTime);
  parts_->server->Wait();
  parts_->server.reset();
  parts_.reset();
}

}  // namespace rail::raild
