#include "cmd/railctl/railctl.h"

#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "cmd/railctl/rows.h"
#include "cmd/railctl/table.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/socket.h"
#include "rail/v1/node.grpc.pb.h"

namespace rail::railctl {
namespace {

namespace health = grpc::health::v1;

constexpr auto kAnswerTime = std::chrono::seconds(10);
constexpr uint32_t kPage = 10000;         // remotes a call
constexpr int kLargestAnswer = 64 << 20;  // bytes

enum class Layout { kLine, kIndented };

class Session {
 public:
  Session(const Flags& flags, std::ostream& out, const Now& now) : flags_(flags), out_(out), now_(now) {}

  Status Run() {
    if (flags_.command == Command::kVersion) {
      out_ << "railctl " RAIL_VERSION "\n";
      return {};
    }
    RAIL_TRY(Connect());
    switch (flags_.command) {
      case Command::kAttachments:
        return GetAttachments();
      case Command::kRails:
        return GetRails();
      case Command::kRemotes:
        return GetRemotes();
      case Command::kNode:
        return GetNode();
      case Command::kWatch:
        return Watch();
      case Command::kHealth:
        return CheckHealth();
      case Command::kVersion:
        break;
    }
    return {};
  }

 private:
  // A connection of our own first: gRPC would try again and again, and not say why.
  Status Connect() {
    const auto probe = UnixStream::Connect(flags_.socket, After(std::chrono::seconds(2)));
    if (!probe) {
      const Error& error = probe.error();
      std::string advice = ": is raild running?";
      if (error.code == Code::kPermission) advice = ": only root and members of group railcni may";
      if (error.code == Code::kInvalid) advice.clear();
      return Fail(error.code, "cannot " + error.message + advice);
    }
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kLargestAnswer);
    channel_ =
        grpc::CreateCustomChannel("unix:" + flags_.socket, grpc::InsecureChannelCredentials(), arguments);
    node_ = v1::Node::NewStub(channel_);
    return {};
  }

  Status ToStatus(const grpc::Status& status) const {
    if (status.ok()) return {};
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      return Fail(Code::kTransient,
                  "raild at " + flags_.socket + " accepts connections but does not answer: see its log");
    }
    return Fail(Code::kTransient, "raild at " + flags_.socket + ": " + status.error_message());
  }

