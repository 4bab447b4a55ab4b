#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cmd/railctl/commands.h"
#include "cmd/railctl/events.h"
#include "rail/v1/fabric.grpc.pb.h"

namespace rail::railctl {

// An attachment's own columns, after those that say where it is.
template <>
struct TableOf<v1::FleetAttachment> {
  static Columns Header() {
    Columns columns = ColumnsOf<v1::FleetAttachment>();
    const Columns of_attachment = ColumnsOf<v1::Attachment>();
    columns.wide.insert(of_attachment.wide.begin(), of_attachment.wide.end());
    columns.wide.insert({"LEAF", "UNIT"});
    columns.header = Between(columns.header, of_attachment.header);
    return columns;
  }
  static Row Cells(const v1::FleetAttachment& message, const CellStyle& style) {
    return Between(RowOf(message, style), RowOf(message.attachment(), style));
  }

 private:
  static Row Between(Row around, const Row& inner) {
    around.insert(around.begin() + 1, inner.begin(), inner.end());
    return around;
  }
};

namespace {

using Stub = v1::Fabric::Stub;
constexpr uint32_t kPage = 10'000;  // attachments

class Fabric {
 public:
  explicit Fabric(const Context& context)
      : context_(context), stub_(v1::Fabric::NewStub(context.client.channel())) {}

  Result<v1::ListFleetNodesResponse> Nodes() {
    v1::ListFleetNodesRequest request;
    request.set_node(flags().node);
    request.set_unit(flags().unit);
    return context_.client.Ask(*stub_, &Stub::ListFleetNodes, request);
  }
  Result<v1::ListFleetRailsResponse> Rails() {
    v1::ListFleetRailsRequest request;
    request.set_node(flags().node);
    request.set_rail(flags().rail);
    request.set_unit(flags().unit);
    request.set_leaf(flags().leaf);
    return context_.client.Ask(*stub_, &Stub::ListFleetRails, request);
  }
  Result<v1::ListFleetAttachmentsResponse> Attachments() {
    v1::ListFleetAttachmentsRequest request;
    v1::FleetAttachmentSelector& selector = *request.mutable_selector();
    selector.set_namespace_(flags().pod_namespace);
    selector.set_pod(flags().pod);
    selector.set_node(flags().node);
    selector.set_rail(flags().rail);
    selector.set_tenant(flags().tenant);
    request.set_page_size(kPage);
    v1::ListFleetAttachmentsResponse all;
    do {
      RAIL_ASSIGN(const v1::ListFleetAttachmentsResponse page,
                  context_.client.Ask(*stub_, &Stub::ListFleetAttachments, request));
      request.set_page_token(page.next_page_token());
      all.mutable_attachments()->MergeFrom(page.attachments());
    } while (!request.page_token().empty());
    return all;
  }
  Result<v1::DiagnoseFleetResponse> Causes() {
    v1::DiagnoseFleetRequest request;
    request.set_node(flags().node);
    return context_.client.Ask(*stub_, &Stub::DiagnoseFleet, request);
  }
  Result<v1::GetJobResponse> Job() {
    v1::GetJobRequest request;
    request.set_namespace_(flags().pod_namespace);
    request.set_name(flags().pod);
    return context_.client.Ask(*stub_, &Stub::GetJob, request);
  }

  // Calls `look` now, and whenever its answer may have changed.
  ExitCode Follow(v1::FleetPart part, const std::function<Status()>& look) {
    grpc::ClientContext call;
    const auto reader = stub_->WatchFleet(&call, v1::WatchFleetRequest());
    for (v1::WatchFleetResponse change; reader->Read(&change);) {
      if (std::ranges::find(change.parts(), part) == change.parts().end()) continue;
      RAIL_TRY(look());
      if (!context_.out) call.TryCancel();  // nobody reads any more
    }
    return context_.client.Ended(reader->Finish());
  }

 private:
  const Flags& flags() const { return context_.flags; }

