// What a watch prints: what is there as ADDED, then what has come, changed and gone.
//
// Use:      Events<v1::Rail> events(context, "rail", [](const v1::Rail& rail) { return rail.name(); });
//           RAIL_TRY(events.Print(rails));      // all of them, each time
// Threads:  one
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cmd/railctl/commands.h"

namespace rail::railctl {

using Event = v1::WatchAttachmentsResponse;

// The table of a message.
template <class Message>
struct TableOf {
  static Columns Header() { return ColumnsOf<Message>(); }
  static Row Cells(const Message& message, const CellStyle& style) { return RowOf(message, style); }
};

// A table whose first column is what has happened.
inline Table EventTable(const Context& context, Columns columns) {
  columns.header.insert(columns.header.begin(), "EVENT");
  Table table = MakeTable(context, std::move(columns));
  table.Reserve(0, "MODIFIED");
  return table;
}

inline void AddEvent(Table& table, Event::Type type, Row row) {
  row.insert(row.begin(), Event::Type_Name(type));
  table.Add(std::move(row));
}

// {"type": "MODIFIED", "rail": {...}}
Status PrintEventLine(const Context& context, Event::Type type, const char* name,
                      const google::protobuf::Message& message);

// What is listed of one kind, and how it differs from the list before.
template <class Message>
class Events {
 public:
  using Key = std::function<std::string(const Message&)>;
  // `name`: of one, in JSON.
  Events(const Context& context, const char* name, Key key)
      : context_(context),
        name_(name),
        key_(std::move(key)),
        table_(EventTable(context, TableOf<Message>::Header())) {}

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
    if (!AsJson(context_)) table_.Print(context_.out);
    context_.out.flush();
    return {};
  }

 private:
  Status Tell(Event::Type type, const Message& message) {
    if (AsJson(context_)) return PrintEventLine(context_, type, name_, message);
    AddEvent(table_, type, TableOf<Message>::Cells(message, StyleOf(context_)));
    return {};
  }

  const Context& context_;
  const char* const name_;
  const Key key_;
  Table table_;
  std::map<std::string, Message> told_;
};

}  // namespace rail::railctl
