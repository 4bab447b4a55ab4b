#include "lib/cni/previous.h"

#include <nlohmann/json.hpp>

namespace rail::cni {
namespace {

Outcome<void> Require(const Request& request) {
  if (request.prev_result) return {};
  return CniFail(7, "Required prevResult missing",
                 request.command == "CHECK"
                     ? "CHECK compares with the result of ADD, which the runtime keeps"
                     : "this plugin stands after another one in the chain, which attaches the pod");
}

Outcome<void> Readable(const Status& read) {
  if (read) return {};
  return CniFail(7, "invalid network config: prevResult: " + read.error().message);
}

}  // namespace

Outcome<AddResult> PreviousResult(const Request& request) {
  RAIL_TRY(Require(request));
  auto result = AddResult::Parse(*request.prev_result, request.cni_version);
  RAIL_TRY(Readable(result ? Status() : tl::make_unexpected(result.error())));
  return std::move(*result);
}

Outcome<std::string> PassOn(const Request& request) {
  RAIL_TRY(Require(request));
  auto same = PassThrough(*request.prev_result, request.cni_version);
  RAIL_TRY(Readable(same ? Status() : tl::make_unexpected(same.error())));
  return std::move(*same);
}

}  // namespace rail::cni
