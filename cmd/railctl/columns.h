// Tables of messages: one walk over a message's fields. The options of a field (rail/v1/options.proto) name its column.
//
// Use:      Table table = MakeTable(context, ColumnsOf<v1::Rail>());   table.Add(RowOf(rail, {.now_ms = now}));
//           CellOf(rail, "STATE")                                      // "NoCarrier"
// Threads:  any thread
// Units:    now_ms is Unix time in milliseconds
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/printing/words.h"
#include "rail/v1/node.pb.h"

namespace rail::railctl {

using printing::WordOf;

using Row = std::vector<std::string>;
enum class Lists { kShort, kWhole };

struct Columns {
  Row header;
  std::set<std::string> wide;  // those that only -o wide shows

  // What an attachment's rows begin with, and then these.
  Columns OfAttachment() const;
};

struct CellStyle {
  int64_t now_ms = 0;
  // kShort: a list has its first entry and how many more there are, "10.0.1.2,+1".
  Lists lists = Lists::kShort;
};

Columns ColumnsOf(const google::protobuf::Descriptor& message);
template <class Message>
Columns ColumnsOf() {
  return ColumnsOf(*Message::descriptor());
}
// As many cells as ColumnsOf has headers, in the same order.
Row RowOf(const google::protobuf::Message& message, const CellStyle& style = {});
// The cell of one column; "": there is no such column.
std::string CellOf(const google::protobuf::Message& message, std::string_view column,
                   const CellStyle& style = {});
// The cells of an attachment with which a row about it begins, and then `row`.
Row RowAbout(const v1::Attachment& attachment, const Row& row);

// In one or two units, as kubectl writes ages: "119s", "9m59s", "179m", "7h59m", "47h", "7d23h", "8d".
std::string Age(int64_t since_ms, int64_t now_ms);

}  // namespace rail::railctl
