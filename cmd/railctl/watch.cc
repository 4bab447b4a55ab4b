#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cmd/railctl/commands.h"
#include "cmd/railctl/events.h"
#include "rail/v1/state.grpc.pb.h"

namespace rail::railctl {
namespace {

// Lists whenever raild says that the node has changed.
template <class Message>
ExitCode FollowLists(const Context& context, Events<Message> events,
                     const std::function<Result<std::vector<Message>>()>& list) {
  grpc::ClientContext call;
  const auto reader = context.client.node().WatchNode(&call, v1::WatchNodeRequest());
  for (v1::WatchNodeResponse change; reader->Read(&change);) {
    RAIL_ASSIGN(const std::vector<Message> now, list());
    RAIL_TRY(events.Print(now));
    if (!context.out) call.TryCancel();  // nobody reads any more
  }
  return context.client.Ended(reader->Finish());
}

// Reads one section of the node's state whenever it has changed.
template <class Message>
ExitCode FollowSection(const Context& context, v1::WatchStateResponse::Section section,
                       Events<Message> events,
                       const std::function<std::vector<Message>(const v1::NodeState&)>& list) {
  const auto state = v1::State::NewStub(context.client.channel());
  grpc::ClientContext call;
  const auto reader = state->WatchState(&call, v1::WatchStateRequest());
  for (v1::WatchStateResponse change; reader->Read(&change);) {
    if (change.section() != v1::WatchStateResponse::ALL && change.section() != section) continue;
    RAIL_TRY(events.Print(list(change.state())));
    if (!context.out) call.TryCancel();  // nobody reads any more
  }
  return context.client.Ended(reader->Finish());
}

}  // namespace

Status PrintEventLine(const Context& context, Event::Type type, const char* name,
                      const google::protobuf::Message& message) {
  RAIL_ASSIGN(Json json, ToJson(message));
  context.out << Text({{"type", Event::Type_Name(type)}, {name, std::move(json)}}, Layout::kLine) << '\n';
  return {};
}

ExitCode WatchAttachments(const Context& context) {
  v1::WatchAttachmentsRequest request;
  *request.mutable_filter() = Meant<v1::AttachmentFilter>(context.flags);
  grpc::ClientContext call;
  const auto reader = context.client.node().WatchAttachments(&call, request);
  Table table = EventTable(context, ColumnsOf<v1::Attachment>());
  enum class Stage { kFirst, kSynced } stage = Stage::kFirst;
  for (Event event; reader->Read(&event);) {
    if (event.type() == Event::SYNCED) stage = Stage::kSynced;
    if (AsJson(context)) {
      RAIL_ASSIGN(const Json json, ToJson(event));
      context.out << Text(json, Layout::kLine) << '\n';
    } else {
      if (event.has_attachment()) {
        AddEvent(table, event.type(), RowOf(event.attachment(), StyleOf(context)));
      }
      // Print the attachments that exist at the start together, so that their columns fit all of them.
      if (stage == Stage::kFirst) continue;
      table.Print(context.out);
    }
    context.out.flush();
  }
  return context.client.Ended(reader->Finish());
}

ExitCode WatchRails(const Context& context) {
  return FollowSection<v1::Rail>(
      context, v1::WatchStateResponse::RAILS,
      {context, "rail", [](const v1::Rail& rail) { return rail.name(); }},
      [&](const v1::NodeState& state) { return Selected(context, state.rails()); });
}

ExitCode WatchRemotes(const Context& context) {
  const auto list = [&]() -> Result<std::vector<v1::Remote>> {
    RAIL_ASSIGN(const v1::ListRemotesResponse response, context.client.ListRemotes());
    return std::vector<v1::Remote>(response.remotes().begin(), response.remotes().end());
  };
  const auto key = [](const v1::Remote& remote) {
    return remote.address() + ' ' + remote.tenant().id() + ' ' +
           (remote.has_rail_index() ? std::to_string(remote.rail_index()) : "-");
  };
  return FollowLists<v1::Remote>(context, {context, "remote", key}, list);
}

ExitCode WatchTenants(const Context& context) {
  const auto key = [](const v1::TenantSummary& each) {
    return each.tenant().name() + ' ' + each.tenant().id();
  };
  return FollowLists<v1::TenantSummary>(context, {context, "tenant", key},
                                        [&] { return ListTenants(context); });
}

ExitCode WatchNode(const Context& context) {
  const auto list = [](const v1::NodeState& state) {
    const auto& parts = state.node().health();
    return std::vector<v1::HealthPart>(parts.begin(), parts.end());
  };
  return FollowSection<v1::HealthPart>(
      context, v1::WatchStateResponse::NODE,
      {context, "part", [](const v1::HealthPart& part) { return part.part(); }}, list);
}

}  // namespace rail::railctl