  const Context& context_;
  const std::unique_ptr<Stub> stub_;
};

template <class Messages>
void PrintTable(const Context& context, const Messages& messages) {
  using Message = typename Messages::value_type;
  Table table = MakeTable(context, TableOf<Message>::Header());
  for (const Message& each : messages) table.Add(TableOf<Message>::Cells(each, StyleOf(context)));
  table.Print(context.out);
}

// `list` gives a response whose messages `of` it are the table.
template <class Response, class Message>
ExitCode GetList(const Context& context, Fabric& fabric, Result<Response> (Fabric::*list)(),
                 const google::protobuf::RepeatedPtrField<Message>& (Response::*of)() const,
                 v1::FleetPart part, Events<Message> events) {
  if (context.flags.watch) {
    return fabric.Follow(part, [&]() -> Status {
      RAIL_ASSIGN(const Response response, (fabric.*list)());
      const auto& messages = (response.*of)();
      return events.Print(std::vector<Message>(messages.begin(), messages.end()));
    });
  }
  RAIL_ASSIGN(const Response response, (fabric.*list)());
  if (AsJson(context)) return PrintJson(context, response);
  PrintTable(context, (response.*of)());
  return kDone;
}

ExitCode GetAttachments(const Context& context, Fabric& fabric) {
  const auto key = [](const v1::FleetAttachment& each) {
    return each.node() + ' ' + std::to_string(each.attachment().id());
  };
  return GetList<v1::ListFleetAttachmentsResponse, v1::FleetAttachment>(
      context, fabric, &Fabric::Attachments, &v1::ListFleetAttachmentsResponse::attachments,
      v1::FLEET_ATTACHMENTS, {context, "attachment", key});
}

ExitCode GetRails(const Context& context, Fabric& fabric) {
  const auto key = [](const v1::FleetRail& each) { return each.node() + ' ' + each.rail(); };
  return GetList<v1::ListFleetRailsResponse, v1::FleetRail>(context, fabric, &Fabric::Rails,
                                                            &v1::ListFleetRailsResponse::rails,
                                                            v1::FLEET_RAILS, {context, "rail", key});
}

ExitCode GetNodes(const Context& context, Fabric& fabric) {
  return GetList<v1::ListFleetNodesResponse, v1::FleetNode>(
      context, fabric, &Fabric::Nodes, &v1::ListFleetNodesResponse::nodes, v1::FLEET_NODES,
      {context, "node", [](const v1::FleetNode& each) { return each.name(); }});
}

std::string Totals(const v1::JobTotals& totals, uint32_t broken) {
  const auto count = [](uint32_t number, const char* one, const char* many) {
    return std::to_string(number) + " " + (number == 1 ? one : many);
  };
  return count(totals.pods(), "pod", "pods") + " on " + count(totals.nodes(), "node", "nodes") + " behind " +
         count(totals.leaves(), "leaf", "leaves") + " in " + count(totals.units(), "unit", "units") + "; " +
         count(totals.pairs(), "pair", "pairs") + " on a rail: " + std::to_string(broken) +
         " cannot reach each other, " + std::to_string(totals.pairs_unknown()) + " not known, " +
         std::to_string(totals.pairs_across_leaves()) + " across leaves, " +
         std::to_string(totals.pairs_across_units()) + " across units\n";
}

void PrintJob(const Context& context, const v1::GetJobResponse& job) {
  PrintTable(context, job.pods());
  context.out << '\n';
  if (!job.pairs().empty()) {
    PrintTable(context, job.pairs());
    if (job.pairs_total() > static_cast<uint32_t>(job.pairs_size()))
      context.out << "... and " << job.pairs_total() - static_cast<uint32_t>(job.pairs_size()) << " more\n";
    context.out << '\n';
  }
  if (!job.uplinks().empty()) {
    PrintTable(context, job.uplinks());
    context.out << '\n';
  }
  context.out << Totals(job.totals(), job.pairs_total());
}

// With -w: all of it whenever it has changed.
ExitCode GetJob(const Context& context, Fabric& fabric) {
  std::string told;
  const auto look = [&]() -> Status {
    RAIL_ASSIGN(const v1::GetJobResponse job, fabric.Job());
    std::string now = job.SerializeAsString();
    if (now == told) return {};
    told = std::move(now);
    if (!AsJson(context)) {
      PrintJob(context, job);
    } else if (context.flags.watch) {
      RAIL_TRY(PrintEventLine(context, Event::MODIFIED, "job", job));
    } else {
      RAIL_TRY(PrintJson(context, job));
    }
    context.out.flush();
    return {};
  };
  if (context.flags.watch) return fabric.Follow(v1::FLEET_ATTACHMENTS, look);
  RAIL_TRY(look());
  return kDone;
}

v1::Finding AsFinding(const v1::FleetCause& cause) {
  v1::Finding finding;
  finding.set_severity(cause.severity());
  finding.set_id(cause.id());
  finding.set_subject(cause.subject());
  finding.set_what(cause.what());
  finding.set_why(cause.why());
  finding.set_fix(cause.fix());
  return finding;
}

ExitCode Doctor(const Context& context, Fabric& fabric) {
  RAIL_ASSIGN(const v1::DiagnoseFleetResponse response, fabric.Causes());
  v1::DoctorResponse found;
  for (const v1::FleetCause& cause : response.causes()) *found.add_findings() = AsFinding(cause);
  const int exit_code = FindsWrong(found) ? kFailed : kDone;
  if (AsJson(context)) {
    RAIL_TRY(PrintJson(context, response));
    return exit_code;
  }
  for (int i = 0; i < response.causes_size(); ++i) {
    PrintFinding(found.findings(i), Unfold::kCauses, context.out, Painter(context.flags.color));
    const std::string& follows = response.causes(i).follows_in_short();
    context.out << (follows.empty() ? "" : "  follows: " + follows + "\n") << '\n';
  }
  const v1::FleetTotals& totals = response.totals();
  context.out << CountFindings(found) << "; looked for " << response.checks() << " kinds of causes on "
              << totals.nodes() << " nodes, " << totals.nodes_away() << " of them away, "
              << totals.nodes_unheard() << " not heard so far\n";
  return exit_code;
}

}  // namespace

ExitCode AskFabric(const Context& context) {
  Fabric fabric(context);
  switch (context.flags.command) {
    case Command::kNode: return GetNodes(context, fabric);
    case Command::kRails: return GetRails(context, fabric);
    case Command::kAttachments: return GetAttachments(context, fabric);
    case Command::kJob: return GetJob(context, fabric);
    case Command::kDoctor: return Doctor(context, fabric);
    case Command::kHealth: return CheckHealth(context);
    default: return Fail(Code::kInternal, "a command that asks raild was to ask railfabric");
  }
}

}  // namespace rail::railctl
