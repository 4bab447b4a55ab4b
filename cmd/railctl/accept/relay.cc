#include "cmd/railctl/accept/relay.h"

#include <functional>

#include "lib/rpc/channel.h"

namespace rail::accept {
namespace {

// Its end, its deadline and the caller's word that nobody waits any more are passed on.
template <class Call>
grpc::ServerUnaryReactor* PassOn(grpc::CallbackServerContext* context, const Call& call) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const std::shared_ptr<grpc::ClientContext> to_raild =
      grpc::ClientContext::FromCallbackServerContext(*context);
  call(to_raild.get(), [reactor, to_raild](const grpc::Status& answer) { reactor->Finish(answer); });
  return reactor;
}

using Done = std::function<void(grpc::Status)>;

// A stream of answers: the next is read when the caller has taken the one before. Deletes itself when both sides have ended.
class Passing final : public grpc::ServerWriteReactor<v1::WatchNodeResponse> {
 public:
  Passing(const grpc::CallbackServerContext& context, v1::Node::Stub& raild,
          const v1::WatchNodeRequest& request)
      : to_raild_(grpc::ClientContext::FromCallbackServerContext(context)) {
    raild.async()->WatchNode(to_raild_.get(), &request, &reader_);
    reader_.AddHold();  // until the last read: OnWriteDone begins others
    reader_.Next();
    reader_.StartCall();
  }

  void OnWriteDone(bool ok) override {
    if (ok) return reader_.Next();
    to_raild_->TryCancel();
    reader_.RemoveHold();
  }
  void OnDone() override { delete this; }

 private:
  class Reader final : public grpc::ClientReadReactor<v1::WatchNodeResponse> {
   public:
    explicit Reader(Passing& passing) : passing_(passing) {}
    void Next() { StartRead(&answer_); }
    void OnReadDone(bool ok) override {
      if (ok) return passing_.StartWrite(&answer_);
      RemoveHold();
    }
    void OnDone(const grpc::Status& status) override { passing_.Finish(status); }

   private:
    Passing& passing_;
    v1::WatchNodeResponse answer_;
  };
  ~Passing() override = default;

  const std::unique_ptr<grpc::ClientContext> to_raild_;
  Reader reader_{*this};
};

}  // namespace

Result<std::unique_ptr<Relay>> Relay::Make(const std::string& raild) {
  if (!raild.starts_with("unix:"))
    return Fail(Code::kInvalid, "--raild " + raild + " is no socket of this node (unix:PATH)");
  RAIL_ASSIGN(const auto channel, rpc::Connect(raild));
  return std::unique_ptr<Relay>(new Relay(v1::Node::NewStub(channel)));
}

grpc::ServerUnaryReactor* Relay::GetNode(grpc::CallbackServerContext* context,
                                         const v1::GetNodeRequest* request, v1::GetNodeResponse* response) {
  return PassOn(context, [&](grpc::ClientContext* to, Done done) {
    raild_->async()->GetNode(to, request, response, std::move(done));
  });
}

grpc::ServerUnaryReactor* Relay::ListRails(grpc::CallbackServerContext* context,
                                           const v1::ListRailsRequest* request,
                                           v1::ListRailsResponse* response) {
  return PassOn(context, [&](grpc::ClientContext* to, Done done) {
    raild_->async()->ListRails(to, request, response, std::move(done));
  });
}

grpc::ServerUnaryReactor* Relay::ListAttachments(grpc::CallbackServerContext* context,
                                                 const v1::ListAttachmentsRequest* request,
                                                 v1::ListAttachmentsResponse* response) {
  return PassOn(context, [&](grpc::ClientContext* to, Done done) {
    raild_->async()->ListAttachments(to, request, response, std::move(done));
  });
}

grpc::ServerUnaryReactor* Relay::ListRemotes(grpc::CallbackServerContext* context,
                                             const v1::ListRemotesRequest* request,
                                             v1::ListRemotesResponse* response) {
  return PassOn(context, [&](grpc::ClientContext* to, Done done) {
    raild_->async()->ListRemotes(to, request, response, std::move(done));
  });
}

grpc::ServerUnaryReactor* Relay::ListCounters(grpc::CallbackServerContext* context,
                                              const v1::ListCountersRequest* request,
                                              v1::ListCountersResponse* response) {
  return PassOn(context, [&](grpc::ClientContext* to, Done done) {
    raild_->async()->ListCounters(to, request, response, std::move(done));
  });
}

grpc::ServerUnaryReactor* Relay::Check(grpc::CallbackServerContext* context, const v1::CheckRequest* request,
                                       v1::CheckResponse* response) {
  return PassOn(context, [&](grpc::ClientContext* to, Done done) {
    raild_->async()->Check(to, request, response, std::move(done));
  });
}

grpc::ServerWriteReactor<v1::WatchNodeResponse>* Relay::WatchNode(grpc::CallbackServerContext* context,
                                                                  const v1::WatchNodeRequest* request) {
  return new Passing(*context, *raild_, *request);
}

grpc::ServerUnaryReactor* Relay::ListFlows(grpc::CallbackServerContext* context,
                                           const v1::ListFlowsRequest* request,
                                           v1::ListFlowsResponse* response) {
  return PassOn(context, [&](grpc::ClientContext* to, Done done) {
    raild_->async()->ListFlows(to, request, response, std::move(done));
  });
}

grpc::ServerUnaryReactor* Relay::Doctor(grpc::CallbackServerContext* context,
                                        const v1::DoctorRequest* request, v1::DoctorResponse* response) {
  return PassOn(context, [&](grpc::ClientContext* to, Done done) {
    raild_->async()->Doctor(to, request, response, std::move(done));
  });
}

}  // namespace rail::accept
