#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "cmd/railctl/commands.h"

namespace rail::railctl {
namespace {

using Event = v1::WatchAttachmentsResponse;

// A table whose first column is what has happened.
Table EventTable(const Context& context, Row header, const Columns& wide) {
  header.insert(header.begin(), "EVENT");
  Table table = MakeTable(context, std::move(header), wide);
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
  Row header;
  Columns wide;
  std::function<Result<std::vector<Message>>()> list;
  std::function<std::string(const Message&)> key;
  std::function<Row(const Message&)> row;
};

// Lists whenever raild says that the node has changed, and prints what differs from the list before.
template <class Message>
ExitCode Follow(const Context& context, const Kind<Message>& kind) {
  grpc::ClientContext call;
  const auto reader = context.client.node().WatchNode(&call, v1::WatchNodeRequest());
  Table table = EventTable(context, kind.header, kind.wide);
  const bool as_json = context.flags.format == Format::kJson;
  std::map<std::string, Message> told;
  const auto tell = [&](Event::Type type, const Message& message) -> Status {
    if (!as_json) {
      AddEvent(table, type, kind.row(message));
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
  Table table = EventTable(context, AttachmentHeader(), kAttachmentWide);
  enum class Stage { kFirst, kSynced } stage = Stage::kFirst;
  for (Event event; reader->Read(&event);) {
    if (event.type() == Event::SYNCED) stage = Stage::kSynced;
    if (context.flags.format == Format::kJson) {
      RAIL_ASSIGN(const Json json, ToJson(event));
      context.out << Text(json, Layout::kLine) << '\n';
    } else {
      if (event.has_attachment()) {
        AddEvent(table, event.type(),
                 AttachmentRow(event.attachment(), context.now(), ListsOf(context.flags)));
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
  return Follow<v1::Rail>(context, {"rail", RailHeader(), kRailWide, [&] { return ListRails(context); },
                                    [](const v1::Rail& rail) { return rail.name(); }, RailRow});
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
  return Follow<v1::Remote>(context, {"remote", RemoteHeader(), kRemoteWide, list, key, RemoteRow});
}

ExitCode WatchTenants(const Context& context) {
  const auto key = [](const v1::TenantSummary& each) {
    return each.tenant().name() + ' ' + each.tenant().id();
  };
  const auto row = [&](const v1::TenantSummary& each) { return TenantRow(each, ListsOf(context.flags)); };
  return Follow<v1::TenantSummary>(
      context, {"tenant", TenantHeader(), kTenantWide, [&] { return ListTenants(context); }, key, row});
}

ExitCode WatchNode(const Context& context) {
  const auto list = [&]() -> Result<std::vector<v1::HealthPart>> {
    v1::GetNodeResponse response;
    RAIL_TRY(context.client.Ask(&v1::Node::Stub::GetNode, v1::GetNodeRequest(), response));
    const auto& parts = response.node().health();
    return std::vector<v1::HealthPart>(parts.begin(), parts.end());
  };
  return Follow<v1::HealthPart>(
      context,
      {"part", HealthHeader(), {}, list, [](const v1::HealthPart& part) { return part.part(); }, HealthRow});
}

}  // namespace rail::railctl
