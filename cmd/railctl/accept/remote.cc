#include "cmd/railctl/accept/remote.h"

#include <grpc/support/time.h>

#include <fstream>
#include <iterator>

namespace rail::accept {
namespace {

constexpr int kLargestAnswer = 64 << 20;  // bytes

Result<std::string> Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return FailErrno(errno != 0 ? errno : ENOENT, "read " + path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

Result<std::shared_ptr<grpc::Channel>> Connect(const std::string& target, const TlsFiles& tls) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kLargestAnswer);
  if (target.starts_with("unix:"))
    return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
  if (tls.ca_file.empty())
    return Fail(Code::kInvalid,
                target + " is asked over TCP, which needs `tls` with ca_file, cert_file and key_file");
  grpc::SslCredentialsOptions options;
  RAIL_ASSIGN(options.pem_root_certs, Read(tls.ca_file));
  RAIL_ASSIGN(options.pem_cert_chain, Read(tls.cert_file));
  RAIL_ASSIGN(options.pem_private_key, Read(tls.key_file));
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
