#include "cmd/raild/metrics/document.h"

#include <fmt/core.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/timestamp.pb.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/printing/words.h"
#include "rail/v1/node.pb.h"
#include "rail/v1/options.pb.h"

namespace rail::metrics {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Timestamp;

const v1::Metric* MetricOf(const FieldDescriptor& field) {
  const auto& options = field.options();
  return options.HasExtension(v1::metric) ? &options.GetExtension(v1::metric) : nullptr;
}

std::string LabelOf(const FieldDescriptor& field) {
  return field.options().GetExtension(v1::label);
}

// "phase" and "adding" of "phase=adding".
std::pair<std::string, std::string> Split(const std::string& pair) {
  const size_t at = pair.find('=');
  return {pair.substr(0, at), pair.substr(at + 1)};
}

std::vector<std::string> Words(std::string_view list) {
  std::vector<std::string> words;
  for (; !list.empty(); list.remove_prefix(std::min(list.size(), words.back().size() + 1)))
    words.emplace_back(list.substr(0, list.find(',')));
  return words;
}

Kind KindOf(const v1::Metric& metric) {
  return metric.counter() ? Kind::kCounter : Kind::kGauge;
}

// What the walk reads of one field.
class Field {
 public:
  Field(const Message& message, const FieldDescriptor& field)
      : message_(message), reflection_(*message.GetReflection()), field_(field) {}

  bool is_set() const { return !field_.has_presence() || reflection_.HasField(message_, &field_); }

  uint64_t Number() const {
    if (field_.is_repeated()) return static_cast<uint64_t>(reflection_.FieldSize(message_, &field_));
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_BOOL: return reflection_.GetBool(message_, &field_) ? 1 : 0;
      case FieldDescriptor::CPPTYPE_UINT32: return reflection_.GetUInt32(message_, &field_);
      case FieldDescriptor::CPPTYPE_UINT64: return reflection_.GetUInt64(message_, &field_);
      case FieldDescriptor::CPPTYPE_STRING: return reflection_.GetString(message_, &field_).empty() ? 0 : 1;
      default: return 0;
    }
  }

  // As a label has it.
  std::string Text() const {
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING: return reflection_.GetString(message_, &field_);
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        const auto* tenant = dynamic_cast<const v1::Tenant*>(&reflection_.GetMessage(message_, &field_));
        return tenant == nullptr ? "" : tenant->name();
      }
      case FieldDescriptor::CPPTYPE_ENUM:
        return printing::WordOf(*field_.enum_type(), reflection_.GetEnumValue(message_, &field_));
      default: return is_set() ? std::to_string(Number()) : "";
    }
  }

  // Of a time: Unix time in milliseconds.
  int64_t Milliseconds() const {
    const auto* time = dynamic_cast<const Timestamp*>(&reflection_.GetMessage(message_, &field_));
    return time == nullptr ? 0 : time->seconds() * 1000 + time->nanos() / 1000000;
  }

 private:
  const Message& message_;
  const google::protobuf::Reflection& reflection_;
  const FieldDescriptor& field_;
};

class Walk {
 public:
  Walk(Exposition& page, int64_t now_ms) : page_(page), now_ms_(now_ms) {}

  void Add(const Message& message, Labels labels) {
    const Descriptor& type = *message.GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i) {
      if (const std::string label = LabelOf(*type.field(i)); !label.empty())
        labels.emplace_back(label, Field(message, *type.field(i)).Text());
    }
    AddInfo(message, labels);
    for (int i = 0; i < type.field_count(); ++i) AddField(message, *type.field(i), labels);
  }

 private:
  void AddInfo(const Message& message, Labels labels) {
    const Descriptor& type = *message.GetDescriptor();
    if (!type.options().HasExtension(v1::info)) return;
    const v1::Info& info = type.options().GetExtension(v1::info);
    for (const std::string& each : info.labels()) {
      const auto [label, name] = Split(each);
      labels.emplace_back(label, Field(message, *type.FindFieldByName(name)).Text());
    }
    page_.Add({.name = info.name(), .help = info.help(), .kind = Kind::kGauge}, labels, "1");
  }

  void AddField(const Message& message, const FieldDescriptor& field, const Labels& labels) {
    if (const v1::Metric* metric = MetricOf(field)) AddMetric(message, field, *metric, labels);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return;
    const google::protobuf::Reflection& reflection = *message.GetReflection();
    if (!field.is_repeated()) {
      if (reflection.HasField(message, &field)) Add(reflection.GetMessage(message, &field), labels);
      return;
    }
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i)
      Add(reflection.GetRepeatedMessage(message, &field, i), labels);
  }

  void AddMetric(const Message& message, const FieldDescriptor& descriptor, const v1::Metric& metric,
                 Labels labels) {
    const Field field(message, descriptor);
    const FieldDescriptor* when = descriptor.containing_type()->FindFieldByName(metric.when());
    if (when != nullptr && Field(message, *when).Number() == 0) return;

    const Sample family{.name = metric.name(), .help = metric.help(), .kind = KindOf(metric)};
    if (!metric.with().empty()) labels.push_back(Split(metric.with()));
    if (!metric.as().empty()) {
      if (field.Number() == 0) return;
      labels.emplace_back(metric.as(), field.Text());
      return page_.Add(family, labels, "1");
    }
    if (!metric.one_of().empty()) {
      const auto [label, list] = Split(metric.one_of());
      const std::vector<std::string> values = Words(list);
      std::string is = field.Text();
      if (is.empty()) is = "none";
      if (std::ranges::find(values, is) == values.end()) is = "other";
      for (const std::string& value : values) {
        Labels one = labels;
        one.emplace_back(label, value);
        page_.Add(family, one, is == value ? "1" : "0");
      }
      return;
    }
    if (descriptor.message_type() == Timestamp::descriptor()) {
      if (!metric.age() && !field.is_set()) return;
      int64_t ms = field.is_set() ? field.Milliseconds() : now_ms_;
      if (metric.age()) ms = std::max<int64_t>(0, now_ms_ - ms);
      return page_.Add(family, labels, fmt::format("{}", static_cast<double>(ms) / 1000));
    }
    if (field.is_set()) page_.Add(family, labels, std::to_string(field.Number()));
  }

  Exposition& page_;
  const int64_t now_ms_;
};

}  // namespace

void AddDocument(Exposition& page, const Message& document, int64_t now_ms) {
  Walk(page, now_ms).Add(document, {});
}

}  // namespace rail::metrics
