#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "cmd/railctl/commands.h"

#include "lib/base/text.h"

namespace rail::railctl {

Status CheckRail(const Context& context) {
  const std::string& wanted = context.flags.rail;
  if (wanted.empty()) return {};
  RAIL_ASSIGN(v1::ListRailsResponse response, context.client.Ask(&v1::Node::Stub::ListRails));
  std::string names;
  for (const v1::Rail& rail : response.rails()) {
    if (rail.name() == wanted) return {};
    Append(names, ", ", rail.name());
  }
  return Fail(Code::kInvalid,
              "there is no rail '" + wanted + "' on this node; " +
                  (names.empty() ? "raild has not looked at its rails yet" : "there are: " + names));
}

Result<v1::ListAttachmentsResponse> ListAttachments(const Context& context) {
  v1::ListAttachmentsRequest request;
  *request.mutable_filter() = Meant<v1::AttachmentFilter>(context.flags);
  RAIL_ASSIGN(v1::ListAttachmentsResponse response,
              context.client.Ask(&v1::Node::Stub::ListAttachments, request));
  const Flags& flags = context.flags;
  if (response.attachments().empty() && !flags.pod.empty()) {
    return Fail(Code::kNotFound, "no attachment on this node is of pod " +
                                     (flags.pod_namespace.empty() ? "" : flags.pod_namespace + "/") +
                                     flags.pod + (flags.rail.empty() ? "" : " on " + flags.rail) +
                                     (flags.ifname.empty() ? "" : " with interface " + flags.ifname) +
                                     (flags.tenant.empty() ? "" : " of tenant " + flags.tenant) +
                                     ": `railctl get attachments` lists those that exist");
  }
  // Programs get raild's order.
  if (flags.format != Format::kJson) std::ranges::sort(*response.mutable_attachments(), Before);
  return response;
}

Result<std::vector<v1::Rail>> ListRails(const Context& context) {
  RAIL_ASSIGN(v1::ListRailsResponse response, context.client.Ask(&v1::Node::Stub::ListRails));
  return Selected(context, response.rails());
}

std::vector<v1::Rail> Selected(const Context& context,
                               const google::protobuf::RepeatedPtrField<v1::Rail>& all) {
  std::vector<v1::Rail> rails(all.begin(), all.end());
  const std::string& wanted = context.flags.rail;
  std::erase_if(rails, [&](const v1::Rail& rail) { return !wanted.empty() && rail.name() != wanted; });
  return rails;
}

Result<std::vector<v1::TenantSummary>> ListTenants(const Context& context) {
  RAIL_ASSIGN(v1::ListTenantsResponse response, context.client.Ask(&v1::Node::Stub::ListTenants));
  std::vector<v1::TenantSummary> tenants(response.tenants().begin(), response.tenants().end());
  const std::string& wanted = context.flags.tenant;
  std::erase_if(tenants, [&](const v1::TenantSummary& each) {
    return !wanted.empty() && each.tenant().name() != wanted && each.tenant().id() != wanted;
  });
  return tenants;
}

Table MakeTable(const Context& context, Columns columns, size_t width,
                const std::set<std::string>& alarming) {
  const bool all = context.flags.format == Format::kWide;
  return Table(std::move(columns.header), {.headers = context.flags.headers,
                                           .color = context.flags.color,
                                           .hidden = all ? std::set<std::string>() : std::move(columns.wide),
                                           .alarming = alarming,
                                           .width = all ? 0 : width});
}

CellStyle StyleOf(const Context& context) {
  const bool all = context.flags.format == Format::kWide;
  return {.now_ms = context.now(), .lists = all ? Lists::kWhole : Lists::kShort};
}

bool AsJson(const Context& context) {
  return context.flags.format == Format::kJson;
}

ExitCode PrintJson(const Context& context, const google::protobuf::Message& message) {
  RAIL_ASSIGN(const Json json, ToJson(message));
  context.out << Text(json, Layout::kIndented) << '\n';
  return kDone;
}

bool Before(const v1::Attachment& a, const v1::Attachment& b) {
  const auto key = [](const v1::Attachment& each) {
    return std::tie(each.pod().namespace_(), each.pod().name(), each.ifname());
  };
  return key(a) < key(b);
}

}  // namespace rail::railctl