  // One call of `method` with the usual deadline.
  template <class Stub, class Request, class Response>
  Status Call(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
              const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kAnswerTime);
    return ToStatus((stub.*method)(&context, request, &response));
  }

  Status PrintJson(const google::protobuf::Message& message, Layout layout) {
    google::protobuf::util::JsonPrintOptions options;
    options.preserve_proto_field_names = true;
    options.always_print_primitive_fields = true;  // every key is there, whatever its value
    options.add_whitespace = layout == Layout::kIndented;
    std::string text;
    const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
    if (!status.ok())
      return Fail(Code::kInternal, "write the answer as JSON: " + std::string(status.message()));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    out_ << text << '\n';
    return {};
  }

  v1::AttachmentFilter Filter() const {
    v1::AttachmentFilter filter;
    filter.set_namespace_(flags_.pod_namespace);
    filter.set_rail(flags_.rail);
    return filter;
  }

  Status GetAttachments() {
    v1::ListAttachmentsRequest request;
    *request.mutable_filter() = Filter();
    v1::ListAttachmentsResponse response;
    RAIL_TRY(Call(*node_, &v1::Node::Stub::ListAttachments, request, response));
    if (flags_.format == Format::kJson) return PrintJson(response, Layout::kIndented);
    std::ranges::sort(*response.mutable_attachments(), {}, [](const v1::Attachment& a) {
      return std::tie(a.pod().namespace_(), a.pod().name(), a.ifname());
    });
    Table table(AttachmentHeader());
    for (const v1::Attachment& a : response.attachments()) table.Add(AttachmentRow(a, now_()));
    table.Print(out_);
    return {};
  }

  Status GetRails() {
    v1::ListRailsResponse response;
    RAIL_TRY(Call(*node_, &v1::Node::Stub::ListRails, v1::ListRailsRequest(), response));
    if (flags_.format == Format::kJson) return PrintJson(response, Layout::kIndented);
    Table table(RailHeader());
    for (const v1::Rail& rail : response.rails()) table.Add(RailRow(rail));
    table.Print(out_);
    return {};
  }

  Status GetRemotes() {
    v1::ListRemotesResponse all;
    v1::ListRemotesRequest request;
    request.set_page_size(kPage);
    do {
      v1::ListRemotesResponse page;
      RAIL_TRY(Call(*node_, &v1::Node::Stub::ListRemotes, request, page));
      request.set_page_token(page.next_page_token());
      all.MergeFrom(page);
      all.clear_next_page_token();
    } while (!request.page_token().empty());
    if (flags_.format == Format::kJson) return PrintJson(all, Layout::kIndented);
    Table table(RemoteHeader());
    for (const v1::Remote& remote : all.remotes()) table.Add(RemoteRow(remote));
    table.Print(out_);
    return {};
  }

  Status GetNode() {
    v1::GetNodeResponse response;
    RAIL_TRY(Call(*node_, &v1::Node::Stub::GetNode, v1::GetNodeRequest(), response));
    if (flags_.format == Format::kJson) return PrintJson(response, Layout::kIndented);
    Table node(NodeHeader());
    node.Add(NodeRow(response.node(), now_()));
    node.Print(out_);
    out_ << '\n';
    Table parts(HealthHeader());
    for (const v1::HealthPart& part : response.node().health()) parts.Add(HealthRow(part));
    parts.Print(out_);
    return {};
  }

  Status Watch() {
    v1::WatchAttachmentsRequest request;
    *request.mutable_filter() = Filter();
    grpc::ClientContext context;
    const auto reader = node_->WatchAttachments(&context, request);

    Row header = AttachmentHeader();
    header.insert(header.begin(), "EVENT");
    Table table(std::move(header));
    table.Reserve(0, "MODIFIED");
    enum class Stage { kFirst, kSynced } stage = Stage::kFirst;
    for (v1::WatchAttachmentsResponse event; reader->Read(&event);) {
      if (event.type() == v1::WatchAttachmentsResponse::SYNCED) stage = Stage::kSynced;
      if (flags_.format == Format::kJson) {
        RAIL_TRY(PrintJson(event, Layout::kLine));
      } else {
        if (event.has_attachment()) {
          Row row = AttachmentRow(event.attachment(), now_());
          row.insert(row.begin(), v1::WatchAttachmentsResponse::Type_Name(event.type()));
          table.Add(std::move(row));
        }
        // Those there at the start come together, so that their columns fit all of them.
        if (stage == Stage::kFirst) continue;
        table.Print(out_);
      }
      out_.flush();
    }
    const grpc::Status status = reader->Finish();
    if (!status.ok()) return ToStatus(status);
    return Fail(Code::kTransient, "raild at " + flags_.socket + " has ended the watch");
  }

  Status CheckHealth() {
    const auto stub = health::Health::NewStub(channel_);
    health::HealthCheckRequest request;
    request.set_service(v1::Node::service_full_name());
    health::HealthCheckResponse response;
    RAIL_TRY(Call(*stub, &health::Health::Stub::Check, request, response));
    if (flags_.format == Format::kJson) {
      RAIL_TRY(PrintJson(response, Layout::kIndented));
    } else {
      out_ << health::HealthCheckResponse::ServingStatus_Name(response.status()) << '\n';
    }
    if (response.status() == health::HealthCheckResponse::SERVING) return {};
    return Fail(Code::kTransient, "raild at " + flags_.socket + " does not serve now");
  }

  const Flags& flags_;
  std::ostream& out_;
  const Now& now_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Node::Stub> node_;
};

}  // namespace

int Run(const Flags& flags, std::ostream& out, std::ostream& err, const Now& now) {
  Status status = Session(flags, out, now).Run();
  out.flush();
  if (status && !out) status = Fail(Code::kTransient, "cannot write the answer: is the disk full?");
  if (status) return kDone;
  err << "railctl: " << status.error().message << '\n';
  return kFailed;
}

}  // namespace rail::railctl
