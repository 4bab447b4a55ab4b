#include "lib/rpc/channel.h"

#include <grpc/support/time.h>

namespace rail::rpc {
namespace {

constexpr int kLargestAnswer = 64 << 20;  // bytes

int Number(Milliseconds time) {
  return static_cast<int>(time.count());
}

}  // namespace

Result<std::shared_ptr<grpc::Channel>> Connect(const std::string& target, const Way& way) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kLargestAnswer);
  if (way.connect.count() > 0) arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, Number(way.connect));
  if (way.anew) arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (way.probe.count() > 0) {
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Number(way.probe));
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Number(way.answer));
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // as many as it takes
  }
  if (target.starts_with("unix:"))
    return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
  if (way.tls == nullptr)
    return Fail(Code::kInvalid,
                target + " is asked over TCP, which needs `tls` with ca_file, cert_file and key_file");
  if (!way.name.empty()) arguments.SetSslTargetNameOverride(way.name);
  return grpc::CreateCustomChannel(target, way.tls, arguments);
}

Result<std::shared_ptr<grpc::Channel>> Connect(const std::string& target, const Tls& tls) {
  return Connect(target, Way{.tls = tls.ca.empty() ? nullptr : ClientTls(tls), .name = tls.name});
}

Status ToStatus(const grpc::Status& answer, const std::string& whom) {
  const std::string text = whom + ": " + answer.error_message();
  switch (answer.error_code()) {
    case grpc::StatusCode::OK: return {};
    case grpc::StatusCode::INVALID_ARGUMENT: return Fail(Code::kInvalid, text);
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::UNIMPLEMENTED: return Fail(Code::kUnsupported, text);
    case grpc::StatusCode::DEADLINE_EXCEEDED: return Fail(Code::kTransient, whom + " does not answer");
    default: return Fail(Code::kTransient, text);
  }
}

void SetPatience(grpc::ClientContext& context, Milliseconds patience) {
  context.set_deadline(gpr_time_from_millis(patience.count(), GPR_TIMESPAN));
}

}  // namespace rail::rpc
