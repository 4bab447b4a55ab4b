#include "cmd/railctl/railctl.h"

#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "cmd/railctl/findings.h"
#include "cmd/railctl/rows.h"
#include "cmd/railctl/table.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/socket.h"
#include "lib/config/raild_service.h"
#include "rail/v1/node.grpc.pb.h"

namespace rail::railctl {
namespace {

namespace health = grpc::health::v1;

constexpr auto kAnswerTime = std::chrono::seconds(10);
constexpr uint32_t kPage = 10000;  // remotes per call
constexpr uint32_t kFlowsPage =
    32;  // attachments per call: each call makes raild read all flows of the datapath
constexpr int kLargestAnswer = 64 << 20;  // bytes

enum class Layout { kLine, kIndented };

class Session {
 public:
  Session(const Flags& flags, std::ostream& out, const Now& now) : flags_(flags), out_(out), now_(now) {}

  // The exit code of a run that has not failed.
  int exit_code() const { return exit_code_; }

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
      case Command::kTenants:
        return GetTenants();
      case Command::kFlows:
        return GetFlows();
      case Command::kNode:
        return GetNode();
      case Command::kWatch:
        return Watch();
      case Command::kCheck:
        return Check();
      case Command::kTrace:
        return Trace();
      case Command::kDoctor:
        return Doctor();
      case Command::kHealth:
        return CheckHealth();
      case Command::kVersion:
        break;
    }
    return {};
  }

 private:
  Status ConnectTcp() {
    grpc::SslCredentialsOptions tls;
    for (const auto& [path, text] :
         {std::pair(&flags_.ca_file, &tls.pem_root_certs), std::pair(&flags_.cert_file, &tls.pem_cert_chain),
          std::pair(&flags_.key_file, &tls.pem_private_key)}) {
      errno = 0;
      std::ifstream file(*path, std::ios::binary);
      if (!file) return FailErrno(errno != 0 ? errno : ENOENT, "read " + *path);
      text->assign(std::istreambuf_iterator<char>(file), {});
      if (text->empty()) return Fail(Code::kInvalid, *path + " is empty");
    }
    Use(flags_.server, grpc::SslCredentials(tls));
    return {};
  }

