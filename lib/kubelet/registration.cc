#include "lib/kubelet/registration.h"

#include <grpcpp/grpcpp.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "v1beta1/deviceplugin.grpc.pb.h"

namespace rail::kubelet {
namespace {

constexpr size_t kLongestPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::string_view kStart = "railcni-";
constexpr std::string_view kEnd = ".sock";

// FNV-1a of both: it only has to differ among the few sockets of a node.
std::string Digest(std::string_view resource, std::string_view instance) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : std::string(resource) + " " + std::string(instance))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

bool IsNoAnswer(grpc::StatusCode code) {
  return code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::DEADLINE_EXCEEDED ||
         code == grpc::StatusCode::CANCELLED;
}

}  // namespace

Status Register(const std::string& kubelet_socket, const Registration& registration, Deadline until) {
  const std::string doing = "register " + registration.resource + " with the kubelet at " + kubelet_socket;
  if (::access(kubelet_socket.c_str(), F_OK) != 0) return FailErrno(errno, doing);
  grpc::ChannelArguments arguments;
  // The state of a connection to the kubelet before this one is of no use.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub = v1beta1::Registration::NewStub(
      grpc::CreateCustomChannel("unix:" + kubelet_socket, grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(PollTimeout(until), GPR_TIMESPAN)));
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(registration.endpoint);
  request.set_resource_name(registration.resource);
  request.mutable_options()->set_get_preferred_allocation_available(registration.preferred);
  v1beta1::Empty response;
  const grpc::Status status = stub->Register(&context, request, &response);
  if (status.ok()) return {};
  if (IsNoAnswer(status.error_code()))
    return Fail(Code::kTransient, doing + ": no answer: " + status.error_message());
  return Fail(Code::kInvalid, doing + ": the kubelet refuses: " + status.error_message());
}

Result<std::string> SocketNameFor(std::string_view folder, std::string_view resource,
                                  std::string_view instance) {
  const std::string end = Digest(resource, instance) + std::string(kEnd);
  const size_t least = folder.size() + 1 + kStart.size() + end.size();
  if (least > kLongestPath)
    return Fail(Code::kInvalid, "the folder " + std::string(folder) + " is too long for a socket: " +
                                    std::to_string(kLongestPath - (least - folder.size())) +
                                    " bytes at most");
  // What fits of the resource's name, for people.
  const std::string name = std::string(resource.substr(resource.find('/') + 1)) + "-";
  return std::string(kStart) + name.substr(0, kLongestPath - least) + end;
}

}  // namespace rail::kubelet
