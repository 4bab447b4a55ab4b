#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cmd/railctl/commands.h"
#include "rail/v1/state.grpc.pb.h"

namespace rail::railctl {
namespace {

using Event = v1::WatchAttachmentsResponse;

// A table whose first column is what has happened.
Table EventTable(const Context& context, Columns columns) {
  columns.header.insert(columns.header.begin(), "EVENT");
  Table table = MakeTable(context, std::move(columns));
  table.Reserve(0, "MODIFIED");
  return table;
}

void AddEvent(Table& table, Event::Type type, Row row) {
  row.insert(row.begin(), Event::Type_Name(type));
  table.Add(std::move(row));
}

// What raild lists of one kind, and how it differs from the list before.
template <class Message>
class Events {
 public:
  using Key = std::function<std::string(const Message&)>;
  // `name`: of one, in JSON.
  Events(const Context& context, const char* name, Key key)
      : context_(context),
        name_(name),
        key_(std::move(key)),
        table_(EventTable(context, ColumnsOf<Message>())) {}

  // Prints what has come, changed and gone.
  Status Print(const std::vector<Message>& now) {
    std::map<std::string, Message> before = std::exchange(told_, {});
    for (const Message& message : now) told_.insert_or_assign(key_(message), message);
    for (const auto& [key, message] : before) {
      if (!told_.contains(key)) RAIL_TRY(Tell(Event::DELETED, message));
    }
    for (const Message& message : now) {
      const auto old = before.find(key_(message));
      if (old == before.end()) {
        RAIL_TRY(Tell(Event::ADDED, message));
      } else if (old->second.SerializeAsString() != message.SerializeAsString()) {
        RAIL_TRY(Tell(Event::MODIFIED, message));
      }
    }
    if (!as_json()) table_.Print(context_.out);
    context_.out.flush();
    return {};
  }

 private:
  bool as_json() const { return AsJson(context_); }
  Status Tell(Event::Type type, const Message& message) {
    if (!as_json()) {
      AddEvent(table_, type, RowOf(message, StyleOf(context_)));
      return {};
    }
    RAIL_ASSIGN(Json json, ToJson(message));
    context_.out << Text({{"type", Event::Type_Name(type)}, {name_, std::move(json)}}, Layout::kLine) << '\n';
    return {};
  }

  const Context& context_;
  const char* const name_;
  const Key key_;
  Table table_;
  std::map<std::string, Message> told_;
};

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