  void Use(const std::string& target, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kLargestAnswer);
    channel_ = grpc::CreateCustomChannel(target, credentials, arguments);
    node_ = v1::Node::NewStub(channel_);
  }

  const std::string& Where() const { return flags_.server.empty() ? flags_.socket : flags_.server; }

  // Connects to the socket without gRPC first: gRPC would retry without saying why it cannot connect.
  Status Connect() {
    if (!flags_.server.empty()) return ConnectTcp();
    const auto probe = UnixStream::Connect(flags_.socket, After(std::chrono::seconds(2)));
    if (!probe) {
      const Error& error = probe.error();
      std::string advice = ": is raild running? Its log: `" + config::FindRaildService().log +
                           "`; `raild --doctor` looks at the node without it";
      if (error.code == Code::kPermission) advice = ": only root and members of group railcni may";
      if (error.code == Code::kInvalid) advice.clear();
      return Fail(error.code, "cannot " + error.message + advice);
    }
    Use("unix:" + flags_.socket, grpc::InsecureChannelCredentials());
    return {};
  }

  Status ToStatus(const grpc::Status& status) const {
    if (status.ok()) return {};
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      return Fail(Code::kTransient,
                  "raild at " + Where() + " accepts connections but does not answer: see its log");
    }
    // The question is wrong, so the message does not name raild's address.
    if (status.error_code() == grpc::StatusCode::NOT_FOUND ||
        status.error_code() == grpc::StatusCode::INVALID_ARGUMENT) {
      return Fail(Code::kInvalid, status.error_message());
    }
    return Fail(Code::kTransient, "raild at " + Where() + ": " + status.error_message());
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
    options.always_print_primitive_fields = true;  // print every key, whatever its value
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

  v1::AttachmentSelector Selector() const {
    v1::AttachmentSelector selector;
    selector.set_namespace_(flags_.pod_namespace);
    selector.set_pod(flags_.pod);
    selector.set_rail(flags_.rail);
    selector.set_ifname(flags_.ifname);
    return selector;
  }

  Status GetTenants() {
    v1::ListTenantsResponse response;
    RAIL_TRY(Call(*node_, &v1::Node::Stub::ListTenants, v1::ListTenantsRequest(), response));
    if (flags_.format == Format::kJson) return PrintJson(response, Layout::kIndented);
    Table table(TenantHeader());
    for (const v1::TenantSummary& tenant : response.tenants()) table.Add(TenantRow(tenant));
    table.Print(out_);
    return {};
  }

  Status GetFlows() {
    v1::ListFlowsRequest request;
    *request.mutable_selector() = Selector();
    request.set_page_size(kFlowsPage);
    v1::ListFlowsResponse response;
    do {
      v1::ListFlowsResponse page;
      RAIL_TRY(Call(*node_, &v1::Node::Stub::ListFlows, request, page));
      request.set_page_token(page.next_page_token());
      response.MergeFrom(page);
      response.clear_next_page_token();
    } while (!request.page_token().empty());
    if (flags_.format == Format::kJson) return PrintJson(response, Layout::kIndented);
    Table rules(RuleHeader());
    Table megaflows(MegaflowHeader());
    for (const v1::AttachmentFlows& each : response.attachments()) {
      for (const v1::RuleStats& rule : each.rules()) rules.Add(RuleRow(each.attachment(), rule));
      for (const v1::Megaflow& flow : each.megaflows()) megaflows.Add(MegaflowRow(each.attachment(), flow));
    }
    rules.Print(out_);
    out_ << '\n';
    if (!response.datapath_problem().empty()) {
      return Fail(Code::kTransient, "the datapath's flows are not known: " + response.datapath_problem());
    }
    megaflows.Print(out_);
    return {};
  }

  Status Check() {
    v1::CheckRequest request;
    *request.mutable_selector() = Selector();
    v1::CheckResponse response;
    RAIL_TRY(Call(*node_, &v1::Node::Stub::Check, request, response));
    for (const v1::CheckedAttachment& each : response.attachments()) {
      if (each.problems_size() > 0) exit_code_ = kFailed;
    }
    if (flags_.format == Format::kJson) return PrintJson(response, Layout::kIndented);
    Table table(CheckHeader());
    for (const v1::CheckedAttachment& each : response.attachments()) {
      for (Row& row : CheckRows(each)) table.Add(std::move(row));
    }
    table.Print(out_);
    return {};
  }

  Status Trace() {
    v1::TraceRequest request;
    *request.mutable_source() = Selector();
    request.set_destination(flags_.destination);
    request.set_protocol(flags_.protocol == "tcp"    ? v1::TraceRequest::TCP
                         : flags_.protocol == "icmp" ? v1::TraceRequest::ICMP
                                                     : v1::TraceRequest::UDP);
    request.set_destination_port(flags_.port);
    request.set_source_address(flags_.as_address);
    request.set_source_mac(flags_.as_mac);
    v1::TraceResponse response;
    RAIL_TRY(Call(*node_, &v1::Node::Stub::Trace, request, response));
    if (response.verdict() != v1::TraceResponse::REACHES) exit_code_ = kFailed;
    if (flags_.format == Format::kJson) return PrintJson(response, Layout::kIndented);
    PrintTrace(response);
    return {};
  }

  void PrintTrace(const v1::TraceResponse& trace) {
    const v1::Attachment& source = trace.source();
    out_ << source.pod().namespace_() << '/' << source.pod().name() << ' ' << source.ifname() << " on "
         << source.rail() << " -> " << flags_.destination << ": "
         << v1::TraceResponse::Verdict_Name(trace.verdict()) << " ("
         << v1::TraceResponse::Reason_Name(trace.reason()) << ")\n";
    const auto line = [&](const char* name, const std::string& text) {
      if (!text.empty()) out_ << name << OneLine(text) << '\n';
    };
    line("  why:      ", trace.sentence());
    line("  do:       ", trace.advice());
    for (const std::string& note : trace.notes()) line("  note:     ", note);
    if (trace.has_back()) line("  answer:   ", trace.back().sentence());
    if (trace.steps_size() == 0) return;
    out_ << '\n';
    for (int i = 0; i < trace.steps_size(); ++i) {
      out_ << StepText(trace.steps(i),
                       trace.has_deciding_step() && static_cast<int>(trace.deciding_step()) == i);
    }
    out_ << '\n';
    line("  packet:   ", trace.packet());
    line("  megaflow: ", trace.megaflow());
    line("  actions:  ", trace.datapath_actions());
  }

  Status Doctor() {
    v1::DoctorResponse response;
    RAIL_TRY(Call(*node_, &v1::Node::Stub::Doctor, v1::DoctorRequest(), response));
    if (FindsWrong(response)) exit_code_ = kFailed;
    if (flags_.format == Format::kJson) return PrintJson(response, Layout::kIndented);
    PrintFindings(response, flags_.unfold ? Unfold::kAll : Unfold::kCauses, out_);
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
        // Print the attachments that exist at the start together, so that their columns fit all of them.
        if (stage == Stage::kFirst) continue;
        table.Print(out_);
      }
      out_.flush();
    }
    const grpc::Status status = reader->Finish();
    if (!status.ok()) return ToStatus(status);
    return Fail(Code::kTransient, "raild at " + Where() + " has ended the watch");
  }

  Status CheckHealth() {
    const auto stub = health::Health::NewStub(channel_);
    health::HealthCheckRequest request;
    if (flags_.ready) request.set_service(v1::Node::service_full_name());
    health::HealthCheckResponse response;
    RAIL_TRY(Call(*stub, &health::Health::Stub::Check, request, response));
    if (flags_.format == Format::kJson) {
      RAIL_TRY(PrintJson(response, Layout::kIndented));
    } else {
      out_ << health::HealthCheckResponse::ServingStatus_Name(response.status()) << '\n';
    }
    if (response.status() == health::HealthCheckResponse::SERVING) return {};
    v1::GetNodeResponse node;
    RAIL_TRY(Call(*node_, &v1::Node::Stub::GetNode, v1::GetNodeRequest(), node));
    const auto& parts = node.node().health();
    const auto raild = std::ranges::find(parts, "raild", &v1::HealthPart::part);
    const auto waits = std::ranges::find(parts, "readiness", &v1::HealthPart::part);
    return Fail(Code::kTransient,
                "raild at " + Where() + " " +
                    (raild != parts.end()                   ? "hangs: " + raild->problem()
                     : flags_.ready && waits != parts.end() ? "is not ready: " + waits->problem()
                     : flags_.ready ? "is not ready: it has not completed its first look at the whole node"
                                    : "is stopping"));
  }

  const Flags& flags_;
  std::ostream& out_;
  const Now& now_;
  int exit_code_ = kDone;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Node::Stub> node_;
};

}  // namespace

int Run(const Flags& flags, std::ostream& out, std::ostream& err, const Now& now) {
  Session session(flags, out, now);
  Status status = session.Run();
  out.flush();
  if (status && !out) status = Fail(Code::kTransient, "cannot write the answer: is the disk full?");
  if (status) return session.exit_code();
  err << "railctl: " << status.error().message << '\n';
  return kFailed;
}

}  // namespace rail::railctl
