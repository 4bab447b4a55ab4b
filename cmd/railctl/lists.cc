#include <algorithm>

#include "cmd/railctl/commands.h"

namespace rail::railctl {
namespace {

template <class Messages>
void PrintTable(const Context& context, const Messages& messages) {
  Table table = MakeTable(context, ColumnsOf<typename Messages::value_type>());
  for (const auto& each : messages) table.Add(RowOf(each, StyleOf(context)));
  table.Print(context.out);
}

// `response` to programs, `messages` to people.
template <class Messages>
ExitCode PrintList(const Context& context, const google::protobuf::Message& response,
                   const Messages& messages) {
  if (AsJson(context)) return PrintJson(context, response);
  PrintTable(context, messages);
  return kDone;
}

}  // namespace

ExitCode GetAttachments(const Context& context) {
  RAIL_ASSIGN(const v1::ListAttachmentsResponse response, ListAttachments(context));
  return PrintList(context, response, response.attachments());
}

ExitCode GetRails(const Context& context) {
  RAIL_ASSIGN(const std::vector<v1::Rail> rails, ListRails(context));
  v1::ListRailsResponse response;
  response.mutable_rails()->Assign(rails.begin(), rails.end());
  return PrintList(context, response, response.rails());
}

ExitCode GetRemotes(const Context& context) {
  RAIL_ASSIGN(const v1::ListRemotesResponse response, context.client.ListRemotes());
  return PrintList(context, response, response.remotes());
}

ExitCode GetTenants(const Context& context) {
  RAIL_ASSIGN(const std::vector<v1::TenantSummary> tenants, ListTenants(context));
  v1::ListTenantsResponse response;
  response.mutable_tenants()->Assign(tenants.begin(), tenants.end());
  return PrintList(context, response, response.tenants());
}

ExitCode GetFlows(const Context& context) {
  RAIL_ASSIGN(v1::ListFlowsResponse response,
              context.client.ListFlows(Meant<v1::AttachmentSelector>(context.flags)));
  if (AsJson(context)) return PrintJson(context, response);
  std::ranges::stable_sort(*response.mutable_attachments(), Before, &v1::AttachmentFlows::attachment);
  Table rules = MakeTable(context, ColumnsOf<v1::RuleStats>().OfAttachment(), kWidth);
  Table megaflows = MakeTable(context, ColumnsOf<v1::Megaflow>().OfAttachment(), kWidth);
  for (const v1::AttachmentFlows& each : response.attachments()) {
    for (const v1::RuleStats& rule : each.rules()) rules.Add(RowAbout(each.attachment(), RowOf(rule)));
    for (const v1::Megaflow& flow : each.megaflows()) megaflows.Add(RowAbout(each.attachment(), RowOf(flow)));
  }
  rules.Print(context.out);
  context.out << '\n';
  if (!response.datapath_problem().empty()) {
    return Fail(Code::kTransient, "the datapath's flows are not known: " + response.datapath_problem());
  }
  megaflows.Print(context.out);
  return kDone;
}

ExitCode GetNode(const Context& context) {
  RAIL_ASSIGN(v1::GetNodeResponse response, context.client.Ask(&v1::Node::Stub::GetNode));
  if (AsJson(context)) return PrintJson(context, response);
  PrintTable(context, std::vector{response.node()});
  context.out << '\n';
  PrintTable(context, response.node().health());
  if (response.node().frontend_links().empty()) return kDone;
  context.out << '\n';
  PrintTable(context, response.node().frontend_links());
  return kDone;
}

}  // namespace rail::railctl
