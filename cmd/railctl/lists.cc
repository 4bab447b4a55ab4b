#include <algorithm>

#include "cmd/railctl/commands.h"

namespace rail::railctl {
namespace {

bool AsJson(const Context& context) {
  return context.flags.format == Format::kJson;
}

}  // namespace

ExitCode GetAttachments(const Context& context) {
  RAIL_ASSIGN(const v1::ListAttachmentsResponse response, ListAttachments(context));
  if (AsJson(context)) {
    RAIL_TRY(PrintJson(context, response));
    return kDone;
  }
  Table table = MakeTable(context, AttachmentHeader(), kAttachmentWide);
  for (const v1::Attachment& a : response.attachments())
    table.Add(AttachmentRow(a, context.now(), ListsOf(context.flags)));
  table.Print(context.out);
  return kDone;
}

ExitCode GetRails(const Context& context) {
  RAIL_ASSIGN(const std::vector<v1::Rail> rails, ListRails(context));
  if (AsJson(context)) {
    v1::ListRailsResponse response;
    for (const v1::Rail& rail : rails) *response.add_rails() = rail;
    RAIL_TRY(PrintJson(context, response));
    return kDone;
  }
  Table table = MakeTable(context, RailHeader(), kRailWide);
  for (const v1::Rail& rail : rails) table.Add(RailRow(rail));
  table.Print(context.out);
  return kDone;
}

ExitCode GetRemotes(const Context& context) {
  RAIL_ASSIGN(const v1::ListRemotesResponse response, context.client.ListRemotes());
  if (AsJson(context)) {
    RAIL_TRY(PrintJson(context, response));
    return kDone;
  }
  Table table = MakeTable(context, RemoteHeader(), kRemoteWide);
  for (const v1::Remote& remote : response.remotes()) table.Add(RemoteRow(remote));
  table.Print(context.out);
  return kDone;
}

ExitCode GetTenants(const Context& context) {
  RAIL_ASSIGN(const std::vector<v1::TenantSummary> tenants, ListTenants(context));
  if (AsJson(context)) {
    v1::ListTenantsResponse response;
    for (const v1::TenantSummary& tenant : tenants) *response.add_tenants() = tenant;
    RAIL_TRY(PrintJson(context, response));
    return kDone;
  }
  Table table = MakeTable(context, TenantHeader(), kTenantWide);
  for (const v1::TenantSummary& tenant : tenants) table.Add(TenantRow(tenant, ListsOf(context.flags)));
  table.Print(context.out);
  return kDone;
}

ExitCode GetFlows(const Context& context) {
  RAIL_ASSIGN(v1::ListFlowsResponse response, context.client.ListFlows(SelectorOf(context.flags)));
  if (AsJson(context)) {
    RAIL_TRY(PrintJson(context, response));
    return kDone;
  }
  std::ranges::stable_sort(*response.mutable_attachments(), Before, &v1::AttachmentFlows::attachment);
  Table rules = MakeTable(context, RuleHeader(), kRuleWide, kWidth);
  Table megaflows = MakeTable(context, MegaflowHeader(), kMegaflowWide, kWidth);
  for (const v1::AttachmentFlows& each : response.attachments()) {
    for (const v1::RuleStats& rule : each.rules()) rules.Add(RuleRow(each.attachment(), rule));
    for (const v1::Megaflow& flow : each.megaflows()) megaflows.Add(MegaflowRow(each.attachment(), flow));
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
  v1::GetNodeResponse response;
  RAIL_TRY(context.client.Ask(&v1::Node::Stub::GetNode, v1::GetNodeRequest(), response));
  if (AsJson(context)) {
    RAIL_TRY(PrintJson(context, response));
    return kDone;
  }
  Table node = MakeTable(context, NodeHeader());
  node.Add(NodeRow(response.node(), context.now()));
  node.Print(context.out);
  context.out << '\n';
  Table parts = MakeTable(context, HealthHeader());
  for (const v1::HealthPart& part : response.node().health()) parts.Add(HealthRow(part));
  parts.Print(context.out);
  if (response.node().frontend_links().empty()) return kDone;
  context.out << '\n';
  Table links = MakeTable(context, FrontendHeader());
  for (const v1::FrontendLink& link : response.node().frontend_links())
    links.Add(FrontendRow(response.node(), link));
  links.Print(context.out);
  return kDone;
}

}  // namespace rail::railctl
