#include "cmd/railctl/client.h"

#include <cerrno>
#include <utility>

#include "lib/base/clock.h"
#include "lib/base/socket.h"
#include "lib/config/raild_service.h"

namespace rail::railctl {
namespace {

constexpr uint32_t kPage = 10000;    // remotes per call
constexpr uint32_t kFlowsPage = 32;  // attachments: each call makes raild read all flows

// All pages, as one answer.
template <class Request, class Response>
Result<Response> AskPages(Client& client,
                          grpc::Status (v1::Node::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                 Response*),
                          Request request) {
  Response all;
  do {
    RAIL_ASSIGN(const Response page, client.Ask(method, request));
    request.set_page_token(page.next_page_token());
    all.MergeFrom(page);
    all.clear_next_page_token();
  } while (!request.page_token().empty());
  return all;
}

}  // namespace

// Connects to the socket without gRPC first: gRPC would retry without saying why it cannot connect.
Status Client::Connect() {
  const std::string socket = SocketOf(flags_);
  if (socket.empty()) {
    RAIL_ASSIGN(const rpc::Tls tls, rpc::ReadTls({flags_.ca_file, flags_.cert_file, flags_.key_file}));
    RAIL_ASSIGN(channel_, rpc::Connect(Where(), tls));
  } else {
    const auto probe = UnixStream::Connect(socket, After(std::chrono::seconds(2)));
    if (!probe)
      return Fail(probe.error().code, "cannot " + probe.error().message + Advice(probe.error().code));
    RAIL_ASSIGN(channel_, rpc::Connect("unix:" + socket));
  }
  node_ = v1::Node::NewStub(channel_);
  return {};
}

std::string Client::Advice(Code code) const {
  if (code == Code::kInvalid) return "";
  if (code == Code::kPermission) return ": only root and members of group railcni may";
  if (!flags_.fabric.empty()) return ": is railfabric running?";
  return ": is raild running? Its log: `" + config::FindRaildService().log +
         "`; `raild --doctor` looks at the node without it";
}

std::string Client::Where() const {
  if (!flags_.fabric.empty()) return flags_.fabric;
  return flags_.server.empty() ? flags_.socket : flags_.server;
}

std::string Client::Whom() const {
  return (flags_.fabric.empty() ? "raild at " : "railfabric at ") + Where();
}

Status Client::ToStatus(const grpc::Status& status) const {
  if (status.ok()) return {};
  switch (status.error_code()) {
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return Fail(Code::kTransient, Whom() + " accepts connections but does not answer: see its log");
    // The question is wrong, so these two do not name raild's address.
    case grpc::StatusCode::NOT_FOUND: return Fail(Code::kNotFound, status.error_message());
    case grpc::StatusCode::INVALID_ARGUMENT: return Fail(Code::kInvalid, status.error_message());
    case grpc::StatusCode::FAILED_PRECONDITION:
      return Fail(Code::kUnsupported, Whom() + ": " + status.error_message());
    case grpc::StatusCode::UNIMPLEMENTED:
      return Fail(
          Code::kUnsupported,
          Whom() +
              " is older than this railctl and does not know the question: `railctl version` names both");
    default: return Fail(Code::kTransient, Whom() + ": " + status.error_message());
  }
}

tl::unexpected<Error> Client::Ended(const grpc::Status& status) const {
  if (const Status failed = ToStatus(status); !failed) return tl::make_unexpected(failed.error());
  return Fail(Code::kTransient, Whom() + " has ended the watch");
}

Result<v1::ListRemotesResponse> Client::ListRemotes() {
  v1::ListRemotesRequest request;
  request.set_page_size(kPage);
  request.set_rail(flags_.rail);
  request.set_tenant(flags_.tenant);
  return AskPages(*this, &v1::Node::Stub::ListRemotes, request);
}

Result<uint32_t> Client::CountRemotes(const std::string& rail) {
  v1::ListRemotesRequest request;
  request.set_page_size(1);
  request.set_rail(rail);
  RAIL_ASSIGN(const v1::ListRemotesResponse response, Ask(&v1::Node::Stub::ListRemotes, request));
  return response.total();
}

Result<v1::ListFlowsResponse> Client::ListFlows(const v1::AttachmentSelector& selector) {
  v1::ListFlowsRequest request;
  *request.mutable_selector() = selector;
  request.set_page_size(kFlowsPage);
  return AskPages(*this, &v1::Node::Stub::ListFlows, request);
}

}  // namespace rail::railctl
