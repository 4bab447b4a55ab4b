#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "cmd/railctl/commands.h"

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

Error Ended(const Context& context, const grpc::Status& status) {
  if (const Status failed = context.client.ToStatus(status); !failed) return failed.error();
  return {Code::kTransient, "raild at " + context.client.Where() + " has ended the watch"};
}

// A kind of thing that raild lists and does not stream by itself.
template <class Message>
struct Kind {
  const char* name;  // of one, in JSON
  std::function<Result<std::vector<Message>>()> list;
  std::function<std::string(const Message&)> key;
};

// Lists whenever raild says that the node has changed, and prints what differs from the list before.
template <class Message>
ExitCode Follow(const Context& context, const Kind<Message>& kind) {
  grpc::ClientContext call;
  const auto reader = context.client.node().WatchNode(&call, v1::WatchNodeRequest());
  Table table = EventTable(context, ColumnsOf<Message>());
  const bool as_json = context.flags.format == Format::kJson;
  std::map<std::string, Message> told;
  const auto tell = [&](Event::Type type, const Message& message) -> Status {
    if (!as_json) {
      AddEvent(table, type, RowOf(message, StyleOf(context)));
      return {};
    }
    RAIL_ASSIGN(Json json, ToJson(message));
    context.out << Text({{"type", Event::Type_Name(type)}, {kind.name, std::move(json)}}, Layout::kLine)
                << '\n';
    return {};
  };
  for (v1::WatchNodeResponse change; reader->Read(&change);) {
    RAIL_ASSIGN(const std::vector<Message> now, kind.list());
    std::map<std::string, Message> before = std::exchange(told, {});
    for (const Message& message : now) told.insert_or_assign(kind.key(message), message);
    for (const auto& [key, message] : before) {
      if (!told.contains(key)) RAIL_TRY(tell(Event::DELETED, message));
    }
    for (const Message& message : now) {
      const auto old = before.find(kind.key(message));
      if (old == before.end()) {
        RAIL_TRY(tell(Event::ADDED, message));
      } else if (old->second.SerializeAsString() != message.SerializeAsString()) {
        RAIL_TRY(tell(Event::MODIFIED, message));
      }
    }
    if (!as_json) table.Print(context.out);
    context.out.flush();
    if (!context.out) call.TryCancel();  // nobody reads any more
  }
  return tl::make_unexpected(Ended(context, reader->Finish()));
}

}  // namespace

ExitCode WatchAttachments(const Context& context) {
  v1::WatchAttachmentsRequest request;
  *request.mutable_filter() = FilterOf(context.flags);
  grpc::ClientContext call;
  const auto reader = context.client.node().WatchAttachments(&call, request);
  Table table = EventTable(context, ColumnsOf<v1::Attachment>());
  enum class Stage { kFirst, kSynced } stage = Stage::kFirst;
  for (Event event; reader->Read(&event);) {
    if (event.type() == Event::SYNCED) stage = Stage::kSynced;
    if (context.flags.format == Format::kJson) {
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
  return tl::make_unexpected(Ended(context, reader->Finish()));
}

ExitCode WatchRails(const Context& context) {
  return Follow<v1::Rail>(context, {"rail", [&] { return ListRails(context); },
                                    [](const v1::Rail& rail) { return rail.name(); }});
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
  return Follow<v1::Remote>(context, {"remote", list, key});
}

ExitCode WatchTenants(const Context& context) {
  const auto key = [](const v1::TenantSummary& each) {
    return each.tenant().name() + ' ' + each.tenant().id();
  };
  return Follow<v1::TenantSummary>(context, {"tenant", [&] { return ListTenants(context); }, key});
}

ExitCode WatchNode(const Context& context) {
  const auto list = [&]() -> Result<std::vector<v1::HealthPart>> {
    v1::GetNodeResponse response;
    RAIL_TRY(context.client.Ask(&v1::Node::Stub::GetNode, v1::GetNodeRequest(), response));
    const auto& parts = response.node().health();
    return std::vector<v1::HealthPart>(parts.begin(), parts.end());
  };
  return Follow<v1::HealthPart>(context,
                                {"part", list, [](const v1::HealthPart& part) { return part.part(); }});
}

}  // namespace rail::railctl
