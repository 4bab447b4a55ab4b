#include "cmd/railctl/accept/remote.h"

#include <grpc/support/time.h>

namespace rail::accept {
namespace {

constexpr int kLargestAnswer = 64 << 20;  // bytes

}  // namespace

Result<std::shared_ptr<grpc::Channel>> Connect(const std::string& target, const Tls& tls) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kLargestAnswer);
  if (target.starts_with("unix:"))
    return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
  if (tls.ca.empty())
    return Fail(Code::kInvalid,
                target + " is asked over TCP, which needs `tls` with ca_file, cert_file and key_file");
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = tls.ca;
  options.pem_cert_chain = tls.cert;
  options.pem_private_key = tls.key;
  if (!tls.name.empty()) arguments.SetSslTargetNameOverride(tls.name);
  return grpc::CreateCustomChannel(target, grpc::SslCredentials(options), arguments);
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

}  // namespace rail::accept
