#include "lib/rpc/channel.h"

#include <grpc/support/time.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <vector>

#include "lib/base/thread.h"

namespace rail::rpc {
namespace {

constexpr int kLargestAnswer = 64 << 20;  // bytes
constexpr size_t kAtOnce = 64;            // of whom answers are waited for

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

Status AskAll(size_t count, const std::function<Status(size_t)>& ask) {
  std::atomic<size_t> next = 0;
  std::vector<std::future<Status>> threads;
  for (size_t i = 0; i < std::min(count, kAtOnce); ++i) {
    threads.push_back(Beside([&]() -> Status {
      for (size_t mine = next++; mine < count; mine = next++) RAIL_TRY(ask(mine));
      return {};
    }));
  }
  Status all;
  for (auto& thread : threads) {
    Status done = thread.get();
    if (all && !done) {
      all = done;
      next = count;
    }
  }
  return all;
}

void SetPatience(grpc::ClientContext& context, Milliseconds patience) {
  context.set_deadline(gpr_time_from_millis(patience.count(), GPR_TIMESPAN));
}

}  // namespace rail::rpc
