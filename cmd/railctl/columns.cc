#include "cmd/railctl/columns.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>

#include "rail/v1/options.pb.h"

namespace rail::railctl {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Calls `use` for each column of a message: with its field and the option.
template <class Use>
void ForEachColumn(const Descriptor& message, Use use) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    const auto& options = field.options();
    for (int n = 0; n < options.ExtensionSize(v1::column); ++n)
      use(field, options.GetExtension(v1::column, n));
  }
}

int64_t Milliseconds(const google::protobuf::Timestamp& time) {
  return time.seconds() * 1000 + time.nanos() / 1000000;
}

// One value: of a single field, or entry `index` of a list.
class Value {
 public:
  Value(const Message& message, const FieldDescriptor& field, int index)
      : message_(message), reflection_(*message.GetReflection()), field_(field), index_(index) {}

  std::string Text(const v1::Column& column) const {
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        return index_ < 0 ? reflection_.GetString(message_, &field_)
                          : reflection_.GetRepeatedString(message_, &field_, index_);
      case FieldDescriptor::CPPTYPE_BOOL:
        if (reflection_.GetBool(message_, &field_)) return Or(column.when_true(), "yes");
        return Or(column.when_false(), "no");
      case FieldDescriptor::CPPTYPE_ENUM:
        return WordOf(*field_.enum_type(), reflection_.GetEnumValue(message_, &field_));
      case FieldDescriptor::CPPTYPE_INT32:
        return std::to_string(Get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32));
      case FieldDescriptor::CPPTYPE_INT64:
        return std::to_string(Get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64));
      case FieldDescriptor::CPPTYPE_UINT32:
        return std::to_string(Get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32));
      case FieldDescriptor::CPPTYPE_UINT64:
        return std::to_string(Get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64));
      default: return "";
    }
  }

 private:
  static std::string Or(const std::string& text, const char* usual) { return text.empty() ? usual : text; }
  template <class T>
  T Get(T (Reflection::*single)(const Message&, const FieldDescriptor*) const,
        T (Reflection::*repeated)(const Message&, const FieldDescriptor*, int) const) const {
    return index_ < 0 ? (reflection_.*single)(message_, &field_)
                      : (reflection_.*repeated)(message_, &field_, index_);
  }
  const Message& message_;
  const Reflection& reflection_;
  const FieldDescriptor& field_;
  const int index_;  // -1: the field is single
};

std::string ListText(const Message& message, const FieldDescriptor& field, const v1::Column& column,
                     Lists lists) {
  const int size = message.GetReflection()->FieldSize(message, &field);
  const bool numbers = field.cpp_type() != FieldDescriptor::CPPTYPE_STRING;
  std::string text;
  for (int i = 0; i < size; ++i) {
    if (i == 1 && !numbers && lists == Lists::kShort && !column.whole())
      return text + ",+" + std::to_string(size - 1);
    text += (i == 0 ? "" : numbers ? " " : ",") + Value(message, field, i).Text(column);
  }
  return text;
}

const FieldDescriptor* Beside(const FieldDescriptor& field, const std::string& name) {
  return name.empty() ? nullptr : field.containing_type()->FindFieldByName(name);
}

std::string Cell(const Message& message, const FieldDescriptor& field, const v1::Column& column,
                 const CellStyle& style) {
  const Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) return ListText(message, field, column, style.lists);
  const auto is_set = [&](const FieldDescriptor& which) {
    return !which.has_presence() || reflection.HasField(message, &which);
  };
  const auto otherwise = [&]() -> std::string {
    const FieldDescriptor* other = Beside(field, column.otherwise());
    return other == nullptr || !is_set(*other) ? "" : Value(message, *other, -1).Text({});
  };
  if (!is_set(field)) return otherwise();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const Message& inner = reflection.GetMessage(message, &field);
    if (const auto* time = dynamic_cast<const google::protobuf::Timestamp*>(&inner))
      return Age(Milliseconds(*time), style.now_ms);
    const FieldDescriptor* of = inner.GetDescriptor()->FindFieldByName(column.of());
    return of == nullptr ? "" : Cell(inner, *of, {}, style);
  }
  std::string text = Value(message, field, -1).Text(column);
  if (column.zero_is_none() && text == "0") text.clear();
  if (const FieldDescriptor* over = Beside(field, column.over()); over != nullptr) {
    if (!is_set(*over)) return "";
    text += "/" + Value(message, *over, -1).Text({});
  }
  return text.empty() ? otherwise() : text;
}

}  // namespace

Columns ColumnsOf(const Descriptor& message) {
  Columns columns;
  ForEachColumn(message, [&](const FieldDescriptor&, const v1::Column& column) {
    columns.header.push_back(column.name());
    if (column.wide()) columns.wide.insert(column.name());
  });
  return columns;
}

Columns Columns::OfAttachment() const {
  Columns all = *this;
  all.header.clear();
  ForEachColumn(*v1::Attachment::descriptor(), [&](const FieldDescriptor&, const v1::Column& column) {
    if (column.of_attachment()) all.header.push_back(column.name());
  });
  all.header.insert(all.header.end(), header.begin(), header.end());
  return all;
}

Row RowOf(const Message& message, const CellStyle& style) {
  Row row;
  ForEachColumn(*message.GetDescriptor(), [&](const FieldDescriptor& field, const v1::Column& column) {
    row.push_back(Cell(message, field, column, style));
  });
  return row;
}

std::string CellOf(const Message& message, std::string_view name, const CellStyle& style) {
  std::string cell;
  ForEachColumn(*message.GetDescriptor(), [&](const FieldDescriptor& field, const v1::Column& column) {
    if (column.name() == name) cell = Cell(message, field, column, style);
  });
  return cell;
}

Row RowAbout(const v1::Attachment& attachment, const Row& row) {
  Row all;
  ForEachColumn(*v1::Attachment::descriptor(), [&](const FieldDescriptor& field, const v1::Column& column) {
    if (column.of_attachment()) all.push_back(Cell(attachment, field, column, {}));
  });
  all.insert(all.end(), row.begin(), row.end());
  return all;
}

std::string Age(int64_t since_ms, int64_t now_ms) {
  const int64_t s = std::max<int64_t>(0, now_ms - since_ms) / 1000;
  const int64_t m = s / 60;
  const int64_t h = m / 60;
  const int64_t d = h / 24;
  const auto text = [](int64_t big, const char* unit, int64_t small, const char* small_unit) {
    return std::to_string(big) + unit + (small == 0 ? "" : std::to_string(small) + small_unit);
  };
  if (s < 120) return text(s, "s", 0, "");
  if (m < 10) return text(m, "m", s % 60, "s");
  if (h < 3) return text(m, "m", 0, "");
  if (h < 8) return text(h, "h", m % 60, "m");
  if (h < 48) return text(h, "h", 0, "");
  if (d < 8) return text(d, "d", h % 24, "h");
  return text(d, "d", 0, "");
}

}  // namespace rail::railctl
