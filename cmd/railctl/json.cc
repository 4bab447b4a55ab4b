#include "cmd/railctl/json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>

namespace rail::railctl {
namespace {

using google::protobuf::FieldDescriptor;

// Makes numbers of the strings that protobuf writes for 64-bit fields of messages of type `of`, at every depth.
void MakeNumbers(const google::protobuf::Descriptor& of, Json& object) {
  if (!object.is_object()) return;  // a well-known type, such as Timestamp, is a string
  for (auto& [key, value] : object.items()) {
    const FieldDescriptor* field = of.FindFieldByName(key);
    if (field == nullptr) continue;
    const auto mend = [&](Json& one) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        MakeNumbers(*field->message_type(), one);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
        one = std::stoull(one.get<std::string>());
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
        one = std::stoll(one.get<std::string>());
      }
    };
    if (field->is_repeated()) {
      for (Json& each : value) mend(each);
    } else {
      mend(value);
    }
  }
}

}  // namespace

Result<Json> ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;  // print every key, whatever its value
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok())
    return Fail(Code::kInternal, "write the answer as JSON: " + std::string(status.message()));
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return Fail(Code::kInternal, "write the answer as JSON: protobuf's own is none");
  MakeNumbers(*message.GetDescriptor(), json);
  return json;
}

std::string Text(const Json& json, Layout layout) {
  return json.dump(layout == Layout::kIndented ? 1 : -1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace rail::railctl
