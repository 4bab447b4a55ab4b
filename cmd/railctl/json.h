// Writes messages of rail.v1 as JSON: protobuf's form with the field names of node.proto, every plain field always there, and numbers
// as numbers. protobuf itself writes 64-bit numbers as strings, which no program expects that compares or adds them.
//
// Use:      RAIL_ASSIGN(const Json answer, ToJson(response));   out << Text(answer, Layout::kIndented) << '\n';
// Threads:  pure functions
#pragma once

#include <google/protobuf/message.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lib/base/error.h"

namespace rail::railctl {

using Json = nlohmann::ordered_json;  // keys in the order of node.proto

enum class Layout { kLine, kIndented };

// Errors: kInternal, a message that protobuf cannot write.
Result<Json> ToJson(const google::protobuf::Message& message);
std::string Text(const Json& json, Layout layout);

}  // namespace rail::railctl
